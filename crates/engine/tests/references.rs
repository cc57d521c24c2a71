//! References that are kept for later cells, each beside what Rust says about the same cells as one function.

use crate::common::Cells;
use std::path::Path;
use std::process::Command;

/// What Rust says.
enum Rust {
    Accepts,
    /// With this error.
    Refuses(&'static str),
}
use Rust::{Accepts, Refuses};

/// Cells, separated by `#%%`; what the last one shows; and what Rust says.
const CASES: [(&str, &str, Rust); 32] = [
    (
        "let text = String::from(\"a b c\");\nlet words: Vec<&str> = text.split(' ').collect();\n#%%\nwords.len() + text.len()",
        "= 8",
        Accepts,
    ),
    (
        "let list = vec![1, 2, 3];\n#%%\nlet first = &list[0];\n#%%\n*first + list[1]",
        "= 3",
        Accepts,
    ),
    (
        "let name = String::from(\"Ada Lovelace\");\n#%%\nlet family = &name[4..];\n#%%\nfamily.len()",
        "= 8",
        Accepts,
    ),
    (
        "let data = vec![1, 2, 3, 4];\n#%%\nlet (left, right) = data.split_at(2);\n#%%\nright[0] + left[1]",
        "= 5",
        Accepts,
    ),
    (
        "let rows = vec![1, 2, 3];\n#%%\nlet mut each = rows.iter();\n#%%\neach.next();\n#%%\neach.next()",
        "= Some(2)",
        Accepts,
    ),
    (
        "struct View<'a> { part: &'a [i32] }\nlet all = vec![1, 2];\n#%%\nlet view = View { part: &all[1..] };\n#%%\nview.part.len() + all.len()",
        "= 3",
        Accepts,
    ),
    (
        "let scores = vec![3, 9, 4];\n#%%\nlet best = scores.iter().max();\n#%%\nbest",
        "= Some(9)",
        Accepts,
    ),
    (
        "let poem = String::from(\"to be or not to be\");\nlet mut counts = std::collections::HashMap::new();\n\
         for word in poem.split(' ') { *counts.entry(word).or_insert(0) += 1; }\n#%%\ncounts[\"be\"]",
        "= 2",
        Accepts,
    ),
    (
        "let factor = 3;\nlet times: Box<dyn Fn(i32) -> i32> = Box::new(|x| x * factor);\n#%%\ntimes(4)",
        "= 12",
        Accepts,
    ),
    (
        "let part = &String::from(\"a b\")[..1];\n#%%\npart.len()",
        "= 1",
        Accepts,
    ),
    (
        "fn slopes() -> Vec<f64> { vec![0.5, 1.5] }\nlet slope = &slopes()[1];\n#%%\nslope * 2.0",
        "= 3.0",
        Accepts,
    ),
    (
        "let label: &str = &*String::from(\"x\");\n#%%\nlabel.len()",
        "= 1",
        Accepts,
    ),
    (
        "let grown = &mut vec![1];\ngrown.push(2);\n#%%\ngrown.push(3);\n#%%\ngrown.len()",
        "= 3",
        Accepts,
    ),
    (
        "let pair = (&String::from(\"l\"), [&String::from(\"r\")]);\n#%%\npair.1[0].len()",
        "= 1",
        Accepts,
    ),
    (
        "struct Named<'a> { name: &'a String }\nlet named = Named { name: &String::from(\"n\") };\n#%%\nnamed.name.len()",
        "= 1",
        Accepts,
    ),
    (
        "let made = &String::from(\"made\");\nlet inner = made.as_str();\n#%%\ninner.len() + made.len()",
        "= 8",
        Accepts,
    ),
    (
        "let source = String::from(\"abc\");\n#%%\nlet cow = std::borrow::Cow::from(&source[1..]);\n#%%\ncow.len()",
        "= 2",
        Accepts,
    ),
    (
        "let base = 5;\nlet one = &base;\nlet two = &one;\n#%%\n**two + base",
        "= 10",
        Accepts,
    ),
    (
        "let mut built = vec![1];\nbuilt.push(2);\nlet last = built.last().unwrap();\n#%%\n*last",
        "= 2",
        Accepts,
    ),
    (
        "let word = String::from(\"héé\");\nlet mut letters = word.chars();\n#%%\nletters.next();\n#%%\nletters.next()",
        "= Some('é')",
        Accepts,
    ),
    (
        "let page = String::from(\"a b\");\nlet parts: Vec<&str> = page.split(' ').collect();\n#%%\nlet page = 5usize;\n#%%\nparts.len() + page",
        "= 7",
        Accepts,
    ),
    (
        "let names = vec![String::from(\"bb\"), String::from(\"a\")];\nlet mut sorted: Vec<&String> = names.iter().collect();\n\
         sorted.sort_by_key(|it| it.len());\n#%%\nsorted[0].as_str()",
        "= \"a\"",
        Accepts,
    ),
    (
        "let shared = std::cell::RefCell::new(vec![1]);\n#%%\nlet guard = shared.borrow();\n#%%\nlet held = guard.len();\ndrop(guard);\n#%%\n\
         shared.borrow_mut().push(2);\n#%%\nshared.borrow().len() + held",
        "= 3",
        Accepts,
    ),
    (
        "let keys = vec![String::from(\"k\")];\n#%%\nlet lookup: std::collections::BTreeMap<&str, &String> = keys.iter().map(|it| (it.as_str(), it)).collect();\n#%%\nlookup[\"k\"].len()",
        "= 1",
        Accepts,
    ),
    (
        "let mut queue = vec![1, 2];\nlet front = &queue[0];\n#%%\nqueue.push(3);\n#%%\n*front",
        "= 1",
        Refuses("E0502"),
    ),
    (
        "let kept = vec![1];\nlet one_of = &kept[0];\n#%%\nlet elsewhere: Vec<i32> = kept;\n#%%\n*one_of",
        "= 1",
        Refuses("E0505"),
    ),
    (
        "let dangling;\n{ let inner = 5; dangling = &inner; }\n#%%\n*dangling",
        "error at 0:0:0: cannot find value `dangling` in this scope",
        Refuses("E0597"),
    ),
    (
        "let short = String::from(\"gone\").as_str();\n#%%\nshort.len()",
        "error at 0:0:0: cannot find value `short` in this scope",
        Refuses("E0716"),
    ),
    (
        "let lock = std::sync::Mutex::new(3);\nlet locked = &*lock.lock().unwrap();\n#%%\n*locked",
        "error at 0:0:0: cannot find value `locked` in this scope",
        Accepts,
    ),
    (
        "let mut changed = vec![1];\nlet change = &mut changed;\nchange.push(2);\n#%%\nchanged.len()",
        "= 2",
        Accepts,
    ),
    (
        "let all_values = vec![1, 2];\nlet even = all_values.iter().filter(|it| *it % 2 == 0);\n#%%\neven.count()",
        "error at 0:0:0: cannot find value `even` in this scope",
        Accepts,
    ),
    (
        "fn longest<'a>(a: &'a str, b: &'a str) -> &'a str { if a.len() < b.len() { b } else { a } }\n\
         let (short_one, long_one) = (String::from(\"a\"), String::from(\"bc\"));\n#%%\nlet longer = longest(&short_one, &long_one);\n#%%\nlonger.len()",
        "= 2",
        Accepts,
    ),
];

#[test]
fn references_are_kept_as_rust_allows() {
    let mut cells = Cells::start();
    let mut wrong = Vec::new();
    for (source, expected, _) in &CASES {
        let shown: Vec<String> = source.split("#%%\n").map(|cell| cells.run(cell)).collect();
        let last = shown.last().expect("a cell").trim_end();
        // The number of the cell does not matter.
        let is_same = match expected.strip_prefix("error at 0:0:0: ") {
            Some(message) => last.ends_with(message),
            None => last == *expected,
        };
        if !is_same {
            wrong.push(format!("{source}\n  expected {expected}, found {shown:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn rust_says_the_same_about_one_function() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut accepted, mut refused) = (String::new(), String::new());
    let mut expected = Vec::new();
    for (source, _, rust) in &CASES {
        let function = function(source);
        match rust {
            Accepts => accepted += &function,
            Refuses(code) => {
                expected.push((refused.matches('\n').count() + 1, *code));
                refused += &function;
            }
        }
    }
    assert_eq!(errors(folder.path(), &accepted), []);
    // Each function is one line.
    assert_eq!(errors(folder.path(), &refused), expected);
}

/// Writes cells as one function, in one line.
fn function(cells: &str) -> String {
    let (start, last) = cells.rsplit_once("#%%\n").expect("several cells");
    let body = start.replace("#%%\n", "");
    let line = format!("{body} let _ = {{ {last} }};").replace('\n', " ");
    format!("const _: fn() = || {{ {line} }};\n")
}

/// Returns the lines and codes of rustc's errors.
fn errors(folder: &Path, source: &str) -> Vec<(usize, &'static str)> {
    let file = folder.join("cases.rs");
    std::fs::write(&file, source).expect("it is written");
    let output = Command::new("rustc")
        .args([
            "--edition=2024",
            "--crate-type=lib",
            "--emit=metadata",
            "--error-format=short",
        ])
        .args(["-Aunused", "--out-dir"])
        .args([folder, &file])
        .output()
        .expect("rustc starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let codes = ["E0502", "E0505", "E0597", "E0716"];
    let error = |line: &str| {
        let (place, message) = line.split_once(": error")?;
        let place = place.split(':').nth(1)?.parse().ok()?;
        let code = codes.into_iter().find(|code| message.contains(code));
        Some((place, code.unwrap_or("another error")))
    };
    said.lines().filter_map(error).collect()
}

//! Shell lines and commands in a cell.

use crate::common::events::{err, error, out, own_session, session, value};
use serde_json::json;
use std::process::Command;
use std::time::{Duration, Instant};

#[test]
fn shell_lines_run_in_order_and_their_output_arrives_while_they_run() {
    let mut session = session();
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::remove_file(file.path()).expect("it was just made");
    // The command continues only after its first line has arrived.
    let told = file.path().display();
    let code =
        format!("!echo first; until [ -e {told} ]; do sleep 0.05; done; echo second\n!echo third");
    let ran = session.run_with(json!({ "code": code }), |event| {
        if event["text"] == "first\n" {
            std::fs::write(file.path(), "").expect("the file is written");
        }
    });
    assert_eq!(ran, [out("first\nsecond\nthird\n")]);
}

#[test]
fn a_shell_line_that_fails_fails_the_cell() {
    let ran = session().run("!echo out; exit 3\nprintln!(\"never\");");
    let message = "`echo out; exit 3` failed (exit status 3).";
    assert_eq!(ran, [out("out\n"), error("CommandFailed", message, 0, &[])]);
}

#[test]
fn a_shell_line_has_the_environment_of_the_user() {
    let ran = session().run("!env | grep -c EVCXR; true");
    assert_eq!(ran, [out("0\n")]);
}

#[test]
fn a_shell_line_is_interrupted() {
    let mut session = session();
    session.run("let commands_a = 1;");
    let began = Instant::now();
    let request = json!({ "code": "!echo begun; sleep 60", "interrupt_at": "begun" });
    let ran = session.run_with(request, |_| {});
    assert_eq!(ran.len(), 2, "{ran:?}");
    assert_eq!(ran[1]["name"], "Interrupted");
    assert!(began.elapsed() < Duration::from_secs(30));
    assert_eq!(session.run("commands_a"), [value("1")]);
}

#[test]
fn a_restart_removes_only_the_variables() {
    let mut session = own_session();
    session.run("let kept = 1;\nfn twice(n: i32) -> i32 { 2 * n }");
    let said = "The process in which cells run was restarted; all variables are lost.\n";
    let ran = session.run(":restart");
    assert_eq!(ran, [out(said)]);
    let ran = session.run("kept");
    assert_eq!(ran[0]["name"], "CompileError");
    let ran = session.run("twice(21)");
    assert_eq!(ran, [value("42")]);
    // `:clear` removes items as well, but not the prelude of the session.
    let ran = session.run(":clear");
    assert_eq!(ran, [] as [serde_json::Value; 0]);
    let ran = session.run("zeros(2).dims().len()");
    assert_eq!(ran, [value("1")]);
}

/// Cargo's cache contains the packages of the tests' own lock file. One cell adds several of them. Variables stay, also
/// those of the user's own types.
#[test]
fn packages_are_added_and_used_in_one_cell() {
    let mut session = own_session();
    session.run("#[derive(Debug)]\nstruct Own { x: i32 }\nlet own = vec![Own { x: 1 }];");
    let code = ":dep itoa = \"1\"\n:dep smallvec\nlet three: smallvec::SmallVec<[i32; 2]> = smallvec::smallvec![1, 2, 3];\nthree.len()";
    let ran = session.run(code);
    assert_eq!(ran.last(), Some(&value("3")), "{ran:?}");
    let ran = session.run("itoa::Buffer::new().format(7).to_owned()");
    assert_eq!(
        ran.last().map(|event| &event["data"]["text/plain"]),
        Some(&json!("\"7\""))
    );
    let ran = session.run(":dep no-such-package-at-all = \"1\"");
    assert_eq!(
        ran.last().map(|event| &event["event"]),
        Some(&json!("error")),
        "{ran:?}"
    );
    assert_eq!(session.run("own[0].x + 1"), [value("2")]);
}

/// A package may enable features of Taper's dependencies. It is compiled beside those of Taper.
#[test]
fn a_package_that_needs_other_features_leaves_taper_alone() {
    let mut session = own_session();
    session.run("let kept = ones(2);");
    let package = ":dep zune-jpeg = { version = \"0.5\", features = [\"log\"] }";
    let code = format!("{package}\nones((3, 4)).dims().len()");
    let ran = session.run(&code);
    assert_eq!(ran.last(), Some(&value("2")), "{ran:?}");
    let why = "Taper was rebuilt, because a new package needs other features of its dependencies. \
               The process in which cells run was restarted; all variables are lost.\n";
    assert!(!ran.contains(&out(why)), "{ran:?}");
    let ran = session
        .run("kept.dims().len() + usize::from(size_of::<zune_jpeg::JpegDecoder<&[u8]>>() == 0)");
    assert_eq!(ran, [value("1")]);
}

/// Taper takes and returns values of `half`, so there cannot be two of it.
#[test]
#[ignore = "compiles Taper again, which takes minutes"]
fn a_package_whose_types_taper_shares_makes_it_compile_again() {
    let mut session = own_session();
    let code = ":dep half = { version = \"2\", features = [\"zerocopy\", \"serde\"] }\nlet one = half::f16::ONE;";
    let ran = session.run(code);
    let why = "Taper was rebuilt, because a new package needs other features of `half`, whose types it shares with \
               Taper. The process in which cells run was restarted; all variables are lost.\n";
    assert!(ran.contains(&out(why)), "{ran:?}");
    let ran = session.run("tensor(&[one, one]).dims().len()");
    assert_eq!(ran, [value("1")]);
}

/// A variable whose type is in a package lives until that package is compiled again.
#[test]
#[ignore = "downloads packages"]
fn packages_are_added_one_after_the_other() {
    let mut session = own_session();
    session.run("let t = ones(2);\nlet text = String::from(\"kept\");");
    for (package, cell) in [
        (
            "serde = { version = \"1\", features = [\"derive\"] }",
            "#[derive(serde::Serialize)]\nstruct Row { x: i32 }",
        ),
        (
            "serde_json = \"1\"",
            "let json = serde_json::to_value(&Row { x: 1 })?;",
        ),
        (
            "regex = \"1\"",
            "let digits = regex::Regex::new(\"[0-9]\")?;",
        ),
        ("num = \"0.4\"", "let big = num::BigInt::from(2).pow(100);"),
        // It enables features of packages that `num` uses.
        (
            "image = { version = \"0.25\", default-features = false, features = [\"png\", \"bmp\"] }",
            "let photo = image::RgbImage::new(4, 4);",
        ),
    ] {
        let ran = session.run(&format!(":dep {package}"));
        assert!(
            !ran.iter()
                .any(|it| it["event"] == "error" || it["event"] == "text"),
            "{ran:?}"
        );
        assert_eq!(session.run(cell), [] as [serde_json::Value; 0]);
    }
    let all = "(t.dims().len(), text.len(), json[\"x\"].as_i64(), digits.is_match(\"1\"), big.bits(), photo.width())";
    assert_eq!(session.run(all), [value("(1, 4, Some(1), true, 101, 4)")]);
}

/// Two clones on one machine, and a notebook of the one in the kernel of the other.
#[test]
fn another_taper_is_announced_and_starts_a_new_process() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let file = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).expect("it is written");
    };
    file(
        "Cargo.toml",
        "[package]\nname = \"taper\"\nedition = \"2024\"\n[lib]\ncrate-type = [\"dylib\", \"rlib\"]\n\
         path = \"lib.rs\"\n[workspace]\n",
    );
    // What every session imports.
    file("lib.rs", "pub mod prelude {}");
    // As in a chapter, relative to the folder of the notebook.
    let here = std::env::current_dir().expect("a folder");
    let up = "../".repeat(here.components().count() - 1);
    let path = format!(
        "{up}{}",
        folder.path().display().to_string().trim_start_matches('/')
    );
    let mut session = own_session();
    let code = format!(":dep taper = {{ path = {path:?} }}");
    let ran = session.run(&code);
    let real = folder.path().canonicalize().expect("it exists");
    let expected = format!(
        "The crate `taper` of {} was loaded in place of the installed one. \
         The process in which cells run was restarted; all variables are lost.\n",
        real.display()
    );
    // A slow machine shows progress between them.
    let texts = ran.iter().filter_map(|event| event["text"].as_str());
    assert_eq!(texts.collect::<String>(), expected, "{ran:#?}");
}

fn text_of(ran: &[serde_json::Value]) -> &str {
    let [only] = ran else { panic!("{ran:#?}") };
    let text = only["data"]["text/plain"].as_str();
    text.or(only["text"].as_str()).expect("it is text")
}

#[test]
fn time_is_printed_and_variables_are_kept() {
    let mut session = session();
    let ran = session.run("%time let commands_time = 5;");
    let lines: Vec<&str> = text_of(&ran).lines().collect();
    assert!(lines[0].starts_with("CPU times: user "), "{ran:?}");
    assert!(lines[1].starts_with("Wall time: "), "{ran:?}");
    let ran = session.run("%%time\ncommands_time + 1");
    assert_eq!(ran[0], value("6"));
    let ran = session.run("%time no_such_name");
    assert_eq!(ran[0]["location"], json!({ "line": 1, "column": 7 }));
}

#[test]
fn timeit_prints_like_ipython_and_errors_point_into_the_cell() {
    let mut session = session();
    session.run("let commands_list = vec![1.0, 2.0];");
    let end = "per loop (mean ± std. dev. of 2 runs, 3 loops each)";
    let line = "%timeit -n 3 -r 2 commands_list.iter().sum::<f64>()";
    let lines =
        "%%timeit -n 3 -r 2\nlet sum: f64 = commands_list.iter().sum();\nsum.sqrt() // a comment";
    for cell in [line, lines] {
        let ran = session.run(cell);
        assert!(text_of(&ran).ends_with(end), "{ran:?}");
    }
    let ran = session.run("%timeit -n 3 no_such_name");
    assert_eq!(
        ran[0]["location"],
        json!({ "line": 1, "column": 14 }),
        "{ran:?}"
    );
}

#[test]
fn the_tests_of_a_cell_are_run() {
    let mut session = session();
    let cell = "%test\nfn commands_two() -> i32 { 2 }\n#[test]\nfn commands_adds() { assert_eq!(commands_two(), 2); }\n\
        #[test]\n#[should_panic]\nfn commands_panics() { panic!(); }";
    let ran = session.run(cell);
    let panic = "the thread `commands_panics` panicked at line 7: explicit panic\n";
    let rest = "test commands_panics ... ok\n\n\
        test result: ok. 2 passed; 0 failed; 0 ignored\n";
    assert_eq!(
        ran,
        [out("test commands_adds ... ok\n"), err(panic), out(rest)]
    );
    let cell = "%test\n#[cfg(test)]\nmod commands_tests {\n    use super::*;\n    #[test]\n    \
        fn fails() {\n        assert_eq!(commands_two(), 3);\n    }\n}";
    let ran = session.run(cell);
    let printed: String = ran.iter().filter_map(|e| e["text"].as_str()).collect();
    assert!(
        printed.contains("panicked at line 7: assertion"),
        "{ran:#?}"
    );
    assert!(
        printed.contains("test commands_tests::fails ... FAILED"),
        "{ran:#?}"
    );
    let last = ran.last().expect("an error");
    assert_eq!(last["message"], "1 of 1 tests failed");
}

#[test]
fn scripts_run_files_are_written_and_code_is_formatted() {
    let mut session = session();
    let ran = session.run("%%bash\nfor i in {1..2}; do echo \"$i\"; done\nexit 3");
    assert_eq!(
        ran,
        [
            out("1\n2\n"),
            error("CommandFailed", "`%%bash` failed (exit status 3).", 0, &[])
        ]
    );
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("a.txt").display().to_string();
    let ran = session.run(&format!("%%writefile {file}\nuse taper::prelude::*;\n'"));
    assert_eq!(ran, [out(&format!("Writing {file}\n"))]);
    let written = std::fs::read_to_string(&file).expect("it is written");
    assert_eq!(written, "use taper::prelude::*;\n'\n");
    let ran = session.run("%fmt\n!ls\nlet x=1 ;\nlet y=f( x)?;");
    let text = "!ls\nlet x = 1;\nlet y = f(x)?;";
    let missing = "`%fmt` needs rustfmt: run `rustup component add rustfmt`.";
    // A minimal Rust has no rustfmt.
    let rustfmt = Command::new("rustfmt").arg("--version").output();
    let expected = match rustfmt.is_ok_and(|output| output.status.success()) {
        true => json!({ "event": "next_input", "text": text }),
        false => error("UsageError", missing, 0, &[]),
    };
    assert_eq!(ran, [expected]);
}

#[test]
fn types_variables_and_documentation_are_shown() {
    let mut session = session();
    session.run("let commands_x = zeros((2, 3));\nlet commands_ok: Result<i32> = Ok(7);\n/// Twice.\nfn commands_f(n: i32) -> i32 { 2 * n }");
    let expression = "vec![1.0].iter().map(|x| x + 1.0).collect::<Vec<f64>>()";
    let ran = session.run(&format!(":type {expression}"));
    assert_eq!(text_of(&ran), format!("{expression}: Vec<f64>"));
    assert_eq!(
        text_of(&session.run(":type commands_x")),
        "commands_x: Tensor"
    );
    let ran = session.run(":type no_such_name");
    let message = ran[0]["message"].as_str().expect("an error");
    assert!(
        message.starts_with("the type of `no_such_name` is not known: [E0425] cannot find value")
    );
    let ran = session.run(":vars");
    let row = text_of(&ran)
        .lines()
        .find(|line| line.starts_with("commands_x "));
    let words: Vec<&str> = row.expect("a row").split_whitespace().collect();
    let expected = "commands_x Tensor (2, 3) cpu 24 B f32 [0, 0, 0, 0, 0, 0]";
    assert_eq!(words.join(" "), expected);
    assert!(text_of(&session.run("zeros?")).contains("pub fn zeros"));
    assert!(text_of(&session.run(":doc zeros")).contains("pub fn zeros"));
    assert!(
        text_of(&session.run("commands_f??")).contains("fn commands_f(n: i32) -> i32 { 2 * n }")
    );
    assert_eq!(session.run("commands_ok?"), [value("7")]);
    assert!(text_of(&session.run(":help")).contains("%timeit [-n LOOPS]"));
    let ran = session.run(":timing\n:opt 2\n1 + 1");
    let ignored = "`:timing` is an option of evcxr. It was ignored.\n`:opt 2` is an option of evcxr. It was ignored.\n";
    assert_eq!(ran, [err(ignored), value("2")]);
    assert!(text_of(&session.run(":show_deps")).contains("taper = "));
    session.run("let commands_y: i32 = \"1\";");
    assert!(
        text_of(&session.run(":explain")).contains("Expected type did not match the received type")
    );
    for wrong in [":quit", "no_such_name?", "%timeit", ":vars x"] {
        let ran = session.run(wrong);
        assert_eq!(ran[0]["name"], "UsageError", "{ran:?}");
    }
}

#[test]
fn a_profile_shows_what_each_line_took() {
    let mut session = session();
    let ran = session.run("%%profile\nlet commands_kept: Vec<Vec<u8>> =\n    (0..4).map(|_| vec![1; 100_000]).collect();\ncommands_kept.len()");
    assert_eq!(ran.len(), 2, "{ran:?}");
    assert_eq!(ran[0], value("4"));
    let data = &ran[1]["data"];
    let lines = &data["application/vnd.taper.profile+json"]["lines"];
    assert_eq!(lines.as_array().map(Vec::len), Some(2), "{lines}");
    assert_eq!(lines[0]["line"], 2);
    assert_eq!(lines[0]["calls"], 1);
    assert_eq!(lines[0]["text"], "let commands_kept: Vec<Vec<u8>> =");
    if cfg!(all(target_os = "linux", target_env = "gnu")) {
        let bytes = lines[0]["bytes"].as_u64().expect("bytes");
        assert!((400_000..500_000).contains(&bytes), "{bytes}");
        let peak = lines[0]["peak"].as_u64().expect("bytes");
        assert!((400_000..500_000).contains(&peak), "{peak}");
        assert!(lines[0]["allocations"].as_u64() >= Some(5), "{lines}");
        assert!(lines[1]["bytes"].as_u64() < Some(50_000), "{lines}");
    }
    let text = data["text/plain"].as_str().expect("a text");
    assert!(text.contains("  2  let commands_kept"), "{text}");
    // The variable is there, and the next cell is not measured.
    assert_eq!(session.run("commands_kept.len() + 1"), [value("5")]);
    let wrong = session.run("%%profile\n");
    assert_eq!(wrong[0]["name"], "UsageError");
}

#[test]
fn a_profile_of_a_model_shows_its_layers() {
    let mut session = session();
    session.run("let commands_net = seq![Linear::new(3, 4), ReLU, Linear::new(4, 1)];");
    let source = "%%profile
for _ in 0..3 {
    let loss = commands_net.forward(&ones((5, 3))).sum_all();
    loss.backward();
}";
    let ran = session.run(source);
    assert_eq!(ran.len(), 2, "{ran:?}");
    let text = ran[0]["data"]["text/plain"].as_str().expect("a text");
    let rows: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(
        rows[1][..6],
        ["Linear", "(5,", "4)", "16", "3", "180"],
        "{text}"
    );
    assert_eq!(rows[2][..6], ["ReLU", "(5,", "4)", "0", "3", "0"], "{text}");
    assert_eq!(
        rows[3][..6],
        ["Linear", "(5,", "1)", "5", "3", "60"],
        "{text}"
    );
    assert_eq!(rows[4][..2], ["total", "240"], "{text}");
    let lines = &ran[1]["data"]["application/vnd.taper.profile+json"]["lines"];
    assert_eq!(lines.as_array().map(Vec::len), Some(3), "{lines}");
    let source = "seq![Linear::new(3, 50_000)].measured_summary((10, 3)).show_text()";
    let ran = session.run(source);
    let text = ran[0]["data"]["text/plain"].as_str().expect("a text");
    assert!(text.contains("1.50 M"), "{text}");
    if cfg!(all(target_os = "linux", target_env = "gnu")) {
        // The output has 10 · 50,000 elements of 4 bytes.
        assert!(text.contains("  2.0"), "{text}");
    }
    // Nothing is measured after it.
    assert_eq!(
        session.run("commands_net.forward(&ones((5, 3))).dims()[1]"),
        [value("1")]
    );
}

//! Where cargo puts files below its build directory is its own affair, and changed with Rust 1.100. The cargo of older
//! releases has that layout as an option. A place in the program that guesses paths fails here.

use super::place::{Call, Place, rust_with};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A package that is linked with a C library of its own, and uses another one in a macro and in cells.
const PACKAGE: [(&str, &str); 7] = [
    (
        "Cargo.toml",
        r#"
            [package]
            name = "greeter"
            version = "1.0.0"
            edition = "2024"

            [dependencies]
            word = { path = "word" }
            shout = { path = "shout" }
        "#,
    ),
    (
        "build.rs",
        r#"
            fn main() {
                let out = std::env::var("OUT_DIR").unwrap();
                let script = "echo 'int seven(void) { return 7; }' > seven.c
                    cc -c -fPIC seven.c && ar rcs libseven.a seven.o";
                let mut shell = std::process::Command::new("sh");
                let made = shell.args(["-c", script]).current_dir(&out).status();
                assert!(made.unwrap().success());
                println!("cargo::rustc-link-search=native={out}");
                println!("cargo::rustc-link-lib=static:-bundle=seven");
            }
        "#,
    ),
    (
        "src/lib.rs",
        r#"
            unsafe extern "C" { safe fn seven() -> i32; }
            pub fn greet() -> String {
                format!("{} {} {}", word::word(), shout::shout!(), seven())
            }
        "#,
    ),
    (
        "word/Cargo.toml",
        r#"
            [package]
            name = "word"
            version = "1.0.0"
            edition = "2024"
        "#,
    ),
    (
        "word/src/lib.rs",
        r#"pub fn word() -> &'static str { "hello" }"#,
    ),
    (
        "shout/Cargo.toml",
        r#"
            [package]
            name = "shout"
            version = "1.0.0"
            edition = "2024"

            [lib]
            proc-macro = true

            [dependencies]
            word = { path = "../word" }
        "#,
    ),
    (
        "shout/src/lib.rs",
        r#"
            #[proc_macro]
            pub fn shout(_: proc_macro::TokenStream) -> proc_macro::TokenStream {
                format!("{:?}", word::word().to_uppercase()).parse().unwrap()
            }
        "#,
    ),
];

#[test]
fn an_image_works_wherever_cargo_puts_its_files() {
    let (here, there) = (Place::empty(), Place::empty());
    let option = "export RUSTC_BOOTSTRAP=1 CARGO_UNSTABLE_BUILD_DIR_NEW_LAYOUT=true";
    let path = rust_with(
        &here.path().join("rust"),
        [("rustc", ""), ("cargo", option)],
    );
    let with_new_layout = |call: Call| call.env("PATH", &path).without("RUSTUP_TOOLCHAIN");
    with_new_layout(here.taper(["setup"]))
        .run()
        .succeeds()
        .says("Taper is ready");
    let library = here
        .library_of_image("taper", "rlib")
        .expect("it was compiled");
    assert!(
        !library.iter().any(|part| part == "deps"),
        "an old layout: {}",
        library.display()
    );

    let greeter = here.path().join("greeter");
    for (file, text) in PACKAGE {
        let file = greeter.join(file);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(file, text).expect("a file is written");
    }
    let add = |name: &str, path: &Path| format!(":dep {name} = {{ path = {path:?} }}");
    let cells = [
        "let a = 20;",
        &add("greeter", &greeter),
        "format!(\"{} {}\", greeter::greet(), a + 3)",
        // It was compiled for a macro, too.
        &add("word", &greeter.join("word")),
        "word::word().len() as i32 + a",
        ":restart",
        "zeros(2).len() + greeter::greet().len()",
    ];
    let requests: String = cells
        .iter()
        .map(|code| serde_json::json!({"code": code}).to_string() + "\n")
        .collect();
    let session = |place: &Place| {
        let said = with_new_layout(place.taper(["events"]))
            .input(&requests)
            .run()
            .succeeds();
        said.says("hello HELLO 7 23").says("\"25\"").says("\"15\"")
    };
    session(&here);
    let again = session(&here);
    assert!(!again.text.contains("\"ok\":false"), "{}", again.text);

    let file = here.path().join("image.tar.gz");
    with_new_layout(here.taper(["image", "export"]).argument(&file))
        .run()
        .succeeds();
    with_new_layout(there.taper(["image", "import"]).argument(&file))
        .run()
        .succeeds();
    let said = session(&there);
    assert!(!said.text.contains("Compiling Taper"), "{}", said.text);
}

/// As with a release that changes what Taper relies on.
#[test]
fn a_rust_in_which_no_cell_runs_is_noticed_before_the_library_is_compiled() {
    let place = Place::empty();
    let refuse = "case \" $* \" in *' --crate-name notebook '*) echo changed >&2; exit 1;; esac";
    let path = rust_with(
        &place.path().join("rust"),
        [("rustc", refuse), ("cargo", "")],
    );
    let setup = place.taper(["setup"]).env("PATH", path);
    let said = setup.without("RUSTUP_TOOLCHAIN").run().fails();
    let release = Command::new("rustc").arg("--version").output();
    let release = String::from_utf8(release.expect("there is a Rust").stdout).expect("text");
    let release = release.split(' ').nth(1).expect("a release");
    let this = format!(
        "This is Taper {} with Rust {release}; it was tested with Rust 1.95 to ",
        env!("CARGO_PKG_VERSION")
    );
    let said = said.says(&this);
    assert!(!said.text.contains("Compiling Taper"), "{}", said.text);
}

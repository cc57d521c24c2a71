//! Where cargo puts files below its build directory is its own affair, and changed with Rust 1.100. The cargo of older
//! releases has that layout as an option. A place in the program that guesses paths fails here.

use super::place::{Call, Place, script, with_first};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// Writes a Rust that calls the installed one, with shell code before a program's call, and returns a PATH with it.
fn rust_with(folder: &Path, code: [(&str, &str); 2]) -> OsString {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output();
    let installed = String::from_utf8(output.expect("there is a Rust").stdout).expect("a path");
    let (installed, rust) = (Path::new(installed.trim()), folder.join("rust"));
    fs::create_dir_all(rust.join("bin")).expect("a folder");
    symlink(installed.join("lib"), rust.join("lib")).expect("a link");
    for (name, code) in code {
        let program = installed.join("bin").join(name);
        let program = format!("#!/bin/sh\n{code}exec '{}' \"$@\"\n", program.display());
        script(&rust.join("bin").join(name), &program);
    }
    with_first(&rust.join("bin"))
}

/// Writes a package that is linked with a C library of its own, and is compiled for a macro and for cells.
fn write_package(folder: &Path) {
    for (file, text) in [
        (
            "Cargo.toml",
            "[package]\nname = \"greeter\"\nversion = \"1.0.0\"\nedition = \"2024\"\nbuild = \"build.rs\"\n\n\
            [dependencies]\nword = { path = \"word\" }\nshout = { path = \"shout\" }\n",
        ),
        (
            "build.rs",
            "fn main() {\n    let out = std::env::var(\"OUT_DIR\").unwrap();\n    \
            let run = |program: &str, arguments: &[&str]| {\n        \
            assert!(std::process::Command::new(program).args(arguments).current_dir(&out).status().unwrap().success());\n    };\n    \
            std::fs::write(format!(\"{out}/seven.c\"), \"int seven(void) { return 7; }\").unwrap();\n    \
            run(\"cc\", &[\"-c\", \"-fPIC\", \"seven.c\"]);\n    run(\"ar\", &[\"rcs\", \"libseven.a\", \"seven.o\"]);\n    \
            println!(\"cargo::rustc-link-search=native={out}\");\n    println!(\"cargo::rustc-link-lib=static:-bundle=seven\");\n}\n",
        ),
        (
            "src/lib.rs",
            "unsafe extern \"C\" { safe fn seven() -> i32; }\n\
            pub fn greet() -> String { format!(\"{} {} {}\", word::word(), shout::shout!(), seven()) }\n",
        ),
        (
            "word/Cargo.toml",
            "[package]\nname = \"word\"\nversion = \"1.0.0\"\nedition = \"2024\"\n",
        ),
        (
            "word/src/lib.rs",
            "pub fn word() -> &'static str { \"hello\" }\n",
        ),
        (
            "shout/Cargo.toml",
            "[package]\nname = \"shout\"\nversion = \"1.0.0\"\nedition = \"2024\"\n\n\
            [lib]\nproc-macro = true\n\n[dependencies]\nword = { path = \"../word\" }\n",
        ),
        (
            "shout/src/lib.rs",
            "#[proc_macro]\npub fn shout(_: proc_macro::TokenStream) -> proc_macro::TokenStream {\n    \
            format!(\"{:?}\", word::word().to_uppercase()).parse().unwrap()\n}\n",
        ),
    ] {
        let file = folder.join(file);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(file, text).expect("a file is written");
    }
}

#[test]
fn an_image_works_wherever_cargo_puts_its_files() {
    let (here, there) = (Place::empty(), Place::empty());
    let option = "export RUSTC_BOOTSTRAP=1 CARGO_UNSTABLE_BUILD_DIR_NEW_LAYOUT=true\n";
    let path = rust_with(here.path(), [("rustc", ""), ("cargo", option)]);
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
    write_package(&greeter);
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
    let refuse = "case \" $* \" in *' --crate-name notebook '*) echo changed >&2; exit 1;; esac\n";
    let path = rust_with(place.path(), [("rustc", refuse), ("cargo", "")]);
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

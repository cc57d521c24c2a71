//! A small stand-in for the clone and for Python, so that a whole set-up takes seconds.

use super::place::{fresh, script};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The stand-in for the clone. It has what the process that runs the cells looks for.
pub fn home() -> &'static Path {
    static HOME: LazyLock<PathBuf> = LazyLock::new(|| {
        let folder = fresh("stand-in");
        write_home(&folder);
        folder
    });
    &HOME
}

fn write_home(home: &Path) {
    let clone = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    fs::create_dir_all(home.join("src")).expect("a folder");
    fs::create_dir_all(home.join("macros/src")).expect("a folder");
    fs::copy(clone.join("Cargo.lock"), home.join("Cargo.lock")).expect("the lock file is copied");
    for (file, text) in [
        ("Cargo.toml", MANIFEST),
        ("src/lib.rs", LIBRARY),
        ("macros/Cargo.toml", MACROS_MANIFEST),
        ("macros/src/lib.rs", MACROS),
    ] {
        fs::write(home.join(file), text).expect("a file is written");
    }
    script(&home.join("python-stand-in"), PYTHON);
    script(&home.join("pip-stand-in"), PIP);
}

const MANIFEST: &str = r#"[workspace]
members = ["macros"]

[package]
name = "taper"
version = "0.1.0"
edition = "2024"

[lib]
crate-type = ["dylib", "rlib"]

[dependencies]
libc = "0.2"
serde_json = "1"
taper-macros = { path = "macros" }
"#;

const LIBRARY: &str = r#"
use std::io::Write;

pub fn interrupted() -> bool {
    false
}

#[unsafe(no_mangle)]
extern "C" fn taper_attach() {}

#[unsafe(no_mangle)]
extern "C" fn taper_begin_cell() {}

#[unsafe(no_mangle)]
extern "C" fn taper_flush() {
    let _ = std::io::stdout().flush();
}

pub mod prelude {
    pub use std::fmt::Error;

    pub struct Cpu;

    pub fn cpu() -> Cpu {
        Cpu
    }

    pub fn zeros(size: usize, _device: &Cpu) -> Result<Vec<f32>, Error> {
        Ok(vec![0.0; size])
    }
}
"#;

const MACROS_MANIFEST: &str = r#"[package]
name = "taper-macros"
version = "0.1.0"
edition = "2024"

[lib]
proc-macro = true
"#;

const MACROS: &str = "#[proc_macro]
pub fn nothing(_: proc_macro::TokenStream) -> proc_macro::TokenStream {
    proc_macro::TokenStream::new()
}
";

/// `-c …` asks for the version, `-m venv FOLDER` makes an environment.
const PYTHON: &str = r#"#!/bin/sh
set -e
case "$1" in
    -c) echo 3.12.0 ;;
    -m) mkdir -p "$3/bin" && cp "$(dirname "$0")/pip-stand-in" "$3/bin/python" ;;
esac
"#;

/// The environment's Python: what it installs is a `jupyter` that does nothing.
const PIP: &str = r#"#!/bin/sh
set -e
bin=$(dirname "$0")
sleep 1
printf '#!/bin/sh\n' > "$bin/jupyter"
chmod +x "$bin/jupyter"
"#;

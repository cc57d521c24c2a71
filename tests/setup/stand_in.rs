//! A small stand-in for the clone and for Python, so that a whole set-up takes seconds.

use super::place::{fresh, script};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Returns the folder of the stand-in for the clone. It has all items that the cells process looks for.
pub(crate) fn home() -> &'static Path {
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
    let (library, prelude) = library();
    fs::copy(clone.join("Cargo.lock"), home.join("Cargo.lock")).expect("the file is copied");
    for (file, text) in [
        ("Cargo.toml", MANIFEST),
        ("src/lib.rs", &library),
        ("src/prelude.rs", &prelude),
        ("macros/Cargo.toml", MACROS_MANIFEST),
        ("macros/src/lib.rs", MACROS),
    ] {
        fs::write(home.join(file), text).expect("a file is written");
    }
    script(&home.join("python-stand-in"), PYTHON);
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

[features]
cuda = []
cudnn = ["cuda"]
"#;

/// With what set-up itself tries a first cell.
const SMALLEST: &str = include_str!("../../crates/session/src/image/trial/taper.rs");

/// Returns the source of the library and of its prelude. It reports failures, which set-up's own does not.
fn library() -> (String, String) {
    let source = SMALLEST.replace("pub mod prelude {", MORE).replace(
        "fn taper_send_to(_receive: extern \"C\" fn(*const u8, usize)) {}",
        "fn taper_send_to(receive: Receive) { let _ = RECEIVE.set(receive); }",
    );
    let (library, prelude) = source.split_once("pub mod prelude {").expect("it is last");
    let prelude = prelude.trim_end().strip_suffix('}').expect("its end");
    (format!("{library}pub mod prelude;\n"), prelude.to_owned())
}

const MORE: &str = r###"
type Receive = extern "C" fn(*const u8, usize);
static RECEIVE: std::sync::OnceLock<Receive> = std::sync::OnceLock::new();

pub mod notebook {
    pub mod failure {
        pub fn failed<T: std::fmt::Display>(error: T) {
            let message = serde_json::Value::from(error.to_string());
            let event = format!(r##"{{"event":"failed","message":{message},"file":"","line":0}}"##);
            if let Some(receive) = crate::RECEIVE.get() {
                receive(event.as_ptr(), event.len());
            }
        }
    }
}

pub mod prelude {
    pub use std::fmt::Error;

    pub struct Cpu;

    pub fn cpu() -> Cpu {
        Cpu
    }

    /// For which device this was compiled.
    pub fn built_for() -> &'static str {
        let features = [("cudnn", cfg!(feature = "cudnn")), ("cuda", cfg!(feature = "cuda"))];
        features.into_iter().find(|(_, enabled)| *enabled).map_or("cpu", |(name, _)| name)
    }

    pub fn gpu(_index: usize) -> Result<Cpu, NoGpu> {
        Err(NoGpu)
    }

    #[derive(Debug)]
    pub struct NoGpu;

    impl std::fmt::Display for NoGpu {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("no GPU can be used: this is a stand-in\nUse cpu()")
        }
    }

    /// What a product of matrices is made of, for a cell that never gets that far.
    pub struct Matrix;

    pub fn ones(_shape: (usize, usize)) -> Matrix {
        Matrix
    }

    impl Matrix {
        pub fn to_device(&self, _device: &Cpu) -> Matrix {
            Matrix
        }

        pub fn matmul(&self, _other: &Matrix) -> Matrix {
            Matrix
        }

        pub fn sum_all(&self) -> Matrix {
            Matrix
        }

        pub fn item(&self) -> f64 {
            0.0
        }
    }
"###;

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

/// Called with `-c …`, it prints the version and its path; with `-m venv FOLDER`, it creates an environment, whose Python
/// is a link to it. With `-m pip …` it installs a `jupyter` that does nothing, or, for the list that contains CUDA's
/// compiler, the files of CUDA that set-up checks.
pub(crate) const PYTHON: &str = r#"#!/bin/sh
set -e
case "$1 $2" in
    "-m venv") mkdir -p "$3/bin" && ln -s "$0" "$3/bin/python" && exit ;;
    "-m pip") ;;
    *) printf '3.12.0\n%s\n' "$0" && exit ;;
esac
bin=$(dirname "$0")
sleep 1
for list; do :; done
if grep -q '^nvidia-cuda-nvcc' "$list"; then
    packages=$bin/../lib/python3.12/site-packages/nvidia
    cuda=$packages/cu13
    mkdir -p "$cuda/bin" "$cuda/include" "$cuda/lib" "$packages/cudnn/lib"
    grep -q '^nvidia-cudnn' "$list" && : > "$packages/cudnn/lib/libcudnn.so.9"
    for name in cublas.so.13 cublasLt.so.13 curand.so.10 nvrtc.so.13; do
        : > "$cuda/lib/lib$name"
    done
    printf '#!/bin/sh\n' > "$cuda/bin/nvcc"
    exit
fi
printf '#!/bin/sh\n' > "$bin/jupyter"
chmod +x "$bin/jupyter"
"#;

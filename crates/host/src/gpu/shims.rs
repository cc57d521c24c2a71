//! Static libraries with which `taper` is linked in place of CUDA's.
//!
//! A program that is linked with the real libraries does not start where one of them is missing, and the
//! driver's library is missing on every machine without a GPU. Our shim libraries have the same functions,
//! and load the real library when a function is called for the first time. So one image starts everywhere;
//! without a driver, its first call returns an ordinary error. Since the shims contain the paths of the
//! real libraries, `LD_LIBRARY_PATH` does not have to be set.
//!
//! The names of the functions are read from the bindings (the crate `cudarc`), in the version in
//! `Cargo.lock`. A function jumps through its slot in a table. While the slot is empty, the call goes to
//! `resolve` instead, and all registers that may hold arguments are saved around that call.

use super::toolkit::{self, Toolkit};
use crate::cache;
use crate::checks;
use crate::error::OnFile as _;
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// One of CUDA's libraries.
struct Library {
    /// The library's name for the linker.
    name: &'static str,
    /// The module of its bindings.
    module: &'static str,
    /// The beginning of its functions' names.
    prefix: &'static str,
    /// The library's usual file name, for a toolkit that does not contain it.
    file: &'static str,
    /// The error that all functions return if the library is missing; the bindings must define it.
    absent: u32,
    /// The error that a function returns if the library exists, but is older than the function.
    older: u32,
}

const LIBRARIES: [Library; 6] = [
    // CUDA_ERROR_STUB_LIBRARY, CUDA_ERROR_NOT_SUPPORTED
    library("cuda", "driver", "cu", "libcuda.so.1", 34, 801),
    // CUBLAS_STATUS_NOT_INITIALIZED, CUBLAS_STATUS_NOT_SUPPORTED
    library("cublas", "cublas", "cublas", "libcublas.so.13", 1, 15),
    library(
        "cublasLt",
        "cublaslt",
        "cublasLt",
        "libcublasLt.so.13",
        1,
        15,
    ),
    // CURAND_STATUS_INITIALIZATION_FAILED
    library("curand", "curand", "curand", "libcurand.so.10", 203, 203),
    // NVRTC_ERROR_INTERNAL_ERROR
    library("nvrtc", "nvrtc", "nvrtc", "libnvrtc.so.13", 11, 11),
    // CUDNN_STATUS_NOT_INITIALIZED, CUDNN_STATUS_NOT_SUPPORTED
    library("cudnn", "cudnn", "cudnn", "libcudnn.so.9", 1001, 3000),
];

const fn library(
    name: &'static str,
    module: &'static str,
    prefix: &'static str,
    file: &'static str,
    absent: u32,
    older: u32,
) -> Library {
    Library {
        name,
        module,
        prefix,
        file,
        absent,
        older,
    }
}

/// Paths of drivers that the dynamic linker does not search: WSL, containers, NixOS.
const DRIVERS: [&str; 3] = [
    "/usr/lib/wsl/lib/libcuda.so.1",
    "/usr/local/nvidia/lib64/libcuda.so.1",
    "/run/opengl-driver/lib/libcuda.so.1",
];

/// Builds the libraries in `folder`. `bindings` is the source of `cudarc`.
pub(super) fn write(bindings: &Path, toolkit: &Toolkit, folder: &Path) -> Result<()> {
    cache::make(folder)?;
    for library in &LIBRARIES {
        let file = bindings.join(library.module).join("sys/mod.rs");
        let text = std::fs::read_to_string(&file).on_file("read", &file)?;
        let functions = functions(&text, library.prefix);
        if functions.is_empty() {
            let (file, name) = (file.display(), library.name);
            bail!("{file} declares no function of lib{name}");
        }
        let source = source(library, &functions, &candidates(library, toolkit));
        compile(library.name, &source, folder)?;
    }
    link_runtime(toolkit, folder)
}

/// Adds `libcudart.a`: a copy of the toolkit's static runtime, which finds the driver by itself, or an empty library
/// if the toolkit has none. Candle's compiled kernels call no function of the runtime.
fn link_runtime(toolkit: &Toolkit, folder: &Path) -> Result<()> {
    let real = toolkit.libraries.join("libcudart_static.a");
    if real.exists() {
        std::fs::copy(&real, folder.join("libcudart.a")).on_file("copy", &real)?;
        return Ok(());
    }
    compile("cudart", "", folder)
}

/// Returns the names of the functions that a module declares, once each, in order.
fn functions<'a>(bindings: &'a str, prefix: &str) -> Vec<&'a str> {
    let names = bindings.match_indices("fn ").map(|(at, _)| {
        let rest = &bindings[at + 3..];
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        rest.split_at(end.unwrap_or(rest.len()))
    });
    let is_ours = |name: &str| {
        let rest = name.strip_prefix(prefix);
        rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
    };
    let called = names.filter(|(name, rest)| rest.starts_with('(') && is_ours(name));
    called
        .map(|(name, _)| name)
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect()
}

/// Returns the paths from which to load a library, in the order in which they are tried.
fn candidates(wanted: &Library, toolkit: &Toolkit) -> Vec<String> {
    if wanted.name == "cuda" {
        // It must be the library of the driver that is running.
        let first = std::iter::once(wanted.file);
        return first.chain(DRIVERS).map(str::to_owned).collect();
    }
    let own = match wanted.name {
        "cudnn" => toolkit.cudnn.clone(),
        name => toolkit::find_library(&toolkit.libraries, &format!("lib{name}.so.")),
    };
    // The bare name too: the program may run on another machine.
    let name = own.as_deref().and_then(Path::file_name).map(Path::new);
    let paths = own.as_deref().into_iter().chain(name);
    let mut paths: Vec<String> = paths.map(|p| p.to_string_lossy().into_owned()).collect();
    paths.push(wanted.file.to_owned());
    paths.dedup();
    paths
}

/// Returns the C source of one library.
fn source(library: &Library, functions: &[&str], candidates: &[String]) -> String {
    let quoted = |texts: &mut dyn Iterator<Item = &str>| {
        texts.fold(String::new(), |all, text| all + &format!("{text:?}, "))
    };
    let files = quoted(&mut candidates.iter().map(String::as_str));
    let names = quoted(&mut functions.iter().copied());
    let mut source = TEMPLATE
        .replace("LIBRARY", library.name)
        .replace("COUNT", &functions.len().to_string())
        .replace("ABSENT", &library.absent.to_string())
        .replace("OLDER", &library.older.to_string())
        .replace("NAMES", &names)
        .replace("FILES", &files);
    for (index, function) in functions.iter().enumerate() {
        let _ = writeln!(source, "ENTRY({function}, {index})");
    }
    source
}

/// The C source that all libraries have in common.
const TEMPLATE: &str = include_str!("shim.c");

/// Compiles a source into a library of its own.
fn compile(name: &str, source: &str, folder: &Path) -> Result<()> {
    let (c, object) = (
        folder.join(format!("{name}.c")),
        folder.join(format!("{name}.o")),
    );
    cache::write_atomically(&c, source.as_bytes())?;
    let mut cc = checks::c_compiler_command();
    run(cc
        .args(["-O1", "-fPIC", "-c"])
        .arg(&c)
        .arg("-o")
        .arg(&object))?;
    let library = folder.join(format!("lib{name}.a"));
    let _ = std::fs::remove_file(&library);
    run(Command::new("ar").arg("crs").arg(&library).arg(&object))
}

fn run(command: &mut Command) -> Result<()> {
    let output = command.output().ok().context(checks::NO_C_COMPILER)?;
    if !output.status.success() {
        let printed = String::from_utf8_lossy(&output.stderr);
        bail!("the shim libraries for CUDA did not compile:\n{printed}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_in_the_bindings() {
        let bindings = "pub type CUstreamCallback = fn(x: i32);\n\
            pub unsafe fn cuInit(Flags: ::core::ffi::c_uint) -> CUresult {\n\
                extern \"C\" { fn cuInit(Flags: ::core::ffi::c_uint) -> CUresult; }\n\
            }\npub fn cublasCreate_v2(x: i32) {}\npub fn cuda(x: i32) {}\nfn cuA3_v2(";
        assert_eq!(functions(bindings, "cu"), ["cuA3_v2", "cuInit"]);
        assert_eq!(functions(bindings, "cublas"), ["cublasCreate_v2"]);
    }

    #[test]
    fn a_library_is_loaded_from_where_it_is_or_by_its_name() {
        let mut toolkit = Toolkit {
            version: (13, 0),
            root: "/cuda".into(),
            libraries: "/cuda/lib".into(),
            cudnn: Some("/packages/cudnn/lib/libcudnn.so.9".into()),
        };
        let cudnn = LIBRARIES.iter().find(|library| library.name == "cudnn");
        let cudnn = cudnn.expect("it is listed");
        let found = candidates(cudnn, &toolkit);
        assert_eq!(
            found,
            ["/packages/cudnn/lib/libcudnn.so.9", "libcudnn.so.9"]
        );
        toolkit.cudnn = None;
        assert_eq!(candidates(cudnn, &toolkit), ["libcudnn.so.9"]);
    }

    /// With a small library in place of CUDA's: arguments of all kinds arrive, also in the first call, and a call
    /// returns an error if the library or the function is missing.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    #[test]
    fn calls_reach_the_library_or_return_an_error_if_it_is_missing() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        let library = library("real", "", "real", "", 34, 801);
        let functions = ["realGetErrorString", "realNewer", "realSum"];
        let files = [at("nowhere.so"), at("libreal.so")];
        let shim = source(&library, &functions, &files);
        std::fs::write(at("shim.c"), shim).expect("written");
        std::fs::write(at("real.c"), REAL).expect("written");
        std::fs::write(at("main.c"), MAIN).expect("written");
        run(Command::new("cc").args(["-shared", "-fPIC", "-o", &at("libreal.so"), &at("real.c")]))
            .expect("the library compiles");
        run(Command::new("cc").args([
            "-O1",
            "-o",
            &at("main"),
            &at("main.c"),
            &at("shim.c"),
            "-ldl",
        ]))
        .expect("the program compiles");
        let output = || {
            let output = Command::new(at("main")).output().expect("it starts");
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        assert_eq!(output(), "165.5 165.5 801 none\n");
        std::fs::remove_file(at("libreal.so")).expect("removed");
        assert!(
            output().ends_with(" 34 libreal could not be loaded\n"),
            "{}",
            output()
        );
    }

    const REAL: &str = r#"
double realSum(int a, long b, int c, int d, int e, int f, int on_stack, double x, float y, double *z) {
    return a + b + c + d + e + f + on_stack + x + y + *z;
}
const char *realGetErrorString(int code) { return "none"; }
"#;

    const MAIN: &str = r#"
#include <stdio.h>
double realSum(int, long, int, int, int, int, int, double, float, double *);
const char *realGetErrorString(int);
int realNewer(int);
int main(void) {
    double z = 128;
    double first = realSum(1, 2, 3, 4, 5, 6, 7, 8.0, 1.5f, &z);
    double second = realSum(1, 2, 3, 4, 5, 6, 7, 8.0, 1.5f, &z);
    printf("%.1f %.1f %d %s\n", first, second, realNewer(1), realGetErrorString(0));
}
"#;
}

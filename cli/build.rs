//! Exports functions of libc that are ours (see `cells` of the crate `taper-session`), so that cells call them; lists the
//! files of the extension of JupyterLab; and packs the files that an installed program carries.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::error::Error;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The functions that take the place of libc's.
const EXPORTED: [&str; 26] = [
    "accept",
    "accept4",
    "aligned_alloc",
    "calloc",
    "clock_nanosleep",
    "connect",
    "flock",
    "free",
    "malloc",
    "open64",
    "poll",
    "posix_memalign",
    "ppoll",
    "pthread_create",
    "pthread_join",
    "read",
    "readv",
    "realloc",
    "recv",
    "recvfrom",
    "recvmsg",
    "send",
    "sendto",
    "waitid",
    "waitpid",
    "write",
];

/// The built extension of JupyterLab, which the wheel installs.
const EXTENSION: &str = "wheel.data/data/share/jupyter/labextensions/taper-lab";

/// The files and folders of the clone that are carried: the sources of an image, the chapters, and what a class needs.
/// The sources of the crates of which `taper` consists are carried too.
const CARRIED: [&str; 10] = [
    "Cargo.lock",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "cli/src/setup/requirements.txt",
    "notebooks",
    "po",
    "packaging/class",
    "packaging/jupyterhub",
    "packaging/nbgrader",
    "src",
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-check-cfg=cfg(carries)");
    export_symbols();
    list_extension()?;
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    if is_release || std::env::var_os("CARGO_FEATURE_CARRY").is_some() {
        carry()?;
    }
    Ok(())
}

fn export_symbols() {
    let target = |name: &str| std::env::var(format!("CARGO_CFG_TARGET_{name}"));
    if target("OS").as_deref() == Ok("linux") && target("ENV").as_deref() == Ok("gnu") {
        for symbol in EXPORTED {
            println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic-symbol={symbol}");
        }
    }
}

/// Writes the list of the extension's files that `setup/labextension.rs` includes. The manifest is the last one: Jupyter
/// looks for it first.
fn list_extension() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(&std::env::var("CARGO_MANIFEST_DIR")?).join(EXTENSION);
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    list(&folder, Path::new(""), &mut files)?;
    files.sort_by_key(|file| file.as_os_str() == "package.json");
    let entries = files.iter().map(|file| {
        let path = folder.join(file);
        format!(
            "({:?}, include_bytes!({path:?})),\n",
            file.display().to_string()
        )
    });
    let entries: String = entries.collect();
    let text = format!("const FILES: &[(&str, &[u8])] = &[\n{entries}];\n");
    let to = Path::new(&std::env::var("OUT_DIR")?).join("labextension.rs");
    Ok(fs::write(to, text)?)
}

/// Writes the archive that `main.rs` includes.
fn carry() -> Result<(), Box<dyn Error>> {
    let clone = clone()?;
    let manifest = clone.join("Cargo.toml");
    println!("cargo:rerun-if-changed={}", manifest.display());
    let manifest: Table = fs::read_to_string(manifest)?.parse()?;
    let members = members(&manifest);
    let of_member = |member: &String| ["Cargo.toml", "src"].map(|name| format!("{member}/{name}"));
    let carried = CARRIED.into_iter().map(str::to_owned);
    let mut files = Vec::new();
    for name in carried.chain(members.iter().flat_map(of_member)) {
        println!("cargo:rerun-if-changed={}", clone.join(&name).display());
        list(&clone, Path::new(&name), &mut files)?;
    }
    let manifest = reduced(manifest, members).into_bytes();
    let mut contents = vec![(PathBuf::from("Cargo.toml"), manifest)];
    for file in files {
        let content = fs::read(clone.join(&file))?;
        contents.push((file, content));
    }
    let mut id = DefaultHasher::new();
    contents.hash(&mut id);
    println!("cargo:rustc-cfg=carries");
    println!("cargo:rustc-env=TAPER_CARRIED_ID={:016x}", id.finish());
    let archive = Path::new(&std::env::var("OUT_DIR")?).join("carried.tar.gz");
    pack(&contents, &archive)
}

/// Returns the folder of the clone. A package that `packaging/crates` makes contains the clone as an archive.
fn clone() -> Result<PathBuf, Box<dyn Error>> {
    let here = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?);
    let Ok(archive) = fs::File::open(here.join("clone.tar")) else {
        return Ok(here.join(".."));
    };
    let unpacked = Path::new(&std::env::var("OUT_DIR")?).join("clone");
    tar::Archive::new(archive).unpack(&unpacked)?;
    Ok(unpacked)
}

/// Adds the file `name`, or all files of the folder `name`, to `files`. Leaves out hidden files, which are
/// leftovers of editors and of Jupyter, `output`, the folder into which chapters write, and what only the book shows.
fn list(clone: &Path, name: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    let path = clone.join(name);
    if !path.is_dir() {
        files.push(name.to_owned());
        return Ok(());
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(&path)? {
        names.push(entry?.file_name());
    }
    names.sort();
    let is_carried = |name: &str| {
        !name.starts_with(['.', '_']) && name != "output" && !name.ends_with(".frames.json")
    };
    for entry in names {
        if entry.to_str().is_some_and(is_carried) {
            list(clone, &name.join(entry), files)?;
        }
    }
    Ok(())
}

/// Returns the folders of the crates that the manifest of `taper` names by their paths.
fn members(manifest: &Table) -> Vec<String> {
    let dependencies = manifest["dependencies"].as_table().into_iter().flatten();
    dependencies
        .filter_map(|(_, dependency)| Some(dependency.get("path")?.as_str()?.to_owned()))
        .collect()
}

/// Returns the clone's manifest, reduced to a workspace of the crates that are carried.
fn reduced(mut manifest: Table, members: Vec<String>) -> String {
    let kept = [
        "workspace",
        "package",
        "lints",
        "lib",
        "dependencies",
        "features",
    ];
    manifest.retain(|key, _| kept.contains(&key));
    if let Some(Value::Table(workspace)) = manifest.get_mut("workspace") {
        workspace.retain(|key, _| ["package", "lints", "resolver"].contains(&key));
        workspace.insert("members".into(), members.into());
    }
    manifest.to_string()
}

fn pack(contents: &[(PathBuf, Vec<u8>)], to: &Path) -> Result<(), Box<dyn Error>> {
    let encoder = GzEncoder::new(fs::File::create(to)?, Compression::best());
    let mut builder = tar::Builder::new(encoder);
    for (name, content) in contents {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Regular);
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, content.as_slice())?;
    }
    builder.into_inner()?.finish()?;
    Ok(())
}

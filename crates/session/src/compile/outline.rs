//! An outline of a shared library: all that rustc reads of it, and nothing for the linker to read.
//!
//! To find the dozen functions that a cell calls, the linker reads the names of all 34,000 that the library
//! `taper` has; that takes longer than the rest of its work. A shared library, such as a cell, may leave names
//! open, for the dynamic loader to find. So rustc is given a file with the library's metadata and the name under
//! which the loader knows it, and no symbols.

use super::memory;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use taper_host::cache;

/// A library and its outline.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Outline {
    library: PathBuf,
    file: PathBuf,
}

impl Outline {
    /// Writes the outline of a library for the session, if the library is a 64-bit ELF file.
    pub(crate) fn of(library: &Path, session: &Path) -> Option<Outline> {
        let name = library.file_name()?;
        let outline = outline(&std::fs::read(library).ok()?, name.to_str()?)?;
        let folder = memory::folder(session);
        let file = folder.join(name);
        cache::make(&folder).ok()?;
        cache::write_atomically(&file, &outline).ok()?;
        let library = library.to_owned();
        Some(Outline { library, file })
    }

    /// Returns the outline's file, unless the library has been compiled again.
    pub(crate) fn current(&self) -> Option<&Path> {
        let modified = |file: &Path| std::fs::metadata(file).ok()?.modified().ok();
        (modified(&self.file)? >= modified(&self.library)?).then_some(&self.file)
    }
}

/// Returns the names and files of the dependencies that rustc gets as shared libraries, if it is told to
/// prefer these.
pub(crate) fn shared_libraries<'a>(
    arguments: impl Iterator<Item = &'a str> + Clone,
) -> Vec<(&'a str, &'a str)> {
    if !arguments
        .clone()
        .any(|argument| argument == "-Cprefer-dynamic")
    {
        return Vec::new();
    }
    let pairs = arguments.filter_map(|argument| argument.split_once('='));
    pairs
        .filter(|(_, file)| file.ends_with(std::env::consts::DLL_SUFFIX))
        .collect()
}

/// Returns whether this is the static form of a dependency that rustc also gets as a shared library.
/// rustc would read the metadata of both.
pub(crate) fn is_static_form(dependency: &str, shared: &[(&str, &str)]) -> bool {
    let is_of = |name: &str| shared.iter().any(|(shared, _)| *shared == name);
    dependency
        .split_once('=')
        .is_some_and(|(name, file)| file.ends_with(".rlib") && is_of(name))
}

/// Sizes in 64-bit ELF files.
const HEADER: usize = 64;
const SECTION: usize = 64;
const SYMBOL: usize = 24;
/// Types of sections.
const PROGBITS: u32 = 1;
const STRTAB: u32 = 3;
const DYNAMIC: u32 = 6;
const DYNSYM: u32 = 11;
/// Entries of the dynamic section.
const DT_SONAME: u64 = 14;
const ALLOCATED: u64 = 2;
const METADATA: &str = ".rustc";
/// The sections of an outline, after the empty first one.
const NAMES: &[u8] = b"\0.dynstr\0.dynsym\0.dynamic\0.rustc\0.shstrtab\0";

/// A section of a library: the offset of its name, and where it is in the file.
struct Section {
    name: usize,
    start: usize,
    size: usize,
}

fn outline(library: &[u8], name: &str) -> Option<Vec<u8>> {
    let header = library.get(..HEADER)?;
    // 64 bits, little-endian.
    header.starts_with(b"\x7fELF\x02\x01").then_some(())?;
    let sections = number(header, 40, 8)?;
    let section = |index: usize| {
        let at = sections.checked_add(index * SECTION)?;
        let entry = library.get(at..at.checked_add(SECTION)?)?;
        Some(Section {
            name: number(entry, 0, 4)?,
            start: number(entry, 24, 8)?,
            size: number(entry, 32, 8)?,
        })
    };
    let bytes = |section: &Section| library.get(section.start..section.start + section.size);
    let names = section(number(header, 62, 2)?)?;
    let names = bytes(&names)?;
    let is_metadata = |section: &Section| {
        let name = names.get(section.name..).unwrap_or_default();
        name.starts_with(METADATA.as_bytes()) && name.get(METADATA.len()) == Some(&0)
    };
    let mut found = (0..number(header, 60, 2)?).filter_map(section);
    let metadata = found.find(is_metadata)?;
    Some(written(header, bytes(&metadata)?, name))
}

fn number(bytes: &[u8], at: usize, size: usize) -> Option<usize> {
    let mut number = [0; 8];
    number[..size].copy_from_slice(bytes.get(at..at + size)?);
    usize::try_from(u64::from_le_bytes(number)).ok()
}

/// Returns a shared library of this name that contains only metadata, for the machine of the library
/// with this header.
fn written(header: &[u8], metadata: &[u8], name: &str) -> Vec<u8> {
    let mut file = vec![0; HEADER];
    let mut put = |bytes: &[u8]| {
        file.resize(file.len().next_multiple_of(16), 0);
        let at = file.len();
        file.extend_from_slice(bytes);
        at as u64
    };
    let text = [b"\0", name.as_bytes(), b"\0"].concat();
    let dynamic: Vec<u8> = [DT_SONAME, 1, 0, 0].map(u64::to_le_bytes).concat();
    let sections = [
        (".dynstr", STRTAB, ALLOCATED, put(&text), text.len(), 0, 0),
        (
            ".dynsym",
            DYNSYM,
            ALLOCATED,
            put(&[0; SYMBOL]),
            SYMBOL,
            1,
            SYMBOL,
        ),
        (
            ".dynamic",
            DYNAMIC,
            ALLOCATED,
            put(&dynamic),
            dynamic.len(),
            1,
            16,
        ),
        (METADATA, PROGBITS, 0, put(metadata), metadata.len(), 0, 0),
        (".shstrtab", STRTAB, 0, put(NAMES), NAMES.len(), 0, 0),
    ];
    let mut table = vec![0; SECTION];
    for (section, kind, flags, start, size, link, entry) in sections {
        let at = memchr::memmem::find(NAMES, section.as_bytes()).unwrap_or_default();
        table.extend([at as u32, kind].map(u32::to_le_bytes).concat());
        // The address in memory is the offset in the file.
        table.extend(
            [flags, start, start, size as u64]
                .map(u64::to_le_bytes)
                .concat(),
        );
        // The first symbol that is not local.
        let first = u32::from(kind == DYNSYM);
        table.extend([link, first].map(u32::to_le_bytes).concat());
        table.extend([8, entry as u64].map(u64::to_le_bytes).concat());
    }
    let at = put(&table);
    // A library, for the same machine, with no segments.
    file[..24].copy_from_slice(&header[..24]);
    file[40..48].copy_from_slice(&at.to_le_bytes());
    file[48..54].copy_from_slice(&header[48..54]);
    let counts = [
        SECTION as u16,
        sections.len() as u16 + 1,
        sections.len() as u16,
    ];
    file[58..64].copy_from_slice(&counts.map(u16::to_le_bytes).concat());
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outline_has_the_metadata_and_the_name() {
        let mut header = vec![0; HEADER];
        header[..6].copy_from_slice(b"\x7fELF\x02\x01");
        header[18] = 62;
        let library = written(&header, b"all types", "libtaper.so");
        let again = outline(&library, "libown.so").expect("it is a library");
        let has = |text: &[u8]| memchr::memmem::find(&again, text).is_some();
        assert!(has(b"all types") && has(b"\0libown.so\0") && again[18] == 62);
        assert_eq!(outline(&library[..200], "libown.so"), None, "it is cut off");
        assert_eq!(outline(b"\xcf\xfa\xed\xfe", "libown.dylib"), None);
    }

    #[test]
    fn an_outline_is_of_use_until_the_library_is_compiled_again() {
        let session = tempfile::tempdir().expect("a folder");
        let library = session.path().join("libown.so");
        let mut header = vec![0; HEADER];
        header[..6].copy_from_slice(b"\x7fELF\x02\x01");
        std::fs::write(&library, written(&header, b"", "libown.so")).expect("a file");
        let outline = Outline::of(&library, session.path()).expect("it is a library");
        assert!(outline.current().is_some());
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
        let file = std::fs::File::options().append(true).open(&library);
        let file = file.expect("it is ours");
        file.set_modified(later).expect("it is ours");
        assert_eq!(outline.current(), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_compiled_with_an_outline_runs_with_the_library() {
        use std::process::Command;
        let folder = tempfile::tempdir().expect("a folder");
        let found = taper_host::toolchain::get().expect("there is a compiler");
        let compile = |name: &str, source: &str, arguments: &[std::ffi::OsString]| {
            let file = folder.path().join(name).with_extension("rs");
            std::fs::write(&file, source).expect("a file");
            let mut rustc = Command::new(&found.rustc);
            rustc.args(["--edition=2024", "-Cprefer-dynamic", "-Crpath", "--out-dir"]);
            let made = rustc.arg(folder.path()).arg(file).args(arguments).output();
            let made = made.expect("rustc starts");
            assert!(made.status.success(), "{made:?}");
            folder.path().join(format!("lib{name}.so"))
        };
        let source = "pub fn own(n: u32) -> u32 { COUNT.set(COUNT.get() + n); COUNT.get() }\n\
            thread_local! { pub static COUNT: std::cell::Cell<u32> = const { std::cell::Cell::new(1) }; }";
        let library = compile("own", source, &["--crate-type=dylib".into()]);
        let outline = Outline::of(&library, folder.path()).expect("it is a library");
        let outline = outline.current().expect("it is new").to_string_lossy();
        let calls = [found.rustc.clone().into_os_string()];
        let host = taper_host::toolchain::host().expect("rustc says it");
        let linker = super::super::linker::Linker::of(&calls, host);
        let mut arguments = ["--crate-type=cdylib", "-Clink-arg=--no-as-needed"]
            .map(Into::into)
            .to_vec();
        arguments.push(format!("--extern=own={outline}").into());
        arguments.push(format!("-Clink-arg={outline}").into());
        arguments.extend(linker.iter().flat_map(|linker| linker.arguments()));
        let source = "#[unsafe(no_mangle)] pub extern \"C\" fn run() -> u32 { own::own(40) + own::COUNT.get() }";
        let cell = compile("cell", source, &arguments);
        // SAFETY: neither library runs code when it is loaded.
        let loaded = [library, cell].map(|file| unsafe { libloading::Library::new(file) });
        let [_library, cell] = loaded.map(|library| library.expect("it is loaded"));
        // SAFETY: the function has this type.
        let run = unsafe { cell.get::<extern "C" fn() -> u32>(b"run") };
        assert_eq!(run.expect("it is there")(), 82);
    }
}

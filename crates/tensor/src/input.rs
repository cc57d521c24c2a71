//! Files and texts of the user, which may be anything.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

/// Returns the content of a file. Refuses a pipe or a device: reading it may wait without end, or have none.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    // Before it is opened: opening a pipe waits for its writer.
    refuse_device(path)?;
    std::fs::read(path)
}

/// Returns an error if the path is a pipe or a device. It may be missing.
pub fn refuse_device(path: &Path) -> Result<()> {
    match std::fs::metadata(path) {
        Ok(found) if !found.is_file() && !found.is_dir() => {
            let message = "it is a pipe or a device, not a file";
            Err(Error::new(ErrorKind::InvalidInput, message))
        }
        _ => Ok(()),
    }
}

/// Returns the beginning of a name, for a message: a damaged file may contain a name of megabytes.
pub fn shortened(name: &str) -> Cow<'_, str> {
    const LENGTH: usize = 100;
    match name.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}… ({} bytes)", &name[..end], name.len()).into(),
        None => name.into(),
    }
}

/// Returns the folder that the variable `own` names, else `taper` in a folder of the system: that of the variable `xdg`, or
/// `unix` or `mac` in the user's home.
pub fn folder(
    environment: &dyn Fn(&str) -> Option<OsString>,
    own: &str,
    [xdg, unix, mac]: [&str; 3],
) -> Option<PathBuf> {
    let variable = |name: &str| {
        let value = environment(name).filter(|value| !value.is_empty());
        value.map(PathBuf::from)
    };
    let in_home = |folder: &str| Some(variable("HOME")?.join(folder));
    let system = || match std::env::consts::OS {
        "windows" => variable("LOCALAPPDATA"),
        "macos" => in_home(mac),
        _ => variable(xdg)
            .filter(|folder| folder.is_absolute())
            .or_else(|| in_home(unix)),
    };
    variable(own).or_else(|| Some(system()?.join("taper")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_pipe_is_refused_before_it_is_opened() {
        let pipe = std::env::temp_dir().join(format!("taper_pipe_{}", std::process::id()));
        let made = Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        for path in [pipe.as_path(), "/dev/zero".as_ref()] {
            let message = read(path).unwrap_err().to_string();
            assert_eq!(message, "it is a pipe or a device, not a file");
        }
        std::fs::remove_file(pipe).unwrap();
    }

    #[test]
    fn a_long_name_is_shortened() {
        assert_eq!(shortened(&"é".repeat(100)), "é".repeat(100));
        let long = shortened(&"é".repeat(5000)).into_owned();
        assert_eq!(long, format!("{}… (10000 bytes)", "é".repeat(100)));
    }
}

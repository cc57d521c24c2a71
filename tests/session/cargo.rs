//! Our program in cargo's place, called as evcxr calls it. A fake cargo, which differs from today's, is in the
//! place of the real one: another layout of folders, other texts in the log, other keys in the messages, another
//! order.

use crate::common::{events, python};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The fake cargo. It compiles `ctx` into a folder that no real cargo uses, and counts its calls.
const FAKE: &str = r#"#!/bin/sh
echo called >> "$FAKE_CALLS"
echo "   Weaving ctx v1 (nothing of this is known)" >&2
out="$PWD/woven/$(date +%N)/lib"
mkdir -p "$out" "$PWD/woven/incremental"
"$RUSTC_WORKSPACE_WRAPPER" "$RUSTC" -vV > /dev/null || exit 3
export CARGO_PKG_NAME=ctx CARGO_PKG_VERSION=1.0.0 CARGO_MAKEFLAGS="-j --jobserver-fds=98,99"
CARGO_PRIMARY_PACKAGE=1 "$RUSTC_WORKSPACE_WRAPPER" "$RUSTC" --crate-name ctx --edition=2024 src/lib.rs \
    --error-format=json --json=artifacts,diagnostic-rendered-ansi --crate-type cdylib \
    --emit=dep-info,link -C opt-level=1 -C "incremental=$PWD/woven/incremental" --out-dir "$out" \
    2> woven/messages || { cat woven/messages >&2; exit 101; }
echo "{\"new_key\":[1],\"filenames\":[\"$out/libctx.so\"],\"target\":{\"kind\":[\"cdylib\"],\"name\":\"ctx\"},\"reason\":\"compiler-artifact\"}"
"#;

struct Session {
    folder: tempfile::TempDir,
}

impl Session {
    fn new() -> Session {
        let folder = tempfile::tempdir().expect("a folder");
        let session = Session { folder };
        let bin = session.path("cargo-home/bin");
        std::fs::create_dir_all(&bin).expect("a folder");
        std::fs::create_dir_all(session.path("work/src")).expect("a folder");
        for name in ["cargo", "rustup", "taper-recorder"] {
            std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_taper"), bin.join(name))
                .expect("a link");
        }
        let fake = session.path("fake-cargo");
        std::fs::write(&fake, FAKE).expect("a file");
        std::fs::set_permissions(&fake, std::fs::Permissions::from_mode(0o755))
            .expect("it is ours");
        session.manifest("");
        session
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn manifest(&self, more: &str) {
        let text = format!("[package]\nname = \"ctx\"\nversion = \"1.0.0\"\n{more}");
        std::fs::write(self.path("work/Cargo.toml"), text).expect("a file");
    }

    /// Returns how often the fake cargo has been called.
    fn calls(&self) -> usize {
        let calls = std::fs::read_to_string(self.path("calls")).unwrap_or_default();
        calls.lines().count()
    }

    fn build(&self, source: &str) -> Output {
        std::fs::write(self.path("work/src/lib.rs"), source).expect("a file");
        let rustc = rustc();
        Command::new(env!("CARGO_BIN_EXE_taper"))
            .arg0("cargo")
            .args([
                "build",
                "--target",
                host().as_str(),
                "--message-format=json",
            ])
            .current_dir(self.path("work"))
            .env("TAPER_CARGO_HOME", self.path("no-cargo-home"))
            .env("CARGO_HOME", self.path("cargo-home"))
            .env("TAPER_SESSION", self.folder.path())
            .env("TAPER_CARGO", self.path("fake-cargo"))
            .env("TAPER_RUSTC", &rustc)
            .env("RUSTC", &rustc)
            .env("FAKE_CALLS", self.path("calls"))
            .output()
            .expect("it starts")
    }

    /// Returns the path of the library that the messages name.
    fn library(&self, output: &Output) -> PathBuf {
        let messages = String::from_utf8_lossy(&output.stdout);
        let mut messages = messages.lines().map(|line| {
            serde_json::from_str::<serde_json::Value>(line).expect("each message is JSON")
        });
        let artifact = messages.find(|message| message["reason"] == "compiler-artifact");
        let artifact = artifact.expect("the library is announced");
        assert_eq!(artifact["target"]["name"], "ctx");
        artifact["filenames"][0].as_str().expect("a path").into()
    }
}

fn rustc() -> PathBuf {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output();
    let sysroot = sysroot.expect("rustc starts").stdout;
    Path::new(String::from_utf8_lossy(&sysroot).trim()).join("bin/rustc")
}

fn host() -> String {
    let version = Command::new("rustc")
        .arg("-vV")
        .output()
        .expect("rustc starts");
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.expect("rustc says its host").to_owned()
}

fn cell(function: &str) -> String {
    format!("#[unsafe(no_mangle)] pub extern \"C\" fn {function}() -> i32 {{ 7 }}")
}

fn has(library: &Path, function: &str) -> bool {
    let content = std::fs::read(library).expect("the library is there");
    content
        .windows(function.len())
        .any(|bytes| bytes == function.as_bytes())
}

#[test]
fn a_recorded_call_is_repeated_without_cargo() {
    let session = Session::new();
    let first = session.build(&cell("first_cell"));
    assert!(first.status.success(), "{first:?}");
    assert!(has(&session.library(&first), "first_cell"));
    assert_eq!(session.calls(), 1);

    let second = session.build(&cell("second_cell"));
    assert!(second.status.success(), "{second:?}");
    assert!(has(&session.library(&second), "second_cell"));
    assert_eq!(
        second.stderr, b"",
        "rustc finds no dead descriptors of a job server"
    );
    assert_eq!(session.calls(), 1, "cargo was not needed");
}

#[test]
fn an_error_of_the_cell_is_passed_on_as_cargo_would() {
    let session = Session::new();
    session.build(&cell("first_cell"));
    let wrong = session.build("pub fn f() -> u8 { \"text\" }");
    assert_eq!(wrong.status.code(), Some(101));
    let said = String::from_utf8_lossy(&wrong.stdout);
    assert!(
        said.contains("\"reason\":\"compiler-message\"") && said.contains("E0308"),
        "{said}"
    );
    assert_eq!(session.calls(), 1, "cargo was not needed");
}

#[test]
fn cargo_is_called_when_the_manifest_is_another() {
    let session = Session::new();
    session.build(&cell("first_cell"));
    session.manifest("description = \"changed\"\n");
    assert!(session.build(&cell("second_cell")).status.success());
    assert_eq!(session.calls(), 2);
    // Both manifests are known by now.
    session.manifest("");
    assert!(session.build(&cell("third_cell")).status.success());
    assert_eq!(session.calls(), 2);
}

#[test]
fn cargo_is_called_when_a_repeated_call_fails_for_another_reason() {
    let session = Session::new();
    session.build(&cell("first_cell"));
    // A file is now in the place of the library's folder.
    std::fs::remove_dir_all(session.path("work/cells")).ok();
    std::fs::write(session.path("work/cells"), "").expect("a file");
    assert!(session.build(&cell("second_cell")).status.success());
    assert_eq!(session.calls(), 2);
}

#[test]
#[cfg(target_os = "linux")]
fn a_session_starts_with_what_its_image_knows() {
    if !events::uses_evcxr() {
        return;
    }
    let session = events::own_session();
    let kept = |work: PathBuf| -> BTreeSet<OsString> {
        let files = std::fs::read_dir(work.join("answers")).expect("a folder");
        files.flatten().map(|file| file.file_name()).collect()
    };
    let images = std::fs::read_dir(python::cache().join("images")).expect("a folder");
    let known = images.flatten().map(|image| image.path().join("work"));
    let known: BTreeSet<_> = known.filter(|work| work.exists()).flat_map(kept).collect();
    let own = kept(session.folder().join("work"));
    let new: Vec<_> = own.difference(&known).collect();
    assert!(
        !own.is_empty() && new.is_empty(),
        "cargo was asked for {new:?}"
    );
}

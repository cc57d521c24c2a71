//! Each test program is run: by `cargo test`, or by steps of `.ci/run` and `.ci/nightly`.

use super::read;

#[test]
fn test_programs_that_cargo_test_leaves_out_are_run_by_ci() {
    let mut left_out = 0;
    for manifest in ["Cargo.toml", "cli/Cargo.toml", "tests/Cargo.toml"] {
        let manifest: toml::Table = read(manifest).parse().expect("a manifest");
        for target in manifest["test"].as_array().into_iter().flatten() {
            if target.get("test").and_then(toml::Value::as_bool) == Some(false) {
                let name = target["name"].as_str().expect("a name");
                for (file, end) in [
                    (".ci/run", " || failed=1"),
                    (".ci/nightly", " -- --ignored || failed=1"),
                ] {
                    let is_step = |line: &str| {
                        let step = line
                            .strip_prefix("step tests ")
                            .and_then(|it| it.strip_suffix(end));
                        step.is_some_and(|step| {
                            format!("{step} ").contains(&format!("--test {name} "))
                        })
                    };
                    assert!(
                        read(file).lines().any(is_step),
                        "{file} does not run {name}"
                    );
                }
                left_out += 1;
            }
        }
    }
    assert!(left_out > 0, "no program is left out");
}

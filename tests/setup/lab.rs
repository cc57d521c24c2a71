//! `taper lab`, which opens JupyterLab while the library is compiled.

use super::common::browser::{free_port, has_chromium};
use super::common::python::python;
use super::common::{root, run_within};
use super::place::{Place, Running, rust_with, script};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const TO_RUN: Duration = Duration::from_secs(300);

/// Returns a PATH whose cargo compiles the library only once the file `go` is there.
pub(crate) fn held(place: &Place, go: &Path) -> std::ffi::OsString {
    let held = format!(
        "case \"$1 $PWD\" in 'build '*/trial/*) ;; 'build '*) while [ ! -e '{}' ]; do sleep 0.1; done ;; esac",
        go.display()
    );
    rust_with(
        &place.path().join("held"),
        [("cargo", &held), ("rustc", "")],
    )
}

/// Writes a Jupyter that knows its data folder, and whose JupyterLab ends once a file is there. Returns both.
fn jupyter(place: &Place) -> (PathBuf, PathBuf) {
    let (program, end) = (place.path().join("jupyter"), place.path().join("end"));
    let data = place.path().join("jupyter-data");
    let text = format!(
        "#!/bin/sh\ncase \"$1\" in\n    --version) echo 5 ;;\n    --paths) echo '{}' ;;\n    lab) test -n \"$JUPYTERLAB_WORKSPACES_DIR\" && echo JupyterLab runs; \
         while [ ! -e '{}' ]; do sleep 0.1; done ;;\nesac\n",
        json!({ "data": [data] }),
        end.display()
    );
    script(&program, &text);
    (program, end)
}

fn lab(place: &Place, jupyter: &Path) -> Running {
    let lab = place.taper(["lab", "--no-browser", "--jupyter"]);
    lab.argument(jupyter).start()
}

#[test]
fn two_labs_open_at_once_and_one_compiles() {
    let place = Place::empty();
    let (jupyter, end) = jupyter(&place);
    let mut labs = [lab(&place, &jupyter), lab(&place, &jupyter)];
    for lab in &mut labs {
        assert!(lab.until(|lab| lab.said().contains("JupyterLab runs")));
        assert!(!lab.said().contains("Compiled in"), "{}", lab.said());
    }
    assert!(labs[0].until(|_| {
        place
            .processes()
            .iter()
            .all(|it| !it.contains("--background"))
    }));
    fs::write(end, "").expect("the file is written");
    let said = labs.map(|lab| lab.ends().succeeds().text);
    let compiled = said.iter().filter(|said| said.contains("Compiled in"));
    assert_eq!(compiled.count(), 1, "{said:#?}");
    place
        .taper(["image", "export"])
        .argument(&place.path().join("image"))
        .run()
        .succeeds();
}

#[test]
fn a_lab_that_ends_or_is_killed_while_the_library_is_compiled_leaves_nothing_broken() {
    for is_killed in [false, true] {
        let place = Place::empty();
        let (jupyter, end) = jupyter(&place);
        let mut lab = lab(&place, &jupyter);
        assert!(lab.until(|_| place.file_of_image("libserde_core", ".rmeta").is_some()));
        if is_killed {
            lab.kill();
        } else {
            fs::write(end, "").expect("the file is written");
            lab.ends().succeeds();
        }
        place.becomes_quiet();
        place.taper(["setup"]).run().succeeds().says("Compiled in");
        place.taper(["doctor"]).run().succeeds();
    }
}

/// The first cell has a stored output; the third lets the library be compiled.
#[test]
fn a_student_reads_and_runs_plain_rust_while_the_library_is_compiled() {
    if !has_chromium() {
        return;
    }
    let place = Place::empty();
    let go = place.path().join("go");
    let cells = [
        "let mut v = vec![1, 2];\nv".to_owned(),
        "zeros(v.len()).len()".to_owned(),
        format!("std::fs::write({go:?}, \"\")?;\nv.push(3);"),
    ];
    let notebook = place.notebook("");
    let text = fs::read_to_string(&notebook).expect("the notebook");
    let mut content: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let cell = |(number, source): (usize, &String)| {
        let stored = json!([{ "output_type": "stream", "name": "stdout", "text": "stored" }]);
        json!({
            "cell_type": "code", "id": format!("cell-{number}"), "metadata": {}, "execution_count": null,
            "outputs": if number == 0 { stored } else { json!([]) }, "source": source,
        })
    };
    content["cells"] = cells.iter().enumerate().map(cell).collect();
    fs::write(&notebook, content.to_string()).expect("the notebook is written");

    let jupyter = python().with_file_name("jupyter");
    let call = place.taper([
        "lab",
        "--no-browser",
        "--port",
        &free_port().to_string(),
        "--jupyter",
    ]);
    let mut call = call.argument(&jupyter).argument(&notebook);
    for name in ["DATA_DIR", "CONFIG_DIR", "RUNTIME_DIR"] {
        call = call.env(&format!("JUPYTER_{name}"), place.path().join(name));
    }
    let mut lab = call.env("PATH", held(&place, &go)).start();
    let url = |lab: &Running| {
        let said = lab.said();
        let mut words = said.split_whitespace();
        words
            .find(|it| it.starts_with("http://127") && it.contains("token="))
            .map(str::to_owned)
    };
    assert!(lab.until(|lab| url(lab).is_some()), "{}", lab.said());
    let mut student = Command::new(python());
    student
        .arg("tests/python/lab_meanwhile.py")
        .current_dir(root());
    student.args([
        "--url",
        &url(&lab).expect("an address"),
        "--notebook",
        "notebook.ipynb",
    ]);
    student.args(["--screenshots", "tests/output/meanwhile"]);
    let said = run_within(TO_RUN, student);
    assert!(
        said.status.success(),
        "{}\nJupyterLab said:\n{}",
        said.all(),
        lab.said()
    );
    lab.kill();
    place.becomes_quiet();
}

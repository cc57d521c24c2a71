//! `taper publish`, read in a browser from its file: sliders, a model, both themes.

use crate::common::browser::has_chromium;
use crate::common::python::python;
use crate::common::{notebook_of, root, run_within, taper};
use serde_json::json;
use std::process::Command;
use std::time::Duration;

/// The limit includes building the warm image, which the first run does.
const TO_RUN: Duration = Duration::from_secs(900);

const CELLS: [&str; 4] = [
    "interact([slider(\"frequency\", 1.0..=9.0).step(4.0), slider(\"phase\", 0.0..=1.0)], |[frequency, phase]| {\n    \
         let xs = linspace(0.0, 6.3, 20);\n    \
         Ok(plot(&xs, &[&(&xs * frequency + phase).sin()]).title(format!(\"{frequency} and {phase}\")))\n\
     });",
    "manual_seed(1);\n\
     let net = seq![\n    \
         Conv2d::new(1, 4, 3).padding(1), ReLU, MaxPool2d::new(2), BatchNorm2d::new(4), Flatten, Linear::new(64, 3), Dropout::new(0.5)\n\
     ];",
    "net.set_training(false);\n\
     println!(\"{:?}\", net.forward(&linspace(-1.0, 1.0, 64).reshape((1, 1, 8, 8))).to_vec2::<f32>()[0])",
    "// Input: 1, 8, 8\n// Labels: ring, disc, square\nnet",
];

#[test]
fn a_published_page_needs_no_server() {
    if !has_chromium() {
        return;
    }
    let folder = root().join("tests/output/publish");
    std::fs::create_dir_all(&folder).expect("a folder");
    let notebook = folder.join("page.ipynb");
    let mut document = notebook_of(&CELLS);
    document["cells"][3]["metadata"]["tags"] = json!(["publish-model"]);
    let title = "# A page <b>of</b> $x^2$\n\nA [chapter](../../../notebooks/01-welcome.ipynb), $$\\sum_i x_i$$ and [a site](https://example.org).\n\n## One\n\n## Two?\n\n## Three";
    let prose = json!({"cell_type": "markdown", "id": "title", "metadata": {}, "source": title});
    document["cells"]
        .as_array_mut()
        .expect("cells")
        .insert(0, prose);
    std::fs::write(&notebook, document.to_string()).expect("the notebook is written");
    let path = notebook.to_str().expect("a plain path");
    let said = run_within(TO_RUN, taper(&["run", "--inplace", path]));
    assert!(said.status.success(), "{}", said.all());
    let before = std::fs::read(&notebook).expect("the notebook");

    let to = folder.to_str().expect("a plain path");
    let said = run_within(
        TO_RUN,
        taper(&["publish", path, "--to", to, "--frames", "9"]),
    );
    assert!(said.status.success(), "{}", said.all());
    assert!(
        said.stderr.contains("which is not part of the page"),
        "{}",
        said.all()
    );
    assert_eq!(
        std::fs::read(&notebook).expect("the notebook"),
        before,
        "it stays as it was"
    );

    let mut visit = Command::new(python());
    visit
        .arg("tests/python/publish_visit.py")
        .arg(folder.join("index.html"))
        .current_dir(root());
    visit.arg("--screenshots").arg(&folder);
    let said = run_within(TO_RUN, visit);
    assert!(said.status.success(), "{}", said.all());
}

#[test]
fn a_model_that_a_page_cannot_run_is_named() {
    let folder = root().join("tests/output/publish-refused");
    std::fs::create_dir_all(&folder).expect("a folder");
    let notebook = folder.join("page.ipynb");
    let mut document = notebook_of(&["// Input: 3\nseq![LayerNorm::new(3)]"]);
    document["cells"][0]["metadata"]["tags"] = json!(["publish-model"]);
    std::fs::write(&notebook, document.to_string()).expect("the notebook is written");
    let (path, to) = (
        notebook.to_str().expect("a path"),
        folder.to_str().expect("a path"),
    );
    let said = run_within(TO_RUN, taper(&["publish", path, "--to", to]));
    assert!(!said.status.success());
    assert!(
        said.stderr.contains(
            "the model of cell cell-1 cannot be part of a page: a page cannot run LayerNorm"
        ),
        "{}",
        said.all()
    );
    assert!(!folder.join("index.html").exists());
}

#!/usr/bin/env python3
"""Adds fifteen popular packages with `:dep`, one after the other, in one session, and then in a second one.

    python3 benches/kernel/packages.py [--keep]

Prints how long each took, whether all variables live, and whether the process that runs the cells was restarted. Needs a
network the first time. What sessions have compiled before is put aside meanwhile, unless `--keep` is given.
"""

import contextlib
import shutil
import sys
import time
from collections.abc import Iterator

from run import cache
from student import Session

# Name, value, and a cell that uses the package and keeps a variable.
PACKAGES = [
    ("serde", '{ version = "1", features = ["derive"] }', "#[derive(serde::Serialize)]\nstruct Row { x: i32 }\nlet row = Row { x: 1 };"),
    ("serde_json", '"1"', "let json = serde_json::to_value(&row).unwrap();"),
    ("rand", '"0.9"', "let die: u8 = rand::random_range(1..=6);"),
    ("itertools", '"0.14"', "let products = itertools::Itertools::collect_vec(1..4);"),
    ("regex", '"1"', 'let digits = regex::Regex::new(r"\\d+").unwrap();'),
    ("chrono", '"0.4"', "let day = chrono::NaiveDate::from_ymd_opt(2024, 2, 29).unwrap();"),
    ("num", '"0.4"', "let big = num::BigInt::from(2).pow(100);"),
    ("ndarray", '"0.16"', "let matrix = ndarray::arr2(&[[1.0, 2.0], [3.0, 4.0]]);"),
    ("rayon", '"1"', "use rayon::prelude::*;\nlet squares: i64 = (0..1000i64).into_par_iter().map(|x| x * x).sum();"),
    ("anyhow", '"1"', 'let failure = anyhow::anyhow!("no").to_string();'),
    ("thiserror", '"2"', '#[derive(Debug, thiserror::Error)]\n#[error("bad {0}")]\nstruct Bad(i32);\nlet bad = Bad(3);'),
    ("tokio", '{ version = "1", features = ["rt", "time"] }', "let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();"),
    ("ureq", '{ version = "3", default-features = false }', "let agent = ureq::Agent::new_with_defaults();"),
    ("image", '{ version = "0.25", default-features = false, features = ["png", "bmp"] }', "let photo = image::RgbImage::new(4, 4);"),
    ("nalgebra", '"0.34"', "let vector = nalgebra::Vector3::new(1.0, 2.0, 3.0);"),
]
BEFORE = "let t = ones((2, 3));\nlet text = String::from(\"kept\");"
AFTER = "(t.dims().len(), text.len(), json[\"x\"].as_i64(), digits.is_match(\"1\"), day.to_string(), big.bits(), matrix.sum(), " \
    "bad.to_string(), photo.width(), vector.norm() > 3.0, row.x)"


def main() -> None:
    with contextlib.nullcontext() if "--keep" in sys.argv else nothing_kept():
        for what in ("first session", "second session"):
            print(f"\n{what}: seconds to add the package, milliseconds for the cell that uses it")
            add_all()


@contextlib.contextmanager
def nothing_kept() -> Iterator[None]:
    """Puts aside what sessions have compiled before."""
    folders = list((cache() / "images").glob("*/packages"))
    for folder in folders:
        folder.rename(folder.with_name("packages-aside"))
    try:
        yield
    finally:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
            folder.with_name("packages-aside").rename(folder)


def add_all() -> None:
    with Session("taper") as session:
        session.run(BEFORE)
        began = time.monotonic()
        for name, value, use in PACKAGES:
            added, said = session.run(f":dep {name} = {value}")
            used, more = session.run(use)
            print(f"  {name:12} {added:8.2f} {1000 * used:8.0f}  {(said + more).strip()}".rstrip(), flush=True)
        print(f"  {'all':12} {time.monotonic() - began:8.2f}")
        _, said = session.run(f'println!("{{:?}}", {AFTER});')
        print(f"  at the end: {said.strip()}", flush=True)


if __name__ == "__main__":
    main()

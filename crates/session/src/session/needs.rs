//! Which cells of the notebook must run before another one shows what it would in a run from the top.

use super::{Session, commands};
use std::hash::{DefaultHasher, Hash, Hasher};
use taper_engine::CellSource;
use taper_rust_cell::commands::{Cell, blank_out, is_colon_command};

impl Session {
    /// Notes that a cell has run.
    pub(super) fn note_run(&mut self, id: &str, code: &str, is_done: bool) {
        self.done.remove(id);
        if is_done {
            self.done.insert(id.to_owned(), digest(code));
        }
    }

    /// Returns the cells that must run, in their order, and last the cell `id`.
    pub(super) fn needed_cells(&mut self, cells: &[(String, String)], id: &str) -> Vec<String> {
        let Some(own) = super::engine::own(&mut *self.engine) else {
            return needed(cells, id, &|_, _| false);
        };
        let stale = own.stale();
        let is_stale = |id: &str| stale.iter().any(|cell| cell.id.as_deref() == Some(id));
        needed(cells, id, &|id, code| {
            self.done.get(id) == Some(&digest(code)) && own.has_run(id) && !is_stale(id)
        })
    }
}

/// Returns the cells that must run, where `is_done` says whether a cell with this source need not.
fn needed(
    cells: &[(String, String)],
    id: &str,
    is_done: &dyn Fn(&str, &str) -> bool,
) -> Vec<String> {
    let Some(index) = cells.iter().position(|(it, _)| it == id) else {
        return vec![id.to_owned()];
    };
    let sources: Vec<CellSource> = cells[..=index]
        .iter()
        .map(|(id, code)| CellSource {
            is_done: is_done(id, code),
            ..source_of(code)
        })
        .collect();
    let found = taper_engine::needed(&sources, index).into_iter();
    found.map(|index| cells[index].0.clone()).collect()
}

fn source_of(code: &str) -> CellSource {
    let rust = commands::rust_of(code).unwrap_or_default();
    let cell = Cell::new(&rust);
    let packages = cell.dependencies.iter();
    CellSource {
        packages: packages.map(|(name, _)| name.replace('-', "_")).collect(),
        source: blank_out(&cell.rest, is_colon_command).into_owned(),
        is_done: false,
    }
}

fn digest(code: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    code.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_no_rust_and_packages_are_names() {
        let cells = [
            ("a", ":dep half-a = \"1\""),
            ("b", "%%bash\nlet x = 1"),
            ("c", "%time let x = half_a::f();"),
            ("d", "!ls\nx"),
        ];
        let cells = cells.map(|(id, code)| (id.to_owned(), code.to_owned()));
        assert_eq!(needed(&cells, "d", &|_, _| false), ["a", "c", "d"]);
        assert_eq!(needed(&cells, "d", &|id, _| id == "c"), ["d"]);
        assert_eq!(needed(&cells, "new", &|_, _| false), ["new"]);
    }
}

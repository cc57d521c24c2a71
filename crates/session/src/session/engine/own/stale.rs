//! Feeds the engine's graph with the cells of the notebook.

use taper_engine::{Cell, Failure, Graph, Outcome, Stale};
use taper_evaluator::evaluator::{CellName, StaleCell};

/// What a cell without an id is known by, before its text. No id of a notebook contains a newline.
const BY_TEXT: &str = "\n";

/// The cells of the notebook, and what they have seen.
#[derive(Default)]
pub(super) struct CellGraph(Graph);

impl CellGraph {
    /// Records what a cell has done; `None` for code of the session's own.
    pub(super) fn record(&mut self, cell: Option<CellName>, source: &str, outcome: &mut Outcome) {
        if let Some(Failure::Ended(_) | Failure::Interrupted { is_killed: true }) = outcome.failure
        {
            self.clear();
        }
        let (Some(cell), Some(effects)) = (cell, outcome.effects.take()) else {
            return;
        };
        let mut lines = source.lines().map(str::trim);
        let line = lines.find(|line| !line.is_empty()).unwrap_or_default();
        let cell = Cell {
            id: cell.id.unwrap_or_else(|| format!("{BY_TEXT}{source}")),
            number: cell.number,
            line: line.to_owned(),
        };
        self.0.record(cell, effects);
    }

    /// Forgets all cells: the variables are lost.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn set_order(&mut self, cells: &[String]) {
        self.0.set_order(cells);
    }

    pub(super) fn maker(&self, variable: &str) -> Option<usize> {
        Some(self.0.maker(variable)?.number)
    }

    /// Returns whether a cell has run, and its variables are not lost.
    pub(super) fn contains(&self, id: &str) -> bool {
        self.0.contains(id)
    }

    /// Returns the cells that are stale.
    pub(super) fn stale(&self) -> Vec<StaleCell> {
        self.0.stale().into_iter().map(described).collect()
    }
}

fn described(stale: Stale) -> StaleCell {
    StaleCell {
        certain: stale.is_certain(),
        reasons: stale.reasons.iter().map(ToString::to_string).collect(),
        id: (!stale.cell.id.starts_with(BY_TEXT)).then_some(stale.cell.id),
        number: stale.cell.number,
        line: stale.cell.line,
    }
}

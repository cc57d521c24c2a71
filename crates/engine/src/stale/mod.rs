//! Which cells no longer show what a run of all cells from the top would show.
//!
//! A [`Graph`] knows for each variable and item the *chain* of cells that made its value: the cell that defined
//! it, then the cells that changed it. It keeps that chain for everything that a cell has read. From the last run of
//! each cell and the order of the cells follows the chain that a run from the top would have. Where both differ, the
//! cell is stale, and the difference is the reason.
//!
//! - A cell below that changes a variable does not make the cell stale: a run from the top would show the same. If
//!   the cell is run again after that, it has seen a change from below.
//! - An item counts by its source: to run an unchanged definition again changes nothing.
//! - A cell that changes what it has read is not stale because of itself, however often it is run.
//! - Where types do not show whether a value has changed ([`Access::Unknown`]), the reason is not certain.

mod chain;
mod reason;

use crate::effects::{Access, Effects};
use chain::{Chains, Run, Thing};
pub use reason::{Cell, How, Reason};
use std::collections::{BTreeMap, BTreeSet};

/// A cell that is stale.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stale {
    /// The cell.
    pub cell: Cell,
    /// Why, at most one reason for each variable or item that it read.
    pub reasons: Vec<Reason>,
}

impl Stale {
    /// Returns whether a run from the top would certainly be another one.
    pub fn is_certain(&self) -> bool {
        self.reasons.iter().any(Reason::is_certain)
    }
}

/// Knows which cells depend on which.
///
/// ```
/// use taper_engine::{Access, Cell, Effects, Graph};
///
/// let cell = |number: usize, line: &str| Cell { id: line.to_owned(), number, line: line.to_owned() };
/// let uses = |access| Effects { used: [("v".to_owned(), access)].into(), ..Effects::default() };
/// let mut graph = Graph::default();
/// let defined = ["v".to_owned()].into();
/// graph.record(cell(1, "let mut v = vec![1];"), Effects { defined, ..Effects::default() });
/// graph.record(cell(2, "v.push(2);"), uses(Access::Changed));
/// graph.record(cell(3, "v.len()"), uses(Access::Read));
/// assert!(graph.stale().is_empty());
///
/// graph.record(cell(4, "v.push(2);"), uses(Access::Changed));
/// let stale = graph.stale();
/// assert_eq!(stale[0].cell.number, 3);
/// assert_eq!(stale[0].reasons[0].to_string(), "`v` was changed by cell [4]");
/// ```
#[derive(Debug, Default)]
pub struct Graph {
    cells: Vec<Known>,
    /// The names of the cells in the notebook, if the front end has said so.
    order: Vec<String>,
    /// What has made the values that exist now.
    chains: Chains,
    /// Pairs of variables that may share a value.
    shared: BTreeSet<(String, String)>,
    /// The number of runs.
    runs: u64,
}

/// A cell that has run.
#[derive(Debug)]
struct Known {
    cell: Cell,
    /// Its place among the cells; `None` if it was removed from the notebook.
    position: Option<usize>,
    /// Its last run.
    run: u64,
    effects: Effects,
    /// The variables that it may have changed.
    maybe_changed: BTreeSet<String>,
    /// What had made the values that it read.
    seen: Chains,
}

impl Graph {
    /// Records that a cell has run. A cell that is not known yet is below all others, unless
    /// [`set_order`](Graph::set_order) has named it.
    pub fn record(&mut self, cell: Cell, effects: Effects) {
        self.runs += 1;
        let index = self.index_of(&cell);
        let seen = self.chains.of(chain::read_by(&effects));
        let run = Run {
            cell: index,
            number: self.runs,
        };
        self.chains.apply(run, &effects);
        let maybe_changed = self.maybe_changed(&effects);
        self.share(&effects);
        let known = &mut self.cells[index];
        known.cell = cell;
        known.run = self.runs;
        known.effects = effects;
        known.maybe_changed = maybe_changed;
        known.seen = seen;
    }

    /// Sets the order of the cells in the notebook, by their names. Other cells count as removed.
    pub fn set_order(&mut self, ids: &[String]) {
        self.order = ids.to_vec();
        for known in &mut self.cells {
            known.position = ids.iter().position(|id| *id == known.cell.id);
        }
    }

    /// Forgets all cells: the variables are lost.
    pub fn clear(&mut self) {
        let order = std::mem::take(&mut self.order);
        *self = Graph {
            order,
            ..Graph::default()
        };
    }

    /// Returns whether a cell has run.
    pub fn contains(&self, id: &str) -> bool {
        self.cells.iter().any(|known| known.cell.id == id)
    }

    /// Returns the cell whose last run defined a variable or an item.
    pub fn maker(&self, name: &str) -> Option<&Cell> {
        let mut cells = self.cells.iter().rev();
        let is_maker = |effects: &Effects| {
            effects.defined.contains(name) || effects.definitions.contains_key(name)
        };
        let maker = cells.find(|known| is_maker(&known.effects));
        maker.map(|known| &known.cell)
    }

    /// Returns the cells that are stale, in the order in which they would run.
    pub fn stale(&self) -> Vec<Stale> {
        let mut cells: Vec<usize> = (0..self.cells.len())
            .filter(|&index| self.cells[index].position.is_some())
            .collect();
        cells.sort_by_key(|&index| self.cells[index].position);
        let mut expected = Chains::default();
        let mut maybe: BTreeMap<&str, usize> = BTreeMap::new();
        let mut stale: BTreeMap<usize, bool> = BTreeMap::new();
        let mut found = Vec::new();
        for index in cells {
            let known = &self.cells[index];
            let things = chain::read_by(&known.effects);
            let reasons = things.filter_map(|thing| {
                let certain = self.difference(index, &thing, &expected);
                let through = || self.through(&thing, &expected, &stale);
                let changed = || self.possibly_changed(known, &thing, &maybe);
                certain.or_else(through).or_else(changed)
            });
            let reasons: Vec<Reason> = reasons.collect();
            if !reasons.is_empty() {
                let cell = known.cell.clone();
                let cell = Stale { cell, reasons };
                stale.insert(index, cell.is_certain());
                found.push(cell);
            }
            let number = known.run;
            expected.apply(
                Run {
                    cell: index,
                    number,
                },
                &known.effects,
            );
            for name in &known.maybe_changed {
                let last = maybe.entry(name).or_insert(index);
                if self.cells[*last].run < known.run {
                    *last = index;
                }
            }
        }
        found
    }

    /// Returns where a cell is among the known ones, and adds it if it is new.
    fn index_of(&mut self, cell: &Cell) -> usize {
        let is_same = |known: &Known| known.cell.id == cell.id;
        if let Some(index) = self.cells.iter().position(is_same) {
            return index;
        }
        let last = self.cells.iter().filter_map(|known| known.position).max();
        let next = last.map_or(0, |last| last + 1).max(self.order.len());
        let position = self.order.iter().position(|id| *id == cell.id);
        self.cells.push(Known {
            cell: cell.clone(),
            position: Some(position.unwrap_or(next)),
            run: 0,
            effects: Effects::default(),
            maybe_changed: BTreeSet::new(),
            seen: Chains::default(),
        });
        self.cells.len() - 1
    }

    /// Returns the difference between what a cell has seen of a thing and what it would see in a run from the top.
    fn difference(&self, index: usize, thing: &Thing, expected: &Chains) -> Option<Reason> {
        let cell = &self.cells[index];
        let (seen, expected) = (cell.seen.get(thing), expected.get(thing));
        if seen.len() == expected.len() && seen.iter().zip(expected).all(|(a, b)| a.is_same(b)) {
            return None;
        }
        let has_seen_itself = seen.iter().any(|link| link.run.cell == index);
        let missing = expected.iter().filter(|link| {
            let is_new = link.run.number > cell.run;
            (is_new || !has_seen_itself) && !seen.iter().any(|it| it.is_same(link))
        });
        if let Some(link) = missing.max_by_key(|link| link.run.number) {
            let (name, by) = (thing.name().to_owned(), self.name(link.run.cell));
            return Some(match link.run.number > cell.run {
                true => Reason::Since {
                    name,
                    how: link.how,
                    by,
                },
                false => Reason::NotSeen { name, by },
            });
        }
        let foreign = seen.iter().rev().filter(|link| link.run.cell != index);
        let mut surplus = foreign.filter(|link| !expected.iter().any(|it| it.is_same(link)));
        surplus.find_map(|link| {
            let (name, by) = (thing.name().to_owned(), self.name(link.run.cell));
            let maker = &self.cells[link.run.cell];
            match maker.position {
                None => Some(Reason::Removed { name }),
                position if position > cell.position => Some(Reason::Below {
                    name,
                    how: link.how,
                    by,
                }),
                _ if chain::write_of(&maker.effects, thing).is_none() => {
                    Some(Reason::NoLonger { name, by })
                }
                _ => None,
            }
        })
    }

    /// Returns the stale cell from which a variable comes.
    fn through(
        &self,
        thing: &Thing,
        expected: &Chains,
        stale: &BTreeMap<usize, bool>,
    ) -> Option<Reason> {
        let Thing::Variable(name) = thing else {
            return None;
        };
        let links = expected.get(thing).iter();
        let found = links.filter_map(|link| Some((link.run.cell, *stale.get(&link.run.cell)?)));
        let (cell, is_certain) = found.max_by_key(|(_, is_certain)| *is_certain)?;
        Some(Reason::From {
            name: name.clone(),
            by: self.name(cell),
            is_certain,
        })
    }

    fn possibly_changed(
        &self,
        cell: &Known,
        thing: &Thing,
        maybe: &BTreeMap<&str, usize>,
    ) -> Option<Reason> {
        let Thing::Variable(name) = thing else {
            return None;
        };
        let by = *maybe.get(&**name)?;
        let name = name.clone();
        let by = (self.cells[by].run > cell.run).then(|| self.name(by))?;
        Some(Reason::Maybe { name, by })
    }

    /// Returns the variables that a cell may have changed: each shares a value with a variable that it has used.
    fn maybe_changed(&self, effects: &Effects) -> BTreeSet<String> {
        let used = effects.used.iter();
        let unknown = used.filter(|(_, access)| **access == Access::Unknown);
        let mut found: BTreeSet<String> = unknown.map(|(name, _)| name.clone()).collect();
        for (name, access) in &effects.used {
            if matches!(access, Access::Read | Access::Overwritten) {
                continue;
            }
            let mut left = vec![name.as_str()];
            let mut group = BTreeSet::from([name.as_str()]);
            while let Some(next) = left.pop() {
                for (one, other) in &self.shared {
                    let neighbour = match next {
                        _ if next == one => other,
                        _ if next == other => one,
                        _ => continue,
                    };
                    if group.insert(neighbour) {
                        left.push(neighbour);
                    }
                }
            }
            found.extend(group.into_iter().filter(|it| it != name).map(str::to_owned));
        }
        found
    }

    /// Takes over which variables share a value.
    fn share(&mut self, effects: &Effects) {
        let is_new = |name: &String| effects.defined.contains(name);
        self.shared
            .retain(|(one, other)| !is_new(one) && !is_new(other));
        self.shared.extend(effects.shared.iter().cloned());
    }

    fn name(&self, index: usize) -> Cell {
        self.cells[index].cell.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(id: &str, number: usize) -> Cell {
        Cell {
            id: id.to_owned(),
            number,
            line: String::new(),
        }
    }

    fn defines(name: &str) -> Effects {
        let defined = [name.to_owned()].into();
        Effects {
            defined,
            ..Effects::default()
        }
    }

    fn uses(name: &str, access: Access) -> Effects {
        let used = [(name.to_owned(), access)].into();
        Effects {
            used,
            ..Effects::default()
        }
    }

    fn reasons(graph: &Graph) -> Vec<String> {
        let stale = graph.stale().into_iter();
        let reasons = stale.flat_map(|it| it.reasons);
        reasons.map(|reason| reason.to_string()).collect()
    }

    #[test]
    fn cells_have_the_order_of_their_first_run_until_the_notebook_is_known() {
        let mut graph = Graph::default();
        graph.record(cell("a", 1), defines("x"));
        graph.record(cell("c", 2), uses("x", Access::Read));
        graph.record(cell("b", 3), uses("x", Access::Changed));
        assert!(graph.stale().is_empty());
        graph.set_order(&["a", "b", "c"].map(str::to_owned));
        assert_eq!(reasons(&graph), ["`x` was changed by cell [3]"]);
        graph.set_order(&["b", "c"].map(str::to_owned));
        let removed = "`x` comes from a cell that is not in the notebook";
        assert_eq!(reasons(&graph), [removed, "`x` was changed by cell [3]"]);
    }

    #[test]
    fn a_new_cell_is_where_the_notebook_has_it() {
        let mut graph = Graph::default();
        graph.set_order(&["a", "b", "c"].map(str::to_owned));
        graph.record(cell("c", 1), uses("x", Access::Read));
        graph.record(cell("a", 2), defines("x"));
        assert_eq!(reasons(&graph), ["`x` was defined again by cell [2]"]);
        assert_eq!(graph.maker("x").map(|cell| cell.number), Some(2));
    }

    #[test]
    fn nothing_is_stale_after_the_variables_are_lost() {
        let mut graph = Graph::default();
        graph.record(cell("a", 1), defines("x"));
        graph.record(cell("b", 2), uses("x", Access::Read));
        graph.record(cell("a", 3), defines("x"));
        assert_eq!(graph.stale().len(), 1);
        graph.clear();
        assert!(graph.stale().is_empty() && graph.maker("x").is_none());
    }

    #[test]
    fn what_may_have_changed_is_not_certain() {
        let mut graph = Graph::default();
        graph.record(cell("a", 1), defines("x"));
        graph.record(cell("b", 2), uses("x", Access::Unknown));
        graph.record(cell("c", 3), uses("x", Access::Unknown));
        assert!(graph.stale().is_empty());
        graph.record(cell("b", 4), uses("x", Access::Unknown));
        let stale = graph.stale();
        assert_eq!(stale[0].cell.id, "c");
        assert!(!stale[0].is_certain());
    }
}

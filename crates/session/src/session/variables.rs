//! The variables of a session: their names and values, and those that a cell loses.

use super::Session;
use super::engine::How;
use std::collections::{BTreeMap, BTreeSet};
use taper_engine::{Removed, Replaced};
use taper_evaluator::{Event, Front, Stream, Variable};

impl Session {
    /// Returns the names of the variables.
    pub(super) fn variables(&self) -> BTreeSet<String> {
        let variables = self.engine.variables().into_iter();
        variables.map(|(name, _)| name).collect()
    }

    /// Returns the variables in the order of their names; their values are found by running a cell.
    pub(super) fn list_variables(&mut self, with_values: bool) -> Vec<Variable> {
        let mut variables = self.engine.variables();
        variables.sort();
        let mut values = match with_values && !variables.is_empty() {
            true => self.values_of(&variables),
            false => BTreeMap::new(),
        };
        let variable = |(name, kind): (String, String)| {
            let (value, content) = values.remove(&name).unwrap_or_default();
            Variable {
                name,
                kind,
                value,
                content,
            }
        };
        variables.into_iter().map(variable).collect()
    }

    /// Returns the value and the content of each variable.
    fn values_of(&mut self, variables: &[(String, String)]) -> BTreeMap<String, (String, String)> {
        let cell = format!("println!(\"{{}}\", {}.values());", descriptions(variables));
        let mut printed = Printed::default();
        // A failure leaves the values empty.
        let _ = self.run_as(&cell, How::Repeated(&[]), &mut printed);
        serde_json::from_str(&printed.0).unwrap_or_default()
    }

    /// Reports which of the lost variables the cell has not defined again.
    pub(super) fn report_lost(&mut self, old: &[String], front: &mut dyn Front) {
        let present = self.variables();
        let lost = old.iter().filter(|name| !present.contains(*name));
        let lost: Vec<&str> = lost.map(String::as_str).collect();
        if !lost.is_empty() {
            self.report(&lost, "the type was redefined", front);
        }
    }

    /// Reports what is lost because packages were replaced.
    pub(super) fn report_replaced(&mut self, replaced: &Replaced, front: &mut dyn Front) {
        if replaced.packages.is_empty() {
            return;
        }
        let packages = replaced.packages.iter().map(|name| format!("`{name}`"));
        let packages: Vec<String> = packages.collect();
        let verb = if packages.len() == 1 { "was" } else { "were" };
        let packages = packages.join(", ");
        let lost: Vec<&str> = replaced.variables.iter().map(String::as_str).collect();
        if !lost.is_empty() {
            let why = format!("{packages}, with their types, {verb} replaced");
            self.report(&lost, &why, front);
        }
        let mut tell = |text: String| front.event(Event::stderr(text));
        if !replaced.statics.is_empty() {
            let statics = replaced.statics.join(", ");
            tell(format!(
                "reset to their first values, because {packages} {verb} replaced: {statics}.\n"
            ));
        }
        for Removed { name, message } in &replaced.items {
            let cell = self.maker(name);
            let cell = cell.map_or("its cell".to_owned(), |cell| format!("cell [{cell}]"));
            tell(format!(
                "removed, because it does not compile with the new {packages}: {name} ({message}). Change {cell} and run \
                 it again.\n"
            ));
        }
        let items = replaced.items.iter().map(|item| item.name.clone());
        let names = items.chain(replaced.variables.iter().cloned());
        let why = format!("{packages} {verb} replaced");
        self.names.replaced(names, &why, self.variables());
    }

    /// Notes that large values stay in memory, because others borrow from them.
    pub(super) fn report_frozen(&mut self, frozen: Vec<(String, String)>, front: &mut dyn Front) {
        let times = self.times;
        for (name, borrowers) in frozen {
            let cell = format!("println!(\"{{}}\", ::taper::describe!({name}).size);");
            let mut printed = Printed::default();
            let _ = self.run_as(&cell, How::Repeated(&[]), &mut printed);
            let size: usize = printed.0.trim().parse().unwrap_or_default();
            if size > LARGE {
                front.event(Event::stderr(format!(
                    "`{name}` ({} MB) stays in memory until the session ends: {borrowers} borrows from it.\n",
                    size / LARGE
                )));
            }
        }
        self.times = times;
    }

    fn report(&mut self, lost: &[&str], why: &str, front: &mut dyn Front) {
        let makers = lost.iter().map(|name| self.maker(name));
        let makers: Option<BTreeSet<usize>> = makers.collect();
        let text = format!(
            "lost, because {why}: {}. Run {} again.\n",
            lost.join(", "),
            match makers {
                Some(makers) => cells(&makers),
                None => "the cells that define them".to_owned(),
            }
        );
        front.event(Event::stderr(text));
    }
}

/// The size from which on a value that stays in memory is worth a note, in bytes.
const LARGE: usize = 1_000_000;

/// Returns cells in words: `cell [2]`, `the cells [2], [3]`.
fn cells(numbers: &BTreeSet<usize>) -> String {
    let all: Vec<String> = numbers.iter().map(|number| format!("[{number}]")).collect();
    let name = if all.len() == 1 { "cell" } else { "the cells" };
    format!("{name} {}", all.join(", "))
}

/// Returns the expression that describes variables, given by name and type. It does not begin with `::`,
/// which would be a command.
pub(super) fn descriptions(variables: &[(String, String)]) -> String {
    let rows = variables.iter().map(|(name, kind)| {
        format!("\n    .with(\"{name}\", {kind:?}, ::taper::describe!({name}))")
    });
    format!(
        "taper::inspect::Variables::default(){}",
        rows.collect::<String>()
    )
}

/// Keeps what a cell prints.
#[derive(Default)]
struct Printed(String);

impl Front for Printed {
    fn event(&mut self, event: Event) {
        if let Event::Text {
            stream: Stream::Stdout,
            text,
        } = event
        {
            self.0 += &text;
        }
    }

    fn input(&mut self, _: &str, _: bool) -> Option<String> {
        None
    }
}

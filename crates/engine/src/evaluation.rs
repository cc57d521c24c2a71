//! The path of one cell.

use crate::cell::work::Work;
use crate::cell::{self, Parsed, ParsedItem};
use crate::diagnostic::Diagnostic;
use crate::engine::{Engine, Event, Outcome};
use crate::error::{Failure, Place, not_loaded};
use crate::file::file_of_cell;
use crate::known::Compiled;
use crate::opaque::{Gone, Opaque};
use crate::panics::Panics;
use crate::plan::{Input, Plan};
use crate::process::wire::{Report, Request};
use crate::process::{Question, Ran};
use crate::repair::Repairs;
use crate::variables::Variable;
use anyhow::Result;
use std::time::Instant;
use taper_rust_cell::position::position_of;

/// The code of the engine's own warning.
const COPIED_STATIC: &str = "copied_static";

impl Engine {
    /// Evaluates a cell. `listen` receives what happens meanwhile.
    pub fn evaluate(&mut self, source: &str, listen: &mut dyn FnMut(Event)) -> Outcome {
        self.evaluate_input(Input::of(source), listen)
    }

    /// Evaluates a cell of the host's own that is evaluated often. It reads `arguments` with `::cell_support::argument(0)`
    /// and so on. The first time it is compiled; then its code runs again, and nothing is compiled or loaded, until an item
    /// or a variable that it uses has changed. Statics of it keep their values.
    ///
    /// If it uses no variable, it cannot use items and imports of other cells either.
    pub fn repeat(
        &mut self,
        source: &str,
        arguments: &[String],
        listen: &mut dyn FnMut(Event),
    ) -> Outcome {
        self.evaluate_input(
            Input {
                source,
                arguments,
                is_repeated: true,
                is_profiled: false,
            },
            listen,
        )
    }

    /// Evaluates a cell as [`evaluate`](Engine::evaluate) does, and measures its lines: [`Event::Profile`]. Functions and
    /// closures of the cell are measured too; functions of earlier cells count for the line that calls them.
    pub fn profile(&mut self, source: &str, listen: &mut dyn FnMut(Event)) -> Outcome {
        let is_profiled = true;
        let input = Input {
            is_profiled,
            ..Input::of(source)
        };
        self.evaluate_input(input, listen)
    }

    pub(crate) fn evaluate_input(
        &mut self,
        input: Input,
        listen: &mut dyn FnMut(Event),
    ) -> Outcome {
        let control = self.control.clone();
        let _busy = control.begin();
        self.number += 1;
        let mut outcome = Outcome {
            number: self.number,
            ..Outcome::default()
        };
        let result = self.try_evaluate(input, &mut outcome, listen);
        outcome.failure = match result {
            _ if control.is_killed() => Some(Failure::Interrupted { is_killed: true }),
            Err(Failure::Compile(_) | Failure::Engine(_)) if control.is_asked_to_stop() => {
                Some(Failure::Interrupted { is_killed: false })
            }
            Err(Failure::Panic(_) | Failure::Failed(_)) if control.is_asked_to_stop() => {
                Some(Failure::Interrupted { is_killed: false })
            }
            result => result.err(),
        };
        if self.process.is_some() {
            self.compiler.prepare(&[Work::Little]);
        }
        cell::forget_sources();
        outcome
    }

    fn try_evaluate(
        &mut self,
        input: Input,
        outcome: &mut Outcome,
        listen: &mut dyn FnMut(Event),
    ) -> Result<(), Failure> {
        self.settle();
        let name = file_of_cell(input.source);
        self.sources.insert(name, self.number, input.source);
        let began = Instant::now();
        let compiled = self.compile(input);
        outcome.compilation = began.elapsed();
        let (plan, compiled) = compiled?;
        if self.control.is_asked_to_stop() {
            return Err(Failure::Interrupted { is_killed: false });
        }
        let warnings = [compiled.warnings.clone(), self.copied_statics(&plan)].concat();
        if !warnings.is_empty() {
            listen(Event::Warnings(warnings));
        }
        if self.process.is_none() {
            self.start_process()?;
        }
        self.compiler.prepare(&[Work::Little]);
        let request = Request::Run {
            cell: self.number,
            library: compiled.library.clone(),
            arguments: input.arguments.to_vec(),
            is_global: plan.items.defines_statics(),
            forget: [
                plan.lost.clone(),
                plan.hidden.clone(),
                std::mem::take(&mut self.forgotten),
            ]
            .concat(),
        };
        let (ran, failure) = self.run(&request, listen)?;
        match ran {
            Ran::Ended(times) => outcome.times = Some(times),
            Ran::NotLoaded(why) => return Err(not_loaded(&why).into()),
            Ran::Left { taken } => {
                self.commit(plan, compiled, false, outcome);
                outcome.lost.extend(self.keep_sendable(taken));
                return Err(Failure::Left);
            }
            Ran::Gone(end) => {
                outcome.lost = self.forget_process();
                self.items = plan.items;
                self.items.set_unloaded();
                return Err(Failure::Ended(end));
            }
        }
        self.commit(plan, compiled, failure.is_none(), outcome);
        failure.map_or(Ok(()), Err)
    }

    /// Returns the text of a line of a cell, as far as the cell is still in use.
    pub fn line(&self, place: Place) -> Option<String> {
        self.sources.line(place)
    }

    /// Runs a compiled cell. Returns how the request ended, and why the cell did not come to its end.
    fn run(
        &mut self,
        request: &Request,
        listen: &mut dyn FnMut(Event),
    ) -> Result<(Ran, Option<Failure>)> {
        let sources = &self.sources;
        let fault = |it| sources.fault(it);
        let process = self.process.as_mut().expect("it was started");
        let socket = process.socket.clone();
        let (mut failure, mut explained) = (None, None);
        let mut panics = Panics::default();
        let mut pass_on = |report| match report {
            Report::Begin => listen(Event::Begin),
            Report::Shown(event) => listen(Event::Shown(event)),
            Report::Input => listen(Event::Input(Question::new(&socket))),
            Report::Value { mime_type, text } => listen(Event::Value { mime_type, text }),
            Report::Profile(profile) => listen(Event::Profile(profile)),
            Report::Explained(it) => explained = Some(it),
            Report::Failed(it) => {
                let it = explained
                    .take()
                    .filter(|_| it.message.is_empty())
                    .unwrap_or(it);
                failure = Some(Failure::Failed(fault(it)));
            }
            Report::Panic(it) => {
                if let Some(caught) = panics.begun(fault(it)) {
                    listen(Event::CaughtPanic(caught));
                }
            }
            Report::Unwound(it) => {
                let (ended, caught) = panics.ended(fault(it));
                if let Some(caught) = caught {
                    listen(Event::CaughtPanic(caught));
                }
                failure = Some(Failure::Panic(ended));
            }
            Report::ThreadPanic {
                thread, fault: it, ..
            } => {
                let fault = fault(it);
                panics.in_thread(fault.clone());
                listen(Event::ThreadPanic { thread, fault });
            }
            Report::NotLoaded(_) | Report::Left { .. } | Report::End(_) => {}
        };
        let ran = process.run(request, &self.control, &mut pass_on)?;
        if let Some(caught) = panics.finish() {
            listen(Event::CaughtPanic(caught));
        }
        Ok((ran, failure))
    }

    /// Returns warnings about statics that macros make: the engine cannot see them, so each cell compiles one of its own.
    fn copied_statics(&self, plan: &Plan) -> Vec<Diagnostic> {
        let calls = plan.items.copied_statics(self.number).into_iter();
        let warning = |item: &ParsedItem| {
            let name = item.calls.as_deref().unwrap_or_default();
            let message = format!(
                "`{name}!` makes a static, of which each cell has a copy with the first value. Write the static itself, \
                 without the macro"
            );
            let position = |at| position_of(plan.source, at);
            let range = (position(item.range.start), position(item.range.end));
            Diagnostic::warning(COPIED_STATIC, message, self.number, range)
        };
        calls.map(warning).collect()
    }

    /// Describes a variable that was not kept.
    fn describe_gone(
        &self,
        source: &str,
        cell: Option<&Parsed>,
        name: &str,
        opaque: &Opaque,
    ) -> Gone {
        let statement = cell.and_then(|cell| cell.statement_of(name));
        Gone {
            cell: self.number,
            kind: opaque.kind.clone(),
            from: opaque.from.clone(),
            statement: statement
                .map(|it| source[it.clone()].to_owned())
                .unwrap_or_default(),
        }
    }

    /// Takes over what a cell has changed. A cell that failed has defined its items, but no variable.
    fn commit(&mut self, plan: Plan, compiled: Compiled, is_done: bool, outcome: &mut Outcome) {
        self.readings.extend(plan.readings());
        outcome.effects = Some(self.effects(&plan, &compiled, is_done));
        self.items = plan.items;
        self.items.set_loaded();
        self.paths
            .retain(|name, _| !self.items.names().contains(&**name));
        for name in plan.lost.iter().chain(&plan.hidden) {
            self.variables.remove(name);
        }
        let Compiled {
            repairs,
            mut kinds,
            source,
            ..
        } = compiled;
        let Repairs {
            moved,
            frozen,
            borrowers,
            opaque,
            ..
        } = repairs;
        let borrowers = |name: &str| borrowers.get(name).cloned().unwrap_or_default();
        let mut moved: Vec<String> = moved
            .into_iter()
            .filter(|name| plan.used.contains(name))
            .collect();
        moved.sort_unstable();
        for name in &moved {
            self.variables.remove(name);
        }
        for name in &frozen {
            self.variables.freeze(name, borrowers(name));
        }
        let bindings = plan.cell.iter().flat_map(|cell| &cell.bindings);
        for binding in bindings.filter(|_| is_done) {
            let Some(kind) = kinds.remove(&binding.name) else {
                // It was moved away within the cell, or cannot be kept.
                self.variables.remove(&binding.name);
                if let Some(opaque) = opaque.get(&binding.name) {
                    let gone =
                        self.describe_gone(plan.source, plan.cell.as_ref(), &binding.name, opaque);
                    self.gone.insert(binding.name.clone(), gone);
                }
                continue;
            };
            self.gone.remove(&binding.name);
            let is_frozen = frozen.contains(&binding.name);
            self.variables.insert(Variable {
                name: binding.name.clone(),
                kind,
                is_mutable: binding.is_mutable && !is_frozen,
                cell: self.number,
                is_frozen,
                borrowers: borrowers(&binding.name),
            });
            outcome.defined.push(binding.name.clone());
        }
        outcome.lost = plan.lost;
        outcome.moved = moved;
        outcome.frozen = frozen.into_iter().collect();
        self.find_paths(source, &outcome.defined);
    }
}

//! The path of one cell.

use crate::cell::work::Work;
use crate::cell::{self, Macros, Mark, Parsed, ParsedItem, Reading, words};
use crate::compile::{Library, Messages, Task, types};
use crate::diagnostic::Diagnostic;
use crate::engine::{Engine, Event, Outcome};
use crate::error::{Error, Failure, Fault, Place, Refusal, Result};
use crate::file::file_of_cell;
use crate::items::Items;
use crate::known::{Compiled, Learned};
use crate::macros::Revisions;
use crate::opaque::{Gone, Opaque};
use crate::panics::Panics;
use crate::parts::{Parts, Used};
use crate::process::wire::{self, Report, Request};
use crate::process::{self, Ran};
use crate::repair::Repairs;
use crate::source::Source;
use crate::variables::Variable;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

/// How often a cell is compiled until it is known what it moves and borrows.
const ATTEMPTS: usize = 12;

/// The code of the engine's own warning.
const COPIED_STATIC: &str = "copied_static";

/// What is evaluated.
#[derive(Clone, Copy)]
pub(crate) struct Input<'a> {
    source: &'a str,
    arguments: &'a [String],
    /// Whether a library that the process has loaded already may run again.
    is_repeated: bool,
    /// Whether its lines are measured.
    is_profiled: bool,
}

/// A cell, and what it would change.
pub(crate) struct Plan<'a> {
    pub(crate) source: &'a str,
    pub(crate) is_repeated: bool,
    pub(crate) work: Work,
    pub(crate) cell: Option<Parsed>,
    pub(crate) items: Items,
    /// Variables whose type changes.
    pub(crate) lost: Vec<String>,
    /// Variables that the cell's functions, constants and statics hide, because they have the same name.
    hidden: Vec<String>,
    /// Earlier variables that the cell mentions.
    pub(crate) used: Vec<String>,
    /// The calls that are written into a cell that is profiled.
    marks: Vec<Mark>,
}

impl Plan<'_> {
    /// Returns how the calls of macros were read, by the paths of the macros.
    fn readings(&self) -> HashMap<String, Reading> {
        let items = self.cell.iter().flat_map(|cell| &cell.items);
        let items = items.filter_map(|item| Some((item.calls.clone()?, Reading::Items)));
        let others = self.cell.iter().flat_map(|cell| &cell.calls);
        let others = others.map(|call| (call.path.clone(), Reading::Value));
        others.chain(items).collect()
    }

    /// Returns whether a call that looks like items was read as such, and will not be.
    fn has_misread(&self, revisions: &Revisions) -> bool {
        let mut items = self.cell.iter().flat_map(|cell| &cell.items);
        items.any(|item| {
            let reading = revisions.readings.get(&item.range.start);
            item.calls.is_some() && item.looks_like_items && reading == Some(&Reading::Value)
        })
    }
}

impl Input<'_> {
    /// Returns a cell as input.
    pub(crate) fn of(source: &str) -> Input<'_> {
        Input {
            source,
            arguments: &[],
            is_repeated: false,
            is_profiled: false,
        }
    }
}

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

    fn evaluate_input(&mut self, input: Input, listen: &mut dyn FnMut(Event)) -> Outcome {
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
        self.read_output(listen)?;
        self.settle();
        let name = file_of_cell(input.source);
        self.sources
            .insert(name, (self.number, input.source.into()));
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
            Ran::NotLoaded(why) => return Err(Error::Load(why).into()),
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
        let mut sources = self.sources.values();
        let (_, text) = sources.find(|(number, _)| *number == place.cell)?;
        let line = text.lines().nth(place.line.checked_sub(1)?)?.trim();
        (!line.is_empty()).then(|| line.to_owned())
    }

    /// Returns the type of an expression, or `None` if it does not compile. Nothing is evaluated.
    pub fn type_of(&mut self, expression: &str) -> Option<String> {
        self.settle();
        let source = format!("let taper_value = {{ {expression} }};");
        let plan = self.plan(Input::of(&source), &Revisions::default());
        let source = self.source(&plan, &Repairs::default());
        self.write(&source).ok()?;
        let messages = self.compiler.check(source.text.clone()).ok()?;
        let messages = messages.join().ok()?.ok()?;
        cell::forget_sources();
        source.kinds(&messages).next().map(|(_, kind)| kind)
    }

    /// Splits a cell. A macro of which nothing is known is read as items.
    pub(crate) fn parse(&self, source: &str, revisions: &Revisions) -> Option<Parsed> {
        let own = self.items.macros();
        let known = |path: &str| {
            let name = path.rsplit("::").next().unwrap_or_default();
            let learned = || self.readings.get(path).copied();
            let reading = own.get(name).copied().unwrap_or_else(learned);
            reading.unwrap_or(Reading::Items)
        };
        let macros = Macros {
            revised: &revisions.readings,
            known: &known,
        };
        cell::parse(source, &macros)
    }

    /// Returns the variables that a cell loses if it runs, because it changes their type.
    pub fn would_lose(&self, source: &str) -> Vec<String> {
        self.plan(Input::of(source), &Revisions::default()).lost
    }

    /// Finds out what a cell consists of and what it changes.
    pub(crate) fn plan<'a>(&self, input: Input<'a>, revisions: &Revisions) -> Plan<'a> {
        let source = input.source;
        let cell = self.parse(source, revisions);
        let items = self.items.without_calls(&revisions.replaced);
        let (mut items, mut changed) = match &cell {
            Some(cell) => items.with(self.number, source, cell),
            None => (items, HashSet::new()),
        };
        if !revisions.names.is_empty() {
            changed.extend(revisions.names.iter().cloned());
            items.add_dependents(&mut changed);
        }
        let lost = self.variables.affected(&changed);
        let mentions = match &cell {
            Some(cell) => cell.mentions.clone(),
            None => words::of(source),
        };
        let values: HashSet<&str> = cell.iter().flat_map(Parsed::values).collect();
        let is_hidden = |variable: &&Variable| values.contains(&*variable.name);
        let hidden = self.variables.iter().filter(is_hidden);
        let hidden: Vec<String> = hidden.map(|it| it.name.clone()).collect();
        let is_used = |variable: &&Variable| {
            mentions.contains(&variable.name)
                && !lost.contains(&variable.name)
                && !is_hidden(variable)
        };
        let used: Vec<&Variable> = self.variables.iter().filter(is_used).collect();
        let kinds = used.iter().flat_map(|it| words::in_text(&it.kind));
        let mut names: HashSet<String> = kinds.map(str::to_owned).collect();
        names.extend(mentions);
        let work = cell.as_ref().map_or(Work::Little, |cell| cell.work);
        Plan {
            work: items.work(work, names),
            used: used.iter().map(|it| it.name.clone()).collect(),
            source,
            is_repeated: input.is_repeated,
            marks: match input.is_profiled {
                true => cell::marks(source),
                false => Vec::new(),
            },
            cell,
            items,
            lost,
            hidden,
        }
    }

    /// Plans and compiles a cell, in as many attempts as it takes to learn what it does.
    pub(crate) fn compile<'a>(
        &mut self,
        input: Input<'a>,
    ) -> Result<(Plan<'a>, Compiled), Failure> {
        let (mut revisions, mut repairs) = (Revisions::default(), Repairs::default());
        let mut plan = self.plan(input, &revisions);
        let attributes = plan.cell.as_ref().map(|cell| &cell.attributes);
        if let Some(attribute) = attributes.and_then(|it| it.refused.clone()) {
            return Err(Failure::Refused(Refusal::Attribute(attribute)));
        }
        let mut source = self.source(&plan, &repairs);
        let key = self.key(plan.work, &source, &source.text);
        let library = self.config.folder.join(format!("cell-{}.so", self.number));
        let is_repeated = plan.is_repeated && !plan.items.defines_statics();
        if let Some((learned, library)) = self.known.recall(&key, library, is_repeated) {
            if learned.revisions != revisions {
                plan = self.plan(input, &learned.revisions);
            }
            let source = self.source(&plan, &learned.repairs);
            return Ok((plan, Compiled::new(source, learned, library)));
        }
        // What is said about items that are none either way.
        let mut misread: Option<Vec<Diagnostic>> = None;
        for _ in 0..ATTEMPTS {
            let (mut messages, library) = self.attempt(&plan, &source)?;
            let lints = source.lints(&mut messages);
            if let Some(library) = library {
                let kinds = source.kinds(&messages).collect();
                if repairs.learn_kinds(&kinds, &source) {
                    source = self.source(&plan, &repairs);
                    continue;
                }
                messages.diagnostics.retain(|it| !types::is_ours(it));
                let learned = Learned {
                    revisions,
                    repairs,
                    kinds,
                    lints,
                    warnings: messages.diagnostics,
                };
                self.known.keep(key, &learned, &library, is_repeated);
                return Ok((plan, Compiled::new(source, learned, library.path)));
            }
            let is_revised = plan.cell.as_ref().is_some_and(|cell| {
                revisions.learn(&messages, &source, cell, plan.source, &plan.items)
            });
            if is_revised {
                if plan.has_misread(&revisions) {
                    misread.get_or_insert_with(|| source.errors(&messages));
                }
                plan = self.plan(input, &revisions);
                repairs = Repairs::default();
            } else if let Err(failure) = repairs.learn(messages, &source) {
                return Err(match (failure, misread) {
                    (Failure::Compile(_), Some(errors)) => Failure::Compile(errors),
                    (failure, _) => failure,
                });
            }
            source = self.source(&plan, &repairs);
        }
        let output = "the cell's variables could not be sorted out".to_owned();
        Err(Error::Compiler {
            program: "rustc",
            output,
        }
        .into())
    }

    /// Calls rustc once. Returns its messages and, if the cell compiled, its library.
    fn attempt(&mut self, plan: &Plan, source: &Source) -> Result<(Messages, Option<Library>)> {
        self.write(source)?;
        let task = Task {
            work: plan.work,
            attributes: plan.items.attributes(),
            text: &source.text,
            contains: &|text| source.contains(text),
        };
        let control = self.control.clone();
        let compiled = self.compiler.compile(&task, &control)?;
        Ok((compiled.messages, compiled.library))
    }

    /// Returns the source of a cell.
    pub(crate) fn source(&self, plan: &Plan, repairs: &Repairs) -> Source {
        let none = Items::default();
        let used = self
            .variables
            .iter()
            .filter(|it| plan.used.contains(&it.name));
        let is_certain = |name: &str| plan.cell.as_ref().is_none_or(|it| it.uses.is_used(name));
        let parts = Parts {
            number: self.number,
            source: plan.source,
            cell: plan.cell.as_ref(),
            items: match plan.is_repeated && plan.used.is_empty() {
                true => &none,
                false => &plan.items,
            },
            used: used
                .map(|variable| Used {
                    name: &variable.name,
                    kind: self.variables.path(variable),
                    is_mutable: variable.is_mutable,
                    is_frozen: variable.is_frozen,
                    is_certain: is_certain(&variable.name),
                })
                .collect(),
            moved: &repairs.moved,
            used_up: &repairs.used_up,
            question_mark: self.config.question_mark.as_deref(),
            frozen: &repairs.frozen,
            borrowed_at: &repairs.borrowed_at,
            temporaries: &repairs.temporaries,
            opaque: &repairs.opaque,
            options: &repairs.options,
            runtime: self
                .config
                .packages
                .iter()
                .find_map(|it| it.runtime.as_deref()),
            marks: &plan.marks,
        };
        Source::new(&parts, &self.config.folder)
    }

    /// Runs a compiled cell. Returns how the request ended, and why the cell did not come to its end.
    fn run(
        &mut self,
        request: &Request,
        listen: &mut dyn FnMut(Event),
    ) -> Result<(Ran, Option<Failure>), Error> {
        let sources = &self.sources;
        let fault = |it| fault(it, sources);
        let mut failure = None;
        let mut panics = Panics::default();
        let mut pass_on = |event| match event {
            process::Event::Text(stream, text) => listen(Event::Text { stream, text }),
            process::Event::Report(report) => match report {
                Report::Begin => listen(Event::Begin),
                Report::Value { mime_type, text } => listen(Event::Value { mime_type, text }),
                Report::Profile(profile) => listen(Event::Profile(profile)),
                Report::Failed(it) => failure = Some(Failure::Failed(fault(it))),
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
                Report::ThreadPanic { thread, fault: it } => {
                    let fault = fault(it);
                    panics.in_thread(fault.clone());
                    listen(Event::ThreadPanic { thread, fault });
                }
                Report::NotLoaded(_) | Report::End(_) => {}
            },
        };
        let process = self.process.as_mut().expect("it was started");
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
            let position = |at| cell::text::position(plan.source, at);
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

/// Finds the cell in which a fault happened.
fn fault(fault: wire::Fault, sources: &HashMap<String, (u32, Arc<str>)>) -> Fault {
    let file = fault.file.rsplit('/').next().unwrap_or_default();
    let cell = sources.get(file.split('.').next().unwrap_or_default());
    let place = cell.map(|(cell, _)| Place {
        cell: *cell,
        line: fault.line,
    });
    Fault {
        message: fault.message,
        place,
        is_error: fault.is_error,
    }
}

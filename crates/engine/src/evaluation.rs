//! The path of one cell.

use crate::cell::{self, Parsed, words};
use crate::compile::{Task, types};
use crate::diagnostic::Diagnostic;
use crate::engine::{Engine, Event, Outcome};
use crate::error::{Error, Failure, Fault, Place, Refusal};
use crate::items::Items;
use crate::process::wire::{self, Report, Request};
use crate::process::{self, Ran};
use crate::repair::Repairs;
use crate::source::{Parts, Source, Used, cell_of_file};
use crate::variables::Variable;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::time::Instant;

/// How often a cell is compiled until it is known what it moves and borrows.
const ATTEMPTS: usize = 8;

/// A cell that compiled.
struct Compiled {
    source: Source,
    library: PathBuf,
    repairs: Repairs,
    /// The types of the new variables.
    kinds: HashMap<String, String>,
    warnings: Vec<Diagnostic>,
}

/// A cell, and what it would change.
struct Plan<'a> {
    source: &'a str,
    cell: Option<Parsed>,
    items: Items,
    /// Variables whose type changes.
    lost: Vec<String>,
    /// Earlier variables that the cell mentions.
    used: Vec<String>,
}

impl Engine {
    /// Evaluates a cell. `listen` receives what happens meanwhile.
    pub fn evaluate(&mut self, source: &str, listen: &mut dyn FnMut(Event)) -> Outcome {
        let control = self.control.clone();
        let _busy = control.begin();
        self.number += 1;
        let mut outcome = Outcome {
            number: self.number,
            ..Outcome::default()
        };
        let result = self.try_evaluate(source, &mut outcome, listen);
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
            self.compiler.prepare(self.number + 1);
        }
        cell::forget_sources();
        outcome
    }

    fn try_evaluate(
        &mut self,
        source: &str,
        outcome: &mut Outcome,
        listen: &mut dyn FnMut(Event),
    ) -> Result<(), Failure> {
        self.read_output(listen)?;
        self.settle();
        let plan = self.plan(source);
        let began = Instant::now();
        let compiled = self.compile(&plan);
        outcome.compilation = began.elapsed();
        let compiled = compiled?;
        if self.control.is_asked_to_stop() {
            return Err(Failure::Interrupted { is_killed: false });
        }
        if !compiled.warnings.is_empty() {
            listen(Event::Warnings(compiled.warnings.clone()));
        }
        if self.process.is_none() {
            self.start_process()?;
        }
        self.compiler.prepare(self.number + 1);
        let request = Request::Run {
            library: compiled.library.clone(),
            function: compiled.source.function.clone(),
            is_global: plan.items.defines_statics(),
            forget: plan.lost.clone(),
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
        let name = format!("cell-{}", place.cell);
        let files = [".items", ".macros", ""].map(|end| format!("{name}{end}"));
        let mut texts = files.iter().filter_map(|file| {
            let text = std::fs::read_to_string(self.config.folder.join(file)).ok()?;
            let line = text
                .lines()
                .nth(place.line.checked_sub(1)?)?
                .trim()
                .to_owned();
            (!line.is_empty()).then_some(line)
        });
        texts.next()
    }

    /// Returns the type of an expression, or `None` if it does not compile. Nothing is evaluated.
    pub fn type_of(&mut self, expression: &str) -> Option<String> {
        self.settle();
        // A number of its own: the files of the last cell may still be needed.
        self.number += 1;
        let source = format!("let taper_value = {{ {expression} }};");
        let plan = self.plan(&source);
        let source = self.write(&plan, &Repairs::default()).ok()?;
        let messages = self.compiler.check(source.text.clone()).ok()?;
        let messages = messages.join().ok()?.ok()?;
        cell::forget_sources();
        self.compiler.prepare(self.number + 1);
        source.kinds(&messages).next().map(|(_, kind)| kind)
    }

    /// Finds out what a cell consists of and what it changes.
    fn plan<'a>(&self, source: &'a str) -> Plan<'a> {
        let macros = self.items.macros_of_items();
        let cell = cell::parse(source, &|name| macros.contains(name));
        let (items, changed) = match &cell {
            Some(cell) => self.items.with(self.number, source, cell),
            None => (self.items.clone(), HashSet::new()),
        };
        let lost = self.variables.affected(&changed);
        let mentions = match &cell {
            Some(cell) => cell.mentions.clone(),
            None => words::of(source),
        };
        let is_used = |variable: &&Variable| {
            mentions.contains(&variable.name) && !lost.contains(&variable.name)
        };
        let used = self.variables.iter().filter(is_used);
        Plan {
            used: used.map(|variable| variable.name.clone()).collect(),
            source,
            cell,
            items,
            lost,
        }
    }

    fn compile(&mut self, plan: &Plan) -> Result<Compiled, Failure> {
        let mut repairs = Repairs::default();
        for _ in 0..ATTEMPTS {
            let source = self.write(plan, &repairs)?;
            let task = Task {
                number: self.number,
                attributes: plan.items.attributes(),
                text: &source.text,
                contains: &|text| source.contains(text),
            };
            let control = self.control.clone();
            let (mut messages, library) = self.compiler.compile(&task, &control)?;
            if let Some(library) = library {
                let kinds = source.kinds(&messages).collect();
                messages
                    .diagnostics
                    .retain(|it| types::of_warning(it).is_none());
                return self.check(
                    plan,
                    Compiled {
                        warnings: source.warnings(messages),
                        source,
                        library,
                        repairs,
                        kinds,
                    },
                );
            }
            repairs.learn(messages, &source)?;
        }
        let output = "the cell's variables could not be sorted out".to_owned();
        Err(Error::Compiler {
            program: "rustc",
            output,
        }
        .into())
    }

    /// Writes the files of a cell.
    fn write(&self, plan: &Plan, repairs: &Repairs) -> Result<Source, Error> {
        let used = self
            .variables
            .iter()
            .filter(|it| plan.used.contains(&it.name));
        let parts = Parts {
            number: self.number,
            source: plan.source,
            cell: plan.cell.as_ref(),
            items: &plan.items,
            used: used
                .map(|variable| Used {
                    name: &variable.name,
                    kind: self.variables.path(variable),
                    is_mutable: variable.is_mutable,
                })
                .collect(),
            moved: &repairs.moved,
            question_mark: self.config.question_mark.as_deref(),
            frozen: &repairs.frozen,
        };
        let source = Source::new(&parts, &self.config.folder);
        for file in &source.files {
            let path = self.config.folder.join(&file.name);
            std::fs::write(&path, &file.text).map_err(Error::file("write", path))?;
        }
        Ok(source)
    }

    /// Refuses a cell with a variable whose type later cells could not write.
    fn check(&self, plan: &Plan, compiled: Compiled) -> Result<Compiled, Failure> {
        let bindings = plan.cell.iter().flat_map(|cell| &cell.bindings);
        for binding in bindings {
            if let Some(kind) = compiled
                .kinds
                .get(&binding.name)
                .filter(|it| !types::has_a_name(it))
            {
                return Err(Failure::Refused(Refusal::NamelessType {
                    variable: binding.name.clone(),
                    kind: kind.clone(),
                }));
            }
        }
        Ok(compiled)
    }

    /// Runs a compiled cell. Returns how the request ended, and why the cell did not come to its end.
    fn run(
        &mut self,
        request: &Request,
        listen: &mut dyn FnMut(Event),
    ) -> Result<(Ran, Option<Failure>), Error> {
        let mut failure = None;
        // A panic that may or may not end the cell.
        let mut panic: Option<Fault> = None;
        let mut pass_on = |event| match event {
            process::Event::Text(stream, text) => listen(Event::Text { stream, text }),
            process::Event::Report(report) => match report {
                Report::Begin => listen(Event::Begin),
                Report::Value { mime_type, text } => listen(Event::Value { mime_type, text }),
                Report::Failed(it) => failure = Some(Failure::Failed(fault(it))),
                Report::Panic(it) => {
                    if let Some(caught) = panic.replace(fault(it)) {
                        listen(Event::CaughtPanic(caught));
                    }
                }
                Report::Unwound => failure = panic.take().map(Failure::Panic),
                Report::ThreadPanic { thread, fault: it } => {
                    listen(Event::ThreadPanic {
                        thread,
                        fault: fault(it),
                    });
                }
                Report::NotLoaded(_) | Report::End(_) => {}
            },
        };
        let process = self.process.as_mut().expect("it was started");
        let ran = process.run(request, &self.control, &mut pass_on)?;
        if let Some(caught) = panic {
            listen(Event::CaughtPanic(caught));
        }
        Ok((ran, failure))
    }

    /// Takes over what a cell has changed. A cell that failed has defined its items, but no variable.
    fn commit(&mut self, plan: Plan, compiled: Compiled, is_done: bool, outcome: &mut Outcome) {
        self.items = plan.items;
        self.items.set_loaded(self.number);
        self.paths
            .retain(|name, _| !self.items.names().contains(&**name));
        for name in &plan.lost {
            self.variables.remove(name);
        }
        let Compiled {
            repairs,
            mut kinds,
            source,
            ..
        } = compiled;
        let Repairs { moved, frozen, .. } = repairs;
        let mut moved: Vec<String> = moved
            .into_iter()
            .filter(|name| plan.used.contains(name))
            .collect();
        moved.sort_unstable();
        for name in &moved {
            self.variables.set_moved(name, self.number);
        }
        for name in &frozen {
            self.variables.freeze(name);
        }
        let bindings = plan.cell.iter().flat_map(|cell| &cell.bindings);
        for binding in bindings.filter(|_| is_done) {
            let Some(kind) = kinds.remove(&binding.name) else {
                // It was moved away within the cell.
                self.variables.set_moved(&binding.name, self.number);
                continue;
            };
            let is_frozen = frozen.contains(&binding.name);
            self.variables.insert(Variable {
                name: binding.name.clone(),
                kind,
                is_mutable: binding.is_mutable && !is_frozen,
                cell: self.number,
                is_frozen,
            });
            outcome.defined.push(binding.name.clone());
        }
        outcome.lost = plan.lost;
        outcome.moved = moved;
        outcome.frozen = frozen.into_iter().collect();
        self.find_paths(source, &outcome.defined);
    }
}

fn fault(fault: wire::Fault) -> Fault {
    let place = cell_of_file(&fault.file).map(|cell| Place {
        cell,
        line: fault.line,
    });
    Fault {
        message: fault.message,
        place,
    }
}

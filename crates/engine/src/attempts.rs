//! Compiles a cell, in as many attempts as it takes to learn from rustc what it does.

use crate::cell;
use crate::compile::{Library, Messages, Task, types};
use crate::diagnostic::Diagnostic;
use crate::engine::Engine;
use crate::error::{Failure, Refusal, compiler_failed};
use crate::items::Items;
use crate::known::{Compiled, Learned};
use crate::macros::Revisions;
use crate::parts::{Parts, Used};
use crate::plan::{Input, Plan};
use crate::repair::Repairs;
use crate::source::Source;
use anyhow::Result;

/// How often a cell is compiled until it is known what it moves and borrows.
const ATTEMPTS: usize = 16;

/// After how many attempts none of the new variables is kept that is not sorted out.
const PATIENT: usize = 11;

impl Engine {
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
        for attempt in 0..ATTEMPTS {
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
            if attempt == PATIENT {
                repairs.keep_nothing(plan.cell.as_ref());
            }
            source = self.source(&plan, &repairs);
        }
        let why = "the cell's variables could not be sorted out";
        Err(compiler_failed("rustc", why).into())
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
        let packages = self.config.packages.iter();
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
            question_mark: packages.clone().find_map(|it| it.question_mark.as_deref()),
            frozen: &repairs.frozen,
            borrowed_at: &repairs.borrowed_at,
            temporaries: &repairs.temporaries,
            opaque: &repairs.opaque,
            has_await: repairs.has_await || plan.cell.as_ref().is_some_and(|it| it.has_await),
            has_try: repairs.has_try || plan.cell.as_ref().is_some_and(|it| it.has_try),
            options: &repairs.options,
            runtime: packages.clone().find_map(|it| it.runtime.as_deref()),
            marks: &plan.marks,
        };
        Source::new(&parts, &self.config.folder)
    }
}

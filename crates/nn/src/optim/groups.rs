//! The core of every optimiser: groups of parameters, and a step that happens as a whole or not at all.

use super::parameter_state::{ParameterState, precise};
use super::rule::{Rule, Update};
use crate::erased::Erased;
use crate::error::{Result, attempt, refuse};
use crate::nn::Parameter;
use crate::ops::{self, StepTensors};
use crate::tensor::{GradStore, Tensor};
use candle_core::Var;
use std::collections::BTreeMap;

/// The settings of one group of parameters.
#[derive(Clone)]
pub(super) struct Group<R: ?Sized> {
    pub(super) lr: f64,
    pub(super) weight_decay: f64,
    pub(super) decay_matrices_only: bool,
    pub(super) maximize: bool,
    pub(super) rule: R,
}

/// The methods that do not depend on the type of the rule: they are compiled once, not again for each
/// optimiser.
impl Group<dyn Rule> {
    fn check(&self, kind: &str) -> Result<()> {
        let any = f64::INFINITY;
        let common = [
            ("lr", self.lr, any),
            ("weight_decay", self.weight_decay, any),
        ];
        let mut limits = common.into_iter().chain(self.rule.limits());
        if let Some((name, value, limit)) =
            limits.find(|(_, value, limit)| !(0.0..*limit).contains(value))
        {
            let below = match limit.is_finite() {
                true => format!(" and below {limit}"),
                false => String::new(),
            };
            refuse!(argument(kind, value); "{name} of at least 0{below}",
                "Set it where the optimiser is created; a schedule sets lr before each step");
        }
        match self.rule.conflict() {
            None => Ok(()),
            Some((expected, found, advice)) => refuse!(argument(kind, found); expected, advice),
        }
    }

    /// Prepares the update of a parameter; `None` if it has no gradient. Nothing changes yet.
    fn plan(&self, kind: &str, member: &Member, gradients: &GradStore) -> Result<Option<Plan>> {
        let Member {
            parameter, kept, ..
        } = member;
        let Ok(var) = parameter.try_var() else {
            return Ok(None);
        };
        let variable = Tensor::from(&var);
        let Some(gradient) = gradients.get(&variable) else {
            return Ok(None);
        };
        refuse!(if !var.dtype().is_float(); dtype(kind, var.dtype());
            "parameters of floating-point numbers",
            "Convert the values before they become a parameter: x.to_dtype(DType::F32)");
        if let Some(refusal) = parameter.spec().and_then(|spec| spec.refusal(gradient)) {
            refuse!(state(kind);
                "a gradient is {refusal}",
                "Pass what loss.backward() returns; a changed gradient must keep shape and type");
        }
        let dtype = precise(var.dtype());
        let value = variable.detach().to_dtype(dtype);
        let gradient = gradient.to_dtype(dtype);
        let decays = !self.decay_matrices_only || value.rank() >= 2;
        let mut plan = Plan {
            gradient: if self.maximize { -gradient } else { gradient },
            state: ParameterState::tensors(kept.as_ref(), &self.rule, &value)?,
            update: Update {
                lr: self.lr,
                weight_decay: if decays { self.weight_decay } else { 0.0 },
                step: kept.as_ref().map_or(0.0, |kept| kept.steps) + 1.0,
            },
            new: None,
            value,
            var,
        };
        if !plan.tensors().have_kernel() {
            let rule = self.rule.step(plan.update);
            plan.new = Some(rule.of_tensors(&plan.value, &plan.gradient, &plan.state));
        }
        Ok(Some(plan))
    }

    fn print(&self) -> String {
        let decay = self.weight_decay.to_string();
        let of = if self.decay_matrices_only {
            " of matrices"
        } else {
            ""
        };
        let maximize = if self.maximize { ", maximize=true" } else { "" };
        self.rule.print(self.lr, &(decay + of)) + maximize
    }
}

/// A parameter, its group, and the state that the optimiser keeps for it.
#[derive(Clone)]
pub(super) struct Member {
    pub(super) parameter: Parameter,
    pub(super) group: usize,
    pub(super) kept: Option<ParameterState>,
}

/// The parameters of an optimiser in groups, of which there is at least one.
#[derive(Clone)]
pub(super) struct Groups<R> {
    /// The optimiser's name: the state of one kind does not fit another.
    pub(super) kind: &'static str,
    pub(super) groups: Erased<Vec<Group<R>>>,
    pub(super) members: Erased<Vec<Member>>,
}

impl<R: Rule> Groups<R> {
    pub(super) fn new(
        kind: &'static str,
        parameters: Vec<Parameter>,
        lr: f64,
        weight_decay: f64,
        rule: R,
    ) -> Self {
        let group = Group {
            lr,
            weight_decay,
            decay_matrices_only: false,
            maximize: false,
            rule,
        };
        let mut groups = Self {
            kind,
            groups: Erased::new(vec![group]),
            members: Erased::default(),
        };
        for parameter in parameters {
            groups.add_member(Member {
                parameter,
                group: 0,
                kept: None,
            });
        }
        groups
    }

    /// Adds the groups of another optimiser. A parameter that both have moves to the other's group.
    pub(super) fn add(&mut self, other: Self) {
        let before = self.groups.len();
        self.groups.extend(other.groups.into_inner());
        for mut member in other.members.into_inner() {
            member.group += before;
            self.add_member(member);
        }
    }

    fn add_member(&mut self, member: Member) {
        let mut own = self.members.iter_mut();
        match own.find(|own| own.parameter.is_same(&member.parameter)) {
            Some(own) => own.group = member.group,
            None => self.members.push(member),
        }
    }

    /// Returns the group whose settings the methods of an optimiser change.
    pub(super) fn first(&mut self) -> &mut Group<R> {
        &mut self.groups[0]
    }

    pub(super) fn lrs(&self) -> Vec<f64> {
        self.groups.iter().map(|group| group.lr).collect()
    }

    /// Sets the learning rates of the groups, in order.
    pub(super) fn set_lrs(&mut self, lrs: impl IntoIterator<Item = f64>) {
        for (group, lr) in self.groups.iter_mut().zip(lrs) {
            group.lr = lr;
        }
    }

    /// Updates each parameter that has a gradient. All that can fail comes first, so an error changes
    /// nothing; without a kernel this needs memory for the new values of all parameters at once.
    pub(super) fn step(&mut self, gradients: &GradStore) -> Result<()> {
        let groups: Vec<&Group<dyn Rule>> = self.groups.iter().map(|group| group as _).collect();
        step(self.kind, &groups, &mut self.members, gradients)
    }

    pub(super) fn print(&self) -> String {
        let groups: Vec<String> = self
            .groups
            .iter()
            .map(|group| Group::<dyn Rule>::print(group))
            .collect();
        format!("{}({})", self.kind, groups.join("; "))
    }
}

fn step(
    kind: &str,
    groups: &[&Group<dyn Rule>],
    members: &mut [Member],
    gradients: &GradStore,
) -> Result<()> {
    groups.iter().try_for_each(|group| group.check(kind))?;
    let mut plans = Vec::with_capacity(members.len());
    for (i, member) in members.iter().enumerate() {
        let plan = attempt(|| groups[member.group].plan(kind, member, gradients))??;
        plans.extend(plan.map(|plan| (i, plan)));
    }
    refuse!(if plans.is_empty() && !members.is_empty();
        state("the optimiser's parameters have no gradients");
        "the loss does not depend on them",
        "Create the optimiser for the model that computes the loss: SGD::new(model.parameters(), 0.1)");
    step_in_place(groups, members, &plans)?;
    for (i, plan) in plans {
        let member = &mut members[i];
        member.kept = plan.apply(groups[member.group])?;
        member.parameter.mark_changed();
    }
    Ok(())
}

/// Updates the parameters that have a kernel: together, where the settings of the update are the same.
fn step_in_place(
    groups: &[&Group<dyn Rule>],
    members: &[Member],
    plans: &[(usize, Plan)],
) -> Result<()> {
    let mut together: BTreeMap<_, (Update, Vec<StepTensors>)> = BTreeMap::new();
    for (i, plan) in plans.iter().filter(|(_, plan)| plan.new.is_none()) {
        let update = plan.update;
        let settings = [update.weight_decay, update.step].map(f64::to_bits);
        let same = together.entry((members[*i].group, settings));
        let (_, tensors) = same.or_insert_with(|| (update, vec![]));
        tensors.push(plan.tensors());
    }
    for ((group, _), (update, tensors)) in &together {
        ops::step_in_place(tensors, &*groups[*group].rule.step(*update))?;
    }
    Ok(())
}

/// A prepared update of a parameter.
struct Plan {
    var: Var,
    /// The values: the memory of the variable, or a copy in `f32` of one with 16 bits.
    value: Tensor,
    gradient: Tensor,
    state: Vec<Tensor>,
    update: Update,
    /// The new value and the new state; `None` if a kernel computes them in place.
    new: Option<(Tensor, Vec<Tensor>)>,
}

impl Plan {
    fn tensors(&self) -> StepTensors {
        StepTensors {
            value: self.value.raw().clone(),
            gradient: self.gradient.raw().clone(),
            state: self.state.iter().map(|x| x.raw().clone()).collect(),
        }
    }

    /// Stores what has been computed, and returns the parameter's new state.
    fn apply(mut self, group: &Group<dyn Rule>) -> Result<Option<ParameterState>> {
        let is_copy = self.value.dtype() != self.var.dtype();
        let is_new = self.new.is_some();
        if let Some((value, state)) = self.new.take() {
            (self.value, self.state) = (value, state);
        }
        if is_copy || is_new {
            let value = self.value.raw().to_dtype(self.var.dtype())?;
            self.var.set(value.values())?;
        }
        Ok(ParameterState::new(
            self.update.step,
            &group.rule,
            self.state,
        ))
    }
}

//! Policy gradients (REINFORCE) on CartPole.

use crate::run::{STEPS, compare};
use taper::prelude::*;
use taper::rl::{CartPole, Environment, returns};

// begin
fn policy() -> Sequential {
    seq![Linear::new(4, 32), Dropout::new(0.0), ReLU, Linear::new(32, 2)]
}

fn loss(policy: &Sequential, states: &Tensor, actions: &Tensor, returns: &Tensor) -> Tensor {
    let scaled = (returns - returns.mean_all()) / (returns.std(0) + 1e-8);
    let log_probs = policy.forward(states).log_softmax(-1).gather(&actions.unsqueeze(1), 1);
    -(log_probs.squeeze(1) * scaled).sum_all()
}
// end

/// Plays an episode, and returns its observations, actions and rewards.
fn episode(policy: &Sequential) -> (Tensor, Tensor, Vec<f64>) {
    let mut world = CartPole::new().max_steps(60);
    let double = |x: Tensor| x.to_dtype(DType::F64);
    let (mut observation, mut states, mut actions, mut rewards) = (double(world.reset()), vec![], vec![], vec![]);
    loop {
        let p = no_grad(|| policy.forward(&observation)).softmax(-1).i(1).item();
        let action = i64::from(rand(()).item() < p);
        let step = world.step(action as usize);
        states.push(observation);
        actions.push(action);
        rewards.push(step.reward);
        if step.is_over() {
            return (Tensor::stack(&states, 0), tensor(actions), rewards);
        }
        observation = double(step.observation);
    }
}

#[test]
fn reinforce() {
    compare("reinforce", |run| {
        let mut policy = policy();
        policy.to_dtype(DType::F64);
        run.weights("model", &policy);
        let mut optimizer = Adam::new(policy.parameters(), 0.01);
        for _ in 0..STEPS {
            let (states, actions, rewards) = episode(&policy);
            let returns = returns(&rewards, 0.99).to_dtype(DType::F64);
            run.input("states", &states);
            run.input("actions", &actions);
            run.input("returns", &returns);
            let loss = loss(&policy, &states, &actions, &returns);
            optimizer.step(&loss.backward());
            run.step(&[&loss]);
        }
    });
}

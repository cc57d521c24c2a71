//! Deep Q-learning with a replay buffer and a target network.

use crate::run::{STEPS, compare};
use taper::prelude::*;
use taper::rl::{CartPole, Environment, ReplayBuffer, Transitions};

// begin
fn q_network() -> Sequential {
    seq![Linear::new(4, 32), ReLU, Linear::new(32, 32), ReLU, Linear::new(32, 2)]
}

fn loss(net: &Sequential, target: &Sequential, batch: &Transitions) -> Tensor {
    let q = net.forward(&batch.observations).gather(&batch.actions.unsqueeze(1), 1).squeeze(1);
    let next = no_grad(|| target.forward(&batch.next_observations).max(1));
    let wanted = &batch.rewards + (1.0 - &batch.terminated) * next * 0.99;
    huber_loss(&q, &wanted, 1.0)
}
// end

#[test]
fn dqn() {
    compare("dqn", |run| {
        let net = q_network();
        let target = net.replicate(&cpu());
        run.weights("model", &net);
        let (mut memory, mut world) = (ReplayBuffer::new(200), CartPole::new());
        let mut observation = world.reset();
        for _ in 0..200 {
            let action = randint(0, 2, ()).item() as usize;
            let step = world.step(action);
            memory.push(&observation, action, step.reward, &step.observation, step.terminated);
            observation = if step.is_over() { world.reset() } else { step.observation };
        }
        let mut optimizer = AdamW::new(net.parameters(), 0.001).amsgrad(true);
        for _ in 0..STEPS {
            let batch = memory.sample(32);
            run.input("observations", &batch.observations);
            run.input("actions", &batch.actions);
            run.input("rewards", &batch.rewards);
            run.input("next_observations", &batch.next_observations);
            run.input("terminated", &batch.terminated);
            let loss = loss(&net, &target, &batch);
            optimizer.step(&loss.backward());
            // The target follows slowly.
            for (slow, fast) in target.parameters().iter().zip(net.parameters()) {
                slow.set(&(slow.tensor() * 0.99 + fast.tensor() * 0.01));
            }
            run.step(&[&loss]);
        }
    });
}

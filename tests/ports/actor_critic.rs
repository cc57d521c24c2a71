//! An actor that chooses and a critic that estimates, on a grid.

use crate::run::{STEPS, compare};
use taper::prelude::*;
use taper::rl::{Environment, GridWorld, returns};

// begin
#[derive(Parameters)]
struct ActorCritic {
    body: Sequential,
    actor: Linear,
    critic: Linear,
}

impl ActorCritic {
    fn new(fields: usize, actions: usize) -> Self {
        let body = seq![Embedding::new(fields, 16), Linear::new(16, 32), ReLU];
        let [actor, critic] = [actions, 1].map(|outputs| Linear::new(32, outputs));
        ActorCritic { body, actor, critic }
    }

    fn forward(&self, states: &Tensor) -> (Tensor, Tensor) {
        let h = self.body.forward(states);
        (self.actor.forward(&h).log_softmax(-1), self.critic.forward(&h).squeeze(-1))
    }

    fn loss(&self, states: &Tensor, actions: &Tensor, returns: &Tensor) -> Tensor {
        let (log_probs, values) = self.forward(states);
        let chosen = log_probs.gather(&actions.unsqueeze(1), 1).squeeze(1);
        let policy = -(chosen * (returns - values.detach())).sum_all();
        policy + SmoothL1Loss::new().reduction(Reduction::Sum).forward(&values, returns)
    }
}
// end

fn episode(model: &ActorCritic) -> (Tensor, Tensor, Vec<f64>) {
    let mut world = GridWorld::new(&["S..", ".X.", "..G"]).step_reward(-0.05).max_steps(30);
    let (mut observation, mut states, mut actions, mut rewards) = (world.reset(), vec![], vec![], vec![]);
    loop {
        let (log_probs, _) = no_grad(|| model.forward(&observation.unsqueeze(0)));
        let (sum, draw) = (log_probs.exp().cumsum(-1).i(0), rand(()).item());
        let action = sum.le(draw).sum_all().item().min(3.0) as i64;
        let step = world.step(action as usize);
        states.push(observation);
        actions.push(action);
        rewards.push(step.reward);
        if step.is_over() {
            return (Tensor::stack(&states, 0), tensor(actions), rewards);
        }
        observation = step.observation;
    }
}

#[test]
fn actor_critic() {
    compare("actor_critic", |run| {
        let model = ActorCritic::new(9, 4);
        run.weights("model", &model);
        let mut optimizer = Adam::new(model.parameters(), 0.01);
        for _ in 0..STEPS {
            let (states, actions, rewards) = episode(&model);
            let returns = returns(&rewards, 0.95);
            run.input("states", &states);
            run.input("actions", &actions);
            run.input("returns", &returns);
            let loss = model.loss(&states, &actions, &returns);
            optimizer.step(&loss.backward());
            run.step(&[&loss]);
        }
    });
}

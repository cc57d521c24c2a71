//! A recommender: ratings as products of vectors of users and items.

use crate::run::{STEPS, compare};
use taper::prelude::*;

// begin
#[derive(Parameters)]
struct Factors {
    users: Embedding,
    items: Embedding,
    user_bias: Embedding,
    item_bias: Embedding,
}

impl Factors {
    fn new(users: usize, items: usize, size: usize) -> Self {
        let [users, user_bias] = [size, 1].map(|size| Embedding::new(users, size));
        let [items, item_bias] = [size, 1].map(|size| Embedding::new(items, size));
        Factors { users, items, user_bias, item_bias }
    }

    fn forward(&self, user: &Tensor, item: &Tensor) -> Tensor {
        let product = (self.users.forward(user) * self.items.forward(item)).sum(-1);
        let biases = self.user_bias.forward(user) + self.item_bias.forward(item);
        product + biases.squeeze(-1)
    }
}
// end

#[test]
fn matrix_factorization() {
    compare("matrix_factorization", |run| {
        let model = Factors::new(20, 30, 6);
        model.init_weights(Init::Normal(0.01));
        run.weights("model", &model);
        let mut optimizer = Adam::new(model.parameters(), 0.02).weight_decay(1e-5);
        for _ in 0..STEPS {
            let (users, items) = (randint(0, 20, 64), randint(0, 30, 64));
            let ratings = ((&users + &items).to_dtype(DType::F32) * 0.7).sin() * 2.0 + 3.0;
            run.input("users", &users);
            run.input("items", &items);
            run.input("ratings", &ratings);
            let loss = mse_loss(&model.forward(&users, &items), &ratings);
            optimizer.step(&loss.backward());
            run.step(&[&loss]);
        }
    });
}

//! Distillation: a small network learns the probabilities of a large one.

use crate::run::{STEPS, compare};
use taper::prelude::*;

// begin
fn net(width: usize) -> Sequential {
    seq![Linear::new(12, width), Hardswish, Linear::new(width, 5)]
}

fn loss(student: &Tensor, teacher: &Tensor, y: &Tensor, temperature: f64) -> Tensor {
    let soft = KLDivLoss::new().reduction(Reduction::BatchMean).log_target(true);
    let [student_log, teacher_log] = [student, teacher].map(|x| (x / temperature).log_softmax(-1));
    let soft = soft.forward(&student_log, &teacher_log) * temperature.powi(2);
    soft * 0.75 + cross_entropy(student, y) * 0.25
}
// end

#[test]
fn distillation() {
    compare("distillation", |run| {
        let (teacher, student) = (net(48), net(8));
        run.weights("teacher", &teacher);
        run.weights("model", &student);
        let mut optimizer = SGD::new(student.parameters(), 0.1).momentum(0.9).nesterov(true);
        for _ in 0..STEPS {
            let x = randn((32, 12)) * 3.0;
            let y = no_grad(|| teacher.forward(&x)).argmax(-1).to_dtype(DType::I64);
            run.input("x", &x);
            run.input("y", &y);
            let loss = loss(&student.forward(&x), &no_grad(|| teacher.forward(&x)), &y, 4.0);
            optimizer.step(&loss.backward());
            run.step(&[&loss]);
        }
    });
}

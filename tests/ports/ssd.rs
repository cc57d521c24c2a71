//! Detection in one shot: boxes and classes for the places of two feature maps.

use crate::run::{STEPS, compare};
use taper::prelude::*;

// begin
#[derive(Parameters)]
struct Ssd {
    stages: [Sequential; 2],
    classes: [Conv2d; 2],
    offsets: [Conv2d; 2],
}

impl Ssd {
    fn new(classes: usize) -> Self {
        let down = |inputs, outputs| {
            seq![Conv2d::new(inputs, outputs, 3).padding(1), BatchNorm2d::new(outputs), ReLU, MaxPool2d::new(2)]
        };
        Ssd {
            stages: [seq![down(1, 8), down(8, 16)], down(16, 16)],
            classes: [0, 1].map(|_| Conv2d::new(16, classes + 1, 3).padding(1)),
            offsets: [0, 1].map(|_| Conv2d::new(16, 4, 3).padding(1)),
        }
    }

    fn forward(&self, x: &Tensor) -> (Tensor, Tensor) {
        let (mut x, mut logits, mut offsets) = (x.clone(), vec![], vec![]);
        for i in 0..2 {
            x = self.stages[i].forward(&x);
            logits.push(self.classes[i].forward(&x).flatten_from(2));
            offsets.push(self.offsets[i].forward(&x).flatten_from(2));
        }
        (cat(&logits, 2), cat(&offsets, 2).transpose(1, 2))
    }

    /// One object in each image.
    fn loss(&self, x: &Tensor, boxes: &Tensor, classes: &Tensor, anchors: &Tensor) -> Tensor {
        let (logits, offsets) = self.forward(x);
        let positive = box_iou(boxes, &edges(anchors)).gt(0.3);
        let wanted = positive.where_cond(classes.unsqueeze(1) + 1, 0);
        let losses = CrossEntropyLoss::new().reduction(Reduction::None).forward(&logits, &wanted);
        // Three times as many of the worst others.
        let rank = losses.masked_fill(&positive, 0.0).argsort(1, true).argsort(1, false);
        let chosen = &positive | rank.lt(positive.sum_keepdim(1) * 3);
        let [low, high] = halves(&boxes.unsqueeze(1));
        let [centers, sizes] = halves(anchors);
        let target = cat(&[((&low + &high) / 2.0 - centers) / &sizes, ((high - low) / sizes).log()], -1);
        let distances = SmoothL1Loss::new().reduction(Reduction::None).forward(&offsets, &target).sum(-1);
        (losses.i(&chosen).sum_all() + distances.i(&positive).sum_all()) / positive.sum_all()
    }

    fn detect(&self, x: &Tensor, anchors: &Tensor) -> (Tensor, Tensor) {
        let (logits, offsets) = no_grad(|| self.forward(x));
        let ([centers, sizes], [shift, growth]) = (halves(anchors), halves(&offsets.i(0)));
        let boxes = edges(&cat(&[centers + shift * &sizes, sizes * growth.exp()], -1));
        let scores = 1.0 - logits.i(0).softmax(0).i(0);
        let best = tensor(nms(&boxes, &scores, 0.5).iter().map(|&i| i as i64).collect::<Vec<_>>());
        (boxes.i(&best), scores.i(&best))
    }
}

fn halves(boxes: &Tensor) -> [Tensor; 2] {
    [boxes.narrow(-1, 0, 2), boxes.narrow(-1, 2, 2)]
}

fn edges(boxes: &Tensor) -> Tensor {
    let [centers, sizes] = halves(boxes);
    cat(&[&centers - &sizes / 2.0, centers + sizes / 2.0], -1)
}

/// Centres and sizes of a box for each place of each feature map.
fn anchors(grids: [usize; 2]) -> Tensor {
    let boxes = grids.map(|grid| {
        let line = (arange(0, grid as i64).to_dtype(DType::F32) + 0.5) / grid as f64;
        let [rows, columns] = [line.repeat_interleave(grid, 0), line.repeat(grid)];
        let size = full(grid * grid, 1.5 / grid as f64);
        Tensor::stack(&[&rows, &columns, &size, &size], 1)
    });
    cat(&boxes, 0)
}
// end

#[test]
fn ssd() {
    compare("ssd", |run| {
        let (model, anchors) = (Ssd::new(2), anchors([4, 2]));
        run.weights("model", &model);
        let mut optimizer = SGD::new(model.parameters(), 0.05).momentum(0.9);
        let line = (arange(0, 16).to_dtype(DType::F32) + 0.5) / 16.0;
        for step in 1..=STEPS {
            // A bright or a dark rectangle.
            let (center, size) = (rand((8, 2)) * 0.4 + 0.3, rand((8, 2)) * 0.3 + 0.3);
            let boxes = edges(&cat(&[center, size], 1));
            let classes = randint(0, 2, 8);
            let within = |low: i64| {
                let [low, high] = [low, low + 2].map(|edge| boxes.i((.., edge)).unsqueeze(1));
                (line.gt(&low) & line.lt(&high)).to_dtype(DType::F32)
            };
            let inside = within(0).unsqueeze(2) * within(1).unsqueeze(1);
            let brightness = (classes.to_dtype(DType::F32) * 2.0 - 1.0).reshape((8, 1, 1));
            let x = (inside * brightness).unsqueeze(1) + randn((8, 1, 16, 16)) * 0.1;
            for (name, x) in [("x", &x), ("boxes", &boxes), ("classes", &classes)] {
                run.input(name, x);
            }
            let loss = model.loss(&x, &boxes, &classes, &anchors);
            optimizer.step(&loss.backward());
            let mut found = vec![];
            if step == STEPS {
                let (boxes, scores) = model.detect(&x.narrow(0, 0, 1), &anchors);
                found = cat(&[boxes.i(0), scores.i(..2)], 0).unbind(0);
            }
            run.step(&[&loss].into_iter().chain(&found).collect::<Vec<_>>());
        }
    });
}

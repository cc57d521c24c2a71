//! The kernel that a GPU gets for each optimiser, executed in the emulator.

use super::*;
use crate::device::optimizer_step::Addresses;
use crate::device::testing::{Memory, run_step};
use crate::optim::adadelta::AdadeltaRule;
use crate::optim::adagrad::AdagradRule;
use crate::optim::adam::AdamRule;
use crate::optim::rmsprop::RMSpropRule;
use crate::optim::sgd::SgdRule;
use crate::tensor::{manual_seed, uniform};
use std::panic::catch_unwind;

/// Returns the rules of all optimisers, with the number of tensors of their state.
fn all_rules(update: Update) -> Vec<(Box<dyn StepRule>, usize)> {
    fn step<R: Copy>(rule: R, update: Update) -> Box<dyn StepRule>
    where
        Step<R>: StepRule + 'static,
    {
        Box::new(Step { rule, update })
    }

    let sgd = |momentum, nesterov| SgdRule {
        momentum,
        dampening: 0.2,
        nesterov,
    };
    let adam = |decoupled, amsgrad| AdamRule {
        betas: (0.9, 0.99),
        eps: 1e-6,
        decoupled,
        amsgrad,
    };
    let rmsprop = |momentum, centered| RMSpropRule {
        alpha: 0.9,
        eps: 1e-4,
        momentum,
        centered,
    };
    let adagrad = AdagradRule {
        lr_decay: 0.1,
        initial_accumulator_value: 0.0,
        eps: 1e-4,
    };
    let adadelta = AdadeltaRule {
        rho: 0.9,
        eps: 1e-4,
    };
    vec![
        (step(sgd(0.0, false), update), 0),
        (step(sgd(0.9, false), update), 1),
        (step(sgd(0.9, true), update), 1),
        (step(adam(false, false), update), 2),
        (step(adam(true, false), update), 2),
        (step(adam(true, true), update), 3),
        (step(rmsprop(0.0, false), update), 1),
        (step(rmsprop(0.9, false), update), 2),
        (step(rmsprop(0.9, true), update), 3),
        (step(adagrad, update), 1),
        (step(adadelta, update), 2),
    ]
}

/// One kernel, in the emulator, changes all parameters to the bits of the CPU.
#[test]
fn the_kernel_of_a_gpu_updates_many_parameters_to_the_bits_of_the_cpu() {
    manual_seed(1);
    for weight_decay in [0.0, 0.01] {
        let update = Update {
            lr: 0.1,
            weight_decay,
            step: 3.0,
        };
        for (rule, states) in all_rules(update) {
            // The first parameter of the kernel has a block to itself, the second several; one is empty.
            let sizes = [300, 2500, 0, 1, 1024].into_iter().chain([3; 100]);
            let mut memory = Memory::default();
            let (mut addresses, mut expected) = (vec![], vec![]);
            for elements in sizes {
                let draw = || uniform(0.0, 1.0, elements).to_vec::<f32>();
                // The first state of Adam may be negative, the others are squares.
                let mut changed: Vec<Vec<f32>> = (0..=states).map(|_| draw()).collect();
                changed[0].iter_mut().for_each(|value| *value -= 0.5);
                let gradient: Vec<f32> = draw().iter().map(|value| value - 0.5).collect();
                let all = changed.iter().chain([&gradient]);
                let tensors: Vec<u64> = all.map(|values| memory.with(values)).collect();
                let mut chunks: Vec<&mut [f32]> = changed.iter_mut().map(|x| &mut x[..]).collect();
                rule.update(&mut chunks, &gradient);
                expected.extend(tensors.iter().copied().zip(changed));
                addresses.push(Addresses { tensors, elements });
            }
            let program = rule.on_gpu(states);
            let launches = program.launches(&addresses);
            assert_eq!(launches.len(), if states < 2 { 1 } else { 2 });
            for launch in &launches {
                run_step(&program.ptx(), launch, &mut memory);
            }
            for (address, expected) in expected {
                let bits =
                    |values: &[f32]| -> Vec<u32> { values.iter().map(|x| x.to_bits()).collect() };
                assert_eq!(bits(&memory.written::<f32>(address)), bits(&expected));
            }
        }
    }
}

#[test]
fn a_launch_has_as_many_parameters_as_its_table_and_none_is_empty() {
    let update = Update {
        lr: 0.1,
        weight_decay: 0.0,
        step: 1.0,
    };
    for (rule, states) in all_rules(update) {
        let program = rule.on_gpu(states);
        let parameter = |elements| Addresses {
            tensors: vec![0; states + 2],
            elements,
        };
        let launches = |elements: &[usize]| -> Vec<u32> {
            let parameters: Vec<_> = elements
                .iter()
                .map(|elements| parameter(*elements))
                .collect();
            let launches = program.launches(&parameters);
            launches.iter().map(|launch| launch.blocks).collect()
        };
        assert_eq!(launches(&[1, 1024, 1025]), [4]);
        assert!(launches(&[]).is_empty() && launches(&[0, 0]).is_empty());
        let most = [128, 110, 88, 73][states];
        assert_eq!(launches(&vec![5; most]), [most as u32]);
        assert_eq!(launches(&vec![5; most + 1]), [most as u32, 1]);
    }
}

/// The comparison above finds a wrong instruction, and an element that is left out.
#[test]
fn a_wrong_kernel_differs() {
    let update = Update {
        lr: 0.1,
        weight_decay: 0.0,
        step: 1.0,
    };
    let (rule, states) = all_rules(update).swap_remove(0);
    let program = rule.on_gpu(states);
    let run = |ptx: &str| {
        let mut memory = Memory::default();
        let tensors = vec![memory.with(&[1f32; 300]), memory.with(&[1f32; 300])];
        let elements = 300;
        let launches = program.launches(&[Addresses {
            tensors: tensors.clone(),
            elements,
        }]);
        run_step(ptx, &launches[0], &mut memory);
        catch_unwind(|| memory.written::<f32>(tensors[0])).ok()
    };
    let ptx = program.ptx();
    assert_eq!(run(&ptx), Some(vec![1.0 - 0.1; 300]));
    assert_eq!(
        run(&ptx.replace("sub.rn.f32", "add.rn.f32")),
        Some(vec![1.1; 300])
    );
    assert_eq!(
        run(&ptx.replace("setp.lt.u32 %p0, %r1, 4;", "setp.lt.u32 %p0, %r1, 1;")),
        None
    );
}

/// Writes each rule's kernel into the folder that the variable names: `kernels/make --check` compiles them with CUDA's own
/// assembler.
#[test]
fn kernels_are_written_for_the_assembler() {
    let Some(folder) = std::env::var_os("TAPER_STEP_KERNELS") else {
        return;
    };
    let update = Update {
        lr: 0.1,
        weight_decay: 0.01,
        step: 2.0,
    };
    for (i, (rule, states)) in all_rules(update).into_iter().enumerate() {
        let file = std::path::Path::new(&folder).join(format!("step-{i}.ptx"));
        std::fs::write(file, rule.on_gpu(states).ptx()).expect("the kernel is written");
    }
}

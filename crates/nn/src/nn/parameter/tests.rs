use super::*;
use crate::nn::tests::message_of;
use crate::notebook::Show;
use crate::tensor::{full, zeros};
use candle_core::DType;

const CPU: Device = Device::Cpu;

#[test]
fn it_owns_its_memory_and_its_clones_share_it() {
    let values = zeros(2);
    let parameter = Parameter::new(&values);
    let other = Parameter::new(&parameter.tensor());
    let clone = parameter.clone();
    parameter.set(&full(2, 1.0));

    let elements = |t: &Tensor| t.to_vec1::<f32>();
    assert_eq!(elements(&clone.tensor()), [1.0, 1.0]);
    assert_eq!(elements(&other.tensor()), [0.0, 0.0]);
    assert_eq!(elements(&values), [0.0, 0.0]);
}

#[test]
fn it_can_be_set_from_its_own_values() {
    let parameter = Parameter::new(&full(2, 3.0));
    let own = parameter.tensor();
    parameter.set(&own);
    assert!(own.shares_storage_with(&parameter.tensor()));
    let message = message_of(|| parameter.set(&zeros(3)));
    assert!(message.starts_with("a parameter of [2] f32 cannot hold [3] f32\n"));
}

#[test]
fn a_lazy_one_waits_for_its_first_values() {
    let parameter = Parameter::lazy();
    assert_eq!(parameter.show_text(), "Parameter without values yet");
    let message = message_of(|| parameter.device());
    assert_eq!(message.lines().count(), 2, "{message}");
    assert!(parameter.planned_device().is_none());
    parameter.move_to(&CPU).unwrap();
    assert!(parameter.planned_device().unwrap().is_cpu());
    parameter.set(&zeros(2));
    parameter.init(&CPU, || panic!("it has values"));
    assert_eq!(parameter.dtype(), DType::F32);
    let text = "Parameter containing:\n[0., 0.]\nTensor[[2], f32, cpu]";
    assert_eq!(parameter.show_text(), text);
}

use super::*;
use crate::tensor::{full, zeros};

const CPU: Device = Device::Cpu;

#[test]
fn it_owns_its_memory_and_its_clones_share_it() {
    let values = zeros(2, &CPU).unwrap();
    let parameter = Parameter::new(&values).unwrap();
    let other = Parameter::new(&parameter.tensor().unwrap()).unwrap();
    let clone = parameter.clone();
    parameter.set(&full(2, 1.0, &CPU).unwrap()).unwrap();

    let elements = |t: &Tensor| t.to_vec1::<f32>().unwrap();
    assert_eq!(elements(&clone.tensor().unwrap()), [1.0, 1.0]);
    assert_eq!(elements(&other.tensor().unwrap()), [0.0, 0.0]);
    assert_eq!(elements(&values), [0.0, 0.0]);
}

#[test]
fn it_can_be_set_from_its_own_values() {
    let parameter = Parameter::new(&full(2, 3.0, &CPU).unwrap()).unwrap();
    let own = parameter.tensor().unwrap();
    parameter.set(&own).unwrap();
    assert!(own.shares_storage_with(&parameter.tensor().unwrap()));
    let message = parameter.set(&zeros(3, &CPU).unwrap()).unwrap_err();
    let message = message.to_string();
    assert!(message.starts_with("a parameter of [2] f32 cannot hold [3] f32\n"));
}

#[test]
fn a_lazy_one_waits_for_its_first_values() {
    let parameter = Parameter::lazy();
    assert_eq!(parameter.show_text(), "Parameter without values yet");
    let message = parameter.device().unwrap_err().to_string();
    assert_eq!(message.lines().count(), 2, "{message}");
    assert!(parameter.planned_device().is_none());
    parameter.move_to(&CPU).unwrap();
    assert!(parameter.planned_device().unwrap().is_cpu());
    parameter.set(&zeros(2, &CPU).unwrap()).unwrap();
    parameter.init(&CPU, |_| panic!("it has values")).unwrap();
    assert_eq!(parameter.dtype().unwrap(), DType::F32);
    let text = "Parameter containing:\n[0., 0.]\nTensor[[2], f32, cpu]";
    assert_eq!(parameter.show_text(), text);
}

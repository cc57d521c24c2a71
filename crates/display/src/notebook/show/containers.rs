//! [`Show`] for values that contain others: references, tuples, lists, options, maps.

use super::Show;
use crate::notebook::MimeBundle;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::rc::Rc;
use std::sync::Arc;

/// The number of items at each end of a shortened list.
const EDGE_ITEMS: usize = 10;
/// The maximum number of items of a list that is shown whole.
const MOST_ITEMS: usize = 100;

macro_rules! show_as_its_target {
    ($($pointer:ty),* $(,)?) => {$(
        impl<T: Show + ?Sized> Show for $pointer {
            fn show_text(&self) -> String {
                (**self).show_text()
            }

            fn show_bundle(&self) -> MimeBundle {
                (**self).show_bundle()
            }

            fn evcxr_display(&self) {
                (**self).evcxr_display()
            }
        }
    )*};
}

show_as_its_target!(&T, &mut T, Box<T>, Rc<T>, Arc<T>);

impl<T: Show> Show for Option<T> {
    fn show_text(&self) -> String {
        match self {
            Some(value) => wrapped("Some(", vec![value.show_text()], ")"),
            None => "None".to_owned(),
        }
    }
}

impl<T: Show, E: Debug> Show for Result<T, E> {
    fn show_text(&self) -> String {
        match self {
            Ok(value) => wrapped("Ok(", vec![value.show_text()], ")"),
            Err(error) => wrapped("Err(", vec![format!("{error:?}")], ")"),
        }
    }
}

impl<T: Show> Show for [T] {
    fn show_text(&self) -> String {
        let text = |items: &[T]| -> Vec<String> { items.iter().map(Show::show_text).collect() };
        if self.len() <= MOST_ITEMS {
            return wrapped("[", text(self), "]");
        }
        let mut items = text(&self[..EDGE_ITEMS]);
        items.push(format!("… {} more …", self.len() - 2 * EDGE_ITEMS));
        items.extend(text(&self[self.len() - EDGE_ITEMS..]));
        wrapped("[", items, "]")
    }
}

impl<T: Show> Show for Vec<T> {
    fn show_text(&self) -> String {
        self.as_slice().show_text()
    }
}

impl<T: Show, const N: usize> Show for [T; N] {
    fn show_text(&self) -> String {
        self.as_slice().show_text()
    }
}

impl<K: Show, V: Show> Show for BTreeMap<K, V> {
    fn show_text(&self) -> String {
        wrapped("{", self.iter().map(entry).collect(), "}")
    }
}

/// Sorts the entries by their text, so that every run of a cell shows the same order.
impl<K: Show, V: Show, S> Show for HashMap<K, V, S> {
    fn show_text(&self) -> String {
        let mut entries: Vec<String> = self.iter().map(entry).collect();
        entries.sort();
        wrapped("{", entries, "}")
    }
}

fn entry<K: Show, V: Show>((key, value): (&K, &V)) -> String {
    format!("{}: {}", key.show_text(), value.show_text())
}

/// Shows a comma after the value, as Rust writes a tuple of one value.
impl<A: Show> Show for (A,) {
    fn show_text(&self) -> String {
        wrapped("(", vec![self.0.show_text()], ",)")
    }
}

macro_rules! show_tuple {
    ($($part:ident $index:tt),*) => {
        impl<$($part: Show),*> Show for ($($part,)*) {
            fn show_text(&self) -> String {
                wrapped("(", vec![$(self.$index.show_text()),*], ")")
            }
        }
    };
}

show_tuple!(A 0, B 1);
show_tuple!(A 0, B 1, C 2);
show_tuple!(A 0, B 1, C 2, D 3);
show_tuple!(A 0, B 1, C 2, D 3, E 4);
show_tuple!(A 0, B 1, C 2, D 3, E 4, F 5);
show_tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
show_tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);

/// Puts items in brackets: on one line or, if an item has several lines, one below the other.
fn wrapped(open: &str, items: Vec<String>, close: &str) -> String {
    if !items.iter().any(|item| item.contains('\n')) {
        return format!("{open}{}{close}", items.join(", "));
    }
    let indent = format!("\n{:width$}", "", width = open.len());
    let items: Vec<String> = items.iter().map(|i| i.replace('\n', &indent)).collect();
    format!("{open}{}{close}", items.join(&format!(",{indent}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{cpu, try_all_gpus, try_gpu};
    use crate::tensor::zeros;

    #[test]
    fn devices_in_a_tuple_are_shown() {
        if crate::device::num_gpus() == 0 {
            let devices = (try_gpu(0), try_gpu(10), try_all_gpus());
            assert_eq!(devices.show_text(), "(cpu, cpu, [cpu])");
        }
    }

    #[test]
    fn nested_values_are_shown() {
        assert_eq!(Some(vec!["a"]).show_text(), r#"Some(["a"])"#);
        assert_eq!(None::<i32>.show_text(), "None");
        assert_eq!(Ok::<_, String>((1, 2.0)).show_text(), "Ok((1, 2.0))");
        assert_eq!(Err::<i32, _>("no").show_text(), r#"Err("no")"#);
        assert_eq!((Box::new(cpu()),).show_text(), "(cpu,)");
        assert_eq!([(); 2].show_text(), "[(), ()]");
        let ages = HashMap::from([("b", 2), ("a", 1)]);
        assert_eq!(ages.show_text(), r#"{"a": 1, "b": 2}"#);
    }

    #[test]
    fn tensors_are_shown_one_below_the_other() {
        let x = zeros(1);
        assert_eq!((&x, 1).show_text(), "([0.]\n Tensor[[1], f32, cpu],\n 1)");
        assert_eq!((&x,).show_text(), "([0.]\n Tensor[[1], f32, cpu],)");
    }

    #[test]
    fn a_long_list_is_shortened() {
        let numbers: Vec<usize> = (0..60_000).collect();
        let text = numbers.show_text();
        assert!(text.contains("9, … 59980 more …, 59990"), "{text}");
        assert_eq!(
            vec![1; MOST_ITEMS].show_text().matches('1').count(),
            MOST_ITEMS
        );
    }
}

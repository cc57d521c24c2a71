//! Panics of cells and of their threads.

use super::{Topic, report, turn};
use std::any::Any;
use std::borrow::Cow;
use std::error::Error;
use std::fmt::Display;
use std::panic::PanicHookInfo;
use std::thread;

/// The message of a panic whose value has none.
const NO_TEXT: &str = "the value of the panic is not a text, an error or a number";

/// Reports each panic to the engine from now on. One of the thread that runs the cells may end the cell.
pub(super) fn install_hook() {
    std::panic::set_hook(Box::new(|info: &PanicHookInfo| {
        let message = message(info.payload());
        let (file, line) = info.location().map_or(("", 0), |l| (l.file(), l.line()));
        let line = line.to_string();
        if turn::is_mine() {
            report(Topic::Panic, &[&message, file, &line]);
        } else {
            let current = thread::current();
            let name = current.name().unwrap_or_default();
            report(Topic::ThreadPanic, &[&message, file, &line, name]);
        }
    }));
}

/// Returns what the value of a panic says: `panic!` has a text, `panic_any` and `resume_unwind` have any value.
pub(super) fn message(payload: &(dyn Any + Send)) -> String {
    let found = text_of(payload).or_else(|| number_of(payload));
    found.unwrap_or_else(|| NO_TEXT.to_owned())
}

fn text_of(payload: &(dyn Any + Send)) -> Option<String> {
    // The value of another panic, such as that of a thread that was joined.
    if let Some(inner) = payload.downcast_ref::<Box<dyn Any + Send>>() {
        return Some(message(&**inner));
    }
    let texts = [
        shown::<&'static str>,
        shown::<String>,
        shown::<Box<str>>,
        shown::<Cow<'static, str>>,
        shown::<Box<dyn Error + Send + Sync>>,
        shown::<Box<dyn Error + Send>>,
        shown::<std::io::Error>,
    ];
    texts.iter().find_map(|shown| shown(payload))
}

fn number_of(payload: &(dyn Any + Send)) -> Option<String> {
    let signed = [shown::<i8>, shown::<i16>, shown::<i32>, shown::<i64>];
    let unsigned = [shown::<u8>, shown::<u16>, shown::<u32>, shown::<u64>];
    let large = [shown::<isize>, shown::<usize>, shown::<i128>, shown::<u128>];
    let others = [shown::<f32>, shown::<f64>, shown::<bool>, shown::<char>];
    let mut all = [signed, unsigned, large, others].into_iter().flatten();
    all.find_map(|shown| shown(payload))
}

fn shown<T: Display + 'static>(payload: &(dyn Any + Send)) -> Option<String> {
    payload.downcast_ref::<T>().map(T::to_string)
}

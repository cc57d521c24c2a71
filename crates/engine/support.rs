//! What every compiled cell links to: the values of the variables, and the way back to the engine.
//!
//! The engine compiles this file once, as a shared library, so that a cell compiles as little as possible of
//! it. It is the only code of the engine that uses the same copy of Rust's library as the cells do. Values
//! are used by the thread that runs the cells, and by no other. If a cell is left to its thread, the next thread has only
//! the values that may be sent to another thread: see [`keep_sendable`].

pub mod futures;
mod panics;
pub mod profile;
mod turn;

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt::Debug;
use std::io::Write;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// A text that is passed to the process that loads the cells.
#[repr(C)]
pub struct Text {
    /// The first byte.
    pub start: *const u8,
    /// The number of bytes.
    pub length: usize,
}

impl Text {
    fn of(text: &str) -> Text {
        Text {
            start: text.as_ptr(),
            length: text.len(),
        }
    }
}

/// What a report is about.
#[repr(u32)]
#[derive(Clone, Copy)]
pub enum Topic {
    /// A value: its MIME type and its text.
    Value = 0,
    /// A failed `?`: the message, the file and the line.
    Failed = 1,
    /// A panic of the cell: the message, the file and the line.
    Panic = 2,
    /// A panic of another thread: the message, the file, the line, and the name of the thread or nothing.
    ThreadPanic = 3,
    /// A panic has ended the cell: the message.
    Unwound = 4,
    /// What the lines of the cell took.
    Profile = 5,
    /// The cell is left to its thread: the variables that it has taken.
    Left = 6,
}

/// Sends a report to the engine.
pub type Report = unsafe extern "C" fn(topic: u32, texts: *const Text, count: usize);

static HOST: OnceLock<Report> = OnceLock::new();

fn report(topic: Topic, texts: &[&str]) {
    if let Some(report) = HOST.get().filter(|_| !turn::is_over()) {
        let texts: Vec<Text> = texts.iter().map(|text| Text::of(text)).collect();
        // SAFETY: the texts are valid during the call.
        unsafe { report(topic as u32, texts.as_ptr(), texts.len()) };
    }
}

/// Prepares the process. The thread that calls this first is the one that runs the cells. Another call takes panics back from
/// a library that was loaded since.
// SAFETY: the prefix `taper_` keeps the symbol's name unique, here and below.
#[unsafe(no_mangle)]
pub extern "C" fn taper_support_attach(host: Report) {
    if HOST.set(host).is_ok() {
        turn::begin();
    }
    panics::install_hook();
}

/// Flushes what a cell has printed without a newline.
#[unsafe(no_mangle)]
pub extern "C" fn taper_support_flush() {
    let _ = std::io::stdout().flush();
}

/// Drops a variable.
///
/// # Safety
///
/// `name` must be valid UTF-8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taper_support_forget(name: Text) {
    // SAFETY: the caller passes a valid text.
    let name = unsafe {
        std::str::from_utf8_unchecked(std::slice::from_raw_parts(name.start, name.length))
    };
    let removed = variables().0.remove(name);
    // The destructor is the user's code.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(removed)));
}

/// Makes the calling thread the one that runs the cells, and reports what the cell that goes on has taken.
#[unsafe(no_mangle)]
pub extern "C" fn taper_support_leave() {
    let mut variables = variables();
    turn::begin();
    let is_taken = |(name, slot): (&String, &Slot)| slot.is_out.then(|| name.clone());
    let taken: Vec<String> = variables.0.iter().filter_map(is_taken).collect();
    variables.leak(&taken);
    drop(variables);
    let taken: Vec<&str> = taken.iter().map(|name| &**name).collect();
    report(Topic::Left, &taken);
}

static ARGUMENTS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Sets what the next cell reads with [`argument`].
///
/// # Safety
///
/// `texts` must be `count` texts of valid UTF-8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taper_support_pass(texts: *const Text, count: usize) {
    let texts = match count {
        0 => &[],
        // SAFETY: the caller passes this many texts.
        _ => unsafe { std::slice::from_raw_parts(texts, count) },
    };
    // SAFETY: the caller passes valid texts.
    let text = |it: &Text| unsafe {
        std::str::from_utf8_unchecked(std::slice::from_raw_parts(it.start, it.length))
    };
    let passed = texts.iter().map(|it| text(it).to_owned()).collect();
    *ARGUMENTS.lock().unwrap_or_else(PoisonError::into_inner) = passed;
}

/// Returns an argument of a cell that the host evaluates with others each time; an empty text if there is none.
pub fn argument(index: usize) -> String {
    let arguments = ARGUMENTS.lock().unwrap_or_else(PoisonError::into_inner);
    arguments.get(index).cloned().unwrap_or_default()
}

/// A value in memory of its own.
struct Slot {
    value: *mut u8,
    layout: Layout,
    kind: TypeId,
    /// Drops the value in place.
    drop: unsafe fn(*mut u8),
    /// Whether a cell has taken the value out.
    is_out: bool,
}

impl Drop for Slot {
    fn drop(&mut self) {
        if !self.is_out {
            // SAFETY: the value has the type for which `drop` was made, and is not used again.
            unsafe { (self.drop)(self.value) };
        }
        if self.layout.size() > 0 {
            // SAFETY: `reserve` allocated it with this layout.
            unsafe { dealloc(self.value, self.layout) };
        }
    }
}

#[derive(Default)]
struct Variables(HashMap<String, Slot>);

// SAFETY: only the thread that runs the cells reads or drops values. When that becomes another one, only values that are
// `Send` are read or dropped from then on.
unsafe impl Send for Variables {}

impl Variables {
    /// Removes variables, and leaves their memory as it is.
    fn leak(&mut self, names: &[String]) {
        let slots = names.iter().filter_map(|name| self.0.remove(name));
        slots.for_each(std::mem::forget);
    }
}

fn variables() -> MutexGuard<'static, Variables> {
    static VARIABLES: OnceLock<Mutex<Variables>> = OnceLock::new();
    let variables = VARIABLES.get_or_init(Mutex::default).lock();
    let variables = variables.unwrap_or_else(PoisonError::into_inner);
    if turn::is_over() {
        drop(variables);
        turn::stay();
    }
    variables
}

/// A type, for the question whether its values may be sent to another thread.
pub struct Sendable<T: ?Sized>(std::marker::PhantomData<T>);

/// The answer for each type that has none of its own.
pub trait NotSendable {
    /// Whether its values may be sent to another thread.
    const IS_SENDABLE: bool = false;
}

impl<T: ?Sized> NotSendable for Sendable<T> {}

impl<T: ?Sized + Send> Sendable<T> {
    /// Whether its values may be sent to another thread.
    pub const IS_SENDABLE: bool = true;
}

/// Forgets all variables but these, which have these types and may come from another thread. Reports the names of the
/// others.
pub fn keep_sendable(kept: &[(&str, TypeId)]) {
    let mut variables = variables();
    let is_kept = |(name, slot): &(&String, &Slot)| kept.contains(&(&***name, slot.kind));
    let others = variables.0.iter().filter(|it| !is_kept(it));
    let others: Vec<String> = others.map(|(name, _)| name.clone()).collect();
    variables.leak(&others);
    drop(variables);
    report(Topic::Value, &["text/plain", &others.join(" ")]);
}

/// Takes the value of a variable out of its slot; [`put`] puts it back.
///
/// # Safety
///
/// The variable must have this type.
#[inline]
pub unsafe fn take<T: 'static>(name: &str) -> T {
    let value = take_out(name, TypeId::of::<T>(), Layout::new::<T>());
    // SAFETY: the slot holds a value of this type, and is marked as empty.
    unsafe { value.cast::<T>().read() }
}

fn take_out(name: &str, kind: TypeId, layout: Layout) -> *mut u8 {
    let mut variables = variables();
    match variables.0.get_mut(name) {
        Some(slot) if !slot.is_out && slot.kind == kind && slot.layout == layout => {
            slot.is_out = true;
            slot.value
        }
        Some(_) => panic!("the variable `{name}` has another type than the engine expected"),
        None => panic!("the variable `{name}` has no value"),
    }
}

/// Puts the value of a variable back that [`take`] took out.
#[inline]
pub fn put<T: 'static>(name: &str, value: T) {
    if let Some(place) = place_of(name) {
        // SAFETY: the slot was made for this type and is empty.
        unsafe { place.cast::<T>().write(value) };
        put_in(name);
    }
}

/// Returns where the value of a variable is. A slot that is out is never freed, only forgotten.
fn place_of(name: &str) -> Option<*mut u8> {
    variables().0.get(name).map(|slot| slot.value)
}

/// Notes that the value of a variable is in its slot.
fn put_in(name: &str) {
    if let Some(slot) = variables().0.get_mut(name) {
        slot.is_out = false;
    }
}

/// Keeps the value of a new variable.
#[inline]
pub fn keep<T: 'static>(name: &str, value: T) {
    let place = reserve(name, TypeId::of::<T>(), Layout::new::<T>(), drop_value::<T>);
    // SAFETY: the memory was allocated for this type.
    unsafe { place.cast::<T>().write(value) };
    put_in(name);
}

/// # Safety
///
/// `value` points to a value of this type, which is not used again.
unsafe fn drop_value<T>(value: *mut u8) {
    // SAFETY: the caller guarantees it.
    unsafe { value.cast::<T>().drop_in_place() };
}

fn reserve(name: &str, kind: TypeId, layout: Layout, drop: unsafe fn(*mut u8)) -> *mut u8 {
    let value = if layout.size() == 0 {
        std::ptr::without_provenance_mut(layout.align())
    } else {
        // SAFETY: the size is not zero.
        let value = unsafe { alloc(layout) };
        if value.is_null() {
            handle_alloc_error(layout);
        }
        value
    };
    let slot = Slot {
        value,
        layout,
        kind,
        drop,
        is_out: true,
    };
    let old = variables().0.insert(name.to_owned(), slot);
    let _ = catch_unwind(AssertUnwindSafe(|| std::mem::drop(old)));
    value
}

/// Keeps a value for the rest of the process, because other variables borrow from it.
#[inline]
pub fn freeze<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// Keeps a value without a name. Not a guard: what it locks would stay locked. Guards stay on their thread.
#[inline]
pub fn freeze_temporary<T: Send>(value: T) -> &'static T {
    freeze(value)
}

/// Does the same for a value that is borrowed with `&mut`.
#[inline]
pub fn freeze_temporary_mut<T: Send>(value: T) -> &'static mut T {
    Box::leak(Box::new(value))
}

/// Does what the macro of the same name of Rust's library does, but names the cell as `cell`.
#[macro_export]
macro_rules! dbg {
    () => {
        ::std::eprintln!("[cell:{}:{}]", ::core::line!(), ::core::column!())
    };
    ($value:expr $(,)?) => {
        match $value {
            value => {
                ::std::eprintln!(
                    "[cell:{}:{}] {} = {:#?}",
                    ::core::line!(),
                    ::core::column!(),
                    ::core::stringify!($value),
                    &&value as &dyn ::core::fmt::Debug
                );
                value
            }
        }
    };
    ($($value:expr),+ $(,)?) => {
        ($($crate::dbg!($value)),+,)
    };
}

/// The type of what never has a value, which stable Rust names in this way only.
pub type Never = <fn() -> ! as Returns>::Output;

/// What a function returns.
pub trait Returns {
    /// Its type.
    type Output;
}

impl<T> Returns for fn() -> T {
    type Output = T;
}

/// The error of a `?` behind an `Option` without a value.
pub struct Missing;

impl Debug for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("there is no value: the `Option` is `None`")
    }
}

/// A static of `lazy_static!` that an earlier cell defines.
pub struct Lazy<T: 'static>(pub fn() -> &'static T);

impl<T> std::ops::Deref for Lazy<T> {
    type Target = T;

    fn deref(&self) -> &T {
        (self.0)()
    }
}

/// Runs the function of a cell. A panic in it, other than one of the cell's body, is that of a destructor.
pub fn guard(cell: fn()) {
    if let Err(panic) = catch_unwind(cell) {
        unwound(panic);
    }
}

/// Runs the body of a cell. Returns whether it came to its end.
#[inline]
pub fn run(body: impl FnOnce()) -> bool {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(()) => true,
        Err(panic) => unwound(panic),
    }
}

#[cold]
fn unwound(panic: Box<dyn Any + Send>) -> bool {
    report(Topic::Unwound, &[&panics::message(&*panic)]);
    // Its destructor is the user's code, and that of what it panics with too.
    if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        std::mem::forget(another);
    }
    false
}

/// Runs the body of a cell with `?` in it. Returns whether it came to its end.
#[inline]
pub fn run_fallible<F: Failed>(body: impl FnOnce() -> Result<(), F>) -> bool {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => true,
        Ok(Err(failure)) => {
            failure.report();
            false
        }
        Err(panic) => unwound(panic),
    }
}

/// What a `?` that ends a cell returns.
pub trait Failed {
    /// Reports the failure to the engine.
    fn report(&self) {
        // The message was shown already, by a function of a package.
        report(Topic::Failed, &["", "", "0"]);
    }
}

/// The error of a `?` that ended a cell.
pub struct Failure {
    message: String,
    place: &'static Location<'static>,
}

impl Failed for Failure {
    #[cold]
    fn report(&self) {
        let line = self.place.line().to_string();
        report(Topic::Failed, &[&self.message, self.place.file(), &line]);
    }
}

impl<E: Debug> From<E> for Failure {
    #[track_caller]
    fn from(error: E) -> Failure {
        Failure {
            message: format!("{error:?}"),
            place: Location::caller(),
        }
    }
}

/// Shows a value that has no representation but its `Debug`.
pub trait ByDebug {
    /// Shows the value. The name is the one by which types show themselves in notebooks of Rust.
    fn evcxr_display(&mut self);
}

// A method of the type itself, or of a trait of the user's for it, takes precedence: for `&value`, a method with `&self` is
// found before any for which `&mut` must be added.
impl<T: Debug + ?Sized> ByDebug for &T {
    #[inline]
    fn evcxr_display(&mut self) {
        show(&self);
    }
}

fn show(value: &dyn Debug) {
    let text = format!("{value:?}");
    if text != "()" {
        report(Topic::Value, &["text/plain", &text]);
    }
}

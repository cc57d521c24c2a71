//! The store that keeps the variables between cells.
//!
//! evcxr writes the source of such a store into each cell's crate, so the compiler has to translate a hash
//! map for every cell. The kernel replaces that source by an import of this module: the same
//! functions, compiled once. A cell only converts its values.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

/// The line that a cell prints when a `?` has ended it with an error. evcxr reads this line.
pub const USER_ERROR_OCCURRED: &str = "EVCXR_ERROR_OCCURRED";

/// Variables by name. The layout is that of evcxr's own store, so a cell that was compiled with evcxr's
/// source can also use this store.
pub struct VariableStore {
    variables: HashMap<String, Box<dyn Any>>,
}

/// Creates an empty store, which the cells process owns from now on.
pub fn create_variable_store() -> *mut VariableStore {
    Box::into_raw(Box::new(VariableStore {
        variables: HashMap::new(),
    }))
}

impl VariableStore {
    /// Stores a variable, in place of an older one with the same name.
    #[inline]
    pub fn put_variable<T: 'static>(&mut self, name: &str, value: T) {
        let place = allocate(Layout::new::<T>()).cast::<T>();
        // SAFETY: the place is new and has the layout of a `T`.
        unsafe { place.write(value) };
        self.put(name, place);
    }

    /// Returns whether the variable has this type or does not exist. Prints a message for evcxr and the user if
    /// it has another type.
    #[inline]
    pub fn check_variable<T: 'static>(&mut self, name: &str) -> bool {
        self.check(name, TypeId::of::<T>())
    }

    /// Removes a variable and returns its value.
    ///
    /// # Panics
    ///
    /// Panics if there is no such variable, or if it has another type.
    #[inline]
    pub fn take_variable<T: 'static>(&mut self, name: &str) -> T {
        let value = self.take(name, TypeId::of::<T>());
        // SAFETY: `take` has compared the types, and no other copy of the pointer exists.
        let taken = unsafe { value.cast::<T>().read() };
        release(value, Layout::new::<T>());
        taken
    }

    /// Returns the value that all cells share under this name. Creates it on the first call.
    ///
    /// # Panics
    ///
    /// Panics if the name belongs to a value of another type.
    pub fn lazy_arc<T: 'static, F: FnOnce() -> T>(&mut self, name: &str, create: F) -> Arc<T> {
        if !self.variables.contains_key(name) {
            self.put(name, Box::into_raw(Box::new(Arc::new(create()))));
        }
        let shared = self.variables.get(name);
        match shared.and_then(|shared| shared.downcast_ref()) {
            Some(shared) => Arc::clone(shared),
            None => other_type(name),
        }
    }

    /// Stores the value behind the pointer `value`, which must be allocated as by [`Box`].
    #[inline(never)]
    fn put(&mut self, name: &str, value: *mut dyn Any) {
        // SAFETY: both callers allocate the value as `Box` does, and keep no copy of the pointer.
        let value = unsafe { Box::from_raw(value) };
        self.variables.insert(name.to_owned(), value);
    }

    #[inline(never)]
    fn check(&mut self, name: &str, wanted: TypeId) -> bool {
        let is_other = |value: &Box<dyn Any>| (**value).type_id() != wanted;
        if !self.variables.get(name).is_some_and(is_other) {
            return true;
        }
        eprintln!("The type of the variable {name} was redefined, so was lost.");
        // evcxr reads this line.
        println!("EVCXR_VARIABLE_CHANGED_TYPE:{name}");
        false
    }

    #[inline(never)]
    fn take(&mut self, name: &str, wanted: TypeId) -> *mut () {
        match self.variables.remove(name) {
            None => panic!("the variable `{name}` has gone missing"),
            Some(value) if (*value).type_id() != wanted => other_type(name),
            Some(value) => Box::into_raw(value).cast(),
        }
    }
}

/// Allocates memory as [`Box`] does, but is compiled once: `Box::new` would be compiled for each type of
/// each cell.
#[inline(never)]
fn allocate(layout: Layout) -> *mut () {
    if layout.size() == 0 {
        return std::ptr::without_provenance_mut(layout.align());
    }
    // SAFETY: the size is not 0.
    let place = unsafe { alloc(layout) };
    if place.is_null() {
        handle_alloc_error(layout);
    }
    place.cast()
}

/// Releases the memory of a box without dropping the value.
#[inline(never)]
fn release(place: *mut (), layout: Layout) {
    if layout.size() > 0 {
        // SAFETY: a box with this layout was allocated here.
        unsafe { dealloc(place.cast(), layout) };
    }
}

#[cold]
fn other_type(name: &str) -> ! {
    panic!("the variable `{name}` has another type")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> Box<VariableStore> {
        // SAFETY: the pointer was made from a box, and is used once.
        unsafe { Box::from_raw(create_variable_store()) }
    }

    #[test]
    fn a_variable_comes_back_with_its_type() {
        let mut store = store();
        store.put_variable("x", 2_u8);
        assert!(store.check_variable::<u8>("x") && store.check_variable::<u8>("absent"));
        assert!(!store.check_variable::<i8>("x"));
        assert_eq!(store.take_variable::<u8>("x"), 2);
        store.put_variable("unit", ());
        store.take_variable::<()>("unit");
        store.put_variable("text", String::from("long enough to be on the heap"));
        store.put_variable("text", String::from("the old value is dropped"));
        assert!(store.take_variable::<String>("text").starts_with("the old"));
    }

    #[test]
    fn a_shared_value_is_created_once() {
        let mut store = store();
        let first = store.lazy_arc("runtime", || 1);
        let second = store.lazy_arc("runtime", || 2);
        assert!(Arc::ptr_eq(&first, &second));
    }

    #[test]
    #[should_panic(expected = "`x` has another type")]
    fn a_variable_is_not_taken_as_another_type() {
        let mut store = store();
        store.put_variable("x", 2_u8);
        store.take_variable::<String>("x");
    }

    #[test]
    #[should_panic(expected = "`x` has gone missing")]
    fn a_missing_variable_is_named() {
        store().take_variable::<u8>("x");
    }
}

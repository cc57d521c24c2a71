//! Grades submissions with the tests of an assignment that was made with nbgrader.
//!
//! 1. `assignment` reads the teacher's notebook.
//! 2. `prepare` makes, of a submission in any state, the notebook that is graded: the student's cells with the marks, tests
//!    and locked cells of the assignment.
//! 3. The cells run: by [`crate::execution`], or by nbgrader with a kernel.
//! 4. `score` reads the points and their reasons from the outputs; `cause` finds the cell because of which a test fails.
//!
//! nbgrader's configuration in `packaging/nbgrader` calls the second and the fourth step, so that its points are the same.
//!
//! # What the cells of a submission may contain
//!
//! Cells of a notebook share one process and one set of names: a macro that a student names `assert_eq`, a trait with a
//! method `dims`, or a solution that returns a type of its own would decide what a test compares. A cell of a submission
//! is therefore not run (`rules`) if it
//!
//! - uses what reaches beyond safe Rust or out of its process (`words`), unless the assignment itself uses it;
//! - contains a command that the assignment does not contain (`commands`);
//! - defines a name that the tests use (`names`), also in the arguments of a macro, other than as the assignment's own cells define it (`stubs`);
//! - is nested so deeply that the parser would not survive it (`depth`).
//!
//! The tests and the locked cells come from the assignment and are not checked.

pub(crate) mod assignment;
mod cause;
mod depth;
mod names;
mod outputs;
pub(crate) mod prepare;
mod rules;
pub(crate) mod score;
mod stubs;
mod tested;
#[cfg(test)]
mod tests;
mod types;
mod words;

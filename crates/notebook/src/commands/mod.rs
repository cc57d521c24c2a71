//! `taper run` and `taper test`. A single notebook runs in this process; several run in one process each.

pub(crate) mod convert;
mod failure;
pub(crate) mod grade;
pub(crate) mod run;
mod summary;
pub(crate) mod task;
pub(crate) mod test;
pub(crate) mod worker;
mod workers;

#[cfg(test)]
mod tests_grade;
#[cfg(test)]
mod tests_run;
#[cfg(test)]
mod tests_script;
#[cfg(test)]
mod tests_test;

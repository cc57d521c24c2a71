//! `taper run` and `taper test`: their arguments, what they do and what they print.

pub mod run;
pub mod test;

#[cfg(test)]
mod tests_run;
#[cfg(test)]
mod tests_test;

//! One file per subcommand.

pub mod doctor;
pub mod events;
pub mod kernel;
pub mod lab;
pub mod run;
pub mod setup;
pub mod test;
pub mod warm;

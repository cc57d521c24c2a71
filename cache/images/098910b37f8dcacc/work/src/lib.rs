pub use taper::prelude::*;

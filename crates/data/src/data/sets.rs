//! The data sets: generated, downloaded, or read from a folder.

mod alice;
mod digits;
mod downloaded;
mod drawing;
mod folder;
#[cfg(feature = "candle-datasets")]
mod from_candle;
mod images;
mod leaves;
mod location;
mod rust_corpus;
mod shapes;
mod small_mnist;
mod synthetic;

pub use alice::ALICE;
pub use digits::Digits;
pub use downloaded::{Cifar10, FashionMnist, Mnist};
pub use folder::ImageFolder;
pub use images::ImageDataset;
pub use leaves::Leaves;
pub use rust_corpus::RustCorpus;
pub use shapes::Shapes;
pub use small_mnist::SmallMnist;
pub use synthetic::SyntheticRegression;

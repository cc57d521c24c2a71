//! The data sets, and the shapes, counts and checksums that are expected.

/// The number of classes of each set.
pub(crate) const CLASSES: u8 = 10;

/// A data set of small images, each of one of ten classes.
pub(crate) struct DataSet {
    /// Its name on the command line, and that of its folder.
    pub(crate) name: &'static str,
    /// What the images show.
    pub(crate) about: &'static str,
    /// The size of the download, in MB.
    pub(crate) megabytes: u32,
    /// Channels, height, width.
    pub(crate) shape: [usize; 3],
    pub(crate) parts: [Part; 2],
    pub(crate) hub: Repository,
    /// The format in which its authors publish it.
    pub(crate) format: Format,
}

/// The training examples, or the test examples.
pub(crate) struct Part {
    /// `train` or `test`.
    pub(crate) name: &'static str,
    /// The number of examples.
    pub(crate) count: usize,
    /// Its file on the hub.
    pub(crate) path: &'static str,
    /// The file's checksum; without one, the checksum that the hub sends is used.
    pub(crate) sha256: Option<&'static str>,
}

/// A repository of the Hugging Face hub, at a fixed commit.
pub(crate) struct Repository {
    pub(crate) name: &'static str,
    pub(crate) revision: &'static str,
    /// The column of the images; that of the classes is `label`.
    pub(crate) column: &'static str,
}

/// The format in which the authors publish a set.
pub(crate) enum Format {
    /// Four files such as `train-images-idx3-ubyte`, perhaps gzipped.
    Idx,
    /// `data_batch_1.bin` to `data_batch_5.bin` and `test_batch.bin`.
    Cifar,
}

impl DataSet {
    /// Returns the number of bytes of an image.
    pub(crate) fn bytes(&self) -> usize {
        self.shape.iter().product()
    }
}

/// Returns the set of this name.
pub(crate) fn find(name: &str) -> Option<&'static DataSet> {
    ALL.iter().find(|set| set.name == name)
}

pub(crate) static ALL: [DataSet; 3] = [
    DataSet {
        name: "mnist",
        about: "handwritten digits, 28 x 28, grey",
        megabytes: 18,
        shape: [1, 28, 28],
        parts: [
            Part {
                name: "train",
                count: 60_000,
                path: "mnist/train-00000-of-00001.parquet",
                sha256: Some("f2c01285a9f89399335b00ee4e8d499dc4e46db5e39c74903ce5618d895eb3bf"),
            },
            Part {
                name: "test",
                count: 10_000,
                path: "mnist/test-00000-of-00001.parquet",
                sha256: Some("d49fcf556ce25b002b302e318ce4a11098bbfe5d4499c3f35d7c72297c52374b"),
            },
        ],
        hub: Repository {
            name: "ylecun/mnist",
            revision: "77f3279092a1c1579b2250db8eafed0ad422088c",
            column: "image",
        },
        format: Format::Idx,
    },
    DataSet {
        name: "fashion-mnist",
        about: "clothes and shoes, 28 x 28, grey",
        megabytes: 36,
        shape: [1, 28, 28],
        parts: [
            Part {
                name: "train",
                count: 60_000,
                path: "fashion_mnist/train-00000-of-00001.parquet",
                sha256: None,
            },
            Part {
                name: "test",
                count: 10_000,
                path: "fashion_mnist/test-00000-of-00001.parquet",
                sha256: None,
            },
        ],
        hub: Repository {
            name: "zalando-datasets/fashion_mnist",
            revision: "531be5e2ccc9dba0c201ad3ae567a4f3d16ecdd2",
            column: "image",
        },
        format: Format::Idx,
    },
    DataSet {
        name: "cifar10",
        about: "animals and vehicles, 32 x 32, colour",
        megabytes: 144,
        shape: [3, 32, 32],
        parts: [
            Part {
                name: "train",
                count: 50_000,
                path: "plain_text/train-00000-of-00001.parquet",
                sha256: Some("8428b53a88a11ac374111006708df51469e315a22ac6d66470afd9c78d2ae883"),
            },
            Part {
                name: "test",
                count: 10_000,
                path: "plain_text/test-00000-of-00001.parquet",
                sha256: Some("841389e6f2d64f28bf17310e430aebac20ec3ba611a3c5e231dc93c645ce84de"),
            },
        ],
        hub: Repository {
            name: "uoft-cs/cifar10",
            revision: "0b2714987fa478483af9968de7c934580d0bb9a2",
            column: "img",
        },
        format: Format::Cifar,
    },
];

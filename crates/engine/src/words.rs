//! The words of rustc that the engine reads. Codes of errors, names of lints and the fields of a message are rustc's
//! interface; words are not, and a new release may choose others. [`HOLDS`] says what depends on them.

/// The lint `trivial_casts`, which says the type of a variable: ``trivial cast: `&i32` as `&_` ``.
pub(crate) const CAST: &str = "trivial cast: `&";
/// What follows the type in [`CAST`].
pub(crate) const CAST_TO: &str = "` as `";
/// The type of a closure: `{closure@cell-1:2:9: 2:12}`.
pub(crate) const CLOSURE: &str = "{closure@";
/// The type of a block that is `async`.
pub(crate) const ASYNC_BLOCK: &str = "{async block@";
/// A type of which only the traits are known.
pub(crate) const IMPL: &str = "impl ";
/// The lint `unused_variables` has this text for a variable, and others for what is assigned and not read.
pub(crate) const UNUSED: &str = "unused variable";
/// The label of a borrow that must last as long as the process. A function of the user's may ask for it as well, with
/// [`BY_ARGUMENT`].
pub(crate) const FOR_STATIC: &str = "is borrowed for `'static`";
/// See [`FOR_STATIC`].
pub(crate) const BY_ARGUMENT: &str = "argument requires";
/// How a label ends where the cell's own closure is meant.
pub(crate) const IN_CLOSURE: &str = " in closure";
/// The last error, which counts the others.
pub(crate) const SUMMARY: &str = "aborting due to";

/// What cells can do only while the engine understands rustc.
#[derive(Debug)]
pub struct Hold {
    /// What is lost without it, as a sentence.
    pub lost: &'static str,
    /// Cells that need it.
    pub cells: &'static [&'static str],
    /// What the last of these cells shows.
    pub shown: &'static str,
}

/// Set-up runs these cells before it compiles an image, and the engine's tests run them with each Rust.
pub const HOLDS: [Hold; 8] = [
    Hold {
        lost: "No variable is kept: rustc says the type of a value in other words.",
        cells: &["let list = vec![1_u8, 2];", "list.len()"],
        shown: "2",
    },
    Hold {
        lost: "A variable that a cell moves away is not noticed: rustc has another error for it.",
        cells: &[
            "let text = String::from(\"a\");",
            "drop(text);",
            "let text = 5;",
            "text",
        ],
        shown: "5",
    },
    Hold {
        lost: "A variable that borrows from another is not kept: rustc has another error for it.",
        cells: &[
            "let owner = vec![7_u8];",
            "let first = &owner[0];",
            "*first",
        ],
        shown: "7",
    },
    Hold {
        lost: "A variable that a cell changes is not kept: rustc has another error for it.",
        cells: &["let mut sum = 1;", "sum += 2;", "sum"],
        shown: "3",
    },
    Hold {
        lost: "A closure is not kept: rustc writes its type in another way.",
        cells: &["let twice = |x: i32| 2 * x;", "twice(4)"],
        shown: "8",
    },
    Hold {
        lost: "A function in a variable is not kept: rustc writes its type in another way.",
        cells: &["let size = i32::abs;", "size(-9)"],
        shown: "9",
    },
    Hold {
        lost: "An iterator is not kept: rustc writes its type in another way.",
        cells: &[
            "let squares = (1..4).map(|x| x * x);",
            "squares.sum::<i32>()",
        ],
        shown: "14",
    },
    Hold {
        lost: "A future is not kept: rustc writes its type in another way.",
        cells: &["let later = async { 6 };", "later.await"],
        shown: "6",
    },
];

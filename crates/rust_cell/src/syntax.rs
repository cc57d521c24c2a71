//! The Rust of a cell as `syn` reads it.

use std::ops::Range;
use syn::parse::Parser;
use syn::spanned::Spanned;
use syn::{Attribute, Block, Stmt};

/// Returns the statements of a cell without commands.
///
/// # Errors
/// When it is not valid Rust.
pub fn statements(rust: &str) -> syn::Result<Vec<Stmt>> {
    let grammar = |input: syn::parse::ParseStream| {
        input.call(Attribute::parse_inner)?;
        input.call(Block::parse_within)
    };
    grammar.parse_str(rust)
}

/// Returns the bytes of a piece of syntax.
pub fn range(syntax: &impl Spanned) -> Range<usize> {
    syntax.span().byte_range()
}

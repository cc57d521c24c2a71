//! What `ra_ap_ide` takes from rust-analyzer's structural search and replace, which always finds nothing here. A kernel
//! does not offer it: see vendor/README.md.

use ide_db::text_edit::TextEdit;
use ide_db::{FileId, FilePosition, FileRange, FxHashMap, RootDatabase};
use std::marker::PhantomData;
use std::str::FromStr;
use syntax::TextRange;

/// Why a search is impossible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SsrError;

impl std::fmt::Display for SsrError {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("this build of rust-analyzer has no structural search")
    }
}

impl std::error::Error for SsrError {}

/// A pattern and what replaces it.
#[derive(Debug)]
pub struct SsrRule;

impl FromStr for SsrRule {
    type Err = SsrError;

    fn from_str(_: &str) -> Result<SsrRule, SsrError> {
        Err(SsrError)
    }
}

/// Finds nothing.
#[derive(Debug)]
pub struct MatchFinder<'db>(PhantomData<&'db RootDatabase>);

impl<'db> MatchFinder<'db> {
    pub fn in_context(
        _: &'db RootDatabase,
        _: FilePosition,
        _: Vec<FileRange>,
    ) -> Result<MatchFinder<'db>, SsrError> {
        Err(SsrError)
    }

    pub fn add_rule(&mut self, _: SsrRule) -> Result<(), SsrError> {
        Err(SsrError)
    }

    pub fn edits(&self) -> FxHashMap<FileId, TextEdit> {
        FxHashMap::default()
    }
}

/// The search that a comment asks for: none.
pub fn ssr_from_comment(
    _: &RootDatabase,
    _: FileRange,
) -> Option<(MatchFinder<'_>, TextRange)> {
    None
}

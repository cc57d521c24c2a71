//! What `ra_ap_ide` takes from rust-analyzer's code actions, without the actions. A kernel offers none, and their
//! 100,000 lines are a part of each first build: see vendor/README.md.

use ide_db::{FileRange, RootDatabase};

pub use ide_db::assists::{
    Assist, AssistId, AssistKind, AssistResolveStrategy, GroupLabel, SingleResolve,
};

/// The kinds of action that are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssistConfig {
    pub allowed: Option<Vec<AssistKind>>,
}

/// The code actions at a place: none.
pub fn assists(
    _: &RootDatabase,
    _: &AssistConfig,
    _: AssistResolveStrategy,
    _: FileRange,
) -> Vec<Assist> {
    Vec::new()
}

/// What other parts of rust-analyzer use.
pub mod utils {
    use syntax::AstNode;
    use syntax::ast::{self, HasAttrs};

    /// The expression that is all there is in a block, for joining lines: never found.
    pub fn extract_trivial_expression(_: &ast::BlockExpr) -> Option<ast::Expr> {
        None
    }

    /// The attribute that makes a function a test.
    pub fn test_related_attribute_syn(function: &ast::Fn) -> Option<ast::Attr> {
        function.attrs().find(|attribute| {
            let path = attribute.path().map(|path| path.syntax().text().to_string());
            path.is_some_and(|path| path.starts_with("test") || path.ends_with("test"))
        })
    }

    /// Whether one of the attributes makes a function a test.
    pub fn has_test_related_attribute(attributes: &hir::AttrsWithOwner) -> bool {
        attributes.is_test()
    }
}

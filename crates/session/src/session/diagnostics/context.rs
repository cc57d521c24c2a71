//! What is known about a cell and those before it when an error is explained.

use super::diagnostic::{Diagnostic, Label};
use crate::session::definitions::{Definitions, has_derive};
use crate::session::names::Names;
use crate::session::tokens::is_plain;
use crate::syntax::Syntax;
use ra_ap_syntax::ast::{self, AstNode, HasName};
use std::cell::OnceCell;
use taper_rust_cell::position::byte_offset;

/// A cell with an error or a warning.
pub(crate) struct Context<'a> {
    pub(crate) cell: &'a str,
    pub(crate) names: &'a Names,
    /// The variables of earlier cells that this cell loses, because it redefines their types.
    redefined: &'a [String],
    syntax: OnceCell<Syntax>,
    definitions: OnceCell<Definitions>,
}

/// What runs a piece of code, and what `?` and `return` leave.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Body {
    Cell,
    Closure,
    /// An `async` block.
    Async,
    /// A function, with its type of result as source.
    Function(String),
}

impl Context<'_> {
    /// Creates the context of a cell.
    pub(crate) fn new<'a>(cell: &'a str, names: &'a Names, redefined: &'a [String]) -> Context<'a> {
        Context {
            cell,
            names,
            redefined,
            syntax: OnceCell::new(),
            definitions: OnceCell::new(),
        }
    }

    fn syntax(&self) -> &Syntax {
        self.syntax.get_or_init(|| Syntax::of(self.cell))
    }

    fn definitions(&self) -> &Definitions {
        self.definitions.get_or_init(|| Definitions::of(self.cell))
    }

    /// Returns the part of the cell that a label marks.
    pub(crate) fn marked(&self, label: &Label) -> &str {
        let range = byte_offset(self.cell, label.start)..byte_offset(self.cell, label.end);
        self.cell.get(range).unwrap_or_default()
    }

    /// Returns the part of the cell that an error is about.
    pub(crate) fn primary(&self, diagnostic: &Diagnostic) -> &str {
        diagnostic.primary().map_or("", |label| self.marked(label))
    }

    /// Returns whether this cell or an earlier one defines a type, a function or another item of this name.
    pub(crate) fn defines_item(&self, name: &str) -> bool {
        self.definitions().items.contains(name) || self.names.is_item(name)
    }

    /// Returns whether this trait is derived for a type of the user.
    pub(crate) fn derives(&self, kind: &str, of: &str) -> bool {
        has_derive(self.syntax(), kind, of) || self.names.has_derive(kind, of)
    }

    /// Returns whether a variable of this name lives, or this cell defines one.
    pub(crate) fn is_variable(&self, name: &str) -> bool {
        self.names.is_variable(name) || self.definitions().variables.contains(name)
    }

    /// Returns whether the cell loses this variable, because it redefines its type.
    pub(crate) fn redefines_type_of(&self, name: &str) -> bool {
        self.redefined.iter().any(|it| it == name)
    }

    /// Returns the innermost syntax of this kind around the place that an error is about.
    pub(crate) fn around<N: AstNode>(&self, diagnostic: &Diagnostic) -> Option<N> {
        let label = diagnostic.primary()?;
        let start = byte_offset(self.cell, label.start);
        let end = byte_offset(self.cell, label.end);
        let is_around = |node: &N| {
            let range = self.syntax().range(node.syntax().text_range());
            range.start <= start && end <= range.end
        };
        self.syntax().all::<N>().filter(is_around).last()
    }

    /// Returns the method or the function that is called at the place that an error is about.
    pub(crate) fn marked_method(&self, diagnostic: &Diagnostic) -> String {
        let marked = self.primary(diagnostic);
        if is_plain(marked) {
            return marked.to_owned();
        }
        let function = self
            .around::<ast::CallExpr>(diagnostic)
            .and_then(|it| it.expr());
        let function = function.map(|it| it.syntax().text().to_string());
        let function = function.unwrap_or_default();
        function.rsplit("::").next().unwrap_or_default().to_owned()
    }

    /// Returns what runs the code that an error is about.
    pub(crate) fn body(&self, diagnostic: &Diagnostic) -> Body {
        let Some(expression) = self.around::<ast::Expr>(diagnostic) else {
            return Body::Cell;
        };
        let body = expression.syntax().ancestors().find_map(|node| {
            if ast::ClosureExpr::can_cast(node.kind()) {
                return Some(Body::Closure);
            }
            if let Some(block) = ast::BlockExpr::cast(node.clone()) {
                return block.async_token().map(|_| Body::Async);
            }
            let function = ast::Fn::cast(node)?;
            let result = function.ret_type().and_then(|it| it.ty());
            let result = result.map_or_else(String::new, |kind| kind.syntax().text().to_string());
            Some(Body::Function(result))
        });
        // The parser sees the cell as the body of a function, around which there is nothing.
        match body {
            Some(Body::Function(_)) if self.around::<ast::Fn>(diagnostic).is_none() => Body::Cell,
            body => body.unwrap_or(Body::Cell),
        }
    }

    /// Returns the variable that is defined by the statement with the error.
    pub(crate) fn defined_variable(&self, diagnostic: &Diagnostic) -> Option<String> {
        let statement = self.around::<ast::LetStmt>(diagnostic)?;
        match statement.pat()? {
            ast::Pat::IdentPat(pattern) => Some(pattern.name()?.text().to_string()),
            _ => None,
        }
    }
}

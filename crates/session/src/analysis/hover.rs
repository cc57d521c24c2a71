//! Says what a name means.

use super::database::{CELLS, Database};
use super::source::Source;
use ra_ap_hir::{DisplayTarget, HirDisplay, Semantics};
use ra_ap_ide_db::RootDatabase;
use ra_ap_ide_db::defs::{Definition, IdentClass};
use ra_ap_ide_db::famous_defs::FamousDefs;
use ra_ap_ide_db::helpers::pick_best_token;
use ra_ap_syntax::SyntaxKind::{
    IDENT, INT_NUMBER, LIFETIME_IDENT, SELF_KW, SELF_TYPE_KW, WHITESPACE,
};
use ra_ap_syntax::ast::{self, AstNode};
use ra_ap_syntax::{Edition, SyntaxToken};
use taper_host::library_source;

/// How many fields of a type are shown.
const FIELDS: usize = 5;

/// What is known about a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hover {
    /// Where it is defined, such as `taper::tensor::Tensor`, unless that is in a cell.
    pub(crate) path: Option<String>,
    /// Its definition, such as `pub fn sum(&self) -> Tensor`.
    pub(crate) signature: String,
    /// Its documentation, in Markdown.
    pub(crate) documentation: String,
}

/// Returns what is known about the name at the byte `cursor` of the cell.
pub(super) fn at(database: &mut Database, source: &Source, cursor: usize) -> Option<Hover> {
    let position = database.set(&source.text, source.offset(cursor));
    let db = &database.db;
    ra_ap_hir::attach_db(db, || {
        let sema = Semantics::new(db);
        let file = sema.parse_guess_edition(position.file_id);
        let target = sema.first_crate(position.file_id)?.to_display_target(db);
        let token =
            pick_best_token(
                file.syntax().token_at_offset(position.offset),
                |kind| match kind {
                    IDENT | INT_NUMBER | LIFETIME_IDENT | SELF_KW | SELF_TYPE_KW => 3,
                    kind if kind.is_keyword(Edition::CURRENT) => 2,
                    WHITESPACE => 0,
                    _ => 1,
                },
            )?;
        let in_macros = sema.descend_into_macros_exact(token.clone());
        in_macros
            .into_iter()
            .find_map(|token| definition(&sema, &token, target))
            .or_else(|| keyword(&token))
            .or_else(|| value(&sema, &token, target))
    })
}

fn definition(
    sema: &Semantics<RootDatabase>,
    token: &SyntaxToken,
    target: DisplayTarget,
) -> Option<Hover> {
    let node = token.parent()?;
    let class = IdentClass::classify_node(sema, &node)?;
    let (definition, _) = class.definitions().into_iter().next()?;
    let famous = sema
        .scope(&node)
        .map(|scope| FamousDefs(sema, scope.krate()));
    let documentation = definition.docs(sema.db, famous.as_ref(), target);
    Some(Hover {
        path: path(sema.db, &definition),
        signature: signature(sema.db, &definition, target),
        documentation: documentation.map_or_else(String::new, |it| it.as_str().to_owned()),
    })
}

fn signature(db: &RootDatabase, definition: &Definition, target: DisplayTarget) -> String {
    match definition {
        Definition::Adt(kind) => kind
            .display_limited(db, Some(FIELDS), target)
            .with_private_fields(path(db, definition).is_none())
            .to_string(),
        _ => definition.label(db, target),
    }
}

/// Returns where something is defined, unless that is in a cell.
fn path(db: &RootDatabase, definition: &Definition) -> Option<String> {
    let name = |it: ra_ap_hir::Name| it.display(db, Edition::CURRENT).to_string();
    let krate = definition.krate(db)?.display_name(db)?.to_string();
    if krate == CELLS {
        return None;
    }
    let mut path = vec![krate];
    path.extend(definition.module(db)?.path_segments(db).map(name));
    match definition.enclosing_definition(db) {
        Some(Definition::Module(_)) | None => {}
        // A method of an implementation.
        Some(Definition::SelfType(it)) => {
            path.extend(it.self_ty(db).as_adt().map(|kind| name(kind.name(db))));
        }
        Some(owner) => path.extend(owner.name(db).map(name)),
    }
    Some(path.join("::"))
}

/// Returns the documentation of a keyword. It is read from the text of Rust's library, because newer releases document
/// keywords on constants without a name, which the analysis cannot look up.
fn keyword(token: &SyntaxToken) -> Option<Hover> {
    if !token.kind().is_keyword(Edition::CURRENT) {
        return None;
    }
    let library = library_source::find().ok()?;
    let files = ["core", "std"].map(|name| library.join(name).join("src/keyword_docs.rs"));
    let text = files
        .iter()
        .find_map(|file| std::fs::read_to_string(file).ok())?;
    let begin = format!("#[doc(keyword = \"{}\")]\n", token.text());
    let lines = text.split_once(&begin)?.1.lines();
    let lines = lines.take_while(|line| line.starts_with("//"));
    let lines = lines.filter_map(|line| line.strip_prefix("///"));
    let lines: Vec<&str> = lines
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
        .collect();
    Some(Hover {
        path: None,
        signature: token.text().to_owned(),
        documentation: lines.join("\n"),
    })
}

/// Returns the type of a value without a name.
fn value(
    sema: &Semantics<RootDatabase>,
    token: &SyntaxToken,
    target: DisplayTarget,
) -> Option<Hover> {
    let expression = token.parent_ancestors().find_map(ast::Expr::cast)?;
    let kind = sema.type_of_expr(&expression)?.original;
    (!kind.is_unknown()).then(|| Hover {
        path: None,
        signature: kind.display(sema.db, target).to_string(),
        documentation: String::new(),
    })
}

//! Completes a name.

use super::database::Database;
use super::source::Source;
use ra_ap_ide_completion::{
    CallableSnippets, CompletionConfig, CompletionFieldsToResolve, CompletionItem,
    CompletionItemKind,
};
use ra_ap_ide_db::imports::insert_use::{ImportGranularity, InsertUseConfig};
use ra_ap_ide_db::ra_fixture::RaFixtureConfig;
use ra_ap_ide_db::{SnippetCap, SymbolKind};
use std::cmp::Reverse;
use taper_evaluator::evaluator::{Completion, Completions};

/// Names that only the source around a cell has.
const OWN: [&str; 2] = ["taper_cell", "taper_cell()"];

/// Cells that let rust-analyzer find out what first completions need: a name, a macro, a method. The last one
/// is prepared first.
pub(super) const FIRST: [&str; 3] = ["s", "vec![1.0].s", "Tensor::zeros(2).s"];

/// Returns the completions at the byte `cursor` of the cell.
pub(super) fn at(database: &mut Database, source: &Source, cursor: usize) -> Option<Completions> {
    let mut items = items(database, &source.text, source.offset(cursor))?;
    items.sort_by_key(|item| Reverse(item.relevance.score()));
    let range = items.first()?.source_range;
    let before = source.text[..range.end().into()].get(range.start().into()..)?;
    let found = items
        .iter()
        .filter(|item| item.source_range == range && item.lookup().starts_with(before));
    let found = found
        .filter_map(completion)
        .filter(|it| !OWN.contains(&&*it.text));
    Some(Completions {
        start: source.in_cell(range.start().into(), cursor),
        end: source.in_cell(range.end().into(), cursor),
        items: found.collect(),
    })
}

/// Prepares the first completions of a user, with one of the cells [`FIRST`].
pub(super) fn prepare(database: &mut Database, cell: &str) {
    let text = format!("use taper::prelude::*;\nfn taper_cell() {{ {cell}");
    let _ = items(database, &text, text.len());
}

fn items(database: &mut Database, text: &str, offset: usize) -> Option<Vec<CompletionItem>> {
    let position = database.set(text, offset);
    let db = &database.db;
    ra_ap_hir::attach_db(db, || {
        ra_ap_ide_completion::completions(db, &config(), position, None)
    })
}

fn config() -> CompletionConfig<'static> {
    CompletionConfig {
        enable_postfix_completions: false,
        enable_imports_on_the_fly: false,
        enable_self_on_the_fly: true,
        enable_auto_iter: false,
        enable_auto_await: false,
        enable_private_editable: false,
        enable_term_search: false,
        term_search_fuel: 0,
        full_function_signatures: true,
        // They say whether a function has parameters.
        callable: Some(CallableSnippets::AddParentheses),
        snippet_cap: SnippetCap::new(true),
        add_colons_to_module: true,
        add_semicolon_to_unit: false,
        insert_use: InsertUseConfig {
            granularity: ImportGranularity::Item,
            enforce_granularity: false,
            prefix_kind: ra_ap_hir::PrefixKind::ByCrate,
            group: false,
            skip_glob_imports: false,
        },
        prefer_no_std: false,
        prefer_prelude: false,
        prefer_absolute: false,
        snippets: Vec::new(),
        limit: None,
        fields_to_resolve: CompletionFieldsToResolve::empty(),
        exclude_flyimport: Vec::new(),
        exclude_traits: &[],
        ra_fixture: RaFixtureConfig::default(),
    }
}

/// Returns a completion, unless it changes the source in several places.
fn completion(item: &CompletionItem) -> Option<Completion> {
    let mut changes = item.text_edit.iter();
    let has_parameters = item.label.primary.ends_with("(…)");
    let text = match (changes.next(), changes.next()) {
        (Some(change), None) if change.delete == item.source_range => {
            let text = without_places(&change.insert);
            match text.find('(') {
                Some(open) if has_parameters => text[..=open].to_owned(),
                _ => text,
            }
        }
        // A field that can be called: `(x.field)()`.
        _ if item.kind == CompletionItemKind::SymbolKind(SymbolKind::Field) => {
            item.lookup().to_owned()
        }
        _ => return None,
    };
    let documentation = item.documentation.as_ref().map(|it| it.as_str().to_owned());
    let name = item.lookup();
    let signature = item.detail.as_deref().filter(|_| is_function(item.kind));
    let signature = signature.and_then(|it| it.split_once(&format!("fn {name}")));
    let label = match signature {
        Some((_, rest)) => format!("{name}{}", rest.split(" where ").next().unwrap_or(rest)),
        None => item.label.primary.to_string(),
    };
    Some(Completion {
        text,
        kind: kind(item.kind).to_owned(),
        label,
        documentation: documentation.unwrap_or_default(),
    })
}

fn is_function(kind: CompletionItemKind) -> bool {
    use SymbolKind::{Function, Method};
    matches!(kind, CompletionItemKind::SymbolKind(Function | Method))
}

/// Returns a kind that JupyterLab knows.
fn kind(kind: CompletionItemKind) -> &'static str {
    use SymbolKind as S;
    let CompletionItemKind::SymbolKind(kind) = kind else {
        return match kind {
            CompletionItemKind::Keyword => "keyword",
            _ => "instance",
        };
    };
    match kind {
        S::Function | S::Method | S::Macro | S::ProcMacro => "function",
        S::Derive | S::DeriveHelper | S::Attribute | S::BuiltinAttr => "function",
        S::Struct | S::Enum | S::Union | S::Trait | S::TypeAlias | S::TypeParam | S::SelfType => {
            "class"
        }
        S::Module | S::CrateRoot | S::ToolModule => "module",
        _ => "instance",
    }
}

/// Returns a snippet without the places for the cursor: `$0`, `${1:text}`.
fn without_places(snippet: &str) -> String {
    let mut text = String::with_capacity(snippet.len());
    let mut rest = snippet;
    while let Some((before, after)) = rest.split_once('$') {
        text.push_str(before);
        let digits = |text: &str| {
            text.find(|c: char| !c.is_ascii_digit())
                .unwrap_or(text.len())
        };
        rest = match after.strip_prefix('{').and_then(|it| it.split_once('}')) {
            Some((place, rest)) => {
                text.push_str(place.split_once(':').map_or("", |(_, default)| default));
                rest
            }
            None => &after[digits(after)..],
        };
    }
    text + rest
}

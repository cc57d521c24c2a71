//! The variables that a cell defines.

use syn::Pat;
use syn::ext::IdentExt;

/// A variable that a pattern defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Its name, with `r#` if it is written so.
    pub name: String,
    /// Whether it is declared with `mut`.
    pub is_mutable: bool,
    /// Where the statement that declares it ends.
    pub statement: usize,
}

/// Adds the variables of a pattern. `statement` is the end of the statement.
pub fn collect(pattern: &Pat, statement: usize, found: &mut Vec<Binding>) {
    let mut all = |patterns: &mut dyn Iterator<Item = &Pat>| {
        patterns.for_each(|pattern| collect(pattern, statement, found));
    };
    match pattern {
        Pat::Ident(ident) => {
            if let Some((_, pattern)) = &ident.subpat {
                all(&mut std::iter::once(&**pattern));
            }
            // A pattern with a capital letter is a constant or a unit struct.
            let first = ident.ident.unraw().to_string().chars().next();
            if !first.is_some_and(char::is_uppercase) {
                found.push(Binding {
                    name: ident.ident.to_string(),
                    is_mutable: ident.mutability.is_some(),
                    statement,
                });
            }
        }
        Pat::Tuple(tuple) => all(&mut tuple.elems.iter()),
        Pat::TupleStruct(tuple) => all(&mut tuple.elems.iter()),
        Pat::Slice(slice) => all(&mut slice.elems.iter()),
        Pat::Struct(fields) => all(&mut fields.fields.iter().map(|field| &*field.pat)),
        Pat::Or(cases) => all(&mut cases.cases.iter().take(1)),
        Pat::Type(typed) => all(&mut std::iter::once(&*typed.pat)),
        Pat::Reference(reference) => all(&mut std::iter::once(&*reference.pat)),
        Pat::Paren(inner) => all(&mut std::iter::once(&*inner.pat)),
        _ => {}
    }
}

/// Returns the names of the variables of a pattern.
pub fn names(pattern: &Pat) -> impl Iterator<Item = String> {
    let mut found = Vec::new();
    collect(pattern, 0, &mut found);
    found.into_iter().map(|it| it.name)
}

/// Keeps the last of all bindings with one name: it shadows the others.
pub fn keep_last(bindings: &mut Vec<Binding>) {
    let all = bindings.clone();
    let mut index = 0;
    bindings.retain(|binding| {
        index += 1;
        !all[index..].iter().any(|later| later.name == binding.name)
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statements;
    use syn::Stmt;

    #[test]
    fn variables_of_all_patterns_are_found() {
        let source = "let (a, mut b) = f(); let [c, .., d] = g; let P { x, y: e } = p; let &h = r; let i @ 1..=9 = 3 else { return };
            let Some(j) = k else { return }; let _ = 1; let None = l else { return }; let m: i32; let r#type = 1; let a = 2;";
        let mut found = Vec::new();
        for statement in statements(source).expect("it is valid") {
            if let Stmt::Local(local) = statement {
                collect(&local.pat, 0, &mut found);
            }
        }
        keep_last(&mut found);
        let names: Vec<&str> = found.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(
            names,
            ["b", "c", "d", "x", "e", "h", "i", "j", "m", "r#type", "a"]
        );
        assert!(found[0].is_mutable && !found[1].is_mutable);
    }
}

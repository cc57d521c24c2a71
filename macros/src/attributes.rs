//! The attributes of the derive.

use syn::ext::IdentExt;
use syn::punctuated::Punctuated;
use syn::{Attribute, Error, Expr, Field, Result, Token};

/// What the derive does with a field.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Treatment {
    Visit,
    /// `#[parameters(flatten)]`
    Flatten,
    /// `#[parameters(skip)]`
    Skip,
}

/// Returns the expression of `#[parameters(name = …)]` above the struct, if it has it.
pub(crate) fn name(attributes: &[Attribute]) -> Result<Option<Expr>> {
    let mut name = None;
    for attribute in attributes
        .iter()
        .filter(|a| a.path().is_ident("parameters"))
    {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("name") {
                return Err(meta.error("expected `#[parameters(name = …)]` above a struct"));
            }
            name = Some(meta.value()?.parse()?);
            Ok(())
        })?;
    }
    Ok(name)
}

/// Returns the treatment that a field's attributes request.
pub(crate) fn treatment(field: &Field) -> Result<Treatment> {
    let mut treatment = Treatment::Visit;
    for attribute in &field.attrs {
        if attribute.path().is_ident("describe") {
            let message = "write `#[describe(…)]` above the struct, not above a field";
            return Err(Error::new_spanned(attribute, message));
        }
        if attribute.path().is_ident("parameters") {
            attribute.parse_nested_meta(|meta| {
                treatment = match &meta.path {
                    path if path.is_ident("skip") => Treatment::Skip,
                    path if path.is_ident("flatten") => Treatment::Flatten,
                    _ => {
                        return Err(meta
                            .error("expected `#[parameters(skip)]` or `#[parameters(flatten)]`"));
                    }
                };
                Ok(())
            })?;
        }
    }
    Ok(treatment)
}

/// A setting that describes a model.
pub(crate) struct Setting {
    /// The name of the setting, or its index if it has no name.
    pub(crate) name: String,
    pub(crate) value: Expr,
}

/// Returns the settings of `#[describe(…)]`, if the struct has it.
pub(crate) fn settings(attributes: &[Attribute]) -> Result<Option<Vec<Setting>>> {
    let Some(attribute) = attributes.iter().find(|a| a.path().is_ident("describe")) else {
        return Ok(None);
    };
    let list = attribute.parse_args_with(Punctuated::<Expr, Token![,]>::parse_terminated)?;
    list.into_iter()
        .enumerate()
        .map(|(i, item)| setting(i, item))
        .collect::<Result<_>>()
        .map(Some)
}

fn setting(index: usize, item: Expr) -> Result<Setting> {
    let Expr::Assign(assign) = item else {
        let name = index.to_string();
        return Ok(Setting { name, value: item });
    };
    match &*assign.left {
        Expr::Path(name) if name.path.get_ident().is_some() => Ok(Setting {
            name: name.path.require_ident()?.unraw().to_string(),
            value: *assign.right,
        }),
        other => Err(Error::new_spanned(other, "expected the name of a setting")),
    }
}

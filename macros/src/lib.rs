//! The derive macro of Taper. Use it through `taper::prelude`.

#![deny(missing_docs)]

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Field, Member, Result, parse_macro_input, parse_quote};

/// Finds the parameters of a model in the fields of its struct, and shows the model below a cell.
///
/// Every field must itself have parameters or be plain data; mark one of another type with
/// `#[parameters(skip)]`.
///
/// ```
/// use taper::prelude::*;
///
/// #[derive(Parameters)]
/// struct Model {
///     net: Sequential,
///     lr: f64,
///     #[parameters(skip)]
///     history: std::collections::VecDeque<f64>,
/// }
///
/// let model = Model {
///     net: seq![Linear::new(2, 1)?],
///     lr: 0.1,
///     history: Default::default(),
/// };
/// assert_eq!(model.named_parameters()[0].0, "net.0.weight");
/// # Ok::<(), Error>(())
/// ```
///
/// ```compile_fail
/// # use taper::prelude::*;
/// #[derive(Parameters)]
/// enum NotAStruct { One }
/// ```
#[proc_macro_derive(Parameters, attributes(parameters))]
pub fn derive_parameters(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    implement(input)
        .unwrap_or_else(Error::into_compile_error)
        .into()
}

fn implement(mut input: DeriveInput) -> Result<TokenStream> {
    let Data::Struct(data) = &input.data else {
        let message = "Parameters can be derived for a struct only";
        return Err(Error::new_spanned(&input.ident, message));
    };
    let mut fields = Vec::new();
    for (field, member) in data.fields.iter().zip(data.fields.members()) {
        if !is_skipped(field)? {
            let name = field_name(&member);
            // The span puts an error about the field's type where that type stands.
            fields.push(quote_spanned! {field.ty.span()=>
                (::std::string::String::from(#name), &self.#member as &dyn ::taper::nn::Parameters)
            });
        }
    }
    for parameter in input.generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(::taper::nn::Parameters));
    }
    let model = &input.ident;
    let name = model.unraw().to_string();
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #generics ::taper::nn::Parameters for #model #arguments #bounds {
            fn fields(
                &self,
            ) -> ::std::vec::Vec<(::std::string::String, &dyn ::taper::nn::Parameters)> {
                ::std::vec![#(#fields),*]
            }

            fn describe(&self) -> ::std::string::String {
                ::taper::nn::describe_model(#name, &::taper::nn::Parameters::fields(self))
            }
        }

        #[automatically_derived]
        impl #generics ::taper::show::Show for #model #arguments #bounds {
            fn show_text(&self) -> ::std::string::String {
                ::taper::nn::Parameters::describe(self)
            }
        }
    })
}

/// Whether the field is marked `#[parameters(skip)]`.
fn is_skipped(field: &Field) -> Result<bool> {
    let mut skipped = false;
    for attribute in &field.attrs {
        if attribute.path().is_ident("parameters") {
            attribute.parse_nested_meta(|meta| {
                if !meta.path.is_ident("skip") {
                    return Err(meta.error("the only mark is `#[parameters(skip)]`"));
                }
                skipped = true;
                Ok(())
            })?;
        }
    }
    Ok(skipped)
}

/// A field's name in the path of a parameter: `net`, or the number in a tuple struct.
fn field_name(member: &Member) -> String {
    match member {
        Member::Named(name) => name.unraw().to_string(),
        Member::Unnamed(index) => index.index.to_string(),
    }
}

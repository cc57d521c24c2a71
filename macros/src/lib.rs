//! The derive macro of Taper. Use it through `taper::prelude`.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{
    Data, DataStruct, DeriveInput, Error, Field, Member, Result, parse_macro_input, parse_quote,
};

/// Finds the parameters of a model in the fields of its struct, and shows the model below a cell.
///
/// Every field must itself have parameters or be plain data; mark one of another type with
/// `#[parameters(skip)]`; it is then cloned, not copied to the device, when the model is replicated.
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
    let fields = Fields::of(data)?;
    let (refs, places, copies) = (&fields.refs, &fields.places, &fields.copies);
    for parameter in input.generics.type_params_mut() {
        let bounds = &mut parameter.bounds;
        bounds.push(parse_quote!(::taper::nn::Parameters));
        bounds.push(parse_quote!(::taper::nn::Replicate));
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
                ::std::vec![#(#refs),*]
            }

            fn place(&mut self, copier: &mut ::taper::nn::Copier) -> ::taper::Result<()> {
                #(#places)*
                ::std::result::Result::Ok(())
            }

            fn describe(&self) -> ::std::string::String {
                ::taper::nn::describe_model(#name, &::taper::nn::Parameters::fields(self))
            }
        }

        #[automatically_derived]
        impl #generics ::taper::nn::Replicate for #model #arguments #bounds {
            fn replicate_with(&self, copier: &mut ::taper::nn::Copier) -> ::taper::Result<Self> {
                ::std::result::Result::Ok(Self { #(#copies),* })
            }
        }

        #[automatically_derived]
        impl #generics ::taper::notebook::Show for #model #arguments #bounds {
            fn show_text(&self) -> ::std::string::String {
                ::taper::nn::Parameters::describe(self)
            }
        }
    })
}

/// What is written for each field.
#[derive(Default)]
struct Fields {
    refs: Vec<TokenStream>,
    places: Vec<TokenStream>,
    copies: Vec<TokenStream>,
}

impl Fields {
    fn of(data: &DataStruct) -> Result<Self> {
        let mut found = Self::default();
        for (field, member) in data.fields.iter().zip(data.fields.members()) {
            // The span puts an error about the field's type where that type stands.
            let span = field.ty.span();
            if is_skipped(field)? {
                found.copies.push(quote_spanned! {span=>
                    #member: ::std::clone::Clone::clone(&self.#member)
                });
                continue;
            }
            let name = field_name(&member);
            found.refs.push(quote_spanned! {span=>
                (::std::string::String::from(#name), &self.#member as &dyn ::taper::nn::Parameters)
            });
            found.places.push(quote_spanned! {span=>
                ::taper::nn::Parameters::place(&mut self.#member, copier)?;
            });
            found.copies.push(quote_spanned! {span=>
                #member: ::taper::nn::Replicate::replicate_with(&self.#member, copier)?
            });
        }
        Ok(found)
    }
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

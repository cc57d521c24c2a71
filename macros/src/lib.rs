//! The derive macros of Taper. Use them through `taper::prelude`.

mod attributes;
mod batch_data;

use attributes::{Setting, Treatment};
use proc_macro2::{Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{
    Data, DataStruct, DeriveInput, Error, ItemFn, Member, PathArguments, Result, ReturnType, Type,
    parse_macro_input, parse_quote,
};

/// Implements what a model needs besides its `forward`: `Parameters`, which visits and copies its fields, and
/// `Debug` and `Show`, which print its description.
///
/// Every field must itself be a part of the model or plain data.
///
/// - `#[parameters(skip)]` above a field of any other type excludes it; a copy of the model contains a
///   clone of the field.
/// - `#[parameters(flatten)]` above a field that is a model treats that model's fields as the struct's own.
/// - `#[parameters(name = expression)]` above the struct is the name to print in place of the struct's.
/// - `#[describe(name = expression, expression, …)]` above the struct lists the settings to print in
///   place of the plain fields.
#[proc_macro_derive(Parameters, attributes(parameters, describe))]
pub fn derive_parameters(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    implement(input)
        .unwrap_or_else(Error::into_compile_error)
        .into()
}

/// Implements `BatchData` for a struct of tensors and other batches.
///
/// `#[batch(shared)]` above a field keeps it whole when the batch is split.
#[proc_macro_derive(BatchData, attributes(batch))]
pub fn derive_batch_data(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    batch_data::implement(input)
        .unwrap_or_else(Error::into_compile_error)
        .into()
}

/// Lets callers of a function that returns a result get its value: an error, also of a method of a tensor that it calls, panics
/// at the caller's line. It is for functions of `taper` that are composed of such methods.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn raises(
    _: proc_macro::TokenStream,
    function: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    let function = parse_macro_input!(function as ItemFn);
    raising(function)
        .unwrap_or_else(Error::into_compile_error)
        .into()
}

fn raising(function: ItemFn) -> Result<TokenStream> {
    let ItemFn {
        attrs,
        vis,
        mut sig,
        block,
    } = function;
    let result = sig.output.clone();
    let ReturnType::Type(_, output) = &mut sig.output else {
        return Err(Error::new_spanned(
            &sig,
            "expected a function that returns a result",
        ));
    };
    let Type::Path(path) = &**output else {
        return Err(Error::new_spanned(output, "expected a result"));
    };
    let value = match path.path.segments.last().map(|segment| &segment.arguments) {
        Some(PathArguments::AngleBracketed(arguments)) => arguments.args.first().cloned(),
        _ => None,
    };
    **output = parse_quote!(#value);
    Ok(quote! {
        #(#attrs)*
        #[track_caller]
        #vis #sig {
            crate::error::composed(|| #result #block)
        }
    })
}

fn implement(mut input: DeriveInput) -> Result<TokenStream> {
    let Data::Struct(data) = &input.data else {
        let message = "Parameters can be derived for a struct only";
        return Err(Error::new_spanned(&input.ident, message));
    };
    let Fields {
        visits,
        visits_mut,
        copies,
    } = Fields::of(data)?;
    let settings = attributes::settings(&input.attrs)?.map(|list| visit_settings(&list));
    for parameter in input.generics.type_params_mut() {
        let bounds = &mut parameter.bounds;
        bounds.push(parse_quote!(::taper::nn::Parameters));
    }
    let model = &input.ident;
    let name = match attributes::name(&input.attrs)? {
        Some(name) => of_method(name.to_token_stream()),
        None => {
            let name = model.unraw().to_string();
            quote!(#name)
        }
    };
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #generics ::taper::nn::Parameters for #model #arguments #bounds {
            #[inline(never)]
            fn visit(&self, visitor: &mut dyn ::taper::nn::Visitor) {
                ::taper::nn::Visitor::model(visitor, #name);
                #settings
                #(#visits)*
            }

            fn visit_mut(
                &mut self,
                visitor: &mut dyn ::taper::nn::VisitorMut,
            ) -> ::taper::Result<()> {
                #(#visits_mut)*
                ::std::result::Result::Ok(())
            }

            fn shallow_copy(&self) -> Self {
                Self { #(#copies),* }
            }
        }

        #[automatically_derived]
        impl #generics ::std::fmt::Debug for #model #arguments #bounds {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(&::taper::nn::Parameters::describe(self))
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

/// Returns an expression whose `self` is that of the generated method, also if a macro has passed the expression on.
fn of_method(expression: TokenStream) -> TokenStream {
    let tokens = expression.into_iter().map(|token| match token {
        TokenTree::Ident(mut name) if name == "self" => {
            name.set_span(name.span().resolved_at(Span::call_site()));
            TokenTree::Ident(name)
        }
        TokenTree::Group(group) => {
            let mut new = Group::new(group.delimiter(), of_method(group.stream()));
            new.set_span(group.span());
            TokenTree::Group(new)
        }
        other => other,
    });
    tokens.collect()
}

/// Returns code that visits the settings as if they were fields.
fn visit_settings(settings: &[Setting]) -> TokenStream {
    let visits = settings.iter().map(|Setting { name, value }| {
        let span = value.span().resolved_at(Span::call_site());
        let value = of_method(value.to_token_stream());
        quote_spanned! {span=> ::taper::nn::visit_field(visitor, #name, &(#value)); }
    });
    quote! {
        ::taper::nn::Visitor::settings(visitor, &|visitor| { #(#visits)* });
    }
}

/// The code for all fields, for each method of `Parameters`.
#[derive(Default)]
struct Fields {
    visits: Vec<TokenStream>,
    visits_mut: Vec<TokenStream>,
    copies: Vec<TokenStream>,
}

impl Fields {
    fn of(data: &DataStruct) -> Result<Self> {
        let mut found = Self::default();
        for (field, member) in data.fields.iter().zip(data.fields.members()) {
            // With this span, the compiler shows an error about the field's type at that type, and resolves
            // names as in the rest of the generated code.
            let span = field.ty.span().resolved_at(Span::call_site());
            let treatment = attributes::treatment(field)?;
            if treatment == Treatment::Skip {
                found.copies.push(quote_spanned! {span=>
                    #member: ::std::clone::Clone::clone(&self.#member)
                });
                continue;
            }
            found.visits.push(match treatment {
                Treatment::Flatten => quote_spanned! {span=>
                    ::taper::nn::Parameters::visit(&self.#member, visitor);
                },
                _ => {
                    let name = field_name(&member);
                    quote_spanned! {span=>
                        ::taper::nn::visit_field(visitor, #name, &self.#member);
                    }
                }
            });
            found.visits_mut.push(quote_spanned! {span=>
                ::taper::nn::Parameters::visit_mut(&mut self.#member, visitor)?;
            });
            found.copies.push(quote_spanned! {span=>
                #member: ::taper::nn::Parameters::shallow_copy(&self.#member)
            });
        }
        Ok(found)
    }
}

/// Returns a field's name in the path of a parameter: `net`, or the index in a tuple struct.
fn field_name(member: &Member) -> String {
    match member {
        Member::Named(name) => name.unraw().to_string(),
        Member::Unnamed(index) => index.index.to_string(),
    }
}

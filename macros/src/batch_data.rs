//! The derive of `BatchData`.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Field, Result, parse_quote};

/// Returns the implementation of `BatchData` for a struct, which passes each call on to the fields.
pub(crate) fn implement(mut input: DeriveInput) -> Result<TokenStream> {
    let Data::Struct(data) = &input.data else {
        let message = "BatchData can be derived for a struct only";
        return Err(Error::new_spanned(&input.ident, message));
    };
    let [
        mut counts,
        mut parts,
        mut moves,
        mut joins,
        mut built,
        mut searched,
    ] = [const { Vec::new() }; 6];
    for (i, (field, member)) in data.fields.iter().zip(data.fields.members()).enumerate() {
        // With this span, the compiler shows an error about the field's type at that type.
        let span = field.ty.span().resolved_at(Span::call_site());
        let (value, ty) = (format_ident!("value_{i}"), &field.ty);
        let batch = quote_spanned!(span=> <#ty as ::taper::data::BatchData>);
        let name = quote!(#member).to_string();
        searched.push(quote!(search.field(#name, &self.#member);));
        if is_shared(field)? {
            parts.push(quote!(let #value = #batch::to_device(&self.#member, device)?;));
            joins.push(quote! {
                let #value = #batch::collate(
                    &::taper::data::parts_of(batches, |batch| &batch.#member)?[..1],
                )?;
            });
        } else {
            counts.push(quote!((#name, #batch::num_examples(&self.#member)?)));
            parts.push(quote!(let #value = #batch::part(&self.#member, start, len, device)?;));
            joins.push(quote! {
                let #value = #batch::collate(
                    &::taper::data::parts_of(batches, |batch| &batch.#member)?,
                )?;
            });
        }
        moves.push(quote!(let #value = #batch::to_device(&self.#member, device)?;));
        built.push(quote!(#member: #value));
    }
    for parameter in input.generics.type_params_mut() {
        let bounds = &mut parameter.bounds;
        bounds.push(parse_quote!(::taper::data::BatchData));
    }
    let name = &input.ident;
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #generics ::taper::data::BatchData for #name #arguments #bounds {
            type Input = Self;
            type Target = Self;

            fn input(&self) -> &Self {
                self
            }

            fn target(&self) -> &Self {
                self
            }

            fn num_examples(&self) -> ::taper::Result<usize> {
                ::taper::data::agreed(&[#(#counts),*])
            }

            fn part(
                &self,
                start: usize,
                len: usize,
                device: &::taper::candle_core::Device,
            ) -> ::taper::Result<Self> {
                ::taper::data::BatchData::num_examples(self)?;
                #(#parts)*
                ::std::result::Result::Ok(Self { #(#built),* })
            }

            fn to_device(&self, device: &::taper::candle_core::Device) -> ::taper::Result<Self> {
                #(#moves)*
                ::std::result::Result::Ok(Self { #(#built),* })
            }

            fn search_tensors(&self, search: &mut ::taper::data::Search<'_>) {
                #(#searched)*
            }

            fn collate(batches: &[&Self]) -> ::taper::Result<Self> {
                #(#joins)*
                ::std::result::Result::Ok(Self { #(#built),* })
            }
        }
    })
}

/// Returns whether the field has `#[batch(shared)]`.
fn is_shared(field: &Field) -> Result<bool> {
    let mut shared = false;
    for attribute in field.attrs.iter().filter(|a| a.path().is_ident("batch")) {
        attribute.parse_nested_meta(|meta| match meta.path.is_ident("shared") {
            true => {
                shared = true;
                Ok(())
            }
            false => Err(meta.error("expected `#[batch(shared)]`")),
        })?;
    }
    Ok(shared)
}

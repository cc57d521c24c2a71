//! Sums of products, written with a letter for each dimension.

use crate::error::{self, refuse};
use crate::tensor::Tensor;
use candle_core::Result;
use taper_macros::raises;

/// Returns sums of products in Einstein's notation: a letter for each dimension of each operand, then the letters of
/// the result. The products are summed over letters that the result does not have.
///
/// `...` is for dimensions that are broadcast. A letter that an operand has twice is for its diagonal. Without `->`, the
/// result has the letters that occur once, in the order of the alphabet. Two operands at a time are multiplied as matrices.
///
/// # Panics
/// If the letters do not fit the operands, a letter has two sizes, or the operands do not contain floating-point numbers.
///
/// ```
/// use taper::prelude::*;
///
/// let (x, y) = (ones((2, 3)), ones((3, 4)));
/// assert_eq!(einsum("ij,jk->ik", &[&x, &y]).to_vec2::<f32>(), [[3.0; 4]; 2]);
/// assert_eq!(einsum("ij->", &[&x]).item(), 6.0); // the sum
/// let (q, k) = (randn((2, 5, 4, 8)), randn((2, 5, 4, 8))); // (batch, tokens, heads, features)
/// assert_eq!(einsum("bqhf,bkhf->bhqk", &[&q, &k]).dims(), [2, 4, 5, 5]);
/// ```
#[inline]
#[track_caller]
pub fn einsum(equation: &str, operands: &[&Tensor]) -> Tensor {
    summed(equation, operands)
}

#[raises]
fn summed(equation: &str, operands: &[&Tensor]) -> Result<Tensor> {
    let (terms, output) = parsed(equation, operands)?;
    let mut all: Vec<Term> = vec![];
    for (i, (labels, x)) in terms.into_iter().zip(operands).enumerate() {
        let term = Term::of(labels, x)?;
        for (label, size) in term.labels.iter().zip(term.x.dims()) {
            let known = all.iter().find_map(|other| other.size(*label));
            if known.is_some_and(|known| known != *size && known != 1 && *size != 1) {
                let letter = shown(*label);
                return Err(wrong(
                    format_args!("one size for {letter:?}"),
                    format_args!("{} and {size}, in operand {i}", known.unwrap_or(0)),
                ));
            }
        }
        all.push(term);
    }
    let mut rest = all.into_iter();
    let Some(mut product) = rest.next() else {
        return Err(wrong("at least one operand", "none"));
    };
    while let Some(next) = rest.next() {
        let needed = |label: u32| {
            output.contains(&label)
                || rest
                    .as_slice()
                    .iter()
                    .any(|term| term.labels.contains(&label))
        };
        product = product.times(next, needed);
    }
    Ok(product.summed_to(&output))
}

/// An operand with a label for each dimension: a letter, or from [`DOTS`] on a dimension of `...`, counted from the end.
struct Term {
    labels: Vec<u32>,
    x: Tensor,
}

/// The label of the last dimension of `...`.
const DOTS: u32 = 1 << 24;

impl Term {
    /// Takes the diagonals for labels that occur twice.
    fn of(mut labels: Vec<u32>, x: &Tensor) -> Result<Self> {
        let mut x = x.clone();
        while let Some((i, j)) = twice(&labels) {
            let (a, b) = (x.dims()[i], x.dims()[j]);
            if a != b {
                let letter = shown(labels[i]);
                return Err(wrong(
                    format_args!("one size for {letter:?}"),
                    format_args!("{a} and {b}"),
                ));
            }
            let mut order: Vec<usize> = (0..labels.len()).filter(|k| *k != i && *k != j).collect();
            let label = labels[i];
            labels = order.iter().map(|k| labels[*k]).chain([label]).collect();
            order.extend([i, j]);
            x = x.permute(order).diagonal(0);
        }
        Ok(Term { labels, x })
    }

    fn size(&self, label: u32) -> Option<usize> {
        let i = self.labels.iter().position(|other| *other == label)?;
        Some(self.x.dims()[i])
    }

    /// Returns the sum over all dimensions with other labels, with the rest in the given order.
    fn summed_to(self, labels: &[u32]) -> Tensor {
        let over = (0..self.labels.len()).filter(|i| !labels.contains(&self.labels[*i]));
        let over: Vec<usize> = over.collect();
        let x = if over.is_empty() {
            self.x
        } else {
            self.x.sum(over)
        };
        let left: Vec<u32> = self
            .labels
            .into_iter()
            .filter(|label| labels.contains(label))
            .collect();
        let order = labels
            .iter()
            .filter_map(|label| left.iter().position(|other| other == label));
        x.permute(order.collect::<Vec<_>>())
    }

    /// Returns the product, summed over the labels that are not needed any more.
    fn times(self, other: Term, needed: impl Fn(u32) -> bool) -> Term {
        let both = |label: &u32| self.labels.contains(label) && other.labels.contains(label);
        // A dimension of size 1 is broadcast, and cannot be a dimension of a matrix product.
        let same = |label: &u32| both(label) && self.size(*label) == other.size(*label);
        let of = |term: &Term, keep: &dyn Fn(&u32) -> bool| -> Vec<u32> {
            term.labels
                .iter()
                .copied()
                .filter(|label| keep(label))
                .collect()
        };
        let batch = of(&self, &|label| {
            both(label) && (needed(*label) || !same(label))
        });
        let inner = of(&self, &|label| same(label) && !needed(*label));
        let rows = of(&self, &|label| {
            !other.labels.contains(label) && needed(*label)
        });
        let columns = of(&other, &|label| {
            !self.labels.contains(label) && needed(*label)
        });
        let left = self.matrices(&batch, &rows, &inner);
        let right = other.matrices(&batch, &inner, &columns);
        let sizes = |x: &Tensor, from: usize, count: usize| x.dims()[from..from + count].to_vec();
        let shape = [
            sizes(&left, batch.len(), rows.len()),
            sizes(&right, batch.len() + inner.len(), columns.len()),
        ];
        let flat = |x: &Tensor, first: usize| {
            let (before, after) = x.dims()[batch.len()..].split_at(first);
            let sides: [usize; 2] = [before.iter().product(), after.iter().product()];
            x.reshape([&x.dims()[..batch.len()], &sides].concat())
        };
        let product = flat(&left, rows.len()).matmul(&flat(&right, inner.len()));
        let shape = [&product.dims()[..batch.len()], &shape.concat()].concat();
        Term {
            labels: [batch, rows, columns].concat(),
            x: product.reshape(shape),
        }
    }

    /// Returns the tensor with the dimensions in this order, summed over all others.
    fn matrices(&self, batch: &[u32], first: &[u32], second: &[u32]) -> Tensor {
        let term = Term {
            labels: self.labels.clone(),
            x: self.x.clone(),
        };
        term.summed_to(&[batch, first, second].concat())
    }
}

/// Returns the first two places of equal labels.
fn twice(labels: &[u32]) -> Option<(usize, usize)> {
    let mut pairs = (0..labels.len()).flat_map(|j| (0..j).map(move |i| (i, j)));
    pairs.find(|(i, j)| labels[*i] == labels[*j])
}

/// Returns the labels of each operand and of the result.
fn parsed(equation: &str, operands: &[&Tensor]) -> Result<(Vec<Vec<u32>>, Vec<u32>)> {
    let text: String = equation.chars().filter(|c| !c.is_whitespace()).collect();
    let (inputs, output) = match text.split_once("->") {
        Some((inputs, output)) => (inputs, Some(output)),
        None => (&text[..], None),
    };
    let inputs: Vec<&str> = inputs.split(',').collect();
    if inputs.len() != operands.len() {
        return Err(wrong(
            format_args!("an operand for each of {} terms", inputs.len()),
            format_args!("{}", operands.len()),
        ));
    }
    let mut terms = vec![];
    let mut most = 0; // dimensions of `...`
    for (i, (input, x)) in inputs.iter().zip(operands).enumerate() {
        if !x.dtype().is_float() {
            let advice = "Convert the operands: x.to_dtype(DType::F32)";
            refuse!(dtype("einsum", x.dtype()); "floating-point numbers", advice);
        }
        let letters = letters_of(input)?;
        let dots = x.rank().checked_sub(letters.len());
        let fits = dots.is_some_and(|dots| dots == 0 || input.contains("..."));
        let (true, Some(dots)) = (fits, dots) else {
            return Err(wrong(
                format_args!("a letter for each dimension of {:?}", x.dims()),
                format_args!("{input:?} for operand {i}"),
            ));
        };
        most = most.max(dots);
        terms.push(with_dots(input, &letters, dots));
    }
    let output = match output {
        Some(output) => with_dots(output, &letters_of(output)?, most),
        None => {
            let all: Vec<u32> = terms.concat();
            let once = |label: &u32| {
                *label >= DOTS || all.iter().filter(|other| *other == label).count() == 1
            };
            let mut letters: Vec<u32> = all
                .iter()
                .copied()
                .filter(|label| *label < DOTS && once(label))
                .collect();
            letters.sort_unstable();
            with_dots("...", &letters, most)
        }
    };
    let known = |label: &u32| *label >= DOTS || terms.iter().any(|term| term.contains(label));
    match output.iter().find(|label| !known(label)) {
        None if twice(&output).is_none() => Ok((terms, output)),
        unknown => Err(wrong(
            "each letter of the result once, and in an operand",
            format_args!(
                "{:?}",
                unknown.map_or(equation.to_owned(), |label| shown(*label))
            ),
        )),
    }
}

fn letters_of(term: &str) -> Result<Vec<u32>> {
    let letters = term.replacen("...", "", 1);
    match letters.chars().find(|c| !c.is_ascii_alphabetic()) {
        None => Ok(letters.chars().map(u32::from).collect()),
        Some(c) => Err(wrong(
            "letters, commas, `...` and `->`",
            format_args!("{c:?}"),
        )),
    }
}

/// Replaces `...` by its labels. If `...` has fewer dimensions in this operand, it gets the last labels.
fn with_dots(term: &str, letters: &[u32], count: usize) -> Vec<u32> {
    let before = term.find("...").unwrap_or(letters.len()).min(letters.len());
    let dots = match term.contains("...") {
        true => (0..count as u32).rev().map(|i| DOTS + i).collect(),
        false => vec![],
    };
    [&letters[..before], &dots, &letters[before..]].concat()
}

fn shown(label: u32) -> String {
    char::from_u32(label)
        .filter(|_| label < DOTS)
        .map_or("...".to_owned(), String::from)
}

fn wrong(expected: impl std::fmt::Display, found: impl std::fmt::Display) -> candle_core::Error {
    let advice = "Write a letter for each dimension, as in einsum(\"ij,jk->ik\", &[&x, &y])";
    error::argument("einsum", expected, found, advice).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::nn::testing::variable;
    use crate::tensor::{randn, zeros};

    #[test]
    fn gradients_are_those_of_the_matrix_product() {
        let (x, y) = (variable(&randn((2, 3, 4))), variable(&randn((2, 4, 5))));
        let gradients = |z: Tensor| {
            let all = z.sqr().sum_all().backward();
            [all.of(&x), all.of(&y)].map(|g| g.to_vec::<f32>()).concat()
        };
        let got = gradients(einsum("bij,bjk->kbi", &[&x, &y]));
        for (got, want) in got.iter().zip(gradients(x.matmul(&y))) {
            assert!(
                (got - want).abs() < 1e-4 * want.abs().max(1.0),
                "{got} is not {want}"
            );
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let (x, y) = (zeros((2, 3)), zeros((2, 3)));
        for equation in [
            "ij,jk->ik",
            "ij",
            "ij,k->i",
            "i1,ij->i",
            "ij,ij->k",
            "ij,ij->ii",
            "ii,ij->j",
        ] {
            let message = attempt(|| einsum(equation, &[&x, &y]))
                .unwrap_err()
                .to_string();
            assert!(message.starts_with("einsum: expected "), "{message}");
            assert_eq!(message.lines().count(), 2);
        }
    }
}

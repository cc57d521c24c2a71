//! A transformer that translates a number in English words into digits: "three hundred five" to "305".
//!
//!     cargo run --release --example translation

#[cfg(test)]
mod pytorch;

use taper::prelude::*;

const WORDS: [&str; 30] = [
    "",
    "hundred",
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
    "thirty",
    "forty",
    "fifty",
    "sixty",
    "seventy",
    "eighty",
    "ninety",
];
/// A sentence has at most four words: "nine hundred ninety nine".
const SOURCE: usize = 4;
/// The digits are the tokens from 0 to 9.
const START: i64 = 10;
const END: i64 = 11;
const TARGET: usize = 5;

/// Returns the indices of the words; 0 pads them.
fn in_words(number: usize) -> Vec<i64> {
    let below_hundred = |number: usize| match number {
        0 => vec![],
        1..20 => vec![number as i64 + 2],
        _ if number.is_multiple_of(10) => vec![number as i64 / 10 + 20],
        _ => vec![number as i64 / 10 + 20, number as i64 % 10 + 2],
    };
    let mut words = match number / 100 {
        0 => vec![],
        hundreds => vec![hundreds as i64 + 2, 1],
    };
    words.extend(below_hundred(number % 100));
    if words.is_empty() {
        words.push(2);
    }
    words.resize(SOURCE, 0);
    words
}

/// Returns the digits between the tokens for start and end, which also pads them.
fn in_digits(number: usize) -> Vec<i64> {
    let digits = number.to_string();
    let digits = digits.bytes().map(|digit| i64::from(digit - b'0'));
    let mut tokens: Vec<i64> = [START].into_iter().chain(digits).collect();
    tokens.resize(TARGET, END);
    tokens
}

struct Numbers;

impl Numbers {
    fn loader(&self, choose: fn(usize) -> bool) -> Result<DataLoader> {
        let numbers: Vec<usize> = (0..1000).filter(|&number| choose(number)).collect();
        let rows = |tokens: fn(usize) -> Vec<i64>, length: usize| {
            let all: Vec<i64> = numbers.iter().flat_map(|&number| tokens(number)).collect();
            tensor(all).reshape((numbers.len(), length))
        };
        let data = TensorDataset::new(rows(in_words, SOURCE), rows(in_digits, TARGET))?;
        Ok(DataLoader::new(data).batch_size(32))
    }
}

impl DataModule for Numbers {
    fn train_dataloader(&self) -> Result<DataLoader> {
        Ok(self
            .loader(|number| !number.is_multiple_of(7))?
            .shuffle(true))
    }

    fn val_dataloader(&self) -> Result<Option<DataLoader>> {
        self.loader(|number| number.is_multiple_of(7)).map(Some)
    }
}

#[derive(Parameters)]
struct Translator {
    words: Embedding,
    digits: Embedding,
    positions: PositionalEncoding,
    encoder: TransformerEncoder,
    decoder: TransformerDecoder,
    head: Linear,
}

impl Translator {
    fn new(width: usize, heads: usize, layers: usize) -> Self {
        let encoder = || {
            let layer = TransformerEncoderLayer::new(width, heads).dim_feedforward(2 * width);
            layer.dropout(0.0).batch_first(true)
        };
        let decoder = || {
            let layer = TransformerDecoderLayer::new(width, heads).dim_feedforward(2 * width);
            layer.dropout(0.0).batch_first(true)
        };
        Self {
            words: Embedding::new(WORDS.len(), width),
            digits: Embedding::new(12, width),
            positions: PositionalEncoding::new().batch_first(true),
            encoder: TransformerEncoder::new(layers, encoder),
            decoder: TransformerDecoder::new(layers, decoder),
            head: Linear::new(width, 12),
        }
    }

    /// Returns the logits of the token after each of `target`.
    fn logits(&self, source: &Tensor, target: &Tensor) -> Tensor {
        let (causal, padding) = (
            AttentionMask::causal(),
            AttentionMask::none().keys(&source.ne(0)),
        );
        let x = self.positions.forward(&self.words.forward(source)); // (batch, source, width)
        let memory = self.encoder.forward(&x, &padding);
        let y = self.positions.forward(&self.digits.forward(target)); // (batch, target, width)
        let y = self.decoder.forward(&y, &memory, &causal, &padding);
        self.head.forward(&y) // (batch, target, tokens)
    }

    fn loss_of(&self, batch: &Batch) -> Tensor {
        let y_hat = self.logits(&batch.x, &batch.y.i((.., ..-1)));
        self.loss(&y_hat, &batch.y.i((.., 1..)))
    }
}

/// Translates with the most likely token at each step.
impl Layer for Translator {
    fn forward(&self, source: &Tensor) -> Tensor {
        let start = tensor(vec![START; source.dim(0)])
            .to_device(source.device())
            .unsqueeze(1); // (batch, 1)
        (1..TARGET).fold(start, |tokens, _| {
            let last = self.logits(source, &tokens).i((.., -1..)); // (batch, 1, tokens)
            cat(&[tokens, last.argmax(-1).to_dtype(DType::I64)], 1)
        })
    }
}

impl Module for Translator {
    fn loss(&self, y_hat: &Tensor, y: &Tensor) -> Tensor {
        cross_entropy(&y_hat.flatten_to(1), &y.flatten_all())
    }

    fn training_step(&self, batch: &Batch) -> Tensor {
        let loss = self.loss_of(batch);
        self.plot("loss", &loss, true);
        loss
    }

    fn validation_step(&self, batch: &Batch) {
        self.plot("loss", &self.loss_of(batch), false);
    }

    fn configure_optimizers(&self) -> Box<dyn Optimizer> {
        Box::new(Adam::new(self.parameters(), 0.002))
    }
}

fn train(mut trainer: Trainer) -> Result<(Translator, History)> {
    let mut model = Translator::new(32, 4, 1);
    let history = trainer.fit(&mut model, &Numbers)?;
    model.eval();
    Ok((model, history))
}

fn translate(model: &Translator, number: usize) -> String {
    let source = tensor(in_words(number)).unsqueeze(0); // (1, source)
    let tokens: Vec<i64> = model.forward(&source).to_vec();
    let digits = tokens.iter().skip(1).take_while(|token| **token != END);
    digits.map(ToString::to_string).collect()
}

fn main() -> Result<()> {
    manual_seed(0);
    let (model, history) = train(Trainer::new(40))?;
    println!("{}", history.show_text());
    for number in [7, 70, 315, 707] {
        let words = in_words(number)
            .into_iter()
            .map(|word| WORDS[word as usize]);
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        println!("{}: {}", words.join(" "), translate(&model, number));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_translates_numbers_that_it_has_not_seen() -> Result<()> {
        let (model, history) = with_seed(0, || train(Trainer::new(25)))?;
        assert!(history.last("val_loss") < Some(0.2), "{history:?}");
        let numbers = (0..1000).step_by(7);
        let right = numbers.filter(|&number| translate(&model, number) == number.to_string());
        let right = right.count();
        assert!(right > 110, "{right} of 143");
        Ok(())
    }

    #[test]
    fn it_learns_as_in_pytorch() -> Result<()> {
        pytorch::compare("translation", train)
    }
}

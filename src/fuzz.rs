//! Damaged files of data: each is read or refused in a few words, none panics.

#[path = "../tests/common/fuzz.rs"]
mod random;

use crate::data::{BpeTokenizer, DataFrame};
use crate::image::RgbImage;
use crate::nn::{Layer, Linear, ParametersExt};
use crate::tensor::tensor;
use crate::text::{Llama, LlamaConfig};
use candle_core::Device;
use random::each_damaged;

/// The longest message, in bytes: it must not contain the file.
const LONGEST: usize = 2000;

fn check<T>(result: Result<T, impl ToString>) {
    if let Err(error) = result {
        let message = error.to_string();
        assert!(message.len() < LONGEST, "{message}");
    }
}

#[test]
fn damaged_tables_are_read_or_refused() {
    let files = [
        "name,size,roof\n\"Smith, \"\"J.\"\"\",3,NA\n,4.5e3,slate\r\n",
        "a\tb;c\r1,2\r",
        "\u{feff}x,y\n1,2\n",
        "{\"x\": 1.5e3, \"name\": \"o\\u0061k\"}\n{\"y\": [null, {}]}\n",
    ];
    each_damaged(&files.map(|text| text.as_bytes().to_vec()), 400, |bytes| {
        let text = String::from_utf8_lossy(&bytes);
        check(DataFrame::from_json_lines(&text));
        let table = DataFrame::from_csv(&text);
        if let Ok(table) = &table {
            let names = table.columns().len();
            let wide = table.one_hot().fill_missing_with_mean();
            assert_eq!(table.head(3).columns().len(), names);
            check(wide.to_tensor());
        }
        check(table);
    });
}

#[test]
fn damaged_images_are_read_or_refused() {
    let png = RgbImage::filled(9, 5, [1, 2, 3]).encode_png();
    let jpeg = include_bytes!("../crates/display/src/image/orange.jpg").to_vec();
    each_damaged(&[png, jpeg], 400, |bytes| {
        let image = RgbImage::decode(&bytes);
        if let Ok(image) = &image {
            assert_eq!(image.rgb.len(), 3 * image.width * image.height);
        }
        check(image);
    });
}

#[test]
fn damaged_tokenizers_are_loaded_or_refused() {
    let path = std::env::temp_dir().join(format!("taper_fuzz_bpe_{}", std::process::id()));
    let tokenizer = BpeTokenizer::train(&"to be or not ".repeat(9), 260).unwrap();
    tokenizer.save(&path).unwrap();
    let whole = std::fs::read(&path).unwrap();
    each_damaged(&[whole], 200, |bytes| {
        std::fs::write(&path, bytes).unwrap();
        if let Ok(tokenizer) = BpeTokenizer::load(&path) {
            check(tokenizer.encode("to be 数 🦀"));
        }
    });
    std::fs::remove_file(path).unwrap();
}

#[test]
fn damaged_parameters_are_loaded_or_refused() {
    let path = std::env::temp_dir().join(format!("taper_fuzz_{}", std::process::id()));
    let mut net = Linear::new(3, 2);
    net.save_parameters(&path).unwrap();
    let whole = std::fs::read(&path).unwrap();
    each_damaged(&[whole], 400, |bytes| {
        std::fs::write(&path, bytes).unwrap();
        check(net.load_parameters(&path, &Device::Cpu));
    });
    std::fs::remove_file(path).unwrap();
}

#[test]
fn damaged_checkpoints_are_loaded_or_refused() {
    let folder = std::env::temp_dir().join(format!("taper_fuzz_llama_{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let config = LlamaConfig::new(9, 8, 1, 2).slowed_rope(8.0, 1.0, 4.0, 64);
    let path = folder.join("config.json");
    config.save(&path).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let model = Llama::new(&config);
    model
        .save_parameters(folder.join("model.safetensors"))
        .unwrap();
    each_damaged(&[whole], 200, |bytes| {
        std::fs::write(&path, bytes).unwrap();
        let model = Llama::load(&folder);
        if let Ok(model) = &model {
            model.forward(&tensor(&[[3, 1, 4]]));
        }
        check(model);
    });
    std::fs::remove_dir_all(folder).unwrap();
}

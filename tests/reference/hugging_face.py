"""Writes checkpoints of Hugging Face's libraries, and what these compute with them, for the comparison with Taper.

    python tests/reference/hugging_face.py

Needs torch, transformers, peft and safetensors, and writes `notebooks/tiny-gpt2.safetensors` too. The models are small and random; nothing is downloaded.
"""

import shutil
from pathlib import Path

import torch
import transformers
from peft import LoraConfig, get_peft_model
from safetensors.torch import save_file
from torch.nn import functional as F

FOLDER = Path(__file__).parent / "hugging_face"
NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
SIZES = dict(
    vocab_size=40,
    hidden_size=16,
    intermediate_size=24,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=64,
    # Weights that are not tiny: then logits are apart, and the most likely token is certain.
    initializer_range=0.3,
    bos_token_id=1,
    eos_token_id=None,
    pad_token_id=0,
)
LLAMA3 = dict(rope_type="llama3", factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16)
MODELS = {
    "llama": ("Llama", dict(rms_norm_eps=1e-5)),
    "llama3": ("Llama", dict(tie_word_embeddings=True, rope_theta=5e5, rope_scaling=LLAMA3)),
    "mistral": ("Mistral", dict(sliding_window=5, head_dim=8)),
    "qwen2": ("Qwen2", dict(rope_theta=1e6)),
}


def model_of(name):
    kind, settings = MODELS[name]
    torch.manual_seed(0)
    config = getattr(transformers, f"{kind}Config")(**SIZES, **settings)
    config._attn_implementation = "eager"
    model = getattr(transformers, f"{kind}ForCausalLM")(config).eval()
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            if parameter.dim() == 1:  # norms and biases begin with ones and zeros
                parameter.add_(torch.randn_like(parameter) * 0.1)
    return model


def loss_of(model, tokens):
    logits = model(input_ids=tokens).logits
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())


def generated(model, tokens):
    """Returns the new tokens of greedy search, with and without a penalty, and of three beams."""
    search = lambda **settings: model.generate(
        tokens[:1], attention_mask=torch.ones_like(tokens[:1]), do_sample=False, max_new_tokens=12, **settings
    )[:, tokens.shape[1] :]
    beams = search(num_beams=3, num_return_sequences=3)
    return {"greedy": search()[0], "penalty": search(repetition_penalty=1.3)[0], "beams": beams}


def adapters(name, tokens, folder):
    """Trains adapters for some steps, and saves them: before, and the losses and logits of the steps."""
    model = get_peft_model(model_of(name), LoraConfig(r=2, lora_alpha=4, target_modules=["q_proj", "v_proj"]))
    torch.manual_seed(1)
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            if "lora_B" in key:
                parameter.normal_(0, 0.1)
    model.save_pretrained(folder / "adapters")
    for name in ("README.md", "adapter_config.json"):
        (folder / "adapters" / name).unlink()
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], 0.5)
    with torch.no_grad():
        values = {"adapted": model(input_ids=tokens).logits}
    losses = []
    for _ in range(5):
        loss = loss_of(model, tokens)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    with torch.no_grad():
        merged = model.merge_and_unload()(input_ids=tokens).logits
    return {**values, "losses": torch.stack(losses), "merged": merged}


def bert():
    """Saves a small BERT with random weights, and returns its sentence embeddings: the means over the steps."""
    torch.manual_seed(0)
    sizes = {name: SIZES[name] for name in ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers")}
    config = transformers.BertConfig(**sizes, num_attention_heads=4, max_position_embeddings=12, initializer_range=0.3)
    model = transformers.BertModel(config, add_pooling_layer=False).eval()
    model.save_pretrained(FOLDER / "bert")
    tokens, lengths = torch.randint(2, 40, (3, 10)), torch.tensor([10, 4, 7])
    mask = (torch.arange(10) < lengths[:, None]).float()
    with torch.no_grad():
        h = model(input_ids=tokens, attention_mask=mask).last_hidden_state
    vectors = F.normalize((h * mask[..., None]).sum(1) / mask.sum(1, keepdim=True))
    return {"tokens": tokens, "lengths": lengths, "vectors": vectors}


def gpt2():
    """Saves a small GPT-2 with random weights for the chapter *A GPT that writes Rust*, and its logits beside them."""
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=40, n_positions=96, n_embd=16, n_layer=2, n_head=4, initializer_range=0.3, activation_function="gelu"
    )
    model = transformers.GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:  # norms and biases begin with ones and zeros
                parameter.add_(torch.randn_like(parameter) * 0.1)
        tokens = torch.randint(0, 40, (2, 9))
        logits = model(input_ids=tokens).logits
    # The names of OpenAI's file, which has the transformer without its head.
    tensors = {name: value.clone() for name, value in model.transformer.state_dict().items()}
    save_file({**tensors, "expected.tokens": tokens, "expected.logits": logits}, NOTEBOOKS / "tiny-gpt2.safetensors")


def main():
    gpt2()
    shutil.rmtree(FOLDER, ignore_errors=True)
    expected = {}
    for name in MODELS:
        model, folder = model_of(name), FOLDER / name
        model.save_pretrained(folder)
        (folder / "generation_config.json").unlink(missing_ok=True)
        torch.manual_seed(2)
        tokens = torch.randint(2, 40, (2, 9))
        with torch.no_grad():
            values = {"tokens": tokens, "logits": model(input_ids=tokens).logits, **generated(model, tokens)}
        values |= adapters(name, tokens, folder)
        expected |= {f"{name}.{key}": value.contiguous() for key, value in values.items()}
    expected |= {f"bert.{key}": value.contiguous() for key, value in bert().items()}
    save_file(expected, FOLDER / "expected.safetensors")
    for path in FOLDER.rglob("*.safetensors"):
        path.chmod(0o644)


if __name__ == "__main__":
    main()

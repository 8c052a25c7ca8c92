# SPDX-License-Identifier: Apache-2.0
"""Tests compiled models of transformers: pipelines and generate return the same results as with
torch. The models have small configurations and random weights, so they need no network.
`test/Exports` lists the packages of an environment for these tests."""

import pytest

transformers = pytest.importorskip(
    "transformers", reason="transformers is not installed: pip install -r test/Exports/requirements.txt"
)
torch = pytest.importorskip("torch", reason="torch is not installed: pip install -r test/Exports/requirements.txt")
pytest.importorskip(
    "onnxscript", reason="torch.onnx.export wants onnxscript: pip install 'hewn-compiler[transformers]'"
)
ours = pytest.importorskip("hewn.transformers")

WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] a model of many small words that is read and written by no one".split()
SMALL = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "vocab_size": len(WORDS),
    "max_position_embeddings": 64,
}


def tokenizer_of(folder, side="right"):
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    from tokenizers import Tokenizer, models, pre_tokenizers

    made = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    names = {
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    }
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, padding_side=side, model_max_length=64, **names)


def drawn(auto, config):
    torch.manual_seed(0)
    model = getattr(transformers, auto).from_config(config).eval()
    # The test enlarges the weights, because the values of transformers' initializers are so small
    # that all tokens would have equal scores.
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(8)
    return model


def close(got, want):
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4)


@pytest.fixture(scope="module")
def classifiers():
    config = transformers.BertConfig(**SMALL, num_labels=3)
    model = drawn("AutoModelForSequenceClassification", config)
    return model, ours.compiled(model, threads=1)


TEXTS = ["a model of words", "many small words that is read", "no one"]


def test_text_classification(classifiers, tmp_path):
    eager, compiled = classifiers
    assert type(compiled).__name__ == "BertForSequenceClassification" and isinstance(compiled, type(eager))
    assert not list(compiled.parameters())
    tokenizer = tokenizer_of(tmp_path)
    for size in 1, 3:
        results = [
            transformers.pipeline("text-classification", model=model, tokenizer=tokenizer, top_k=None, device="cpu")(
                TEXTS, batch_size=size
            )
            for model in (compiled, eager)
        ]
        for got, want in zip(*results):
            assert [r["label"] for r in got] == [r["label"] for r in want]
            assert [r["score"] for r in got] == pytest.approx([r["score"] for r in want], abs=1e-5)


def test_forward_is_the_models_own(classifiers, tmp_path):
    eager, compiled = classifiers
    tokens = tokenizer_of(tmp_path)(TEXTS, return_tensors="pt", padding=True)
    with torch.no_grad():
        want = eager(**tokens)
    got = compiled(**tokens)
    assert type(got) is type(want)
    close(got.logits, want.logits)
    close(compiled(tokens["input_ids"], return_dict=False)[0], eager(tokens["input_ids"]).logits.detach())
    with pytest.raises(
        ours.UnsupportedModel,
        match="is compiled for input_ids, attention_mask, token_type_ids, not for output_attentions",
    ):
        compiled(**tokens, output_attentions=True)
    with pytest.raises(ours.UnsupportedModel, match="not for inputs_embeds"):
        compiled(inputs_embeds=torch.zeros(1, 2, 32))
    with pytest.raises(ours.UnsupportedModel, match="a mask with 2 dims, got 4"):
        compiled(tokens["input_ids"], attention_mask=torch.ones(3, 1, 6, 6))
    with pytest.raises(ValueError, match="cannot be moved to cuda"):
        compiled.to("cuda")
    with pytest.raises(ValueError, match=r"converted from torch\.float32"):
        compiled.to(torch.float16)
    with pytest.raises(ValueError, match="cannot be trained"):
        compiled.train()
    with pytest.raises(NotImplementedError, match="no torch weights to save"):
        compiled.save_pretrained(tmp_path)


@pytest.mark.parametrize("config", ["DistilBertConfig", "RobertaConfig"])
def test_features_of_a_folder(config, tmp_path):
    config = getattr(transformers, config)(**SMALL, dim=32, n_layers=2, n_heads=4, hidden_dim=64, pad_token_id=0)
    eager = drawn("AutoModel", config)
    eager.save_pretrained(tmp_path / "saved")
    compiled = ours.AutoModel.from_pretrained(tmp_path / "saved", hewn={"threads": 1})
    tokenizer = tokenizer_of(tmp_path)
    got, want = (
        transformers.pipeline("feature-extraction", model=model, tokenizer=tokenizer, device="cpu")(TEXTS)
        for model in (compiled, eager)
    )
    for one, other in zip(got, want):
        close(torch.tensor(one), torch.tensor(other))


DECODERS = {
    "gpt2": lambda: transformers.GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=len(WORDS), n_positions=64),
    "llama": lambda: transformers.LlamaConfig(**SMALL, num_key_value_heads=2),
}


@pytest.fixture(scope="module", params=DECODERS)
def decoders(request):
    config = DECODERS[request.param]()
    config.bos_token_id, config.eos_token_id, config.pad_token_id = 2, 3, 0
    model = drawn("AutoModelForCausalLM", config)
    return model, ours.compiled(model, threads=1)


def test_generate(decoders, tmp_path):
    eager, compiled = decoders
    tokenizer = tokenizer_of(tmp_path, side="left")
    batch = tokenizer(TEXTS, return_tensors="pt", padding=True)
    batch.pop("token_type_ids", None)
    for how in (
        {"do_sample": False},
        {"do_sample": False, "use_cache": False},
        {"do_sample": False, "num_beams": 3, "num_return_sequences": 2},
        {"do_sample": True, "top_k": 5},
    ):
        results = []
        for model in (compiled, eager):
            torch.manual_seed(1)
            results.append(model.generate(**batch, max_new_tokens=12, min_new_tokens=6, **how))
        assert results[0].tolist() == results[1].tolist(), how
    # With a key-value cache, a run processes only the new token. The caches that hewn and
    # transformers return are equal.
    tokens = batch["input_ids"][1:2]
    got = compiled(tokens, use_cache=True)
    with torch.no_grad():
        want = eager(tokens, use_cache=True)
        close(got.logits, want.logits)
        close(
            compiled(tokens[:, :1], past_key_values=got.past_key_values).logits,
            eager(tokens[:, :1], past_key_values=want.past_key_values).logits,
        )
    assert got.past_key_values.get_seq_length() == tokens.shape[1] + 1


def test_text_generation(decoders, tmp_path):
    tokenizer = tokenizer_of(tmp_path, side="left")
    got, want = (
        transformers.pipeline("text-generation", model=model, tokenizer=tokenizer, device="cpu")(
            TEXTS, max_new_tokens=8, do_sample=False
        )
        for model in decoders
    )
    assert got == want


def test_what_is_refused(classifiers):
    t5 = transformers.T5Config(d_model=16, d_ff=32, d_kv=4, num_layers=1, num_heads=2, vocab_size=32)
    with pytest.raises(ours.UnsupportedModel, match="has an encoder and a decoder"):
        ours.compiled(drawn("AutoModelForSeq2SeqLM", t5))
    vit = transformers.ViTConfig(
        hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, image_size=32
    )
    with pytest.raises(ours.UnsupportedModel, match="reads pixel_values"):
        ours.compiled(drawn("AutoModel", vit))
    window = transformers.MistralConfig(**SMALL, num_key_value_heads=2, sliding_window=8)
    with pytest.raises(ours.UnsupportedModel, match="has a cache of DynamicSlidingWindowLayer"):
        ours.AutoModelForCausalLM.from_config(window)
    for other in classifiers[1], torch.nn.Linear(2, 2), "bert":
        with pytest.raises(TypeError, match="model must be a model of transformers, got "):
            ours.compiled(other)
    with pytest.raises(OSError, match=r"must be created by from_pretrained\(name\)"):
        ours.AutoModel()


def test_what_an_encoder_would_leave_out_is_refused(classifiers):
    _, compiled = classifiers
    tokens = torch.ones((1, 4), dtype=torch.int64)
    with pytest.raises(ours.UnsupportedModel, match="not for position_ids"):
        compiled(input_ids=tokens, position_ids=torch.arange(3, 7)[None])


def test_types_of_a_decoder_are_refused():
    config = transformers.GPT2Config(vocab_size=len(WORDS), n_positions=64, n_embd=32, n_layer=1, n_head=2)
    compiled = ours.compiled(drawn("AutoModelForCausalLM", config), threads=1)
    tokens = torch.ones((1, 4), dtype=torch.int64)
    with pytest.raises(ours.UnsupportedModel, match="not for token_type_ids"):
        compiled(input_ids=tokens, token_type_ids=torch.zeros_like(tokens))


def test_positions_counted_otherwise_are_asked_for():
    config = transformers.RobertaConfig(**SMALL | {"vocab_size": 40}, is_decoder=True, pad_token_id=1)
    eager = drawn("AutoModelForCausalLM", config)
    compiled = ours.compiled(eager, threads=1)
    tokens = torch.tensor([[5, 6, 7, 8]])
    with pytest.raises(ours.UnsupportedModel, match="give position_ids"):
        compiled(input_ids=tokens)
    with torch.no_grad():
        want = eager(input_ids=tokens).logits
    close(compiled(input_ids=tokens, position_ids=torch.arange(2, 6)[None]).logits, want)


def test_a_config_that_asks_for_more_is_refused():
    model = drawn("AutoModel", transformers.BertConfig(**SMALL, output_hidden_states=True))
    with pytest.raises(ours.UnsupportedModel, match="sets output_hidden_states"):
        ours.compiled(model)

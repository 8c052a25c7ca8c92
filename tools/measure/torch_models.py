# SPDX-License-Identifier: Apache-2.0
"""PyTorch equivalents of ONNX models for tools/benchmark_gpu.py, by the name of the ONNX file.

Each function returns a module, or a function of tensors, that takes the inputs of the ONNX model in
order. Weights are random and may differ from those of the ONNX file, since times do not depend on
them. The suffixes _fp16 and _bN of file names are ignored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


class Recurrent(torch.nn.Module):
    """Two recurrent layers and a linear layer."""

    def __init__(self, kind: type[torch.nn.Module], size: int, hidden: int, last: int) -> None:
        super().__init__()
        self.recurrence, self.out = kind(size, hidden, num_layers=2), torch.nn.Linear(hidden, last)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Computes the result from a sequence."""
        return self.out(self.recurrence(x)[0])


class Unrolled(torch.nn.Module):
    """An LSTM that is unrolled by time step, as in the ONNX file of the model."""

    def __init__(self) -> None:
        super().__init__()
        self.given, self.kept = torch.nn.Linear(256, 1024), torch.nn.Linear(256, 1024)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Computes the hidden state of each step."""
        hidden = cell = torch.zeros(1, 256, device=x.device, dtype=x.dtype)
        made = []
        for step in x:
            i, f, g, o = (self.given(step) + self.kept(hidden)).chunk(4, 1)
            cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
            hidden = o.sigmoid() * cell.tanh()
            made.append(hidden)
        return torch.stack(made)


class UNet(torch.nn.Module):
    """A U-Net with four levels."""

    def __init__(self) -> None:
        super().__init__()
        nn, sizes = torch.nn, (32, 64, 128, 256)

        def block(given: int, made: int) -> torch.nn.Module:
            return nn.Sequential(
                nn.Conv2d(given, made, 3, padding=1), nn.ReLU(), nn.Conv2d(made, made, 3, padding=1), nn.ReLU()
            )

        self.down = nn.ModuleList(block(given, made) for given, made in zip((3, *sizes), sizes))
        self.wider = nn.ModuleList(nn.ConvTranspose2d(2 * size, size, 2, stride=2) for size in (128, 64, 32))
        self.up = nn.ModuleList(block(2 * size, size) for size in (128, 64, 32))
        self.out = nn.Conv2d(32, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Computes the segmentation of an image."""
        kept = []
        for i, block in enumerate(self.down):
            x = block(torch.nn.functional.max_pool2d(x, 2) if i else x)
            kept.append(x)
        for wider, block, beside in zip(self.wider, self.up, kept[-2::-1]):
            x = block(torch.cat([wider(x), beside], 1))
        return self.out(x)


class Decoder(torch.nn.Module):
    """One decoding step of a Llama model with the sizes of SmolLM after `past` tokens.

    Keys and values are tensor inputs and outputs, as in ONNX.
    """

    def __init__(
        self, layers: int = 30, width: int = 576, heads: int = 9, groups: int = 3, inner: int = 1536, words: int = 49152
    ) -> None:
        super().__init__()
        nn, self.heads, self.groups = torch.nn, heads, groups
        self.words = nn.Embedding(words, width)
        self.layers = nn.ModuleList()
        for _ in range(layers):
            layer = nn.ModuleDict({"first": nn.RMSNorm(width), "second": nn.RMSNorm(width)})
            narrow = 64 * groups
            for name, shape in {
                "q": (width, width), "k": (width, narrow), "v": (width, narrow), "o": (width, width),
                "gate": (width, inner), "up": (width, inner), "down": (inner, width),
            }.items():  # fmt: skip
                layer[name] = nn.Linear(*shape, bias=False)
            self.layers.append(layer)
        self.norm = nn.RMSNorm(width)
        self.register_buffer("rates", 10000.0 ** (-torch.arange(0, 64, 2) / 64))

    def forward(self, ids: torch.Tensor, past_key: torch.Tensor, past_value: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Computes the logits of one token, and the cache with it."""
        angle = past_key.shape[3] * torch.cat([self.rates, self.rates])
        cosine, sine = angle.cos(), angle.sin()

        def turned(x: torch.Tensor) -> torch.Tensor:
            first, second = x.chunk(2, -1)
            return x * cosine + torch.cat([-second, first], -1) * sine

        x, keys, values = self.words(ids), [], []
        for i, layer in enumerate(self.layers):
            normed = layer["first"](x)
            q, k, v = (
                layer[name](normed).view(1, 1, heads, 64).transpose(1, 2)
                for name, heads in (("q", self.heads), ("k", self.groups), ("v", self.groups))
            )
            keys.append(torch.cat([past_key[i], turned(k)], 2))
            values.append(torch.cat([past_value[i], v], 2))
            made = torch.nn.functional.scaled_dot_product_attention(turned(q), keys[-1], values[-1], enable_gqa=True)
            x = x + layer["o"](made.transpose(1, 2).reshape(1, 1, -1))
            normed = layer["second"](x)
            x = x + layer["down"](torch.nn.functional.silu(layer["gate"](normed)) * layer["up"](normed))
        return self.norm(x) @ self.words.weight.t(), torch.stack(keys), torch.stack(values)


def of_torchvision(name: str) -> torch.nn.Module:
    """Returns a model of torchvision with random weights."""
    import torchvision

    return getattr(torchvision.models, name)()


def bert() -> tuple[Callable[..., torch.Tensor], torch.nn.Module]:
    """Returns BERT base and its forward function."""
    import transformers

    model = transformers.BertModel(transformers.BertConfig(), add_pooling_layer=False)
    return lambda ids, mask: model(input_ids=ids, attention_mask=mask).last_hidden_state, model


def gpt2() -> tuple[Callable[..., torch.Tensor], torch.nn.Module]:
    """Returns GPT-2 and its forward function."""
    import transformers

    model = transformers.GPT2LMHeadModel(transformers.GPT2Config())
    return lambda ids: model(input_ids=ids, use_cache=False).logits, model


def whisper() -> tuple[Callable[..., torch.Tensor], torch.nn.Module]:
    """Returns the encoder of Whisper tiny and its forward function."""
    import transformers

    config = transformers.WhisperConfig(
        d_model=384, encoder_layers=4, encoder_attention_heads=6, encoder_ffn_dim=1536, decoder_layers=1
    )
    model = transformers.WhisperModel(config).encoder
    return lambda mel: model(mel).last_hidden_state, model


def mlp() -> torch.nn.Module:
    """Returns a classifier with two hidden layers."""
    nn = torch.nn
    return nn.Sequential(
        nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10), nn.Softmax(-1)
    )


MODELS = {
    "mlp_784": mlp,
    "gru_2x256_seq50": lambda: Recurrent(torch.nn.GRU, 128, 256, 256),
    "lstm_2x512_seq100": lambda: Recurrent(torch.nn.LSTM, 256, 512, 256),
    "lstm_unrolled_1x256_seq100": Unrolled,
    "unet_256": UNet,
    "llama_135m_decode": Decoder,
    "bert_base": bert,
    "bert_base_static": bert,
    "gpt2_prefill": gpt2,
    "whisper_tiny_encoder": whisper,
} | {
    name: lambda name=name: of_torchvision(name)
    for name in ("resnet50", "mobilenet_v3_large", "efficientnet_b0", "vit_b_16", "convnext_tiny")
}


def find(name: str) -> tuple[Callable[..., Any], torch.nn.Module] | None:
    """Returns the pair (function, module) of a model, or None if the model has no equivalent here.

    The function takes the tensors of the model.
    """
    while name not in MODELS and "_" in name:
        name = name.rpartition("_")[0]
    if name not in MODELS:
        return None
    made = MODELS[name]()
    return made if isinstance(made, tuple) else (made, made)

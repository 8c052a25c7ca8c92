# SPDX-License-Identifier: Apache-2.0
"""transformers' architectures, built from configurations with the original widths and numbers of
heads, but with few layers and a small vocabulary.

A row contains the class of the model, the class of its configuration, the arguments of the
configuration, and the inputs (`TEXT`, `DECODE`, ...)."""

from architectures import Architecture, Input

WORDS, LAYERS = 8000, 4
TOKENS = Input(("batch", "seq"), below=WORDS)
MASK = Input(("batch", "seq"), ones=True)
TEXT_SIZES = ({"batch": 2, "seq": 16}, {"batch": 1, "seq": 128})
DECODE_SIZES = ({"batch": 2, "past": 7, "total": 8}, {"batch": 1, "past": 127, "total": 128})
PAIR_SIZES = ({"batch": 2, "seq": 16, "target": 9}, {"batch": 1, "seq": 64, "target": 32})
BATCHES = ({"batch": 2}, {"batch": 1})


def by_name(*names, **more):
    def call(model, *inputs):
        return model(**dict(zip(names, inputs)), **more)

    return call


def decode(model, tokens, mask, *past):
    """Runs one decoding step of a language model, with one new token and a key-value cache."""
    from transformers import DynamicCache

    cache = DynamicCache()
    for layer in range(len(past) // 2):
        cache.update(past[2 * layer], past[2 * layer + 1], layer)
    out = model(input_ids=tokens, attention_mask=mask, past_key_values=cache, use_cache=True)
    return out.logits, *[tensor for layer in out.past_key_values.layers for tensor in (layer.keys, layer.values)]


def boxed(model, tokens, mask, corners, extents):
    """Runs a model on text whose tokens have bounding boxes. A box is given by a corner and by
    extents, which are not negative."""
    import torch

    return model(input_ids=tokens, attention_mask=mask, bbox=torch.cat([corners, corners + extents], 2))


def image(side, **rest):
    return {"inputs": {"pixel_values": Input(("batch", 3, side, side))}, "sizes": BATCHES, **rest}


def still_image(side, **rest):
    return {"inputs": {"pixel_values": Input((1, 3, side, side))}, "sizes": ({},), **rest}


def cached(heads, width, **rest):
    past = {
        f"past_{what}_{layer}": Input(("batch", heads, "past", width))
        for layer in range(LAYERS)
        for what in ("key", "value")
    }
    tokens = {"input_ids": Input(("batch", 1), below=WORDS), "attention_mask": Input(("batch", "total"), ones=True)}
    return {"inputs": {**tokens, **past}, "sizes": DECODE_SIZES, "call": decode, **rest}


def speech(samples, **rest):
    return {
        "inputs": {"input_values": Input(("batch", "samples"))},
        "sizes": ({"batch": 2, "samples": samples // 2}, {"batch": 1, "samples": samples}),
        **rest,
    }


TEXT = {"inputs": {"input_ids": TOKENS, "attention_mask": MASK}, "sizes": TEXT_SIZES}
PROMPT = {**TEXT, "call": by_name("input_ids", "attention_mask", use_cache=False)}
SHORT_PROMPT = {**PROMPT, "sizes": ({"batch": 2, "seq": 4}, {"batch": 1, "seq": 8})}
PAIR = {
    "inputs": {
        "input_ids": TOKENS,
        "attention_mask": MASK,
        "decoder_input_ids": Input(("batch", "target"), below=WORDS),
    },
    "sizes": PAIR_SIZES,
    "call": by_name("input_ids", "attention_mask", "decoder_input_ids", use_cache=False),
}
BOXED_TEXT = {
    "inputs": {
        "input_ids": TOKENS,
        "attention_mask": MASK,
        "corners": Input(("batch", "seq", 2), below=500),
        "extents": Input(("batch", "seq", 2), below=500),
    },
    "sizes": TEXT_SIZES,
    "call": boxed,
}
# Exporters unroll Python loops over tokens, so the length of the prompt is static.
STILL_TEXT = {
    "inputs": {"input_ids": Input((1, 24), below=WORDS)},
    "sizes": ({},),
    "call": by_name("input_ids", use_cache=False),
}
SERIES = {"inputs": {"past_values": Input(("batch", 96, 7))}, "sizes": BATCHES}
PICTURE_AND_TEXT = {
    "inputs": {
        "input_ids": TOKENS,
        "attention_mask": MASK,
        "pixel_values": Input(("batch", 3, 224, 224)),
    },
    "sizes": ({"batch": 2, "seq": 16}, {"batch": 1, "seq": 16}),
}

WIDE = {"hidden_size": 768, "num_hidden_layers": LAYERS, "num_attention_heads": 12, "vocab_size": WORDS}
NARROW = {"hidden_size": 384, "num_hidden_layers": LAYERS, "num_attention_heads": 6}
LLAMA = {
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "vocab_size": WORDS,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
# The implementation of a mixture of experts: multiplies each token by gathered copies of the
# weights of its experts, which is efficient for a small number of tokens. The alternative sorts
# tokens by expert and counts them with an op that ONNX lacks.
EXPERTS = {"experts_implementation": "batched_mm", "intermediate_size": 512}
QWEN = {**LLAMA, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 64}
ENDS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
SEQ2SEQ = {
    "d_model": 512,
    "encoder_layers": 3,
    "decoder_layers": 3,
    "encoder_attention_heads": 8,
    "decoder_attention_heads": 8,
    "vocab_size": WORDS,
    "decoder_start_token_id": 2,
    **ENDS,
}
WAVES = {**NARROW, "intermediate_size": 1536, "conv_dim": (256,) * 7, "vocab_size": 32}
STAGES = ["stage1", "stage2", "stage3", "stage4"]


def resnet(*stages):
    return lambda t: {
        "use_timm_backbone": False,
        "use_pretrained_backbone": False,
        "backbone": None,
        "backbone_config": t.ResNetConfig(out_features=list(stages)),
    }


def zoe(t):
    backbone = t.BeitConfig(
        **NARROW,
        image_size=192,
        intermediate_size=1536,
        reshape_hidden_states=False,
        use_relative_position_bias=True,
        out_indices=[1, 2, 3, 4],
    )
    return {"backbone_config": backbone, "neck_hidden_sizes": [48, 96, 192, 384], "num_relative_features": 16}


def depth_anything(t):
    backbone = t.Dinov2Config(
        **NARROW,
        image_size=196,
        patch_size=14,
        out_indices=[1, 2, 3, 4],
        apply_layernorm=True,
        reshape_hidden_states=False,
    )
    return {"backbone_config": backbone, "reassemble_hidden_size": 384, "neck_hidden_sizes": [48, 96, 192, 384]}


def two_towers(t, text, vision):
    words = {**NARROW, "vocab_size": WORDS, "intermediate_size": 1536, **ENDS}
    return {text: words, vision: {**NARROW, "intermediate_size": 1536, "image_size": 224}}


ROWS = {
    # Architectures of text encoders.
    "bert": ("BertModel", "BertConfig", WIDE, TEXT),
    "roberta": ("RobertaForSequenceClassification", "RobertaConfig", WIDE, TEXT),
    "distilbert": ("DistilBertModel", "DistilBertConfig", {"n_layers": LAYERS, "vocab_size": WORDS}, TEXT),
    "albert": ("AlbertModel", "AlbertConfig", {**WIDE, "intermediate_size": 3072}, TEXT),
    "electra": ("ElectraForTokenClassification", "ElectraConfig", {**NARROW, "vocab_size": WORDS}, TEXT),
    "mpnet": ("MPNetModel", "MPNetConfig", WIDE, TEXT),
    "deberta_v2": (
        "DebertaV2Model",
        "DebertaV2Config",
        {**WIDE, "relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 256},
        TEXT,
    ),
    "modernbert": (
        "ModernBertModel",
        "ModernBertConfig",
        {**WIDE, "intermediate_size": 1152, "reference_compile": False, "cls_token_id": 1, "sep_token_id": 2, **ENDS},
        TEXT,
    ),
    "nystromformer": ("NystromformerModel", "NystromformerConfig", {**WIDE, "segment_means_seq_len": 64}, TEXT),
    "layoutlm": ("LayoutLMModel", "LayoutLMConfig", WIDE, BOXED_TEXT),
    "xlnet": (
        "XLNetModel",
        "XLNetConfig",
        {"d_model": 768, "n_layer": LAYERS, "n_head": 12, "vocab_size": WORDS},
        TEXT,
    ),
    "mobilebert": ("MobileBertModel", "MobileBertConfig", {"num_hidden_layers": LAYERS, "vocab_size": WORDS}, TEXT),
    "squeezebert": ("SqueezeBertModel", "SqueezeBertConfig", {**WIDE, "embedding_size": 768}, TEXT),
    "funnel": ("FunnelBaseModel", "FunnelConfig", {"block_sizes": [2, 2], "vocab_size": WORDS}, TEXT),
    "convbert": ("ConvBertModel", "ConvBertConfig", WIDE, TEXT),
    "roformer": ("RoFormerModel", "RoFormerConfig", WIDE, TEXT),
    "ibert": ("IBertModel", "IBertConfig", WIDE, TEXT),
    "ernie": ("ErnieModel", "ErnieConfig", WIDE, TEXT),
    "splinter": ("SplinterModel", "SplinterConfig", WIDE, TEXT),
    "data2vec_text": ("Data2VecTextModel", "Data2VecTextConfig", {**WIDE, **ENDS}, TEXT),
    "fnet": ("FNetModel", "FNetConfig", WIDE, {**TEXT, "inputs": {"input_ids": TOKENS}}),
    "longformer": (
        "LongformerModel",
        "LongformerConfig",
        {**WIDE, "attention_window": 32, **ENDS},
        {**TEXT, "sizes": ({"batch": 2, "seq": 64}, {"batch": 1, "seq": 128})},
    ),
    "big_bird": ("BigBirdModel", "BigBirdConfig", {**WIDE, "attention_type": "original_full"}, TEXT),
    # Architectures of text decoders, exported for full prompts and for single decoding steps.
    "gpt2": (
        "GPT2LMHeadModel",
        "GPT2Config",
        {"n_layer": LAYERS, "vocab_size": WORDS, "bos_token_id": 1, "eos_token_id": 2},
        cached(12, 64),
    ),
    "gpt_neox": ("GPTNeoXForCausalLM", "GPTNeoXConfig", {**WIDE, "intermediate_size": 3072}, cached(12, 64)),
    "opt": (
        "OPTForCausalLM",
        "OPTConfig",
        {**WIDE, "ffn_dim": 3072, "word_embed_proj_dim": 768},
        PROMPT,
    ),
    "bloom": (
        "BloomForCausalLM",
        "BloomConfig",
        {"hidden_size": 768, "n_layer": LAYERS, "n_head": 12, "vocab_size": WORDS},
        PROMPT,
    ),
    "llama": ("LlamaForCausalLM", "LlamaConfig", LLAMA, cached(3, 64)),
    "mistral": ("MistralForCausalLM", "MistralConfig", {**LLAMA, "sliding_window": None}, cached(3, 64)),
    "qwen3": ("Qwen3ForCausalLM", "Qwen3Config", QWEN, cached(2, 64)),
    "gemma3": ("Gemma3ForCausalLM", "Gemma3TextConfig", {**QWEN, "sliding_window": 64}, PROMPT),
    "phi3": ("Phi3ForCausalLM", "Phi3Config", LLAMA, PROMPT),
    "falcon": ("FalconForCausalLM", "FalconConfig", {**WIDE, **ENDS}, PROMPT),
    "stablelm": ("StableLmForCausalLM", "StableLmConfig", {**LLAMA, "use_parallel_residual": True}, PROMPT),
    "mixtral": (
        "MixtralForCausalLM",
        "MixtralConfig",
        {**LLAMA, "num_local_experts": 4, "sliding_window": None, **EXPERTS},
        SHORT_PROMPT,
    ),
    "olmoe": (
        "OlmoeForCausalLM",
        "OlmoeConfig",
        {**LLAMA, "num_key_value_heads": 9, "num_experts": 8, "num_experts_per_tok": 2, **EXPERTS},
        SHORT_PROMPT,
    ),
    "mamba": (
        "MambaForCausalLM",
        "MambaConfig",
        {"hidden_size": 384, "num_hidden_layers": 2, "vocab_size": WORDS, **ENDS},
        STILL_TEXT,
    ),
    "mamba2": (
        "Mamba2ForCausalLM",
        "Mamba2Config",
        {
            "hidden_size": 384,
            "num_heads": 12,
            "head_dim": 64,
            "n_groups": 1,
            "num_hidden_layers": 2,
            "vocab_size": WORDS,
            "chunk_size": 16,
            **ENDS,
        },
        STILL_TEXT,
    ),
    "rwkv": (
        "RwkvForCausalLM",
        "RwkvConfig",
        {"hidden_size": 384, "num_hidden_layers": 2, "vocab_size": WORDS, "bos_token_id": 0, "eos_token_id": 0},
        STILL_TEXT,
    ),
    "qwen2": ("Qwen2ForCausalLM", "Qwen2Config", {**LLAMA, "use_sliding_window": False}, cached(3, 64)),
    "gemma2": ("Gemma2ForCausalLM", "Gemma2Config", {**QWEN, "sliding_window": 64}, PROMPT),
    "granite": ("GraniteForCausalLM", "GraniteConfig", LLAMA, cached(3, 64)),
    "olmo2": ("Olmo2ForCausalLM", "Olmo2Config", LLAMA, cached(3, 64)),
    "cohere": ("CohereForCausalLM", "CohereConfig", LLAMA, PROMPT),
    "persimmon": ("PersimmonForCausalLM", "PersimmonConfig", {**WIDE, "intermediate_size": 3072}, PROMPT),
    "gptj": (
        "GPTJForCausalLM",
        "GPTJConfig",
        {"n_embd": 768, "n_layer": LAYERS, "n_head": 12, "rotary_dim": 64, "vocab_size": WORDS, **ENDS},
        PROMPT,
    ),
    "codegen": (
        "CodeGenForCausalLM",
        "CodeGenConfig",
        {"n_embd": 768, "n_layer": LAYERS, "n_head": 12, "rotary_dim": 32, "vocab_size": WORDS, **ENDS},
        PROMPT,
    ),
    "gpt_bigcode": (
        "GPTBigCodeForCausalLM",
        "GPTBigCodeConfig",
        {"n_embd": 768, "n_layer": LAYERS, "n_head": 12, "vocab_size": WORDS, **ENDS},
        PROMPT,
    ),
    "smollm3": ("SmolLM3ForCausalLM", "SmolLM3Config", LLAMA, cached(3, 64)),
    "glm4": ("Glm4ForCausalLM", "Glm4Config", QWEN, PROMPT),
    "starcoder2": ("Starcoder2ForCausalLM", "Starcoder2Config", {**LLAMA, "sliding_window": None}, PROMPT),
    "nemotron": ("NemotronForCausalLM", "NemotronConfig", LLAMA, PROMPT),
    "phi": ("PhiForCausalLM", "PhiConfig", {**WIDE, "intermediate_size": 3072, **ENDS}, PROMPT),
    "mpt": (
        "MptForCausalLM",
        "MptConfig",
        {"d_model": 768, "n_layers": LAYERS, "n_heads": 12, "vocab_size": WORDS},
        PROMPT,
    ),
    "xglm": (
        "XGLMForCausalLM",
        "XGLMConfig",
        {"d_model": 512, "num_layers": LAYERS, "attention_heads": 8, "ffn_dim": 2048, "vocab_size": WORDS, **ENDS},
        PROMPT,
    ),
    "biogpt": ("BioGptForCausalLM", "BioGptConfig", {**WIDE, "intermediate_size": 3072, **ENDS}, PROMPT),
    "diffllama": (
        "DiffLlamaForCausalLM",
        "DiffLlamaConfig",
        {**LLAMA, "num_attention_heads": 12, "num_key_value_heads": 4},
        PROMPT,
    ),
    "helium": ("HeliumForCausalLM", "HeliumConfig", {**LLAMA, "head_dim": 64}, PROMPT),
    "lfm2": ("Lfm2ForCausalLM", "Lfm2Config", {**LLAMA, "full_attn_idxs": [1, 3]}, PROMPT),
    "arcee": ("ArceeForCausalLM", "ArceeConfig", LLAMA, PROMPT),
    "apertus": ("ApertusForCausalLM", "ApertusConfig", LLAMA, PROMPT),
    "ernie4_5": ("Ernie4_5ForCausalLM", "Ernie4_5Config", {**LLAMA, "head_dim": 64}, PROMPT),
    "exaone4": ("Exaone4ForCausalLM", "Exaone4Config", {**LLAMA, "sliding_window": 64}, PROMPT),
    # Architectures of sequence-to-sequence models.
    "t5": (
        "T5ForConditionalGeneration",
        "T5Config",
        {"num_layers": 3, "num_decoder_layers": 3, "vocab_size": WORDS, "decoder_start_token_id": 0},
        PAIR,
    ),
    "bart": ("BartForConditionalGeneration", "BartConfig", {**SEQ2SEQ, "forced_eos_token_id": 2}, PAIR),
    "marian": ("MarianMTModel", "MarianConfig", {**SEQ2SEQ, "forced_eos_token_id": 2}, PAIR),
    "pegasus": ("PegasusForConditionalGeneration", "PegasusConfig", {**SEQ2SEQ, "forced_eos_token_id": 2}, PAIR),
    "mbart": ("MBartForConditionalGeneration", "MBartConfig", {**SEQ2SEQ, "forced_eos_token_id": 2}, PAIR),
    "blenderbot": (
        "BlenderbotForConditionalGeneration",
        "BlenderbotConfig",
        {**SEQ2SEQ, "forced_eos_token_id": 2},
        PAIR,
    ),
    "umt5": (
        "UMT5ForConditionalGeneration",
        "UMT5Config",
        {"num_layers": 3, "num_decoder_layers": 3, "vocab_size": WORDS, "decoder_start_token_id": 0},
        PAIR,
    ),
    # Images.
    "vit": ("ViTForImageClassification", "ViTConfig", NARROW, image(224)),
    "beit": ("BeitModel", "BeitConfig", {**NARROW, "use_relative_position_bias": True}, image(224)),
    "dinov2": ("Dinov2Model", "Dinov2Config", {**NARROW, "image_size": 224, "patch_size": 14}, image(224)),
    "segformer": ("SegformerForSemanticSegmentation", "SegformerConfig", {}, image(224)),
    "detr": ("DetrForObjectDetection", "DetrConfig", resnet("stage4"), still_image(256)),
    "deformable_detr": (
        "DeformableDetrForObjectDetection",
        "DeformableDetrConfig",
        resnet("stage2", "stage3", "stage4"),
        still_image(256),
    ),
    "rt_detr": ("RTDetrForObjectDetection", "RTDetrConfig", {"num_queries": 100}, still_image(256)),
    "yolos": ("YolosForObjectDetection", "YolosConfig", {**NARROW, "image_size": [256, 256]}, image(256)),
    "sam": (
        "SamModel",
        "SamConfig",
        lambda t: {
            "vision_config": {**NARROW, "image_size": 256, "global_attn_indexes": [1, 3]},
            "prompt_encoder_config": {"image_size": 256, "image_embedding_size": 16},
        },
        {
            "inputs": {"pixel_values": Input((1, 3, 256, 256)), "input_points": Input((1, 1, 2, 2))},
            "sizes": ({},),
            "call": by_name("pixel_values", "input_points"),
        },
    ),
    "dpt": (
        "DPTForDepthEstimation",
        "DPTConfig",
        {
            **NARROW,
            "image_size": 224,
            "intermediate_size": 1536,
            "backbone_out_indices": [0, 1, 2, 3],
            "neck_hidden_sizes": [48, 96, 192, 384],
        },
        image(224),
    ),
    "depth_anything": ("DepthAnythingForDepthEstimation", "DepthAnythingConfig", depth_anything, still_image(196)),
    "zoedepth": ("ZoeDepthForDepthEstimation", "ZoeDepthConfig", zoe, still_image(192)),
    "swinv2": ("Swinv2Model", "Swinv2Config", {"image_size": 224, "window_size": 7, "depths": [2, 2]}, image(224)),
    "focalnet": ("FocalNetModel", "FocalNetConfig", {"depths": [1, 1, 2, 1]}, image(224)),
    "pvt": ("PvtModel", "PvtConfig", {}, image(224)),
    "cvt": ("CvtModel", "CvtConfig", {}, image(224)),
    "bit": ("BitModel", "BitConfig", {"depths": [1, 1, 2, 1]}, image(224)),
    "glpn": ("GLPNForDepthEstimation", "GLPNConfig", {}, image(224)),
    "levit": ("LevitModel", "LevitConfig", {}, image(224)),
    "mobilenet_v2_model": ("MobileNetV2Model", "MobileNetV2Config", {}, image(224)),
    "regnet": ("RegNetModel", "RegNetConfig", {"depths": [1, 2, 3, 1]}, image(224)),
    "hiera": ("HieraModel", "HieraConfig", {}, image(224)),
    "vit_msn": ("ViTMSNModel", "ViTMSNConfig", NARROW, image(224)),
    "dinov3": ("DINOv3ViTModel", "DINOv3ViTConfig", {**NARROW, "intermediate_size": 1536}, image(224)),
    "textnet": ("TextNetModel", "TextNetConfig", {}, image(224)),
    "conditional_detr": (
        "ConditionalDetrForObjectDetection",
        "ConditionalDetrConfig",
        resnet("stage4"),
        still_image(256),
    ),
    "d_fine": ("DFineForObjectDetection", "DFineConfig", {"num_queries": 100}, still_image(256)),
    "swin2sr": ("Swin2SRForImageSuperResolution", "Swin2SRConfig", {"image_size": 64}, still_image(64)),
    "superpoint": ("SuperPointForKeypointDetection", "SuperPointConfig", {}, still_image(224)),
    "upernet": (
        "UperNetForSemanticSegmentation",
        "UperNetConfig",
        lambda t: {"backbone_config": t.ResNetConfig(out_features=STAGES), "auxiliary_in_channels": 1024},
        still_image(256),
    ),
    "videomae": (
        "VideoMAEModel",
        "VideoMAEConfig",
        {**NARROW, "intermediate_size": 1536, "num_frames": 8},
        {"inputs": {"pixel_values": Input(("batch", 8, 3, 224, 224))}, "sizes": BATCHES},
    ),
    "timesformer": (
        "TimesformerModel",
        "TimesformerConfig",
        {**NARROW, "intermediate_size": 1536, "num_frames": 4},
        {"inputs": {"pixel_values": Input(("batch", 4, 3, 224, 224))}, "sizes": BATCHES},
    ),
    # Architectures that process images and text.
    "clip": (
        "CLIPModel",
        "CLIPConfig",
        lambda t: two_towers(t, "text_config", "vision_config"),
        {**PICTURE_AND_TEXT, "call": by_name("input_ids", "attention_mask", "pixel_values")},
    ),
    "siglip": (
        "SiglipModel",
        "SiglipConfig",
        lambda t: two_towers(t, "text_config", "vision_config"),
        {**PICTURE_AND_TEXT, "call": by_name("input_ids", "attention_mask", "pixel_values")},
    ),
    # Audio.
    "whisper": (
        "WhisperForConditionalGeneration",
        "WhisperConfig",
        {
            "d_model": 384,
            "encoder_layers": 2,
            "decoder_layers": 4,
            "encoder_attention_heads": 6,
            "decoder_attention_heads": 6,
            "vocab_size": WORDS,
            "decoder_start_token_id": 1,
            **ENDS,
        },
        {
            "inputs": {
                "input_features": Input(("batch", 80, 3000)),
                "decoder_input_ids": Input(("batch", "target"), below=WORDS),
            },
            "sizes": ({"batch": 2, "target": 5}, {"batch": 1, "target": 8}),
            "call": by_name("input_features", "decoder_input_ids", use_cache=False),
        },
    ),
    "wav2vec2": ("Wav2Vec2ForCTC", "Wav2Vec2Config", WAVES, speech(16000)),
    "hubert": ("HubertModel", "HubertConfig", WAVES, speech(16000)),
    "wavlm": ("WavLMModel", "WavLMConfig", WAVES, speech(16000)),
    "ast": (
        "ASTForAudioClassification",
        "ASTConfig",
        {**NARROW, "intermediate_size": 1536, "max_length": 256},
        {"inputs": {"input_values": Input(("batch", 256, 128))}, "sizes": BATCHES},
    ),
    "sew": ("SEWModel", "SEWConfig", {**WAVES, "conv_dim": (128,) * 13}, speech(16000)),
    "unispeech": ("UniSpeechModel", "UniSpeechConfig", WAVES, speech(16000)),
    "encodec": (
        "EncodecModel",
        "EncodecConfig",
        {},
        speech(16000, inputs={"input_values": Input((1, 1, 16000))}, sizes=({},)),
    ),
    # Time series.
    "patchtst": (
        "PatchTSTForPrediction",
        "PatchTSTConfig",
        {"num_input_channels": 7, "context_length": 96, "patch_length": 16, "patch_stride": 8, "prediction_length": 24},
        SERIES,
    ),
    "patchtsmixer": (
        "PatchTSMixerForPrediction",
        "PatchTSMixerConfig",
        {"num_input_channels": 7, "context_length": 96, "patch_length": 16, "patch_stride": 8, "prediction_length": 24},
        SERIES,
    ),
}


def built(model, config, arguments):
    def build():
        import transformers

        said = arguments(transformers) if callable(arguments) else arguments
        return getattr(transformers, model)(getattr(transformers, config)(**said))

    return build


def architectures():
    found = []
    for name, (model, config, arguments, given) in ROWS.items():
        given = dict(given)
        given.setdefault("call", by_name(*given["inputs"]))
        found.append(Architecture("transformers", name, built(model, config, arguments), **given))
    return found

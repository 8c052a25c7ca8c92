# SPDX-License-Identifier: Apache-2.0
"""Differences between onnxruntime and hewn that the tests accept: onnxruntime is wrong, or ONNX
does not define the result. variations.py queries this table.

A row has patterns of the op, the kind of finding (see variations.py), the variation, and
onnxruntime's message. It also has the reason why hewn's behavior is accepted, and a case and a
variation that show the difference. test_guarded.py checks that each row still applies.
"""

import re
from typing import NamedTuple


class Row(NamedTuple):
    ops: str  # a pattern, as are the next three fields
    kind: str
    variation: str
    said: str
    why: str
    case: str  # name of a test case of ONNX
    shows: str


NONE = "(is|are|with) 0"
ODD = "ends with (nan|inf|-1e)"

# fmt: off
ROWS = [Row(*row) for row in [
    # The op's input has no elements, and neither has the result.
    ("AffineGrid", "answered", NONE, "must be positive", "a grid of no positions", "test_affine_grid_2d", "input 1 ends with 0"),
    ("ArrayFeatureExtractor", "answered", NONE, "num_indices = 0", "no features", "test_ai_onnx_ml_array_feature_extractor", "all dims are 0"),
    ("Attention", "answered", NONE, "must be greater than 0", "no batch, no queries, or values of no elements", "test_attention_3d", "all dims are 0"),
    ("(Global)?(Average|Max|Lp)Pool", "answered", "dim 1 of input 0 is 0", "Only N can be zero", "no channels", "test_maxpool_2d_default", "dim 1 of input 0 is 0"),
    ("Col2Im", "answered", NONE, "must be a positive multiple", "no channels", "test_col2im", "dim 1 of input 0 is 0"),
    ("DeformConv", "answered", NONE, "Output channels", "no output channels", "test_basic_deform_conv_without_padding", "dim 0 of input 1 is 0"),
    ("GridSample", "answered", "all dims are 0", "must be non-empty", "no batch", "test_gridsample_bilinear", "all dims are 0"),
    ("GroupNormalization", "answered", NONE, "reshape_helper.h|cannot be reshaped", "no batch or no positions; onnxruntime's function for it reshapes with 0 and -1", "test_group_normalization_example", "dim 0 of input 0 is 0"),
    ("(Layer|RMS)Normalization", "answered", "all dims are 0", "must be at least 1", "no rows", "test_layer_normalization_2d_axis0", "all dims are 0"),
    ("MatMul", "answered", NONE, "cannot broadcast on dim", "numpy multiplies batches of none; onnxruntime only where both sides have rank 2 or more", "test_matmul_4d_1d", "all dims are 0"),
    ("MaxUnpool", "answered", "all dims are 0", "is not positive", "no batch", "test_maxunpool_export_without_output_shape", "all dims are 0"),
    ("Reduce(Max|Min)", "answered", NONE, "not defined for empty set with bool", "ONNX: of nothing the least value of the type", "test_reduce_max_bool_inputs", "dim 1 of input 0 is 0"),
    ("Reshape", "answered", NONE, "cannot be reshaped", "sizes are divided as expressions: the -1 beside a 0 that is copied is what is left for any size", "test_reshape_zero_and_negative_dim", "dim 1 of input 0 is 0"),
    ("Resize", "answered", "with (0|-1)$", "Scale value should be greater than 0", "a picture of no rows; the reference makes it, too", "test_resize_downsample_sizes_cubic", "input 1 ends with 0"),
    ("Scan", "answered", NONE, "Invalid dim0_offset", "no steps: the states stay", "test_scan9_multi_state", "all dims are 0"),
    ("SoftmaxCrossEntropyLoss", "answered", "all dims are 0", "cannot be reshaped", "no scores", "test_sce_mean", "all dims are 0"),
    ("Split", "answered", "", "Invalid num_outputs", "ONNX: parts are equal, but for a smaller one; onnxruntime wants an element for each", "test_split_1d_uneven_split_opset18", "all dims are 0"),
    ("TfIdfVectorizer", "answered", NONE, "Input shape must have", "no rows", "test_tfidfvectorizer_tf_batch_onlybigrams_skip0", "dim 0 of input 0 is 0"),
    ("NegativeLogLikelihoodLoss", "differs", "all dims are 0", "", "the mean of nothing is 0 / 0", "test_nllloss_NCd1d2_reduction_mean", "all dims are 0"),
    ("Scan", "differs", NONE, "", "after no steps the states are the initial ones, which onnxruntime does not copy", "test_scan_sum", "dim 1 of input 1 is 0"),
    ("LSTM|GRU|RNN", "differs", "dim [01] of input 0 is 0", "", "after no steps the states are the initial ones, which onnxruntime does not write", "test_lstm_bidirectional", "dim 0 of input 0 is 0"),
    ("Loop", "differs", "ends with (0|-)", "", "no step has run that could tell the dims of what it makes", "test_loop11", "input 0 ends with 0"),
    # Features of ONNX that onnxruntime does not implement.
    ("Attention", "answered", "(is|are) 1$", "attn_mask", "ONNX: a mask broadcasts", "test_attention_4d_attn_mask", "dim 0 of input 3 is 1"),
    ("(MatMulInteger|QLinearMatMul)", "answered", "", "must be a scalar", "ONNX: parameters of a's rows and b's columns", "test_qlinearmatmul_2D_uint8_float32", "dim 0 of input 1 is 2"),
    ("Pad", "answered", "", "Unexpected mode of 3", "onnxruntime wraps only around dims that have elements", "test_wrap_pad", "dim 1 of input 0 is 0"),
    ("Resize", "answered", "", "mode only supports", "ONNX: any dims are interpolated", "test_resize_downsample_sizes_cubic", "dim 0 of input 0 is 2"),
    ("Split", "answered", "", "exceeds the remaining size", "ONNX: the last part is smaller, here of none", "test_split_1d_uneven_split_opset18", "dim 0 of input 0 is 6"),
    # onnxruntime rejects values for which ONNX's text or reference has a result. Values for which
    # ONNX has none are in docs/reference/invalid-input.md; hewn rejects them.
    ("(Blackman|Hamming|Hann)Window", "answered", "ends with -", "must be >= 0", "the reference makes an empty window, as arange does", "test_hannwindow", "input 0 ends with -1"),
    ("Binarizer", "answered", "nan", "is NaN", "NaN is above no threshold", "test_ai_onnx_ml_binarizer", "input 0 ends with nan"),
    ("Div", "answered", "ends with 0", "division by zero", "no trap, and no meaning", "test_div_uint8", "input 1 ends with 0"),
    ("MelWeightMatrix", "answered", "ends with", "highest_index", "edges beyond the spectrum, which the reference takes", "test_melweightmatrix", "input 1 ends with 7"),
    ("Pow", "differs", "ends with -?[0-9]{6}|ends with -100", "", "beyond the integers of the type", "test_pow_types_int32_int32", "input 1 ends with 2147483647"),
    # ONNX defines neither the multiplication of infinity and NaN by a zero of the padding, nor
    # their maximum, so that engines may differ.
    ("Attention", "differs", "input [01] " + ODD, "", "a key that is masked: chosen away, or NaN plus -infinity", "test_attention_4d_causal", "input 1 ends with nan"),
    ("ConvTranspose", "differs", ODD, "", "times a zero that stands between the elements", "test_convtranspose_1d", "input 1 ends with nan"),
    ("DFT|STFT", "differs", ODD, "", "sums of opposite infinities, in another order", "test_dft", "input 0 ends with inf"),
    ("DeformConv", "differs", "input 2 " + ODD, "", "offsets to nowhere", "test_basic_deform_conv_without_padding", "input 2 ends with nan"),
    ("GridSample", "differs", "input 1 " + ODD, "", "positions nowhere", "test_gridsample_bilinear", "input 1 ends with nan"),
    ("DynamicQuantizeLinear", "differs", "nan", "", "a range without an end, and NaN as an integer", "test_dynamicquantizelinear", "input 0 ends with nan"),
    ("GroupNormalization", "differs", "-1e", "", "squares beyond float32", "test_group_normalization_epsilon", "input 0 ends with -1e"),
    ("MaxPool", "differs", "nan", "", "NaN is the largest, as in reductions and in PyTorch", "test_maxpool_1d_default", "input 0 ends with nan"),
    ("Resize", "differs", ODD, "", "times a weight of 0", "test_resize_downsample_scales_cubic", "input 0 ends with inf"),
    ("SoftmaxCrossEntropyLoss", "differs", ODD, "", "infinity less infinity, of a class that is ignored", "test_sce_mean_no_weight_ii_4d", "input 0 ends with inf"),
    # A recurrent op runs one step per element of the sequence dim, although a step without a batch
    # computes no elements, so that a huge dim takes forever.
    ("GRU|LSTM|RNN", "hangs", "huge", "", "2^58 steps of no batch", "test_gru_batchwise", "dim 1 of input 0 is huge"),
]]
# fmt: on


def excuse(op, kind, variation, said):
    """Returns the reason why the table accepts hewn's result, or None."""
    for row in ROWS:
        fits = row.kind == kind and re.fullmatch(row.ops, op)
        if fits and re.search(row.variation, variation) and re.search(row.said, said):
            return row.why
    return None

// SPDX-License-Identifier: Apache-2.0
//
// Functions that import several attention nodes of ONNX and com.microsoft.
#ifndef HEWN_DIALECTS_GRAPH_CONTRACT_ATTENTION_ONNX_H
#define HEWN_DIALECTS_GRAPH_CONTRACT_ATTENTION_ONNX_H

#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Builders/OnnxNode.h"

namespace hewn::graph {

/// The inputs of `makeAttention`. Absent inputs are null. `pastK` and `pastV` are keys and values
/// of earlier steps, which are concatenated with `k` and `v`.
struct AttentionInputs {
  mlir::Value q, k, v, mask, lengths, pastK, pastV;
  std::optional<double> scale; // factor of the scores; default: 1 / sqrt(size)
  double softcap = 0;
  int64_t left = -1, right = -1, stage = 0;
  mlir::Type precision; // type of the softmax, or null for q's element type
};

/// The results of an attention. They are null if `makeAttention` called `refuse`.
struct AttentionResults {
  mlir::Value result, scores, presentK, presentV;
};

AttentionResults makeAttention(OnnxNode &node, AttentionInputs inputs);
/// Emits the attention and sets the outputs of its node: the result with merged heads, and the
/// present keys and values.
mlir::LogicalResult finishAttention(OnnxNode &node, AttentionInputs inputs);

/// Inputs of com.microsoft's packed attention besides queries, keys and values. Absent inputs are
/// null.
struct PackedInputs {
  mlir::Value keyMask, past, addend;
};
/// Emits an attention and sets the node's outputs. `all` contains queries, keys and values side by
/// side: [batch, n, 3 * heads * size]. Fails if `all` is null.
mlir::LogicalResult finishPackedAttention(OnnxNode &node, mlir::Value all, const PackedInputs &others);

/// Applies a rotary embedding to the leading elements of x's last dim, in pairs: neighbors
/// (`interleaved`), or an element of the first half and the one at the same place of the second
/// half. `cos` and `sin` have one element for each pair, and broadcast along the other dims.
mlir::Value rotate(Composer &c, mlir::Value x, mlir::Value cos, mlir::Value sin, int64_t turned, bool interleaved);

/// Splits the heads of an attention input: converts [batch, n, heads * size] to [batch, heads, n,
/// size]. Returns null after a call of `refuse`.
mlir::Value splitHeads(OnnxNode &node, mlir::Value x, int64_t heads);
/// Merges the heads of an attention result: converts [batch, heads, n, size] to [batch, n, heads *
/// size].
mlir::Value mergeHeads(OnnxNode &node, mlir::Value x);

} // namespace hewn::graph

#endif

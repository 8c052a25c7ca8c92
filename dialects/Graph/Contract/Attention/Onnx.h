// SPDX-License-Identifier: Apache-2.0
//
// What the builders of ONNX's kinds of attention share.
#ifndef HEWN_DIALECTS_GRAPH_CONTRACT_ATTENTION_ONNX_H
#define HEWN_DIALECTS_GRAPH_CONTRACT_ATTENTION_ONNX_H

#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Builders/OnnxNode.h"

namespace hewn::graph {

/// What `makeAttention` puts together; values that are absent are null. `past` are keys and values of before, to stand
/// ahead of `k` and `v`.
struct AttentionInputs {
  mlir::Value q, k, v, mask, lengths, pastK, pastV;
  std::optional<double> scale; // else 1 / sqrt(size)
  double softcap = 0;
  int64_t left = -1, right = -1, stage = 0;
  mlir::Type precision; // null: q's
};

/// The results of an attention, null after `refuse`.
struct AttentionResults {
  mlir::Value result, scores, presentK, presentV;
};

AttentionResults makeAttention(OnnxNode &node, AttentionInputs inputs);
/// The same as the node's outputs: the result with its heads merged, and keys and values with those of before.
mlir::LogicalResult finishAttention(OnnxNode &node, AttentionInputs inputs);

/// What com.microsoft's attention of packed queries, keys and values takes beside these; values that are absent are null.
struct PackedInputs {
  mlir::Value keyMask, past, addend;
};
/// The node's outputs of `all`, queries, keys and values [batch, n, 3 * heads * size] side by side; null: it could not be made.
mlir::LogicalResult finishPackedAttention(OnnxNode &node, mlir::Value all, const PackedInputs &others);

/// Turns the pairs among the first `turned` elements of x's last dim, neighbours or halves; cos and sin broadcast to one half of these.
mlir::Value rotate(Composer &c, mlir::Value x, mlir::Value cos, mlir::Value sin, int64_t turned, bool interleaved);

/// [batch, n, heads * size] as [batch, heads, n, size]; null after `refuse`.
mlir::Value splitHeads(OnnxNode &node, mlir::Value x, int64_t heads);
/// The other way.
mlir::Value mergeHeads(OnnxNode &node, mlir::Value x);

} // namespace hewn::graph

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Matches low-bit integer weights with scales, as in weight-only quantized models, as the right
// operand of contractions.
#ifndef HEWN_DIALECTS_GRAPH_CONTRACT_PACKEDWEIGHTS_H
#define HEWN_DIALECTS_GRAPH_CONTRACT_PACKEDWEIGHTS_H

#include "dialects/Graph/Builders/Element.h"
#include "dialects/Graph/Graph.h"
#include "lib/Support/Remarks.h"

namespace hewn::graph {

/// Weight tensors with at most this many elements stay in the L1 or L2 cache, where float weights
/// are faster than packed low-bit weights.
inline constexpr int64_t kSmallWeights = 16 << 10;

/// Constant low-bit integers from which the right operand of a contraction, a [k, n] matrix, is
/// dequantized. Each block of `code.block` integers along K, or all of K, has one scale and at most
/// one zero point.
struct PackedWeights {
  /// The op that dequantizes the integers, which are its operand 0.
  QuantizedOpInterface op;
  /// The dims of the integer tensor that form K (`depth`) and N (`columns`), the outermost first.
  llvm::SmallVector<int64_t> depth, columns;
  /// The number of leading dims in `depth` along which the scales of the weights differ; 0 if one
  /// scale covers all of K.
  size_t blockDims = 0;
  WeightEncoding code;
  /// The lookup table whose entries the integers select, or null if the integers are used as
  /// numbers.
  mlir::Value table;
};

/// Returns the lookup table of an op that dequantizes by a lookup: operand 1, with one entry for
/// each possible integer. Returns null for an op that dequantizes by arithmetic.
mlir::Value codebookOf(QuantizedOpInterface op);
/// Returns the lookup table of an op that unpacks low-bit weights, which is its only operand of
/// rank 1. Returns null if the op has none.
mlir::Value tableOf(PackedWeightsOpInterface op);

/// Returns the low-bit weights from which the contraction's right operand is dequantized, with only
/// reshapes and transposes in between. If there are none, returns the reason.
OrReason<PackedWeights> packedWeights(ContractOpInterface op);

/// Returns the op that dequantizes constant 8-bit integers, if the contraction's right operand is a
/// view of its result. Returns null if it is not, or if the weights are small.
QuantizedOpInterface scaledWeights(ContractOpInterface op);

/// Returns true if the value is computed from constants by indexing and elementwise ops.
bool isMadeOfConstants(mlir::Value value);

/// Returns the dims of a scale or zero point, with 1s inserted before them up to the rank of the
/// data to which it broadcasts.
Dims alignedDims(mlir::Value parameter, int64_t rank);

} // namespace hewn::graph

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Weights that are integers of few bits with scales, as models have them that are quantized in their weights alone.
#ifndef HEWN_DIALECTS_GRAPH_CONTRACT_CODEDWEIGHTS_H
#define HEWN_DIALECTS_GRAPH_CONTRACT_CODEDWEIGHTS_H

#include "dialects/Graph/Builders/Element.h"
#include "dialects/Graph/Graph.h"
#include "lib/Support/Remarks.h"

namespace hewn::graph {

/// Weights of no more elements lie in a near cache, and are ready sooner as floats.
inline constexpr int64_t kSmallWeights = 16 << 10;

/// Constant integers of few bits that a contraction's right operand, a matrix [k, n], is made of by scales and perhaps zero points,
/// each shared along the sum by `code.block` neighbours, or by all of it.
struct CodedWeights {
  /// Makes floats of the integers, its operand 0.
  QuantizedOpInterface op;
  /// The dims of the integers: those that make k and those that make n, each from the outermost.
  llvm::SmallVector<int64_t> depth, columns;
  /// Those of `depth`, its first ones, along which scales differ.
  size_t blockDims = 0;
  Code code;
  /// The numbers that the integers are places of; null: they are numbers themselves.
  mlir::Value table;
};

/// The table that a quantized op of kind move finds numbers in, by its integers: operand 1, one number for each integer that there may be. Null
/// of elementwise ones, which compute with the integers.
mlir::Value codebookOf(QuantizedOpInterface op);
/// The same of what makes a matrix of words of codes: its operand of one dim. Null: it has none, and codes are numbers.
mlir::Value tableOf(CodedOpInterface op);

/// The weights that stand behind views of the right operand, or why they are none.
Found<CodedWeights> codedWeights(ContractOpInterface op);

/// What makes floats of constant integers of 8 bits by scales, of which the right operand is a view; null where nothing does, or they are few.
QuantizedOpInterface scaledWeights(ContractOpInterface op);

/// Whether the value is made from constants by moves and elementwise ops.
bool isMadeOfConstants(mlir::Value value);

/// A broadcast parameter with as many dims as the data.
Dims alignedDims(mlir::Value parameter, int64_t rank);

} // namespace hewn::graph

#endif

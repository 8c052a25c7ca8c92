// SPDX-License-Identifier: Apache-2.0
//
// The contractions and embedding tables that a quantization applies to, by name.
#ifndef HEWN_LIB_TRANSFORMS_QUANTIZE_CANDIDATES_H
#define HEWN_LIB_TRANSFORMS_QUANTIZE_CANDIDATES_H

#include "lib/Transforms/Quantize/IntegerForm.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <string>
#include <vector>

namespace hewn {

/// A float contraction that a quantization may apply to. Its name is that of its ONNX node. Further
/// contractions of the same node are named "name:2", "name:3".
struct ContractionCandidate {
  graph::ContractOpInterface op;
  std::string name;
  /// The name of the candidate's op as rules of a quantization use it, such as "conv".
  llvm::StringRef kind;
  /// The contraction's right operand if it is constant, otherwise null.
  mlir::Value weights;
  /// The value that would be quantized: the contraction's left operand before views and zero
  /// padding.
  mlir::Value source;
  /// How the contraction is computed on 8-bit integers, or the reason why it cannot be.
  OrReason<IntegerForm> form;
};

/// A gather from a constant float32 table, such as an embedding. Named like a ContractionCandidate.
struct TableCandidate {
  graph::IndexingOpInterface op;
  std::string name;
  /// The name of the candidate's op as rules of a quantization use it, such as "gather".
  llvm::StringRef kind;
  /// Whether the table can be quantized, with a reason.
  Eligibility isTable;
};

/// Returns the source of a contraction's left operand (see ContractionCandidate::source).
mlir::Value sourceOf(graph::ContractOpInterface op);

/// Returns the dim of `value` that holds the channels which the contraction reduces. `value` is the
/// left operand, possibly without its zero padding. Returns nothing for other values.
std::optional<unsigned> channelDimOf(const ContractionCandidate &site, mlir::Value value);

/// Returns true if the contraction multiplies the rows of its left operand by a weight matrix [k,
/// n].
bool readsRows(const ContractionCandidate &site);

/// Returns true if the contraction reduces channels only: a matmul, or a convolution with a 1x1
/// window.
bool sumsChannels(const ContractionCandidate &site);

/// Returns all contraction candidates in program order. Their names are stable: a name does not
/// depend on ops of other ONNX nodes.
std::vector<ContractionCandidate> findContractionCandidates(mlir::func::FuncOp function);

/// Returns all gathers from constants in program order, with names that no contraction has. Tables
/// with at most `graph::kSmallWeights` elements are left out.
std::vector<TableCandidate> findTableCandidates(mlir::func::FuncOp function,
                                                llvm::ArrayRef<ContractionCandidate> contractions);

/// Returns true if the value can be a result of the function, that is, it is not inside of a branch
/// or loop.
bool isInProgram(mlir::Value value);

/// Appends the value to the function's results. Returns its result index, or nothing if the value
/// cannot be a result of the function.
std::optional<unsigned> addResult(mlir::func::FuncOp function, mlir::Value value);

/// Returns the contraction's left operand, recomputed from `with` in place of the candidate's
/// source: clones the views and the padding between source and operand.
mlir::Value leftOf(const ContractionCandidate &site, mlir::OpBuilder &b, mlir::Value with);

} // namespace hewn

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Rewrites of a contraction's operands, and dequantized operands.
#ifndef HEWN_LIB_TRANSFORMS_QUANTIZE_OPERANDS_H
#define HEWN_LIB_TRANSFORMS_QUANTIZE_OPERANDS_H

#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Contract/PackedWeights.h"
#include "dialects/Graph/Graph.h"
#include "lib/Support/Precision.h"
#include "lib/Support/Remarks.h"
#include "lib/Support/WeightStore.h"

namespace hewn {

/// Marks contractions that are computed on integers whatever the cost model says, because the
/// user's quantization requires it.
inline constexpr llvm::StringLiteral kDecidedAttr = "graph.decided";
/// Marks contractions whose weights stay in their type whatever the cost model says, because an
/// earlier pass or the user's quantization requires it.
inline constexpr llvm::StringLiteral kKeepsWeightsAttr = "graph.keeps_weights";

/// Zero padding of a contraction's left operand. The reduction dim is not padded.
struct Border {
  graph::PaddingOpInterface op;
  llvm::SmallVector<int64_t> low;

  mlir::Value inside() { return op->getOperand(0); }
  /// Pads `value` by the same widths by which the contraction's left operand is padded. `value` may
  /// have other dims, along which there is no padding. `fill` is a scalar (rank 0), or null for
  /// zeros.
  mlir::Value around(mlir::OpBuilder &b, mlir::Value value, mlir::Value fill = {});
};

/// Returns the zero padding that produces the contraction's left operand. Returns nothing if the
/// operand is not padded, or if its reduction dim is padded.
std::optional<Border> borderOf(graph::ContractOpInterface op);

/// Returns true if the contraction can use instructions that reduce pairs along K: K is even or
/// dynamic, and the right operand has a column dim for the vector lanes.
bool isSummedInPairs(graph::ContractOpInterface op);

/// Returns true if instructions that multiply pairs along K pay for the contraction's right
/// operand: it is constant, or enough rows use it to make up for packing it in pairs at run time.
bool paysPairs(graph::ContractOpInterface op);

/// Returns true if the value is a dequantized tensor or a view of one.
bool comesQuantized(mlir::Value value);

/// Returns true if all elements of `integers` (at most 8 bits) are known to equal `value`. Named
/// constants are read from `weights`.
bool isKnownInteger(mlir::Value integers, int64_t value, const WeightStore &weights);

/// A dequantized tensor (data - zero) * scale, where `data` has 8-bit integers. A null `zero` means
/// 0, a null `scale` means 1.
struct Quantized {
  mlir::Value data, scale, zero;
};

/// Returns true if the scale or zero point is null or has one element.
bool isScalar(mlir::Value parameter);

/// Returns the dims to which a scale or zero point of the contraction's operand `from` (0 or 1) has
/// to be reshaped to broadcast to `to`: the other operand, or the result (2). `dims` are the
/// parameter's dims, with the operand's rank or one element. Returns nothing if the parameter
/// varies along a dim that `to` lacks, or if the order of the dims differs.
std::optional<graph::Dims> placedAs(graph::ContractOpInterface op, const graph::Dims &dims, unsigned from, unsigned to);
std::optional<graph::Dims> placedAs(graph::ContractOpInterface op, mlir::Value parameter, unsigned from, unsigned to);

/// Returns the quantized form of `value`. Looks through transposes, reshapes and broadcasts, and
/// applies them to the integers and parameters. Returns nothing if `value` is not dequantized.
std::optional<Quantized> quantizedOf(graph::Composer &c, mlir::Value value, const WeightStore &weights);

/// Replaces `op` by a contraction with other operands and accumulators of type `sum`, and erases
/// `op`. `rewrite` receives the number (0 or 1) and the value of each operand and returns its
/// replacement. Zero padding that has no other users stays next to the contraction, which can fold
/// it; `rewrite` then receives the unpadded value. Returns null and changes nothing if the new
/// operands do not fit.
graph::ContractOpInterface
rewriteOperands(graph::ContractOpInterface op, mlir::Type sum,
                llvm::function_ref<mlir::Value(unsigned operand, mlir::Value value)> rewrite);

/// Returns graph::packedWeights(op). Sets `tableInBytes` of its result if the weights have a small
/// lookup table in `constants` whose entries are representable as int8.
OrReason<graph::PackedWeights> packedWeights(graph::ContractOpInterface op, const WeightStore &constants);

/// Returns whether a contraction is faster with packed weights than with weights that are
/// dequantized at compile time.
Eligibility paysToDecode(graph::ContractOpInterface op, const graph::PackedWeights &weights, Precision precision);

/// Returns whether a contraction is faster if it reads its constant weights as `type`, which has
/// fewer bits than float32, and applies their scales after accumulation. The weights have one
/// scale, or one per column.
Eligibility paysToScaleSums(graph::ContractOpInterface op, mlir::Type type, Precision precision);

/// Returns whether a contraction is faster with constants of `type`, which has fewer bits than
/// float32, than with float32 constants. A skinny GEMM usually is, because loading the constants
/// takes longer than extending them.
Eligibility paysToWiden(graph::ContractOpInterface op, mlir::Type type);

/// Returns whether to gather quantized elements of a table (operand 0) and dequantize only these,
/// rather than dequantize the entire table at compile time. The former is better if the gather
/// reads a small part of the table.
Eligibility looksUpFew(graph::IndexingOpInterface lookUp);

/// Casts both operands of the contraction to `type`. The type of its result does not change.
void castOperands(graph::ContractOpInterface op, mlir::Type type);

} // namespace hewn

#endif

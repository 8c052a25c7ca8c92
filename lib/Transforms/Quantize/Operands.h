// SPDX-License-Identifier: Apache-2.0
//
// How a contraction's operands are given another type.
#ifndef HEWN_LIB_TRANSFORMS_QUANTIZE_OPERANDS_H
#define HEWN_LIB_TRANSFORMS_QUANTIZE_OPERANDS_H

#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Contract/CodedWeights.h"
#include "dialects/Graph/Graph.h"
#include "lib/Support/Precision.h"
#include "lib/Support/Remarks.h"
#include "lib/Support/WeightTable.h"

namespace hewn {

/// On contractions that are to be computed on integers whatever that takes: who quantized them has decided.
inline constexpr llvm::StringLiteral kDecidedAttr = "graph.decided";
/// On contractions whose weights stay as narrow as they are, whatever that takes: who stored them so has decided.
inline constexpr llvm::StringLiteral kKeepsWeightsAttr = "graph.keeps_weights";

/// A border of zeros around a contraction's left operand, none of it along the summed dim.
struct Border {
  graph::PaddingOpInterface op;
  llvm::SmallVector<int64_t> low;

  mlir::Value inside() { return op->getOperand(0); }
  /// The same border around another value, of other dims along dims that have no border; `fill` (rank 0) null: zeros.
  mlir::Value around(mlir::OpBuilder &b, mlir::Value value, mlir::Value fill = {});
};

/// The border that makes the left operand; nullopt where there is none, or where it reaches along the summed dim.
std::optional<Border> borderOf(graph::ContractOpInterface op);

/// Whether the operands have neighbours along the summed dim in whole pairs, and the right one columns for a vector's lanes: what the
/// engine needs to sum products of pairs.
bool isSummedInPairs(graph::ContractOpInterface op);

/// Whether the right operand is made of constants, or read by so many rows that it pays to put pairs of neighbours beside each other when run.
bool paysPairs(graph::ContractOpInterface op);

/// Whether the value stands for integers, as far as its own maker and views tell.
bool comesQuantized(mlir::Value value);

/// Whether integers of 8 bits or less are known to be `value` throughout; `weights` has the constants.
bool isKnownInteger(mlir::Value integers, int64_t value, const WeightTable &weights);

/// Integers of 8 bits that stand for (data - zero) * scale; zero and scale are null where they are 0 and 1.
struct Quantized {
  mlir::Value data, scale, zero;
};

/// Whether a parameter is one number for all; null is.
bool isScalar(mlir::Value parameter);

/// The dims of what belongs to an operand (0 or 1), with as many dims as that or one element, as it broadcasts to side `to` of the contraction: the other
/// operand or the result (2). Nullopt where it differs along what that has not, or in another order.
std::optional<graph::Dims> placedAs(graph::ContractOpInterface op, const graph::Dims &dims, unsigned from, unsigned to);
std::optional<graph::Dims> placedAs(graph::ContractOpInterface op, mlir::Value parameter, unsigned from, unsigned to);

/// What `value` stands for, through transpositions, reshapes and broadcasts, which are done to the integers; nullopt where it is not quantized.
std::optional<Quantized> quantizedOf(graph::Composer &c, mlir::Value value, const WeightTable &weights);

/// The same contraction of other operands with sums of type `sum`, in the place of `op`, which is erased; `rewrite` gives the
/// operand (0 or 1) for a value that stands for it. A border that nobody else reads stays next to the contraction, which can
/// leave it out: what it surrounds is rewritten. Null, and nothing is done, where the operands do not fit.
graph::ContractOpInterface
rewriteOperands(graph::ContractOpInterface op, mlir::Type sum,
                llvm::function_ref<mlir::Value(unsigned operand, mlir::Value value)> rewrite);

/// graph::codedWeights, with whether bytes stand for the numbers of a small table, which `constants` has.
Found<graph::CodedWeights> codedWeights(graph::ContractOpInterface op, const WeightTable &constants);

/// Whether a contraction is computed sooner from such weights than from floats that were made of them when compiling.
Verdict paysToDecode(graph::ContractOpInterface op, const graph::CodedWeights &weights, Precision precision);

/// Whether a contraction by weights of scales, one a column or one, is computed sooner by constants of `type`, narrower than float32, with the scales taken
/// behind its sums.
Verdict paysToScaleSums(graph::ContractOpInterface op, mlir::Type type, Precision precision);

/// Whether a contraction by constants of `type`, narrower than float32, is computed sooner than by float32s: few rows wait for them,
/// and they are widened when they have come.
Verdict paysToWiden(graph::ContractOpInterface op, mlir::Type type);

/// Whether a run reads so few rows of the table, operand 0, that narrow elements, made wide behind the look-up, are better than floats that were made of
/// all when compiling.
Verdict looksUpFew(graph::MoveOpInterface lookUp);

/// Casts both operands.
void castOperands(graph::ContractOpInterface op, mlir::Type type);

} // namespace hewn

#endif

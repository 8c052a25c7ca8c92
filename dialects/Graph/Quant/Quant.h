// SPDX-License-Identifier: Apache-2.0
//
// Bodies of the ops in Quant.td, and functions that emit these ops.
#ifndef HEWN_DIALECTS_GRAPH_QUANT_QUANT_H
#define HEWN_DIALECTS_GRAPH_QUANT_QUANT_H

#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Builders/Element.h"
#include "dialects/Graph/Elementwise/ElementwiseBodies.h"

namespace hewn::graph {

namespace body {
/// Emits the body of graph.quantize. `in` has x, the scale and an optional zero point, in their
/// compute types.
Value quantize(Builder &e, mlir::Type xType, mlir::Type scaleType, mlir::Type to, bool multiply, bool saturate,
               mlir::ValueRange in);
/// Emits the body of graph.quantize_by_reciprocal, which computes in float32. Its result has 8
/// bits.
Value quantizeByReciprocal(Builder &e, mlir::Type to, mlir::ValueRange in);
Value dequantize(Builder &e, mlir::Type xType, mlir::Type scaleType, mlir::Type to, mlir::ValueRange in);
/// Emits a lookup in a table, which is a constant of the enclosing module, with one load for each
/// vector lane.
Value mapCodes(Builder &e, mlir::Type xType, mlir::ElementsAttr table, mlir::ValueRange in);
Value center(Builder &e, mlir::Type xType, mlir::ValueRange in);
/// Verifiers of the ops in Quant.td. Each emits an op error on failure.
llvm::LogicalResult verifyQuantize(mlir::Operation *op, mlir::Type to);
llvm::LogicalResult verifyQuantizeByReciprocal(mlir::Operation *op, mlir::Type to);
llvm::LogicalResult verifyDequantize(mlir::Operation *op, mlir::Type to);
llvm::LogicalResult verifyMapCodes(mlir::Operation *op, mlir::ElementsAttr table);
llvm::LogicalResult verifyCenter(mlir::Operation *op);
} // namespace body

/// Emit a quantization or dequantization of `x`. `zeroPoint` may be null. Return null if `x` or
/// `scale` is null.
mlir::Value composeQuantize(Composer &c, mlir::Value x, mlir::Value scale, mlir::Value zeroPoint, mlir::Type to,
                            bool multiply = false, bool saturate = true);
mlir::Value composeDequantize(Composer &c, mlir::Value x, mlir::Value scale, mlir::Value zeroPoint, mlir::Type to);
/// Emits table[code] for 8-bit integers `code`. `table` has rank 1 and one entry for each of the
/// 256 integers; the first entry is that of the smallest integer.
mlir::Value composeMapCodes(Composer &c, mlir::Value code, mlir::DenseElementsAttr table);
/// Returns true if `value` is the result of dequantizing 8-bit integers. There may be indexing ops
/// in between, such as padding and transposes.
bool isDequantized(mlir::Value value);
/// Returns true if all users of the float `value` quantize it to 8-bit integers. There may be
/// elementwise ops in between, if they are continuous.
bool isOnlyQuantized(mlir::Value value);
/// Callbacks through which `quantizeByReciprocal` works in the pass that calls it. `together`
/// returns true if both ops are in one fusion group. `made` is called with each new op `by`, which
/// replaces `op` or a part of it.
struct Replacement {
  bool (*together)(mlir::Operation *op, mlir::Operation *other);
  void (*made)(mlir::Operation *op, mlir::Operation *by);
};
/// Rewrites a quantization by a constant scale so that it multiplies and does not divide
/// (Reciprocal.cpp). The integers stay equal for every float. Also rewrites ops that dequantize
/// these integers. Leaves `op` unchanged if it is another op, or if there are no such multipliers
/// for its scale.
void quantizeByReciprocal(mlir::Operation *op, Replacement replacement);
/// A tensor that was quantized dynamically to ui8. The range of its elements, extended to include
/// zero, determines scale and zero point.
struct DynamicallyQuantized {
  mlir::Value value, scale, zeroPoint;
};
DynamicallyQuantized composeDynamicQuantize(Composer &c, mlir::Value x);
/// Emits x - zeroPoint in i32 (graph.center). A zero point of rank 1 is aligned with dim `axis` of
/// x if it has more than one element.
mlir::Value composeCenter(OnnxNode &node, Composer &c, mlir::Value x, mlir::Value zeroPoint, int64_t axis);
/// Reshapes a scale or zero point of rank 1 so that it broadcasts to a tensor with `rank` dims: to
/// a scalar if it has a single element, else so that it is aligned with dim `axis`. Returns
/// parameters of other ranks unchanged.
mlir::Value alongAxis(Composer &c, mlir::Value parameter, int64_t axis, int64_t rank);
/// Reshapes a scale or zero point so that it broadcasts to `data`. Requires that it has one
/// element, or one for each index along `axis`.
mlir::Value alongAxis(Composer &c, mlir::Value parameter, int64_t axis, mlir::Value data);
/// Repeats each element of a blockwise scale or zero point `block` times along `axis`, so that
/// there is one for each element of `data`. The last block may be incomplete.
mlir::Value alongBlocks(Composer &c, mlir::Value parameter, const Dims &data, int64_t axis, int64_t block);
/// Emits a matmul (by the rules of NumPy) of quantized operands, with i32 accumulators. The zero
/// points may be null.
mlir::Value composeIntegerMatMul(OnnxNode &node, Composer &c, mlir::Value a, mlir::Value aZero, mlir::Value b,
                                 mlir::Value bZero);

/// Emits the dequantized matrix [k, n] of (w - zero) * scale. The low-bit integers w are packed in
/// `words` [k * bits / 32, n], in complete blocks. `scale` and `zero` are floats [k / block, n], or
/// [k / block, 1] if all columns share them. If `zero` is null, the zero point is the midpoint of
/// the integers' range.
mlir::Value composeDecode(Composer &c, mlir::Value words, mlir::Value scale, mlir::Value zero, WeightEncoding code);

/// Emits a lookup of unsigned integers in `table`, and multiplies the entries by `scale`. The table
/// has one float32 for each possible integer. Returns null if the operands do not match.
mlir::Value composeLookUp(Composer &c, mlir::Value codes, mlir::Value table, mlir::Value scale);
/// Emits the dequantized matrix of table[w] * scale, where the integers w are packed and the scales
/// are blockwise, as for `composeDecode`.
mlir::Value composeDecodeByTable(Composer &c, mlir::Value words, mlir::Value scale, mlir::Value table,
                                 WeightEncoding code);

} // namespace hewn::graph

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Bodies of Quant.td, and what its importers share.
#ifndef HEWN_DIALECTS_GRAPH_QUANT_QUANT_H
#define HEWN_DIALECTS_GRAPH_QUANT_QUANT_H

#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Builders/Element.h"
#include "dialects/Graph/Elementwise/ElementwiseBodies.h"

namespace hewn::graph {

namespace body {
/// `in`: x, scale and perhaps a zero point, in compute types.
Value quantize(Builder &e, mlir::Type xType, mlir::Type scaleType, mlir::Type to, bool multiply, bool saturate,
               mlir::ValueRange in);
/// In float32; of 8 bits.
Value quantizeByReciprocal(Builder &e, mlir::Type to, mlir::ValueRange in);
Value dequantize(Builder &e, mlir::Type xType, mlir::Type scaleType, mlir::Type to, mlir::ValueRange in);
/// A load a lane from a constant of the module that is built in.
Value mapCodes(Builder &e, mlir::Type xType, mlir::ElementsAttr table, mlir::ValueRange in);
Value center(Builder &e, mlir::Type xType, mlir::ValueRange in);
/// What the rows verify; an op error where it fails.
llvm::LogicalResult verifyQuantize(mlir::Operation *op, mlir::Type to);
llvm::LogicalResult verifyQuantizeByReciprocal(mlir::Operation *op, mlir::Type to);
llvm::LogicalResult verifyDequantize(mlir::Operation *op, mlir::Type to);
llvm::LogicalResult verifyMapCodes(mlir::Operation *op, mlir::ElementsAttr table);
llvm::LogicalResult verifyCenter(mlir::Operation *op);
} // namespace body

/// Builds the ops; `zeroPoint` may be null. Null where `x` or `scale` is.
mlir::Value composeQuantize(Composer &c, mlir::Value x, mlir::Value scale, mlir::Value zeroPoint, mlir::Type to,
                            bool multiply = false, bool saturate = true);
mlir::Value composeDequantize(Composer &c, mlir::Value x, mlir::Value scale, mlir::Value zeroPoint, mlir::Type to);
/// table[code] of integers of 8 bits; `table`: of rank 1, a number for each, the smallest integer's first.
mlir::Value composeMapCodes(Composer &c, mlir::Value code, mlir::DenseElementsAttr table);
/// Whether the float is 8-bit integers times a scale, as moves (borders, orders) let it through.
bool isDequantized(mlir::Value value);
/// Whether all that is made of the float, by elementwise ops that are continuous, is rounded to 8-bit integers by a scale.
bool isOnlyQuantized(mlir::Value value);
/// What a rewrite asks of the pass that it is a part of: whether both ops are computed together, and to look at `by`, which is made in place of
/// `op` (or a part of it).
struct Replacement {
  bool (*together)(mlir::Operation *op, mlir::Operation *other);
  void (*made)(mlir::Operation *op, mlir::Operation *by);
};
/// Replaces an op that quantizes by a known scale by products that give the same integers for every float (Reciprocal.cpp), and erases it; what makes
/// floats of its integers again is erased with it. Leaves all other ops, and scales without such products, as they are.
void quantizeByReciprocal(mlir::Operation *op, Replacement replacement);
/// Quantized to ui8 over the range of all its elements and zero.
struct DynamicallyQuantized {
  mlir::Value value, scale, zeroPoint;
};
DynamicallyQuantized composeDynamicQuantize(Composer &c, mlir::Value x);
/// x - zeroPoint in i32 (graph.center); a zero point of rank 1 and more than one element lies along dim `axis` of x.
mlir::Value composeCenter(OnnxNode &node, Composer &c, mlir::Value x, mlir::Value zeroPoint, int64_t axis);
/// A scalar where there is one element, else with dims of 1 behind so that its
/// dim meets dim `axis` of `rank`; other than rank 1 as it is.
mlir::Value alongAxis(Composer &c, mlir::Value parameter, int64_t axis, int64_t rank);
/// The same for `data`, which it must fit: one for all, or one for each position along the axis.
mlir::Value alongAxis(Composer &c, mlir::Value parameter, int64_t axis, mlir::Value data);
/// A scale (or zero point) a block of `block` elements along `axis` as one an element of `data`: each is repeated, and the last block may be
/// cut short.
mlir::Value alongBlocks(Composer &c, mlir::Value parameter, const Dims &data, int64_t axis, int64_t block);
/// numpy's matmul of quantized operands as i32; zero points may be null.
mlir::Value composeIntegerMatMul(OnnxNode &node, Composer &c, mlir::Value a, mlir::Value aZero, mlir::Value b,
                                 mlir::Value bZero);

/// The matrix [k, n] of codes in words [k * bits / 32, n] as (code - zero) * scale, of whole blocks; `scale` and `zero` are floats
/// [k / block, n], or [k / block, 1] for all columns; without `zero` it is the middle code.
mlir::Value composeDecode(Composer &c, mlir::Value words, mlir::Value scale, mlir::Value zero, Code code);

/// table[code] * scale of integers without a sign; `table`: float32s, as many as there may be codes. Null where they do not fit.
mlir::Value composeLookUp(Composer &c, mlir::Value codes, mlir::Value table, mlir::Value scale);
/// The same of codes in words, with scales as composeDecode has them.
mlir::Value composeDecodeByTable(Composer &c, mlir::Value words, mlir::Value scale, mlir::Value table, Code code);

} // namespace hewn::graph

#endif

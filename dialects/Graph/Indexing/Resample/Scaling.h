// SPDX-License-Identifier: Apache-2.0
//
// Positions and weights of graph.resize: the position in the operand of a result index, and the
// range of operand elements that are weighted there. Resize.cpp uses these functions for single
// elements, ResizeTaps.cpp for all indices at once, ResizeNearest.cpp for mode nearest.
#ifndef HEWN_DIALECTS_GRAPH_INDEXING_RESAMPLE_SCALING_H
#define HEWN_DIALECTS_GRAPH_INDEXING_RESAMPLE_SCALING_H

#include "dialects/Graph/Indexing/Resample/Positions.h"
#include "dialects/Graph/Indexing/Resample/ResizeOps.h"

namespace hewn::graph {

class Composer;

/// The values from which graph.resize computes positions: the extents of the dim before and after
/// resizing (`in`, `out`), and `given(i)`, element `i` of the op's operand `given`.
struct Scaling {
  mlir::Value in, out;
  llvm::function_ref<mlir::Value(int64_t)> given;
};

/// Returns the fractional position in the operand of graph.resize that belongs to result index `y`.
template <typename P> mlir::Value originalPosition(ResizeOp op, P &p, mlir::Value y, const Scaling &s) {
  using mlir::Value;
  Value one = p.constant(1), half = p.constant(0.5);
  double written = op.getScale().convertToDouble();
  Value scale = written < 0 ? s.given(0) : written != 0 ? p.constant(written) : p.div(s.out, s.in);
  Value width = written != 0 ? p.mul(scale, s.in) : s.out;
  llvm::StringRef mode = op.getCoordinates();
  auto centered = [&] { return p.sub(p.div(p.add(y, half), scale), half); };
  Value single = p.compare(mlir::arith::CmpFPredicate::OEQ, width, one);
  // The quotient below divides by the number of result elements minus one. With one result element,
  // it is computed but not used; its divisor is set to 1 to avoid x/0.
  Value steps = p.select(single, one, p.sub(width, one));
  if (mode == "align_corners")
    return p.select(single, p.constant(0), p.div(p.mul(y, p.sub(s.in, one)), steps));
  if (mode == "asymmetric")
    return p.div(y, scale);
  if (mode == "pytorch_half_pixel")
    return p.select(p.compare(mlir::arith::CmpFPredicate::OLE, s.out, one), p.constant(0), centered());
  if (mode == "half_pixel_symmetric")
    return p.add(p.mul(p.mul(s.in, half), p.sub(one, p.div(s.out, width))), centered());
  if (mode == "tf_crop_and_resize") {
    Value start = op.getGiven() ? s.given(1) : p.constant(op.getRoiStart().convertToDouble());
    Value end = op.getGiven() ? s.given(2) : p.constant(op.getRoiEnd().convertToDouble());
    Value reach = p.mul(p.sub(end, start), p.sub(s.in, one));
    Value within = p.select(single, p.mul(reach, half), p.div(p.mul(y, reach), steps));
    return p.add(within, p.mul(start, p.sub(s.in, one)));
  }
  if (mode == "tf_half_pixel_for_nn")
    return p.div(p.add(y, half), scale);
  return centered();
}

/// The operand elements that a resize weights for one result element: numbers 1 - `half` to `half`,
/// counted from the position rounded down. The weight of an element is a function of its distance
/// from the position times the factor `shrink`, which is nullopt if it is dynamic. `half` then
/// covers all elements whose weight is not 0.
struct TapRange {
  std::optional<double> shrink;
  DimExpr half;
  /// Returns true if code for the elements is unrolled: their number is constant and small.
  bool unrolls() const;
};
TapRange tapRangeOf(ResizeOp op, bool antialias);

/// Returns the dynamic factor by which an antialiased resize multiplies distances before it
/// computes weights: the scale, but at most 1.
template <typename P> mlir::Value distanceFactor(ResizeOp op, P &p, const Scaling &s) {
  mlir::Value scale = op.getScale().isNegative() ? s.given(0) : p.div(s.out, s.in);
  return p.sub(p.constant(1), p.max(p.constant(0), p.sub(p.constant(1), scale)));
}

/// Decomposes a resize with antialiasing into a table of weights, a table of indices, a gather and
/// a sum. `op` has all attributes except `antialias`.
mlir::Value composeTaps(Composer &c, ResizeOp op);

/// Returns the operand index of the nearest element if no rounding error can change it: the
/// position is a quotient of integers. Returns nullopt if it is not.
std::optional<Index> exactNearest(ResizeOp op, ElementBuilder &e, Index at);
/// Returns the operand index to which the op's mode `nearest` rounds a position.
Index roundPosition(ResizeOp op, Positions &p, Index at, mlir::Value position);
/// Returns `place`, a position that is rounded to an operand index. If the scale is known,
/// annotates the index: in which range it is, and that it ascends from vector lane to vector lane,
/// so that one vector load can replace a load for each lane.
Index placeOf(ResizeOp op, ElementBuilder &e, Index at, Index place);

} // namespace hewn::graph

#endif

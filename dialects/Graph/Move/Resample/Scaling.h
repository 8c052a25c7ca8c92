// SPDX-License-Identifier: Apache-2.0
//
// Where an index of a resized dim lies in the operand, and how far the elements lie that are weighed there: by the element
// (Resize.cpp), or for all indices at once (ResizeTaps.cpp).
#ifndef HEWN_DIALECTS_GRAPH_MOVE_RESAMPLE_SCALING_H
#define HEWN_DIALECTS_GRAPH_MOVE_RESAMPLE_SCALING_H

#include "dialects/Graph/Move/Resample/Positions.h"
#include "dialects/Graph/Move/Resample/ResizeOps.h"

namespace hewn::graph {

class Composer;

/// The extents before and after; `given(i)` is number `i` of what is given when the model runs.
struct Scaling {
  mlir::Value in, out;
  llvm::function_ref<mlir::Value(int64_t)> given;
};

/// The position in the operand of result index `y`.
template <typename P> mlir::Value originalPosition(ResizeOp op, P &p, mlir::Value y, const Scaling &s) {
  using mlir::Value;
  Value one = p.constant(1), half = p.constant(0.5);
  double written = op.getScale().convertToDouble();
  Value scale = written < 0 ? s.given(0) : written != 0 ? p.constant(written) : p.div(s.out, s.in);
  Value width = written != 0 ? p.mul(scale, s.in) : s.out;
  llvm::StringRef mode = op.getCoordinates();
  auto centered = [&] { return p.sub(p.div(p.add(y, half), scale), half); };
  Value single = p.compare(mlir::arith::CmpFPredicate::OEQ, width, one);
  // Where the result has one element the quotient below is not looked at; it must not be x/0 either.
  Value steps = p.select(single, one, p.sub(width, one));
  if (mode == "align_corners")
    return p.select(single, p.constant(0), p.div(p.mul(y, p.sub(s.in, one)), steps));
  if (mode == "asymmetric")
    return p.div(y, scale);
  if (mode == "pytorch_half_pixel")
    return p.select(single, p.constant(-0.5), centered());
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

/// Elements `first` to `last` around a position are weighed, by their distance times a factor that is `shrink`, or, where only a run
/// tells it, at least that.
struct TapRange {
  double shrink = 1;
  bool isTold = false;
  int64_t first = 0, last = 1;
  int64_t count() const { return last - first + 1; }
};
TapRange tapRangeOf(ResizeOp op);

/// The factor where a run tells it: the scale, from `shrink` to 1.
template <typename P> mlir::Value distanceFactor(ResizeOp op, P &p, TapRange range, const Scaling &s) {
  mlir::Value told = op.getScale().isNegative() ? s.given(0) : p.div(s.out, s.in);
  mlir::Value atMostOne = p.sub(p.constant(1), p.max(p.constant(0), p.sub(p.constant(1), told)));
  return p.max(p.constant(range.shrink), atMostOne);
}

/// So many taps are written one after another, for each lane: more of them are a loop.
inline constexpr int64_t kMaxUnrolledTaps = 16;
/// The same by a table of weights and one of places, and a sum over what is gathered there.
mlir::Value composeTaps(Composer &c, ResizeOp op);

} // namespace hewn::graph

#endif

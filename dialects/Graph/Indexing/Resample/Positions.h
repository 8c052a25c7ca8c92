// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic on fractional positions (between two elements), for ops that resample.
#ifndef HEWN_DIALECTS_GRAPH_INDEXING_RESAMPLE_POSITIONS_H
#define HEWN_DIALECTS_GRAPH_INDEXING_RESAMPLE_POSITIONS_H

#include "dialects/Graph/Builders/Element.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace hewn::graph {

/// Emits float arithmetic on fractional positions between tensor elements. Positions are scalars or
/// vectors.
class Positions {
public:
  Positions(ElementBuilder &e, mlir::Type type) : e(e), type(type) {}

  mlir::Value constant(double value) {
    return mlir::arith::ConstantOp::create(e.b, e.loc, e.b.getFloatAttr(type, value));
  }
  /// Converts an index to a float through a 32-bit integer: extents fit in 32 bits, and converting
  /// vectors of 64-bit integers is slow.
  mlir::Value of(Index index) {
    mlir::Value narrow = e.toElement(index, e.b.getI32Type());
    return e.b.createOrFold<mlir::arith::SIToFPOp>(e.loc, like(narrow, type), narrow);
  }
  Index toIndex(mlir::Value whole) {
    return e.fromElement(e.b.createOrFold<mlir::arith::FPToSIOp>(e.loc, like(whole, e.b.getI32Type()), whole));
  }
  mlir::Value add(mlir::Value a, mlir::Value b) { return both<mlir::arith::AddFOp>(a, b); }
  mlir::Value sub(mlir::Value a, mlir::Value b) { return both<mlir::arith::SubFOp>(a, b); }
  mlir::Value mul(mlir::Value a, mlir::Value b) { return both<mlir::arith::MulFOp>(a, b); }
  mlir::Value div(mlir::Value a, mlir::Value b) { return both<mlir::arith::DivFOp>(a, b); }
  mlir::Value floor(mlir::Value a) { return e.b.createOrFold<mlir::math::FloorOp>(e.loc, a); }
  mlir::Value abs(mlir::Value a) { return e.b.createOrFold<mlir::math::AbsFOp>(e.loc, a); }
  mlir::Value compare(mlir::arith::CmpFPredicate predicate, mlir::Value a, mlir::Value b) {
    mlir::Value values[] = {a, b};
    e.unify(values);
    return e.b.createOrFold<mlir::arith::CmpFOp>(e.loc, predicate, values[0], values[1]);
  }
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b) { return e.selectElement(condition, a, b); }
  mlir::Value max(mlir::Value a, mlir::Value b) { return select(compare(mlir::arith::CmpFPredicate::OGT, a, b), a, b); }

  ElementBuilder &e;
  mlir::Type type;

private:
  static mlir::Type like(mlir::Value value, mlir::Type element) {
    auto vector = llvm::dyn_cast<mlir::VectorType>(value.getType());
    return vector ? mlir::Type(mlir::VectorType::get(vector.getShape(), element)) : element;
  }
  template <typename OpTy> mlir::Value both(mlir::Value a, mlir::Value b) {
    mlir::Value values[] = {a, b};
    e.unify(values);
    return e.b.createOrFold<OpTy>(e.loc, values[0], values[1]);
  }
};

/// Returns the weight of Keys' cubic convolution with parameter `a` for an element at distance x >=
/// 0. Here and in Scaling.h, the type `P` is `Positions`, or a class with the same functions for
/// tensors.
template <typename P> mlir::Value cubicWeight(P &p, mlir::Value x, double a) {
  using mlir::Value;
  Value inner = p.add(p.mul(p.mul(p.sub(p.mul(p.constant(a + 2), x), p.constant(a + 3)), x), x), p.constant(1));
  Value outer = p.sub(p.mul(p.add(p.mul(p.sub(p.mul(p.constant(a), x), p.constant(5 * a)), x), p.constant(8 * a)), x),
                      p.constant(4 * a));
  Value far = p.select(p.compare(mlir::arith::CmpFPredicate::OLT, x, p.constant(2)), outer, p.constant(0));
  return p.select(p.compare(mlir::arith::CmpFPredicate::OLE, x, p.constant(1)), inner, far);
}

} // namespace hewn::graph

#endif

// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Math/Formula.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include <numeric>

using namespace mlir;

namespace hewn::codegen::vecmath {

Type withElement(Type like, Type element) {
  auto vector = dyn_cast<VectorType>(like);
  return vector ? Type(vector.clone(element)) : element;
}

Value Formula::constant(Type type, TypedAttr element) {
  Value &known = constants[{type, element}];
  if (!known) {
    auto vector = dyn_cast<VectorType>(type);
    TypedAttr value = vector ? TypedAttr(DenseElementsAttr::get(vector, Attribute(element))) : element;
    known = arith::ConstantOp::create(b, value);
  }
  return known;
}

Value Formula::constant(Type type, double value) {
  Type element = getElementTypeOrSelf(type);
  if (!isa<FloatType>(element))
    return constant(type, int64_t(value));
  return constant(type, b.getFloatAttr(element, value));
}

Value Formula::constant(Type type, int64_t value) {
  auto element = cast<IntegerType>(getElementTypeOrSelf(type));
  return constant(type, b.getIntegerAttr(element, APInt(element.getWidth(), uint64_t(value), /*isSigned=*/true,
                                                        /*implicitTrunc=*/true)));
}

Value Formula::constant(ArrayRef<double> lanes) {
  auto type = VectorType::get({int64_t(lanes.size())}, b.getF32Type());
  SmallVector<float> rounded(lanes);
  DenseElementsAttr value = DenseElementsAttr::get(type, ArrayRef<float>(rounded));
  Value &known = constants[{type, value}];
  if (!known)
    known = arith::ConstantOp::create(b, value);
  return known;
}

bool Formula::isOfVectors(Type type) const {
  auto vector = dyn_cast<VectorType>(type);
  return vector && machine.lanes > 0 && vector.getElementType().isF32() &&
         (vector.getNumElements() % machine.lanes == 0 || vector.getNumElements() < machine.lanes);
}

template <typename FloatOp, typename IntOp> static Num binary(Num a, Num b) {
  if (a.isFloat())
    return {a.f, FloatOp::create(a.f->b, a.v, b.v)};
  return {a.f, IntOp::create(a.f->b, a.v, b.v)};
}

Num operator+(Num a, Num b) { return binary<arith::AddFOp, arith::AddIOp>(a, b); }
Num operator-(Num a, Num b) { return binary<arith::SubFOp, arith::SubIOp>(a, b); }
Num operator*(Num a, Num b) { return binary<arith::MulFOp, arith::MulIOp>(a, b); }
Num operator/(Num a, Num b) { return {a.f, arith::DivFOp::create(a.f->b, a.v, b.v)}; }
Num operator-(Num a) { return {a.f, arith::NegFOp::create(a.f->b, a.v)}; }
Num operator&(Num a, Num b) { return {a.f, arith::AndIOp::create(a.f->b, a.v, b.v)}; }
Num operator|(Num a, Num b) { return {a.f, arith::OrIOp::create(a.f->b, a.v, b.v)}; }
Num operator^(Num a, Num b) { return {a.f, arith::XOrIOp::create(a.f->b, a.v, b.v)}; }
Num shiftLeft(Num a, int64_t bits) { return {a.f, arith::ShLIOp::create(a.f->b, a.v, a(bits).v)}; }
Num shiftRight(Num a, int64_t bits) { return {a.f, arith::ShRSIOp::create(a.f->b, a.v, a(bits).v)}; }
Num shiftRightLogical(Num a, int64_t bits) { return {a.f, arith::ShRUIOp::create(a.f->b, a.v, a(bits).v)}; }
Num logicalNot(Num a) { return a ^ a(int64_t(1)); }

static Num compare(arith::CmpFPredicate floats, arith::CmpIPredicate integers, Num a, Num b) {
  if (a.isFloat())
    return {a.f, arith::CmpFOp::create(a.f->b, floats, a.v, b.v)};
  return {a.f, arith::CmpIOp::create(a.f->b, integers, a.v, b.v)};
}

Num operator<(Num a, Num b) { return compare(arith::CmpFPredicate::OLT, arith::CmpIPredicate::slt, a, b); }
Num operator>(Num a, Num b) { return compare(arith::CmpFPredicate::OGT, arith::CmpIPredicate::sgt, a, b); }
Num operator<=(Num a, Num b) { return compare(arith::CmpFPredicate::OLE, arith::CmpIPredicate::sle, a, b); }
Num equal(Num a, Num b) { return compare(arith::CmpFPredicate::OEQ, arith::CmpIPredicate::eq, a, b); }

Num select(Num condition, Num a, Num b) { return {a.f, arith::SelectOp::create(a.f->b, condition.v, a.v, b.v)}; }
Num fma(Num a, Num b, Num c) { return {a.f, math::FmaOp::create(a.f->b, a.v, b.v, c.v)}; }
Num abs(Num a) { return {a.f, math::AbsFOp::create(a.f->b, a.v)}; }
Num sqrt(Num a) { return {a.f, math::SqrtOp::create(a.f->b, a.v)}; }
Num roundeven(Num a) { return {a.f, math::RoundEvenOp::create(a.f->b, a.v)}; }
Num copysign(Num magnitude, Num sign) {
  return {magnitude.f, math::CopySignOp::create(magnitude.f->b, magnitude.v, sign.v)};
}
Num atMost(Num a, double bound) { return select(a > bound, a(bound), a); }
Num atLeast(Num a, double bound) { return select(a < bound, a(bound), a); }

Num toBits(Num a) {
  unsigned width = getElementTypeOrSelf(a.type()).getIntOrFloatBitWidth();
  return {a.f, arith::BitcastOp::create(a.f->b, withElement(a.type(), a.f->b.getIntegerType(width)), a.v)};
}

Num fromBits(Num a) {
  bool wide = getElementTypeOrSelf(a.type()).getIntOrFloatBitWidth() == 64;
  Type element = wide ? Type(a.f->b.getF64Type()) : Type(a.f->b.getF32Type());
  return {a.f, arith::BitcastOp::create(a.f->b, withElement(a.type(), element), a.v)};
}

template <typename Conversion> static Num castTo(Num a, Type element) {
  return {a.f, Conversion::create(a.f->b, withElement(a.type(), element), a.v)};
}

Num toDouble(Num a) { return castTo<arith::ExtFOp>(a, a.f->b.getF64Type()); }
Num toFloat(Num a) { return castTo<arith::TruncFOp>(a, a.f->b.getF32Type()); }
Num toInt32(Num a) { return castTo<arith::TruncIOp>(a, a.f->b.getI32Type()); }
Num intToFloat(Num a) { return castTo<arith::SIToFPOp>(a, a.f->b.getF32Type()); }
Num intToDouble(Num a) { return castTo<arith::SIToFPOp>(a, a.f->b.getF64Type()); }

Num multiplyAdd(Num a, Num b, Num c) {
  if (a.f->machine.hasFma)
    return fma(a, b, c);
  constexpr auto contract = arith::FastMathFlags::contract;
  Value product = arith::MulFOp::create(a.f->b, a.v, b.v, contract);
  return {a.f, arith::AddFOp::create(a.f->b, product, c.v, contract)};
}

Num polynomial(Num x, std::initializer_list<double> c) {
  const double *next = c.end() - 1;
  Num sum = x(*next);
  while (next != c.begin())
    sum = multiplyAdd(sum, x, x(*--next));
  return sum;
}

/// Calls `whole` with each part of `a` (and of `b`) that is as long as the target's vectors, and
/// concatenates the results. If `a` is shorter than such a vector, it is padded with undefined
/// lanes.
static Value byVectors(Formula &f, Value a, Value b, llvm::function_ref<Value(Value, Value)> whole) {
  int64_t lanes = cast<VectorType>(a.getType()).getNumElements(), width = f.machine.lanes;
  auto lanesOf = [&](Value v, int64_t from, int64_t count, int64_t known) -> Value {
    if (known == count && from == 0 && count == cast<VectorType>(v.getType()).getNumElements())
      return v;
    SmallVector<int64_t> places(count, vector::ShuffleOp::kPoisonIndex);
    std::iota(places.begin(), places.begin() + known, from);
    return vector::ShuffleOp::create(f.b, v, v, places);
  };
  if (lanes <= width)
    return lanesOf(whole(lanesOf(a, 0, width, lanes), lanesOf(b, 0, width, lanes)), 0, lanes, lanes);
  Value result;
  for (int64_t from = 0; from < lanes; from += width) {
    Value part = whole(lanesOf(a, from, width, width), lanesOf(b, from, width, width));
    if (!result)
      result = f.constant(withElement(a.getType(), f.b.getF32Type()), 0.0);
    result = vector::InsertStridedSliceOp::create(f.b, part, result, ArrayRef<int64_t>{from}, ArrayRef<int64_t>{1});
  }
  return result;
}

Num ldexp(Num a, Num exponent) {
  Formula &f = *a.f;
  return {a.f, byVectors(f, a.v, exponent.v, [&](Value part, Value exponents) -> Value {
            Value all = arith::ConstantOp::create(f.b, f.b.getI16IntegerAttr(-1));
            // 4 selects the current rounding mode.
            Value asEver = arith::ConstantOp::create(f.b, f.b.getI32IntegerAttr(4));
            return LLVM::CallIntrinsicOp::create(f.b, part.getType(), f.machine.scale,
                                                 ValueRange{part, exponents, part, all, asEver})
                .getResult(0);
          })};
}

bool looksUp(Num x, int64_t places) {
  return x.f->machine.permute && x.f->machine.lanes == places && x.f->isOfVectors(x.type());
}

Num lookUp(Num places, ArrayRef<double> table) {
  Formula &f = *places.f;
  Value numbers = f.constant(table);
  return {places.f, byVectors(f, places.v, places.v, [&](Value part, Value) -> Value {
            return LLVM::CallIntrinsicOp::create(f.b, numbers.getType(), f.machine.permute, ValueRange{numbers, part})
                .getResult(0);
          })};
}

} // namespace hewn::codegen::vecmath

// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Elementwise/ElementwiseBodies.h"
#include "dialects/Graph/Builders/Element.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace hewn::graph::body {

NumberKind numberKind(Type elementType) {
  if (isa<FloatType>(elementType))
    return NumberKind::Float;
  if (elementType.isInteger(1))
    return NumberKind::Bool;
  return elementType.isUnsignedInteger() ? NumberKind::Unsigned : NumberKind::Signed;
}

Type withElement(Type like, Type element) {
  if (auto vector = dyn_cast<VectorType>(like))
    return VectorType::get(vector.getShape(), element);
  return element;
}

Value constant(Builder &e, Value like, double value) {
  Type type = like.getType(), element = getElementTypeOrSelf(type);
  TypedAttr attr;
  if (auto f = dyn_cast<FloatType>(element))
    attr = e.getFloatAttr(f, value);
  else
    attr = e.getIntegerAttr(element, int64_t(value));
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  return arith::ConstantOp::create(e, attr);
}

Value add(Builder &e, NumberKind kind, Value a, Value b) {
  return kind == NumberKind::Float ? e.createOrFold<arith::AddFOp>(a, b) : e.createOrFold<arith::AddIOp>(a, b);
}

Value sub(Builder &e, NumberKind kind, Value a, Value b) {
  return kind == NumberKind::Float ? e.createOrFold<arith::SubFOp>(a, b) : e.createOrFold<arith::SubIOp>(a, b);
}

Value mul(Builder &e, NumberKind kind, Value a, Value b) {
  return kind == NumberKind::Float ? e.createOrFold<arith::MulFOp>(a, b) : e.createOrFold<arith::MulIOp>(a, b);
}

Value div(Builder &e, NumberKind kind, Value a, Value b) {
  if (kind == NumberKind::Float)
    return e.createOrFold<arith::DivFOp>(a, b);
  // Integer division must not trap: division by 0 and MIN / -1 trap on CPUs. ONNX leaves their
  // results undefined, but no input may crash the process.
  Value zero = constant(e, b, 0), one = constant(e, b, 1);
  Value byZero = e.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, b, zero);
  Value divisor = e.createOrFold<arith::SelectOp>(byZero, one, b);
  if (kind == NumberKind::Unsigned || kind == NumberKind::Bool)
    return e.createOrFold<arith::SelectOp>(byZero, zero, e.createOrFold<arith::DivUIOp>(a, divisor));
  Value byMinusOne = e.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, b, constant(e, b, -1));
  divisor = e.createOrFold<arith::SelectOp>(byMinusOne, one, divisor);
  Value quotient = e.createOrFold<arith::DivSIOp>(a, divisor);
  quotient = e.createOrFold<arith::SelectOp>(byMinusOne, e.createOrFold<arith::SubIOp>(zero, a), quotient);
  return e.createOrFold<arith::SelectOp>(byZero, zero, quotient);
}

Value neg(Builder &e, NumberKind kind, Value a) {
  return kind == NumberKind::Float ? e.createOrFold<arith::NegFOp>(a)
                                   : e.createOrFold<arith::SubIOp>(constant(e, a, 0), a);
}

Value abs(Builder &e, NumberKind kind, Value a) {
  if (kind == NumberKind::Float)
    return e.createOrFold<math::AbsFOp>(a);
  return kind == NumberKind::Signed ? maximum(e, kind, a, neg(e, kind, a)) : a;
}

Value compare(Builder &e, NumberKind kind, Order order, Value a, Value b) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  static const F floats[] = {F::OEQ, F::UNE, F::OLT, F::OLE, F::OGT, F::OGE};
  static const I signeds[] = {I::eq, I::ne, I::slt, I::sle, I::sgt, I::sge};
  static const I unsigneds[] = {I::eq, I::ne, I::ult, I::ule, I::ugt, I::uge};
  if (kind == NumberKind::Float)
    return e.createOrFold<arith::CmpFOp>(floats[int(order)], a, b);
  return e.createOrFold<arith::CmpIOp>((kind == NumberKind::Signed ? signeds : unsigneds)[int(order)], a, b);
}

/// Emits a minimum or maximum of two numbers. The result is NaN if one of them is, unless `nnan` is
/// set. If both numbers are zeros, the sign of the result is undefined.
template <class Chooser> static Value extreme(Builder &e, Value a, Value b, bool nnan = false) {
  Value chosen = e.createOrFold<Chooser>(a, b);
  if (auto op = chosen.getDefiningOp<Chooser>())
    op.setFastmath(nnan ? arith::FastMathFlags::nsz | arith::FastMathFlags::nnan : arith::FastMathFlags::nsz);
  return chosen;
}

Value minimum(Builder &e, NumberKind kind, Value a, Value b) {
  if (kind == NumberKind::Float)
    return extreme<arith::MinimumFOp>(e, a, b);
  return e.createOrFold<arith::SelectOp>(compare(e, kind, Order::Less, a, b), a, b);
}

Value maximum(Builder &e, NumberKind kind, Value a, Value b, bool nnan) {
  if (kind == NumberKind::Float)
    return extreme<arith::MaximumFOp>(e, a, b, nnan);
  return e.createOrFold<arith::SelectOp>(compare(e, kind, Order::Greater, a, b), a, b);
}

Value sign(Builder &e, NumberKind kind, Value x) {
  Value zero = constant(e, x, 0), one = constant(e, x, 1);
  // The sign op returns zeros and NaN unchanged, because they are neither greater nor less than
  // zero.
  Value rest = x;
  if (kind == NumberKind::Float || kind == NumberKind::Signed)
    rest = e.createOrFold<arith::SelectOp>(compare(e, kind, Order::Less, x, zero), constant(e, x, -1), x);
  return e.createOrFold<arith::SelectOp>(compare(e, kind, Order::Greater, x, zero), one, rest);
}

Value remainder(Builder &e, NumberKind kind, bool truncated, Value a, Value b) {
  Value zero = constant(e, b, 0);
  Value rest = kind == NumberKind::Float ? e.createOrFold<arith::RemFOp>(a, b)
                                         : sub(e, kind, a, mul(e, kind, div(e, kind, a, b), b));
  if (truncated || kind == NumberKind::Unsigned || kind == NumberKind::Bool)
    return rest;
  Value differ =
      e.createOrFold<arith::XOrIOp>(compare(e, kind, Order::Less, rest, zero), compare(e, kind, Order::Less, b, zero));
  Value isZero = compare(e, kind, Order::Equal, rest, zero);
  Value moved = e.createOrFold<arith::SelectOp>(differ, add(e, kind, rest, b), rest);
  Value whole = kind == NumberKind::Float ? Value(math::CopySignOp::create(e, rest, b)) : rest;
  return e.createOrFold<arith::SelectOp>(isZero, whole, moved);
}

/// Emits an integer power by repeated squaring, exact modulo 2^width. Only the lowest six bits of
/// the exponent and its parity matter: with 64 or more factors, the power of any base other than 0,
/// 1 and -1 overflows every integer type.
static Value integerPow(Builder &e, NumberKind baseKind, NumberKind exponentKind, Value base, Value exponent) {
  using Kind = NumberKind;
  Value one = constant(e, base, 1), expOne = constant(e, exponent, 1), expZero = constant(e, exponent, 0);
  auto isSet = [&](Value bits) { return compare(e, exponentKind, Order::NotEqual, bits, expZero); };
  Value parity = e.createOrFold<arith::AndIOp>(exponent, expOne);
  Value bounded = minimum(e, exponentKind, exponent, add(e, exponentKind, constant(e, exponent, 62), parity));
  Value result = one, power = base;
  for (int bit = 0; bit < 6; ++bit) {
    Value chosen = isSet(e.createOrFold<arith::AndIOp>(bounded, constant(e, exponent, double(1 << bit))));
    result = e.createOrFold<arith::SelectOp>(chosen, e.createOrFold<arith::MulIOp>(result, power), result);
    power = e.createOrFold<arith::MulIOp>(power, power);
  }
  if (exponentKind != Kind::Signed)
    return result;
  // For negative exponents, the integer power is a reciprocal. It is an integer only for the bases
  // 1 and -1; for other bases it rounds to zero.
  Value zero = constant(e, base, 0), inverse = zero;
  if (baseKind == Kind::Signed) {
    Value minusOne = constant(e, base, -1);
    Value byParity = e.createOrFold<arith::SelectOp>(isSet(parity), minusOne, one);
    inverse = e.createOrFold<arith::SelectOp>(compare(e, baseKind, Order::Equal, base, minusOne), byParity, zero);
  }
  inverse = e.createOrFold<arith::SelectOp>(compare(e, baseKind, Order::Equal, base, one), one, inverse);
  return e.createOrFold<arith::SelectOp>(compare(e, exponentKind, Order::Less, exponent, expZero), inverse, result);
}

/// Returns the value of the exponent of a power if it is a constant.
static std::optional<double> knownExponent(Value exponent) {
  Attribute known;
  if (!matchPattern(exponent, m_Constant(&known)))
    return std::nullopt;
  if (auto splat = dyn_cast<SplatElementsAttr>(known))
    known = splat.getSplatValue<Attribute>();
  if (auto number = dyn_cast<FloatAttr>(known))
    return number.getValueAsDouble();
  if (auto number = dyn_cast<IntegerAttr>(known))
    return number.getValue().getSExtValue();
  return std::nullopt;
}

Value pow(Builder &e, Type baseType, Type exponentType, Value base, Value exponent) {
  bool integer = isa<IntegerType>(baseType);
  if (integer && isa<IntegerType>(exponentType))
    return integerPow(e, numberKind(baseType), numberKind(exponentType), base, exponent);
  // Powers with the most frequent constant exponents become multiplications or a square root: x^2,
  // x^3, x^0.5.
  if (std::optional<double> p = knownExponent(exponent); p && !integer) {
    if (*p == 2.0)
      return e.createOrFold<arith::MulFOp>(base, base);
    if (*p == 3.0)
      return e.createOrFold<arith::MulFOp>(e.createOrFold<arith::MulFOp>(base, base), base);
    if (*p == 0.5)
      return math::SqrtOp::create(e, base);
    if (*p == 1.0)
      return base;
  }
  Type work = integer || computeType(baseType).isF64() ? Type(e.getF64Type()) : Type(e.getF32Type());
  Value x = cast(e, baseType, work, base), y = cast(e, exponentType, work, exponent);
  return cast(e, work, baseType, math::PowFOp::create(e, x, y));
}

Value isInfinite(Builder &e, bool negative, bool positive, Value x) {
  const double infinity = std::numeric_limits<double>::infinity();
  auto is = [&](double value) { return compare(e, NumberKind::Float, Order::Equal, x, constant(e, x, value)); };
  if (negative && positive)
    return e.createOrFold<arith::OrIOp>(is(-infinity), is(infinity));
  if (negative || positive)
    return is(negative ? -infinity : infinity);
  return arith::CmpFOp::create(e, arith::CmpFPredicate::AlwaysFalse, x, x);
}

Value flipBits(Builder &e, Value x) { return e.createOrFold<arith::XOrIOp>(x, constant(e, x, -1)); }

Value shift(Builder &e, NumberKind kind, bool left, Value x, Value amount) {
  unsigned width = getElementTypeOrSelf(x.getType()).getIntOrFloatBitWidth();
  bool keepsSign = !left && kind == NumberKind::Signed;
  // An unsigned comparison with the width also covers negative shift amounts: as unsigned numbers
  // they are larger than the width.
  Value beyond = e.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::uge, amount, constant(e, amount, width));
  Value bits = e.createOrFold<arith::SelectOp>(beyond, constant(e, amount, keepsSign ? double(width - 1) : 0), amount);
  if (keepsSign)
    return e.createOrFold<arith::ShRSIOp>(x, bits);
  Value shifted = left ? e.createOrFold<arith::ShLIOp>(x, bits) : e.createOrFold<arith::ShRUIOp>(x, bits);
  return e.createOrFold<arith::SelectOp>(beyond, constant(e, x, 0), shifted);
}

/// Rounds a float of compute type to a storage type with fewer bits, and converts it back.
static Value roundTo(Builder &e, Type storage, Value x) {
  Type compute = computeType(storage);
  if (compute == storage)
    return x;
  Value narrow = e.createOrFold<arith::TruncFOp>(withElement(x.getType(), storage), x);
  return arith::ExtFOp::create(e, withElement(x.getType(), compute), narrow);
}

/// Clamps a float to the finite values of a type. NaN is returned unchanged.
static Value saturateTo(Builder &e, Type to, Value x) {
  double limit = APFloat::getLargest(cast<FloatType>(to).getFloatSemantics()).convertToDouble();
  for (double bound : {limit, -limit}) {
    Value edge = constant(e, x, bound);
    Value beyond = compare(e, NumberKind::Float, bound > 0 ? Order::Greater : Order::Less, x, edge);
    x = e.createOrFold<arith::SelectOp>(beyond, edge, x);
  }
  return x;
}

/// Converts float64 to float32 with round-to-odd: truncates toward zero, and sets the last bit if
/// the result is inexact. Rounding this result to a type with fewer bits gives the correctly
/// rounded value. Numbers beyond float32 become infinity.
static Value truncateOdd(Builder &e, Type type, Value x) {
  constexpr double beyond = 0x1p128;
  Value near = e.createOrFold<arith::TruncFOp>(type, x), back = e.createOrFold<arith::ExtFOp>(x.getType(), near);
  Value size = abs(e, NumberKind::Float, x);
  Value above = compare(e, NumberKind::Float, Order::Greater, abs(e, NumberKind::Float, back), size);
  Value fits = compare(e, NumberKind::Float, Order::Less, size, constant(e, size, beyond));
  Value cut = compare(e, NumberKind::Float, Order::NotEqual, back, x);
  Value bits = e.createOrFold<arith::BitcastOp>(withElement(type, e.getI32Type()), near), one = constant(e, bits, 1);
  above = e.createOrFold<arith::AndIOp>(above, fits);
  cut = e.createOrFold<arith::AndIOp>(cut, fits);
  bits = e.createOrFold<arith::SelectOp>(above, e.createOrFold<arith::SubIOp>(bits, one), bits);
  bits = e.createOrFold<arith::SelectOp>(cut, e.createOrFold<arith::OrIOp>(bits, one), bits);
  return e.createOrFold<arith::BitcastOp>(type, bits);
}

/// Rounds a float32 to f8E8M0FNU, the 8-bit type whose values are powers of two. Drops the sign,
/// and converts infinity to NaN.
static Value toPowerOfTwo(Builder &e, Value x, bool saturate, StringRef roundMode) {
  constexpr int64_t one = 1 << 23, special = 255 << 23, largest = 254 << 23;
  Value bits = e.createOrFold<arith::BitcastOp>(withElement(x.getType(), e.getI32Type()), x);
  auto integer = [&](int64_t value) { return constant(e, bits, double(value)); };
  auto mask = [&](int64_t which) -> Value { return e.createOrFold<arith::AndIOp>(bits, integer(which)); };
  auto is = [&](Value value, Order order, int64_t other) {
    return compare(e, NumberKind::Signed, order, value, integer(other));
  };
  auto choose = [&](Value condition, Value a, Value b) { return e.createOrFold<arith::SelectOp>(condition, a, b); };
  Value exponent = mask(special);
  if (roundMode != "down") {
    // Rounding to the nearest power of two: ties round up, except for the tie between the two
    // smallest powers.
    Value up = is(mask(one - 1), Order::Greater, roundMode == "up" ? 0 : one / 2);
    if (roundMode == "nearest")
      up = choose(is(exponent, Order::Greater, 0), is(mask(one - 1), Order::Greater, one / 2 - 1), up);
    Value more = e.createOrFold<arith::AddIOp>(exponent, choose(up, integer(one), integer(0)));
    Value stays = is(exponent, Order::Greater, saturate ? largest - 1 : special - 1);
    exponent = choose(stays, exponent, more);
  }
  // Exponents below 1 become the bit pattern of the smallest power, 2^-127, which is a denormal
  // float32.
  exponent = choose(is(exponent, Order::Less, one), integer(one / 2), exponent);
  exponent = choose(is(exponent, Order::Greater, largest), integer(special + one / 2), exponent);
  return e.createOrFold<arith::BitcastOp>(x.getType(), exponent);
}

/// Converts a float of compute type to the value that an element of type `to` would store.
static Value narrowTo(Builder &e, Type to, Value x, bool saturate, StringRef roundMode) {
  if (isa<Float8E8M0FNUType>(to))
    return toPowerOfTwo(e, x, saturate, roundMode);
  unsigned width = to.getIntOrFloatBitWidth();
  if (width < 8 || (saturate && width == 8))
    x = saturateTo(e, to, x);
  return roundTo(e, to, x);
}

Value cast(Builder &e, Type from, Type to, Value x, bool saturate, StringRef roundMode) {
  Type source = computeType(from), target = computeType(to);
  Type type = withElement(x.getType(), target);
  NumberKind kind = numberKind(from);
  if (isa<FloatType>(from)) {
    if (to.isInteger(1))
      return compare(e, NumberKind::Float, Order::NotEqual, x, constant(e, x, 0.0));
    if (isa<FloatType>(to)) {
      if (source.getIntOrFloatBitWidth() < target.getIntOrFloatBitWidth())
        return e.createOrFold<arith::ExtFOp>(type, x);
      // A float64 is rounded to a type with fewer bits than float32 in a single step: rounding to
      // float32 first may give another result at a tie.
      bool narrows = source.getIntOrFloatBitWidth() > target.getIntOrFloatBitWidth();
      if (narrows && isa<Float8E8M0FNUType>(to))
        x = truncateOdd(e, type, x);
      else if (narrows && to == target)
        x = e.createOrFold<arith::TruncFOp>(type, x);
      return from == to ? x : narrowTo(e, to, x, saturate, roundMode);
    }
    // The cast of a float to a smaller integer type goes through 64-bit integers. Numbers out of
    // range then wrap around, as in NumPy; a direct conversion would give poison.
    Type wide = withElement(x.getType(), e.getI64Type());
    if (to.isUnsignedInteger(64))
      return e.createOrFold<arith::FPToUIOp>(wide, x);
    Value integer = to.getIntOrFloatBitWidth() <= 16 || to.isUnsignedInteger(32) || to.isInteger(64)
                        ? e.createOrFold<arith::FPToSIOp>(wide, x)
                        : e.createOrFold<arith::FPToSIOp>(withElement(x.getType(), e.getI32Type()), x);
    return integer.getType() == type ? integer : e.createOrFold<arith::TruncIOp>(type, integer);
  }
  if (isa<FloatType>(to)) {
    Value value = kind == NumberKind::Signed ? e.createOrFold<arith::SIToFPOp>(type, x)
                                             : e.createOrFold<arith::UIToFPOp>(type, x);
    return narrowTo(e, to, value, saturate, roundMode);
  }
  if (to.isInteger(1))
    return from.isInteger(1) ? x : compare(e, kind, Order::NotEqual, x, constant(e, x, 0));
  unsigned a = source.getIntOrFloatBitWidth(), b = target.getIntOrFloatBitWidth();
  if (a == b)
    return x;
  if (a > b)
    return e.createOrFold<arith::TruncIOp>(type, x);
  return kind == NumberKind::Signed ? e.createOrFold<arith::ExtSIOp>(type, x) : e.createOrFold<arith::ExtUIOp>(type, x);
}

/// Convert an element to an integer that has the element's bits in memory, and such an integer back
/// to an element.
static Value toBits(Builder &e, Type storage, Value x) {
  unsigned width = storage.isInteger(1) ? 8 : storage.getIntOrFloatBitWidth();
  Type bits = withElement(x.getType(), e.getIntegerType(width));
  if (storage.isInteger(1))
    return e.createOrFold<arith::ExtUIOp>(bits, x);
  if (isa<IntegerType>(storage))
    return x;
  if (computeType(storage) != storage)
    x = e.createOrFold<arith::TruncFOp>(withElement(x.getType(), storage), x);
  return e.createOrFold<arith::BitcastOp>(bits, x);
}

static Value fromBits(Builder &e, Type storage, Value bits) {
  if (storage.isInteger(1))
    return compare(e, NumberKind::Unsigned, Order::NotEqual, bits, constant(e, bits, 0));
  if (isa<IntegerType>(storage))
    return bits;
  Value stored = e.createOrFold<arith::BitcastOp>(withElement(bits.getType(), storage), bits);
  Type compute = computeType(storage);
  return compute == storage ? stored : e.createOrFold<arith::ExtFOp>(withElement(bits.getType(), compute), stored);
}

Value bitCast(Builder &e, Type from, Type to, Value x) { return fromBits(e, to, toBits(e, from, x)); }

Value term(Builder &e, Value x, int64_t index, int64_t count) {
  constexpr double largest = 3.3895313892515355e38, infinity = std::numeric_limits<double>::infinity();
  constexpr double half = 0x8000, upper = -0x10000, signBit = double(std::numeric_limits<int32_t>::min()),
                   one = 0x3f800000;
  NumberKind kind = NumberKind::Float;
  Type word = withElement(x.getType(), e.getI32Type());
  auto bits = [&](Value v) { return e.createOrFold<arith::BitcastOp>(word, v); };
  auto number = [&](Value v) { return e.createOrFold<arith::BitcastOp>(x.getType(), v); };
  // Rounds a float32 to bfloat16 to get one component of its split: to nearest, ties away from
  // zero. This takes two instructions, and the sum of the components is as accurate as with ties to
  // even.
  auto rounded = [&](Value v) {
    Value up = e.createOrFold<arith::AddIOp>(bits(v), constant(e, bits(v), half));
    return number(e.createOrFold<arith::AndIOp>(up, constant(e, up, upper)));
  };
  Value finite = compare(e, kind, Order::Less, abs(e, kind, x), constant(e, x, infinity));
  // clamps a finite x; for NaN, the comparisons are false, and the code below replaces the result
  auto within = [&](Value v, Order order, double bound) {
    Value limit = constant(e, v, bound);
    return e.createOrFold<arith::SelectOp>(compare(e, kind, order, v, limit), v, limit);
  };
  auto bounded = [&](Value v, double bound) { return within(within(v, Order::Less, bound), Order::Greater, -bound); };
  Value found = rounded(bounded(x, largest)), rest = sub(e, kind, x, found), other = constant(e, x, 0);
  if (index == 0) {
    Value sign = e.createOrFold<arith::AndIOp>(bits(x), constant(e, bits(x), signBit));
    other = number(e.createOrFold<arith::OrIOp>(sign, constant(e, sign, one)));
  }
  constexpr double step = 256; // keeps the sum of the first two components from overflowing
  for (int64_t i = 1; i <= index; ++i) {
    found = i == 1 ? bounded(rest, largest / step) : rest;
    if (i + 1 < count)
      found = rounded(found);
    rest = sub(e, kind, rest, found);
  }
  if (index + 1 == count)
    other = x;
  Value chosen = e.createOrFold<arith::SelectOp>(finite, found, other);
  return index + 1 < count ? chosen : roundTo(e, e.getBF16Type(), chosen);
}

//===------------------------------------------------------------------------------------------===//
// Operands and shapes
//===------------------------------------------------------------------------------------------===//

static bool accepted(Accepts accepts, Type element) {
  switch (accepts) {
  case Accepts::Any:
    return true;
  case Accepts::Number:
    return !element.isInteger(1);
  case Accepts::Float:
    return isa<FloatType>(element);
  case Accepts::Integer:
    return isa<IntegerType>(element) && !element.isInteger(1);
  case Accepts::Bool:
    return element.isInteger(1);
  }
  return false;
}

static LogicalResult accept(Operation *op, Accepts accepts) {
  static const char *const names[] = {"anything", "numbers", "floats", "integers", "bools"};
  for (Value operand : op->getOperands())
    if (!accepted(accepts, getElementType(operand)))
      return op->emitOpError() << "takes " << names[int(accepts)] << ", not " << getElementType(operand);
  return success();
}

LogicalResult verifySameElementType(Operation *op, Accepts accepts) {
  for (Value operand : op->getOperands().drop_front())
    if (getElementType(operand) != getElementType(op->getOperand(0)))
      return op->emitOpError() << "operands differ in element type: " << getElementType(op->getOperand(0)) << " and "
                               << getElementType(operand);
  return accept(op, accepts);
}

LogicalResult verifyNumeric(Operation *op) { return accept(op, Accepts::Number); }

LogicalResult verifySelect(Operation *op) {
  if (!getElementType(op->getOperand(0)).isInteger(1))
    return op->emitOpError() << "requires a bool condition, not " << getElementType(op->getOperand(0));
  if (getElementType(op->getOperand(1)) != getElementType(op->getOperand(2)))
    return op->emitOpError() << "operands differ in element type: " << getElementType(op->getOperand(1)) << " and "
                             << getElementType(op->getOperand(2));
  return success();
}

LogicalResult verifyShift(Operation *op, StringRef direction) {
  if (direction != "LEFT" && direction != "RIGHT")
    return op->emitOpError() << "direction '" << direction << "' is neither LEFT nor RIGHT";
  return verifySameElementType(op, Accepts::Integer);
}

LogicalResult verifyBitCast(Operation *op, Type to) {
  auto width = [](Type type) { return type.isInteger(1) ? 8 : type.getIntOrFloatBitWidth(); };
  Type from = getElementType(op->getOperand(0));
  if (!isa<FloatType, IntegerType>(to) || width(from) != width(to))
    return op->emitOpError() << from << " and " << to << " differ in width";
  return success();
}

LogicalResult verifyTerm(Operation *op, int64_t index, int64_t count) {
  if (count < 2 || count > 3 || index < 0 || index >= count)
    return op->emitOpError() << "has no component " << index << " of " << count
                             << ": the count must be 2 or 3, and indices start at 0";
  if (!getElementType(op->getOperand(0)).isF32())
    return op->emitOpError() << "takes float32, not " << getElementType(op->getOperand(0));
  return success();
}

LogicalResult verifyGelu(Operation *op, StringRef approximate) {
  if (approximate != "none" && approximate != "tanh")
    return op->emitOpError() << "approximation '" << approximate << "' is neither none nor tanh";
  return verifySameElementType(op, Accepts::Float);
}

LogicalResult inferElementwise(Operation *op, DimsOf dimsOf, Type elementType, SmallVectorImpl<TensorShape> &results) {
  SmallVector<Dims> shapes = llvm::map_to_vector(op->getOperands(), [&](Value v) { return dimsOf(v); });
  std::optional<Dims> dims = broadcastDims(shapes);
  if (!dims) {
    InFlightDiagnostic error = op->emitOpError("operands do not broadcast:");
    for (const Dims &shape : shapes) {
      error << " [";
      llvm::interleaveComma(shape, error, [&](const DimExpr &d) { error << d.str(); });
      error << "]";
    }
    return error;
  }
  results.push_back({std::move(*dims), elementType});
  return success();
}

} // namespace hewn::graph::body

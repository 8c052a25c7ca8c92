// SPDX-License-Identifier: Apache-2.0
//
// Expands conversions of float8, float4 and, without hardware support, 16-bit floats (see
// Passes.td).
#include "lib/Codegen/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace hewn::codegen {
#define GEN_PASS_DEF_EXPANDFLOAT8PASS
#include "lib/Codegen/Passes.h.inc"

namespace {

/// A float format of at most 16 bits: sign, exponent, and `mantissa` bits. `largest` (the largest
/// finite magnitude), `overflow` (the result of rounding larger values) and `nan` are bit patterns.
/// Formats without a negative zero use its bit pattern for NaN.
struct Format {
  int mantissa, bias;
  int64_t largest, overflow, nan;
  bool negativeZero = true;
  int width = 8;
};

std::optional<Format> formatOf(Type type) {
  if (isa<Float8E4M3FNType>(type))
    return Format{3, 7, 0x7e, 0x7f, 0x7f};
  if (isa<Float8E5M2Type>(type))
    return Format{2, 15, 0x7b, 0x7c, 0x7e};
  if (isa<Float8E4M3FNUZType>(type))
    return Format{3, 8, 0x7f, 0x80, 0x80, false};
  if (isa<Float8E5M2FNUZType>(type))
    return Format{2, 16, 0x7f, 0x80, 0x80, false};
  if (isa<Float4E2M1FNType>(type)) // has no infinity; NaN becomes -0
    return Format{1, 1, 0x7, 0x7, 0x8, true, 4};
  if (isa<Float8E8M0FNUType>(type)) // exponent only
    return Format{0, 127, 0xfe, 0xff, 0xff, false};
  if (isa<Float16Type>(type))
    return Format{10, 15, 0x7bff, 0x7c00, 0x7e00, true, 16};
  if (isa<BFloat16Type>(type))
    return Format{7, 127, 0x7f7f, 0x7f80, 0x7fc0, true, 16};
  return std::nullopt;
}

class Writer {
public:
  Writer(ImplicitLocOpBuilder &b, Type shape, const Format &format) : b(b), shape(shape), f(format) {}

  /// Extends a value of the format `f` to f32.
  Value widen(Value x) {
    Value code = arith::ExtUIOp::create(b, like(b.getI32Type()), arith::BitcastOp::create(b, like(codeType()), x));
    if (f.width == 16 && f.bias == 127) // bfloat16
      return asFloat(shiftLeft(code, 16));
    if (f.mantissa == 0) {
      // The smallest value of the format (2^-127 in float8 E8M0) is subnormal in f32.
      Value bits = choose(equal(code, 0), integer(1 << 22), shiftLeft(code, 23));
      return asFloat(choose(equal(code, f.nan), integer(kNaN), bits));
    }
    int64_t signBit = int64_t(1) << (f.width - 1);
    Value magnitude = bitAnd(code, signBit - 1), sign = shiftLeft(bitAnd(code, signBit), 32 - f.width);
    Value scaled =
        arith::MulFOp::create(b, asFloat(shiftLeft(magnitude, 23 - f.mantissa)), number(std::ldexp(1.0, 127 - f.bias)));
    Value bits = arith::OrIOp::create(b, asInteger(scaled), sign);
    if (f.width < 8)
      return asFloat(bits);
    if (!f.negativeZero) {
      bits = choose(equal(code, f.nan), integer(kNaN), bits);
    } else {
      bits = choose(greater(magnitude, f.largest), integer(kNaN), bits);
      if (f.overflow != f.nan)
        bits = choose(equal(magnitude, f.overflow), arith::OrIOp::create(b, integer(kInfinity), sign), bits);
    }
    return asFloat(bits);
  }

  /// Rounds an f32 to the format `f`, whose MLIR type is `target`.
  Value narrow(Value x, Type target) {
    Value bits = asInteger(x), magnitude = bitAnd(bits, 0x7fffffff);
    if (f.mantissa == 0)
      return asCode(bitAnd(arith::ShRUIOp::create(b, bits, integer(23)), 0xff), target);
    Value sign = bitAnd(arith::ShRUIOp::create(b, bits, integer(32 - f.width)), int64_t(1) << (f.width - 1));
    Value code = choose(less(magnitude, int64_t(127 + 1 - f.bias) << 23), subnormal(magnitude), normal(magnitude));
    code = choose(greater(code, f.largest), integer(f.overflow), code);
    code = choose(greater(magnitude, kInfinity), integer(f.nan), code);
    if (f.negativeZero)
      code = arith::OrIOp::create(b, code, sign);
    else // zero and NaN must not get a sign bit
      code = choose(arith::OrIOp::create(b, equal(code, 0), equal(code, f.nan)), code,
                    arith::OrIOp::create(b, code, sign));
    return asCode(code, target);
  }

  /// Converts `x` to an f32 that rounds to the same value of the format as `x` does.
  Value toFloat32(Value x) {
    unsigned width = getElementTypeOrSelf(x.getType()).getIntOrFloatBitWidth();
    if (width == 32)
      return x;
    return width < 32 ? Value(arith::ExtFOp::create(b, like(b.getF32Type()), x)) : toOdd(x);
  }
  Value fromFloat32(Value x, Type target) {
    unsigned width = target.getIntOrFloatBitWidth();
    if (width == 32)
      return x;
    return width < 32 ? Value(arith::TruncFOp::create(b, like(target), x))
                      : Value(arith::ExtFOp::create(b, like(target), x));
  }

private:
  static constexpr int64_t kInfinity = 0x7f800000, kNaN = 0x7fc00000;

  /// Rounds an f64 to f32 with round-to-odd: returns `x` if it is exact in f32, else the one of the
  /// two adjacent f32 values whose last bit is odd.
  Value toOdd(Value x) {
    Type wide = x.getType();
    Value near = arith::TruncFOp::create(b, like(b.getF32Type()), x), bits = asInteger(near);
    Value back = arith::ExtFOp::create(b, wide, near);
    Value lost = arith::CmpFOp::create(b, arith::CmpFPredicate::ONE, back, x);
    Value below =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, math::AbsFOp::create(b, back), math::AbsFOp::create(b, x));
    Value other = arith::AddIOp::create(b, bits, choose(below, integer(1), integer(-1)));
    return asFloat(choose(arith::AndIOp::create(b, lost, equal(bitAnd(bits, 1), 0)), other, bits));
  }

  Type codeType() { return b.getIntegerType(f.width); }
  Value asCode(Value code, Type target) {
    return arith::BitcastOp::create(b, like(target), arith::TruncIOp::create(b, like(codeType()), code));
  }

  /// Rounds magnitudes below the format's smallest normal number. Adds a power of two whose unit in
  /// the last place is that of the format's subnormals. The addition rounds, and leaves the bit
  /// pattern in the lowest bits of the sum.
  Value subnormal(Value magnitude) {
    Value magic = number(std::ldexp(1.0, 1 - f.bias - f.mantissa + 23));
    Value sum = arith::AddFOp::create(b, asFloat(magnitude), magic);
    return arith::SubIOp::create(b, asInteger(sum), asInteger(magic));
  }

  /// Rounds normal magnitudes to nearest even: adds half a unit in the format's last place to the
  /// bit pattern (less 1 if the last remaining bit is even), and truncates.
  Value normal(Value magnitude) {
    int dropped = 23 - f.mantissa;
    Value odd = bitAnd(arith::ShRUIOp::create(b, magnitude, integer(dropped)), 1);
    Value half = arith::AddIOp::create(b, odd, integer((int64_t(1) << (dropped - 1)) - 1));
    Value code = arith::ShRUIOp::create(b, arith::AddIOp::create(b, magnitude, half), integer(dropped));
    return arith::SubIOp::create(b, code, integer(int64_t(127 - f.bias) << f.mantissa));
  }

  Type like(Type element) {
    auto vector = dyn_cast<VectorType>(shape);
    return vector ? Type(VectorType::get(vector.getShape(), element, vector.getScalableDims())) : element;
  }
  Value constant(TypedAttr scalar) {
    Type type = like(scalar.getType());
    if (auto vector = dyn_cast<VectorType>(type))
      return arith::ConstantOp::create(b, DenseElementsAttr::get(vector, Attribute(scalar)));
    return arith::ConstantOp::create(b, scalar);
  }
  Value integer(int64_t value) { return constant(b.getI32IntegerAttr(int32_t(value))); }
  Value number(double value) { return constant(b.getF32FloatAttr(float(value))); }
  Value asFloat(Value bits) { return arith::BitcastOp::create(b, like(b.getF32Type()), bits); }
  Value asInteger(Value x) { return arith::BitcastOp::create(b, like(b.getI32Type()), x); }
  Value bitAnd(Value x, int64_t mask) { return arith::AndIOp::create(b, x, integer(mask)); }
  Value shiftLeft(Value x, int64_t bits) { return arith::ShLIOp::create(b, x, integer(bits)); }
  Value compare(arith::CmpIPredicate how, Value x, int64_t y) { return arith::CmpIOp::create(b, how, x, integer(y)); }
  Value equal(Value x, int64_t y) { return compare(arith::CmpIPredicate::eq, x, y); }
  Value less(Value x, int64_t y) { return compare(arith::CmpIPredicate::slt, x, y); }
  Value greater(Value x, int64_t y) { return compare(arith::CmpIPredicate::sgt, x, y); }
  Value choose(Value condition, Value x, Value y) { return arith::SelectOp::create(b, condition, x, y); }

  ImplicitLocOpBuilder &b;
  Type shape;
  const Format &f;
};

struct ExpandFloat8Pass : impl::ExpandFloat8PassBase<ExpandFloat8Pass> {
  using ExpandFloat8PassBase::ExpandFloat8PassBase;

  /// Returns true if the pass rewrites conversions of the type and arithmetic on it.
  bool takes(Type type) const {
    if (isa<BFloat16Type>(type))
      return bfloat;
    return (half || !isa<Float16Type>(type)) && formatOf(type);
  }

  void runOnOperation() override {
    getOperation()->walk([&](Operation *op) {
      if ((half || bfloat) && OpTrait::hasElementwiseMappableTraits(op))
        computeInFloat32(op);
    });
    getOperation()->walk([&](Operation *op) {
      if (isa<arith::ExtFOp, arith::TruncFOp>(op))
        convert(op);
    });
  }

  void convert(Operation *op) {
    Value x = op->getOperand(0);
    Type to = op->getResult(0).getType(), target = getElementTypeOrSelf(to);
    bool widens = isa<arith::ExtFOp>(op);
    Type narrow = widens ? getElementTypeOrSelf(x.getType()) : target;
    std::optional<Format> format = formatOf(narrow);
    ImplicitLocOpBuilder b(op->getLoc(), op);
    Value result;
    // Conversions to and from types other than f32, which folding creates, go through f32.
    if (takes(narrow)) {
      Writer writer(b, to, *format);
      result = widens ? writer.fromFloat32(writer.widen(x), target) : writer.narrow(writer.toFloat32(x), target);
    } else if (!widens && format && getElementTypeOrSelf(x.getType()).isF64()) {
      result = arith::TruncFOp::create(b, to, Writer(b, to, *format).toFloat32(x));
    } else {
      return;
    }
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  }

  void computeInFloat32(Operation *op) {
    if (isa<arith::ExtFOp, arith::TruncFOp, arith::BitcastOp, arith::SelectOp>(op))
      return;
    auto held = [&](Type type) {
      Type element = getElementTypeOrSelf(type);
      return isa<Float16Type, BFloat16Type>(element) && takes(element);
    };
    OpBuilder b(op);
    auto wide = [&](Type type) -> Type {
      auto vector = dyn_cast<VectorType>(type);
      return vector ? Type(vector.clone(b.getF32Type())) : b.getF32Type();
    };
    for (OpOperand &operand : op->getOpOperands())
      if (Type type = operand.get().getType(); held(type))
        operand.set(arith::ExtFOp::create(b, op->getLoc(), wide(type), operand.get()));
    b.setInsertionPointAfter(op);
    for (OpResult result : op->getResults())
      if (Type type = result.getType(); held(type)) {
        result.setType(wide(type));
        auto back = arith::TruncFOp::create(b, op->getLoc(), type, result);
        result.replaceAllUsesExcept(back, back);
      }
  }
};

} // namespace
} // namespace hewn::codegen

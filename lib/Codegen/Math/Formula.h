// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic expressions in C++ that build arith and math ops, on scalars and vectors.
//
//     Num n = roundeven(x * kLog2E);        arith.mulf, math.roundeven
//     return select(x > 89.0, ...);         arith.cmpf, arith.select
//
// Clamps are a comparison and a select: one instruction on vector units, and NaN passes through.
// (arith.minimumf takes three instructions.)
#ifndef HEWN_LIB_CODEGEN_MATH_FORMULA_H
#define HEWN_LIB_CODEGEN_MATH_FORMULA_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/DenseMap.h"
#include <initializer_list>
#include <limits>

namespace hewn::codegen::vecmath {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Returns the type `like`, a scalar or vector type, with its element type replaced by `element`.
mlir::Type withElement(mlir::Type like, mlir::Type element);

/// The target's vector intrinsics (from plan.target), which are null if the target has none.
/// `lanes` is the number of float32 lanes of their vectors.
struct VectorIntrinsics {
  int64_t lanes = 0;
  mlir::StringAttr scale, permute;
  /// True if multiplyAdd is one instruction.
  bool hasFma = true;
};

/// Builds the ops of one formula. Each distinct constant is created once.
class Formula {
public:
  Formula(mlir::OpBuilder &b, mlir::Location loc, VectorIntrinsics machine = {}) : b(loc, b), machine(machine) {}
  /// Returns a constant of `type`, a scalar or vector type, with `value` in all lanes.
  mlir::Value constant(mlir::Type type, double value);
  mlir::Value constant(mlir::Type type, int64_t value);
  /// Returns a constant float32 vector with the values `lanes`, which are as many as the target's
  /// lanes.
  mlir::Value constant(llvm::ArrayRef<double> lanes);
  /// Returns true if the target's intrinsics can be applied to vectors of `type`: the number of
  /// lanes is a multiple of the target's number of lanes, or less than that.
  bool isOfVectors(mlir::Type type) const;

  mlir::ImplicitLocOpBuilder b;
  const VectorIntrinsics machine;

private:
  mlir::Value constant(mlir::Type type, mlir::TypedAttr element);
  llvm::DenseMap<std::pair<mlir::Type, mlir::Attribute>, mlir::Value> constants;
};

/// A value in a formula: an f32, f64, i32, i64 or i1, as a scalar or vector.
struct Num {
  Formula *f;
  mlir::Value v;

  mlir::Type type() const { return v.getType(); }
  bool isFloat() const { return llvm::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(v.getType())); }
  /// Returns a constant that has the type of this number.
  Num operator()(double value) const { return {f, f->constant(type(), value)}; }
  Num operator()(int64_t value) const { return {f, f->constant(type(), value)}; }
};

Num operator+(Num a, Num b);
Num operator-(Num a, Num b);
Num operator*(Num a, Num b);
Num operator/(Num a, Num b);
Num operator-(Num a);
inline Num operator+(Num a, double b) { return a + a(b); }
inline Num operator-(Num a, double b) { return a - a(b); }
inline Num operator*(Num a, double b) { return a * a(b); }
inline Num operator+(double a, Num b) { return b(a) + b; }
inline Num operator-(double a, Num b) { return b(a) - b; }
inline Num operator*(double a, Num b) { return b(a) * b; }
inline Num operator/(double a, Num b) { return b(a) / b; }

// Integer operations. An operand that is an int64_t is a constant of the other operand's type.
Num operator&(Num a, Num b);
Num operator|(Num a, Num b);
Num operator^(Num a, Num b);
Num shiftLeft(Num a, int64_t bits);
/// Shift right: arithmetically (shiftRight), or with zeros (shiftRightLogical).
Num shiftRight(Num a, int64_t bits);
Num shiftRightLogical(Num a, int64_t bits);
Num logicalNot(Num a);

/// Comparisons yield false if an operand is NaN. Integers are compared as signed.
Num operator<(Num a, Num b);
Num operator>(Num a, Num b);
Num operator<=(Num a, Num b);
Num equal(Num a, Num b);
inline Num operator<(Num a, double b) { return a < a(b); }
inline Num operator>(Num a, double b) { return a > a(b); }
inline Num operator<=(Num a, double b) { return a <= a(b); }
inline Num equal(Num a, double b) { return equal(a, a(b)); }

Num select(Num condition, Num a, Num b);
/// Returns a * b + c, rounded once.
Num fma(Num a, Num b, Num c);
inline Num fma(Num a, double b, Num c) { return fma(a, a(b), c); }
inline Num fma(Num a, Num b, double c) { return fma(a, b, a(c)); }
inline Num fma(Num a, double b, double c) { return fma(a, a(b), a(c)); }
/// Returns a * b + c, rounded once if the target has an FMA instruction, and twice otherwise.
Num multiplyAdd(Num a, Num b, Num c);
Num abs(Num a);
Num sqrt(Num a);
Num roundeven(Num a);
Num copysign(Num magnitude, Num sign);
/// Return `a` clamped to at most (atMost) or at least (atLeast) `bound`. NaN passes through.
Num atMost(Num a, double bound);
Num atLeast(Num a, double bound);

/// Returns a * 2^floor(exponent), rounded once. Requires the target's `scale` intrinsic, and a type
/// for which `isOfVectors` is true.
Num ldexp(Num a, Num exponent);
/// Returns, for each lane, the entry of `table` whose index is in the low bits of the lane of
/// `places` (i32). The table must have as many entries as the target's vectors have lanes.
Num lookUp(Num places, llvm::ArrayRef<double> table);
/// Returns true if the target supports `lookUp` for values of the type of `x` and tables with
/// `places` entries.
bool looksUp(Num x, int64_t places);

/// Bitcast a float to a signless integer of the same width (toBits), or such an integer to a float.
Num toBits(Num a);
Num fromBits(Num a);
/// Convert between f32 and f64, and from i64 to i32.
Num toDouble(Num a);
Num toFloat(Num a);
Num toInt32(Num a);
/// Convert a signed i32 to f32, or to f64.
Num intToFloat(Num a);
Num intToDouble(Num a);

/// Returns c[0] + c[1] x + c[2] x^2 + ..., evaluated by Horner's rule with multiplyAdd.
Num polynomial(Num x, std::initializer_list<double> c);

} // namespace hewn::codegen::vecmath

#endif

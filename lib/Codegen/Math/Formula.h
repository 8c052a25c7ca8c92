// SPDX-License-Identifier: Apache-2.0
//
// Formulas over scalars and vectors of numbers, written as C++ arithmetic that builds arith and math ops.
//
//     Num n = roundeven(x * kLog2E);        arith.mulf, math.roundeven
//     return select(x > 89.0, ...);         arith.cmpf, arith.select
//
// Clamps are select and compare: one instruction on vector units, and NaN passes through (arith.minimumf takes three).
#ifndef HEWN_LIB_CODEGEN_MATH_FORMULA_H
#define HEWN_LIB_CODEGEN_MATH_FORMULA_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/DenseMap.h"
#include <initializer_list>
#include <limits>

namespace hewn::codegen::vecmath {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A scalar or vector type as `like`, of these elements.
mlir::Type withElement(mlir::Type like, mlir::Type element);

/// The intrinsics for vectors of so many float32s that a machine has: those of #plan.target, null where it has none.
struct VectorIntrinsics {
  int64_t lanes = 0;
  mlir::StringAttr scale, permute;
};

/// Builds the ops of one formula; each constant once.
class Formula {
public:
  Formula(mlir::OpBuilder &b, mlir::Location loc, VectorIntrinsics machine = {}) : b(loc, b), machine(machine) {}
  /// The number `value` in `type`, a scalar or vector of floats or integers.
  mlir::Value constant(mlir::Type type, double value);
  mlir::Value constant(mlir::Type type, int64_t value);
  /// One for each lane of a vector of floats of the machine's width.
  mlir::Value constant(llvm::ArrayRef<double> lanes);
  /// Whether values of the type are as many vectors of the machine's width as it takes, or a part of one.
  bool isOfVectors(mlir::Type type) const;

  mlir::ImplicitLocOpBuilder b;
  const VectorIntrinsics machine;

private:
  mlir::Value constant(mlir::Type type, mlir::TypedAttr element);
  llvm::DenseMap<std::pair<mlir::Type, mlir::Attribute>, mlir::Value> constants;
};

/// A value in a formula: f32, f64, i32, i64 or i1, scalar or vector.
struct Num {
  Formula *f;
  mlir::Value v;

  mlir::Type type() const { return v.getType(); }
  bool isFloat() const { return llvm::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(v.getType())); }
  /// A constant of this value's type.
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

// Integers: an int64_t operand is a constant of the other's type.
Num operator&(Num a, Num b);
Num operator|(Num a, Num b);
Num operator^(Num a, Num b);
Num shiftLeft(Num a, int64_t bits);
/// Arithmetic and logical shifts to the right.
Num shiftRight(Num a, int64_t bits);
Num shiftRightLogical(Num a, int64_t bits);
Num logicalNot(Num a);

/// Comparisons are false where a NaN takes part; integers are signed.
Num operator<(Num a, Num b);
Num operator>(Num a, Num b);
Num operator<=(Num a, Num b);
Num equal(Num a, Num b);
inline Num operator<(Num a, double b) { return a < a(b); }
inline Num operator>(Num a, double b) { return a > a(b); }
inline Num operator<=(Num a, double b) { return a <= a(b); }
inline Num equal(Num a, double b) { return equal(a, a(b)); }

Num select(Num condition, Num a, Num b);
/// a * b + c, rounded once.
Num fma(Num a, Num b, Num c);
inline Num fma(Num a, double b, Num c) { return fma(a, a(b), c); }
inline Num fma(Num a, Num b, double c) { return fma(a, b, a(c)); }
inline Num fma(Num a, double b, double c) { return fma(a, a(b), a(c)); }
Num abs(Num a);
Num sqrt(Num a);
Num roundeven(Num a);
Num copysign(Num magnitude, Num sign);
/// a clamped to at most or at least `bound`; NaN stays.
Num atMost(Num a, double bound);
Num atLeast(Num a, double bound);

/// a * 2^floor(exponent), rounded once, of values `isOfVectors` of a machine that has the instruction.
Num ldexp(Num a, Num exponent);
/// Of a table with a number for each of the machine's lanes that whose place is in the low bits of `places` (i32): the same.
Num lookUp(Num places, llvm::ArrayRef<double> table);
/// Whether values like `x` are of a machine that has the instruction for tables of so many numbers.
bool looksUp(Num x, int64_t places);

/// The bits of a float as a signless integer of the same width, and back.
Num toBits(Num a);
Num fromBits(Num a);
/// Between widths: f32 and f64, i32 and i64.
Num toDouble(Num a);
Num toFloat(Num a);
Num toInt32(Num a);
/// A signed i32 as f32 or f64.
Num intToFloat(Num a);
Num intToDouble(Num a);

/// c[0] + c[1] x + c[2] x^2 + ..., by Horner's rule.
Num polynomial(Num x, std::initializer_list<double> c);

} // namespace hewn::codegen::vecmath

#endif

// SPDX-License-Identifier: Apache-2.0
//
// The functions that the op bodies in Elementwise.td and Activation.td call. They emit arithmetic
// on scalars or vectors. The parameter `NumberKind` selects signed, unsigned or float instructions.
#ifndef HEWN_DIALECTS_GRAPH_ELEMENTWISE_ELEMENTWISEBODIES_H
#define HEWN_DIALECTS_GRAPH_ELEMENTWISE_ELEMENTWISEBODIES_H

#include "dialects/Graph/Analysis/Shapes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace hewn::graph::body {

namespace arith = mlir::arith;
namespace math = mlir::math;
using Builder = mlir::ImplicitLocOpBuilder;
using mlir::Value;

enum class NumberKind { Float, Signed, Unsigned, Bool };
enum class Order { Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual };

NumberKind numberKind(mlir::Type elementType);
/// Returns a constant of the type of `like`, a scalar or vector. For integers, `value` is
/// truncated.
Value constant(Builder &e, Value like, double value);
/// Returns the type of `like` (a scalar or vector) with another element type.
mlir::Type withElement(mlir::Type like, mlir::Type element);

Value add(Builder &e, NumberKind kind, Value a, Value b);
Value sub(Builder &e, NumberKind kind, Value a, Value b);
Value mul(Builder &e, NumberKind kind, Value a, Value b);
/// Returns a / b. Integers are rounded toward zero. No division traps: x/0 is 0 and MIN/-1 is MIN
/// for integers.
Value div(Builder &e, NumberKind kind, Value a, Value b);
Value neg(Builder &e, NumberKind kind, Value a);
Value abs(Builder &e, NumberKind kind, Value a);
/// Returns the minimum or maximum, or NaN if an operand is NaN. Emits compare and select, which
/// vector units support.
Value minimum(Builder &e, NumberKind kind, Value a, Value b);
/// Returns the maximum. `nnan`: the result for NaN operands does not matter.
Value maximum(Builder &e, NumberKind kind, Value a, Value b, bool nnan = false);
Value compare(Builder &e, NumberKind kind, Order order, Value a, Value b);
Value sign(Builder &e, NumberKind kind, Value x);
/// Returns the remainder a - q*b, where q is a/b rounded toward zero (`truncated`) or down.
Value remainder(Builder &e, NumberKind kind, bool truncated, Value a, Value b);
Value pow(Builder &e, mlir::Type baseType, mlir::Type exponentType, Value base, Value exponent);
Value isInfinite(Builder &e, bool negative, bool positive, Value x);
Value flipBits(Builder &e, Value x);
Value shift(Builder &e, NumberKind kind, bool left, Value x, Value amount);
/// Converts `x` to the value that an element of another type stores. `x` and the result have the
/// compute types of their element types. `saturate`: values beyond a float8 type become its largest
/// value.
Value cast(Builder &e, mlir::Type from, mlir::Type to, Value x, bool saturate = true, llvm::StringRef roundMode = "up");
Value bitCast(Builder &e, mlir::Type from, mlir::Type to, Value x);
/// Returns component `index` of the split of x, a float32, into `count` components whose sum is x.
/// Each component is exactly representable as bfloat16.
Value term(Builder &e, Value x, int64_t index, int64_t count);

// Activations (ActivationBodies.cpp). Functions without a `NumberKind` parameter take floats only.
Value sigmoid(Builder &e, Value x);
Value leakyRelu(Builder &e, Value x, double alpha);
Value prelu(Builder &e, NumberKind kind, Value x, Value slope);
Value thresholdedRelu(Builder &e, Value x, double alpha);
/// Returns gamma * (x < 0 ? alpha * (e^x - 1) : x), the common formula of ELU and SELU.
Value elu(Builder &e, Value x, double alpha, double gamma);
Value celu(Builder &e, Value x, double alpha);
Value hardSigmoid(Builder &e, Value x, double alpha, double beta);
Value hardSwish(Builder &e, Value x);
Value swish(Builder &e, Value x, double alpha);
Value mish(Builder &e, Value x);
Value gelu(Builder &e, Value x, bool byTanh);
Value softplus(Builder &e, Value x);
Value softsign(Builder &e, Value x);
Value shrink(Builder &e, mlir::Type elementType, Value x, double bias, double lambd);

/// Categories of element types that an elementwise op accepts. The verifier of the op emits an
/// error for other types.
enum class Accepts { Any, Number, Float, Integer, Bool };
llvm::LogicalResult verifySameElementType(mlir::Operation *op, Accepts accepts);
llvm::LogicalResult verifyNumeric(mlir::Operation *op);
llvm::LogicalResult verifySelect(mlir::Operation *op);
llvm::LogicalResult verifyShift(mlir::Operation *op, llvm::StringRef direction);
llvm::LogicalResult verifyBitCast(mlir::Operation *op, mlir::Type to);
llvm::LogicalResult verifyTerm(mlir::Operation *op, int64_t index, int64_t count);
llvm::LogicalResult verifyGelu(mlir::Operation *op, llvm::StringRef approximate);

/// Returns the dims to which all operands of an op broadcast.
llvm::LogicalResult inferElementwise(mlir::Operation *op, DimsOf dimsOf, mlir::Type elementType,
                                     llvm::SmallVectorImpl<TensorShape> &results);

} // namespace hewn::graph::body

#endif

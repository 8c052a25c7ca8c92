// SPDX-License-Identifier: Apache-2.0
//
// What the rows of Elementwise.td are written in: arithmetic on scalars and
// vectors alike, by number kind.
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
/// A constant of `like`'s type, scalar or vector: `value`, or its integer part
/// for integers.
Value constant(Builder &e, Value like, double value);
/// `like`'s shape (scalar or vector) with another element type.
mlir::Type withElement(mlir::Type like, mlir::Type element);

Value add(Builder &e, NumberKind kind, Value a, Value b);
Value sub(Builder &e, NumberKind kind, Value a, Value b);
Value mul(Builder &e, NumberKind kind, Value a, Value b);
/// Integers round toward zero; x/0 and MIN/-1 are 0 and MIN rather than a trap.
Value div(Builder &e, NumberKind kind, Value a, Value b);
Value neg(Builder &e, NumberKind kind, Value a);
Value abs(Builder &e, NumberKind kind, Value a);
/// NaN where either is NaN; by compare and select, which is what vector units
/// have.
Value minimum(Builder &e, NumberKind kind, Value a, Value b);
/// `nnan`: of floats NaN may be lost.
Value maximum(Builder &e, NumberKind kind, Value a, Value b, bool nnan = false);
Value compare(Builder &e, NumberKind kind, Order order, Value a, Value b);
Value sign(Builder &e, NumberKind kind, Value x);
/// a - q*b, where q is a/b rounded toward zero (`truncated`) or down.
Value remainder(Builder &e, NumberKind kind, bool truncated, Value a, Value b);
Value pow(Builder &e, mlir::Type baseType, mlir::Type exponentType, Value base, Value exponent);
Value isInfinite(Builder &e, bool negative, bool positive, Value x);
Value flipBits(Builder &e, Value x);
Value shift(Builder &e, NumberKind kind, bool left, Value x, Value amount);
/// Between element types; `x` and the result are of compute types. `saturate`
/// is for float8 alone.
Value cast(Builder &e, mlir::Type from, mlir::Type to, Value x, bool saturate = true, llvm::StringRef roundMode = "up");
Value bitCast(Builder &e, mlir::Type from, mlir::Type to, Value x);
/// Term `index` of the `count` terms of bfloat16 that x, of float32, is the sum of; exactly a bfloat16.
Value term(Builder &e, Value x, int64_t index, int64_t count);

// Activations (ActivationBodies.cpp), of floats unless they take a kind.
Value sigmoid(Builder &e, Value x);
Value leakyRelu(Builder &e, Value x, double alpha);
Value prelu(Builder &e, NumberKind kind, Value x, Value slope);
Value thresholdedRelu(Builder &e, Value x, double alpha);
/// gamma * (x, or alpha * (e^x - 1) below zero).
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

/// What an op's operands may be: an op error where they are not.
enum class Accepts { Any, Number, Float, Integer, Bool };
llvm::LogicalResult verifySameElementType(mlir::Operation *op, Accepts accepts);
llvm::LogicalResult verifyNumeric(mlir::Operation *op);
llvm::LogicalResult verifySelect(mlir::Operation *op);
llvm::LogicalResult verifyShift(mlir::Operation *op, llvm::StringRef direction);
llvm::LogicalResult verifyBitCast(mlir::Operation *op, mlir::Type to);
llvm::LogicalResult verifyTerm(mlir::Operation *op, int64_t index, int64_t count);
llvm::LogicalResult verifyGelu(mlir::Operation *op, llvm::StringRef approximate);

/// Dims by broadcasting all operands.
llvm::LogicalResult inferElementwise(mlir::Operation *op, DimsOf dimsOf, mlir::Type elementType,
                                     llvm::SmallVectorImpl<TensorShape> &results);

} // namespace hewn::graph::body

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Formulas of the activations. No intermediate value overflows, and small results are accurate. The
// formulas only use math functions that all targets have in vectorized form (exp, log, tanh, erf).
#include "dialects/Graph/Elementwise/ElementwiseBodies.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace hewn::graph::body {

static constexpr NumberKind kFloat = NumberKind::Float;

static Value scaled(Builder &e, Value x, double factor) {
  return factor == 1.0 ? x : mul(e, kFloat, x, constant(e, x, factor));
}

static Value select(Builder &e, Value condition, Value a, Value b) {
  return e.createOrFold<arith::SelectOp>(condition, a, b);
}

static Value isNegative(Builder &e, Value x) { return compare(e, kFloat, Order::Less, x, constant(e, x, 0.0)); }

/// Emits e^-|x|, a number in (0, 1].
static Value decay(Builder &e, Value x) { return math::ExpOp::create(e, neg(e, kFloat, abs(e, kFloat, x))); }

/// Emits the sigmoid of x in a form in which nothing overflows. With t = e^-|x|, it is 1/(1+t) for
/// positive x and t/(1+t) for negative x.
static Value sigmoidByDecay(Builder &e, Value x) {
  Value t = decay(e, x), one = constant(e, x, 1.0);
  return div(e, kFloat, select(e, isNegative(e, x), t, one), add(e, kFloat, one, t));
}

Value sigmoid(Builder &e, Value x) {
  if (!getElementTypeOrSelf(x.getType()).isF32())
    return sigmoidByDecay(e, x);
  // The float32 sigmoid is 1/(1 + e^-x), here with numerator and denominator multiplied by 4. If
  // the quotient would be denormal, the multiplied denominator overflows to infinity, so the result
  // is 0. No other result changes, because x is clamped.
  Value bounded = maximum(e, kFloat, minimum(e, kFloat, x, constant(e, x, 86)), constant(e, x, -88));
  Value four = constant(e, x, 4), power = math::ExpOp::create(e, neg(e, kFloat, bounded));
  return div(e, kFloat, four, add(e, kFloat, scaled(e, power, 4), four));
}

Value leakyRelu(Builder &e, Value x, double alpha) { return select(e, isNegative(e, x), scaled(e, x, alpha), x); }

Value prelu(Builder &e, NumberKind kind, Value x, Value slope) {
  return select(e, compare(e, kind, Order::Less, x, constant(e, x, 0)), mul(e, kind, x, slope), x);
}

Value thresholdedRelu(Builder &e, Value x, double alpha) {
  return select(e, compare(e, kFloat, Order::Greater, x, constant(e, x, alpha)), x, constant(e, x, 0.0));
}

Value elu(Builder &e, Value x, double alpha, double gamma) {
  Value negative = isNegative(e, x);
  Value below = math::ExpM1Op::create(e, select(e, negative, x, constant(e, x, 0.0)));
  return select(e, negative, scaled(e, below, alpha * gamma), scaled(e, x, gamma));
}

Value celu(Builder &e, Value x, double alpha) {
  // CELU is max(0, x) + min(0, alpha*(e^(x/alpha) - 1)). Only one of both terms is not 0: for
  // either sign of alpha, the second term is negative exactly if x is.
  Value negative = isNegative(e, x);
  Value inside = div(e, kFloat, select(e, negative, x, constant(e, x, 0.0)), constant(e, x, alpha));
  return select(e, negative, scaled(e, math::ExpM1Op::create(e, inside), alpha), x);
}

Value hardSigmoid(Builder &e, Value x, double alpha, double beta) {
  Value line = scaled(e, x, alpha);
  if (beta != 0.0)
    line = add(e, kFloat, line, constant(e, x, beta));
  return maximum(e, kFloat, minimum(e, kFloat, line, constant(e, x, 1.0)), constant(e, x, 0.0));
}

/// Emits HardSwish of x. ONNX defines it by HardSigmoid, whose alpha is a float attribute.
/// Therefore alpha is 1/6 rounded to float32, even if x is float64.
Value hardSwish(Builder &e, Value x) { return mul(e, kFloat, x, hardSigmoid(e, x, 1.0f / 6.0f, 0.5)); }

Value swish(Builder &e, Value x, double alpha) { return mul(e, kFloat, x, sigmoid(e, scaled(e, x, alpha))); }

Value mish(Builder &e, Value x) {
  // Mish: x * tanh(log(1 + e^x)) = x * (w^2 - 1) / (w^2 + 1) with w = 1 + e^x. With t = e^-|x|, the
  // fraction is (1 + 2t) / (1 + 2s) with s = t(1 + t) for positive x, and s / (s + 2) with s = t(2
  // + t) for negative x. These forms do not compute t^2, which would be denormal for many x.
  Value t = decay(e, x), one = constant(e, x, 1.0), two = constant(e, x, 2.0), negative = isNegative(e, x);
  Value base = select(e, negative, two, one), s = mul(e, kFloat, t, add(e, kFloat, base, t)),
        twice = add(e, kFloat, s, s);
  Value numerator = select(e, negative, s, add(e, kFloat, one, add(e, kFloat, t, t)));
  Value denominator = add(e, kFloat, base, select(e, negative, s, twice));
  return mul(e, kFloat, x, div(e, kFloat, numerator, denominator));
}

Value gelu(Builder &e, Value x, bool byTanh) {
  Value half = scaled(e, x, 0.5), inside;
  if (byTanh) {
    // The tanh approximation of GELU is 0.5 x * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))).
    // `inside` is its tanh.
    Value square = mul(e, kFloat, x, x);
    Value factor = add(e, kFloat, scaled(e, square, 0.7978845608028654 * 0.044715), constant(e, x, 0.7978845608028654));
    inside = math::TanhOp::create(e, mul(e, kFloat, x, factor));
  } else {
    inside = math::ErfOp::create(e, scaled(e, x, 0.7071067811865476));
  }
  return mul(e, kFloat, half, add(e, kFloat, constant(e, x, 1.0), inside));
}

Value softplus(Builder &e, Value x) {
  // Softplus, log(1 + e^x), is computed as max(x, 0) + log(1 + e^-|x|), in which nothing overflows.
  Value rest = math::Log1pOp::create(e, decay(e, x));
  return add(e, kFloat, maximum(e, kFloat, x, constant(e, x, 0.0)), rest);
}

Value softsign(Builder &e, Value x) {
  return div(e, kFloat, x, add(e, kFloat, constant(e, x, 1.0), abs(e, kFloat, x)));
}

Value shrink(Builder &e, Type elementType, Value x, double bias, double lambd) {
  // Bias and threshold of Shrink may be fractions, so integer tensors are computed as f64.
  bool integer = isa<IntegerType>(elementType);
  Type f64 = e.getF64Type();
  Value v = integer ? cast(e, elementType, f64, x) : x;
  Value offset = constant(e, v, bias);
  Value above = select(e, compare(e, kFloat, Order::Greater, v, constant(e, v, lambd)), sub(e, kFloat, v, offset),
                       constant(e, v, 0.0));
  Value result =
      select(e, compare(e, kFloat, Order::Less, v, constant(e, v, -lambd)), add(e, kFloat, v, offset), above);
  return integer ? cast(e, f64, elementType, result) : result;
}

} // namespace hewn::graph::body

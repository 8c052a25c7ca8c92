// SPDX-License-Identifier: Apache-2.0
//
// Rewrites quantizations so that they multiply by the reciprocal of the scale and do not divide, if
// this gives equal integers for every float.
//
//     %q = graph.quantize %x, %scale, %zero
//     // becomes
//     %q = graph.quantize_by_reciprocal %x, %factor, %rest, %least, %greatest, %zero
//
// A vector division takes as long as ten multiplications, and a quantized network divides each
// number between two contractions. Let factor + rest be the reciprocal of the scale with twice the
// precision of a float. Then x * factor + x * rest (with an FMA) is the correctly rounded quotient
// for all but a few x (Brisebarre, Muller and Raina, "Accelerating Correctly Rounded Floating-Point
// Division When the Divisor Is Known in Advance", 2004). It is sufficient that the quotient and
// this sum round to equal integers. Both are monotonic in x, so they are compared only at the
// floats where the quotient changes from one integer to the next (at most 255). If they differ at
// one of these floats, the division is kept. x is clamped to the range between the smallest and the
// largest integer, so that nothing overflows.
//
// If an op in the fusion group dequantizes the result, no integers are computed:
//
//     %q = graph.quantize %x, %scale, %zero
//     %y = graph.dequantize %q, %scale, %zero
//     // becomes
//     %n = graph.quantize_by_reciprocal %x, ... {to = f32}
//     %y = graph.mul %n, %scale
//
// Not handled: scales and zero points that are not constants in the IR or not scalars, types other
// than float32 and 8-bit integers, and scales near the limits of float32's range.
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Graph/Quant/Quant.h"
#include "dialects/Graph/Quant/QuantOps.h"

#include <cmath>

using namespace mlir;

namespace hewn::graph {

namespace {

/// The multipliers that replace the division by a quantization scale, and the range to which x is
/// clamped before the multiplication.
struct Reciprocal {
  float factor, rest, least, greatest;

  /// Returns x * factor + x * rest rounded to an integer, as graph.quantize_by_reciprocal computes
  /// it before it adds the zero point.
  float roundedProduct(float x) const { return std::nearbyintf(std::fmaf(x, factor, product(x, rest))); }

private:
  /// Returns x * y, rounded to float32. The volatile variable keeps the C++ compiler from
  /// contracting the multiplication to an FMA.
  static float product(float x, float y) {
    volatile float result = x * y;
    return result;
  }
};

float roundedQuotient(float x, float scale) { return std::nearbyintf(x / scale); }

/// Returns the smallest float x for which the quotient x / scale rounds to the integer `n` or more.
float threshold(int64_t n, float scale) {
  float x = float((double(n) - 0.5) * double(scale));
  while (roundedQuotient(x, scale) >= float(n))
    x = std::nextafterf(x, -INFINITY);
  while (roundedQuotient(x, scale) < float(n))
    x = std::nextafterf(x, INFINITY);
  return x;
}

/// Returns multipliers that replace a division by `scale`: they give the same integers from `low`
/// to `high`, and saturate beyond. Returns nullopt if there are no such multipliers.
std::optional<Reciprocal> reciprocalOf(float scale, int64_t low, int64_t high) {
  constexpr float smallest = 0x1p-60f, largest = 0x1p60f;
  if (!(scale >= smallest && scale <= largest))
    return std::nullopt;
  Reciprocal r;
  double exact = 1 / double(scale);
  r.factor = float(exact);
  r.rest = float(exact - double(r.factor));
  r.least = float(low) * scale;
  r.greatest = float(high) * scale;
  for (int64_t end : {low, high}) {
    float x = end == low ? r.least : r.greatest;
    if (roundedQuotient(x, scale) != float(end) || r.roundedProduct(x) != float(end))
      return std::nullopt;
  }
  for (int64_t n = low + 1; n <= high; ++n) {
    float x = threshold(n, scale);
    if (r.roundedProduct(x) < float(n) || r.roundedProduct(std::nextafterf(x, -INFINITY)) >= float(n))
      return std::nullopt;
  }
  return r;
}

/// Returns the value of a one-element constant in the IR, or nullopt for any other value.
template <typename Number> std::optional<Number> splatOf(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : SplatElementsAttr();
  return elements && elements.getNumElements() == 1 ? std::optional(elements.getSplatValue<Number>()) : std::nullopt;
}

/// Rewrites one quantization, and the ops in its fusion group that dequantize its result.
class DivisionRewriter {
public:
  DivisionRewriter(QuantizeOp op, const Reciprocal &r, Replacement replacement)
      : op(op), replacement(replacement), b(op), c(b, op->getLoc()) {
    operands.push_back(op.getX());
    for (float number : {r.factor, r.rest, r.least, r.greatest})
      operands.push_back(makeSplat(b, op->getLoc(), b.getF32Type(), number));
  }

  void run() {
    SmallVector<DequantizeOp> back;
    for (Operation *user : op->getUsers())
      if (auto dequantize = dyn_cast<DequantizeOp>(user); dequantize && undoes(dequantize))
        back.push_back(dequantize);
    if (!back.empty()) {
      Value rounded = grouped(product(b.getF32Type(), operands));
      for (DequantizeOp dequantize : back) {
        // the scale of the dequantization may be defined after `op`
        b.setInsertionPoint(dequantize);
        dequantize.getResult().replaceAllUsesWith(grouped(c.mul({rounded, dequantize.getScale()})));
        dequantize.erase();
      }
    }
    b.setInsertionPoint(op);
    if (!op.getResult().use_empty()) {
      if (op.getZeroPoint())
        operands.push_back(op.getZeroPoint());
      op.getResult().replaceAllUsesWith(grouped(product(op.getTo(), operands)));
    }
    op.erase();
  }

private:
  QuantizeOp op;
  Replacement replacement;
  OpBuilder b;
  Composer c;
  SmallVector<Value> operands;

  Value product(Type to, ValueRange of) {
    return graph::make<QuantizeByReciprocalOp>(b, op->getLoc(), of, {b.getNamedAttr("to", TypeAttr::get(to))});
  }

  /// Returns true if `other` dequantizes the result of `op` in the same fusion group, with the same
  /// zero point.
  bool undoes(DequantizeOp other) {
    return other.getX() == op.getResult() && other.getZeroPoint() == op.getZeroPoint() && other.getTo().isF32() &&
           getElementType(other.getScale()).isF32() && numElements(getDims(other.getScale())).is(1) &&
           replacement.together(op, other);
  }

  Value grouped(Value made) {
    replacement.made(op, made.getDefiningOp());
    // The result of the new op gets the memory layout of the quantization's result, which it
    // replaces.
    auto type = cast<RankedTensorType>(made.getType()), like = cast<RankedTensorType>(op.getResult().getType());
    made.setType(RankedTensorType::get(type.getShape(), type.getElementType(), like.getEncoding()));
    return made;
  }
};

} // namespace

bool isDequantized(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto dequantize = dyn_cast_or_null<DequantizeOp>(op))
    return getElementType(dequantize.getX()).isInteger(8);
  // A value is dequantized if the operand of an indexing op is. Indexing ops without operands
  // compute their elements from indices, so their results are not dequantized.
  return isa_and_nonnull<IndexingOpInterface>(op) && op->getNumOperands() > 0 && isDequantized(op->getOperand(0));
}

static bool isQuantizedWithin(Value value, unsigned depth) {
  return depth > 0 && !value.use_empty() && llvm::all_of(value.getUsers(), [&](Operation *user) {
           if (isa<QuantizeOp, QuantizeByReciprocalOp>(user))
             return user->getOperand(0) == value && getElementType(user->getResult(0)).isInteger(8);
           return isa<ElementwiseOpInterface>(user) && !user->hasTrait<Discontinuous>() && user->getNumResults() == 1 &&
                  isa<FloatType>(getElementType(user->getResult(0))) &&
                  isQuantizedWithin(user->getResult(0), depth - 1);
         });
}

bool isOnlyQuantized(Value value) {
  constexpr unsigned deepest = 16;
  return isQuantizedWithin(value, deepest);
}

void quantizeByReciprocal(Operation *quantize, Replacement replacement) {
  auto op = dyn_cast<QuantizeOp>(quantize);
  auto to = op ? dyn_cast<IntegerType>(op.getTo()) : IntegerType();
  if (!to || to.getWidth() != 8 || op.getMultiply() || !getElementType(op.getX()).isF32() ||
      !getElementType(op.getScale()).isF32())
    return;
  std::optional<APFloat> scale = splatOf<APFloat>(op.getScale());
  std::optional<APInt> zero = op.getZeroPoint() ? splatOf<APInt>(op.getZeroPoint()) : APInt(8, 0);
  if (!scale || !zero)
    return;
  bool natural = isUnsigned(to);
  int64_t low = (natural ? 0 : -128) - (natural ? int64_t(zero->getZExtValue()) : zero->getSExtValue());
  if (std::optional<Reciprocal> r = reciprocalOf(scale->convertToFloat(), low, low + 255))
    DivisionRewriter(op, *r, replacement).run();
}

} // namespace hewn::graph

// SPDX-License-Identifier: Apache-2.0
//
// Quantizes by products instead of a division, where the integers are the same for every float.
//
//     %q = graph.quantize %x, %scale, %zero   →   %q = graph.quantize_by_reciprocal %x, %factor, %rest, %least, %greatest, %zero
//
// A vector's division takes as long as ten of its products, and a quantized net does one for each number between two contractions. With
// factor + rest the reciprocal of the scale to twice the digits of a float, x * factor + x * rest, by a fused product, is the rounded quotient
// but for a few x of all floats (Brisebarre, Muller and Raina, "Accelerating Correctly Rounded Floating-Point Division When the Divisor Is
// Known in Advance", 2004); what counts here is less: that both round to the same integer. Both are monotone in x, so they do everywhere
// where they do at the floats at which the quotient passes from one integer to the next, at most 255 of them. These are looked at, and a
// scale with which one differs keeps its division. x is clamped to what gives the least and the greatest integer, so that nothing overflows.
//
// What is made a float again in the same kernel never is an integer:
//
//     %q = graph.quantize %x, %scale, %zero           %n = graph.quantize_by_reciprocal %x, ... {to = f32}
//     %y = graph.dequantize %q, %scale, %zero    →    %y = graph.mul %n, %scale
//
// Left alone: scales and zero points that are no constants of the text or not one number, other types than float32 and 8-bit integers, and scales
// near the ends of float32's range.
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Graph/Quant/Quant.h"
#include "dialects/Graph/Quant/QuantOps.h"

#include <cmath>

using namespace mlir;

namespace hewn::graph {

namespace {

/// What stands for a scale.
struct Reciprocal {
  float factor, rest, least, greatest;

  /// The integer nearest to the quotient, without a zero point.
  float roundedProduct(float x) const { return std::nearbyintf(std::fmaf(x, factor, product(x, rest))); }

private:
  /// Rounded by itself.
  static float product(float x, float y) {
    volatile float result = x * y;
    return result;
  }
};

float roundedQuotient(float x, float scale) { return std::nearbyintf(x / scale); }

/// The smallest float whose quotient rounds to `n` or more.
float threshold(int64_t n, float scale) {
  float x = float((double(n) - 0.5) * double(scale));
  while (roundedQuotient(x, scale) >= float(n))
    x = std::nextafterf(x, -INFINITY);
  while (roundedQuotient(x, scale) < float(n))
    x = std::nextafterf(x, INFINITY);
  return x;
}

/// Products that give the same integers from `low` to `high`, and these beyond; nullopt: there are none.
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

/// The number that the operand is throughout, where the text has it.
template <typename Number> std::optional<Number> splatOf(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : SplatElementsAttr();
  return elements && elements.getNumElements() == 1 ? std::optional(elements.getSplatValue<Number>()) : std::nullopt;
}

/// The products of one quantization, in the group of the op that they replace.
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
        b.setInsertionPoint(dequantize); // its scale may be made behind the integers
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

  /// Whether the op makes floats of the integers where they are, with the same zero point.
  bool undoes(DequantizeOp other) {
    return other.getX() == op.getResult() && other.getZeroPoint() == op.getZeroPoint() && other.getTo().isF32() &&
           getElementType(other.getScale()).isF32() && numElements(getDims(other.getScale())).is(1) &&
           replacement.together(op, other);
  }

  Value grouped(Value made) {
    replacement.made(op, made.getDefiningOp());
    // In the order of dims in which the replaced op's result lies.
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
  // A move may read nothing, and make its elements of their positions.
  return isa_and_nonnull<MoveOpInterface>(op) && op->getNumOperands() > 0 && isDequantized(op->getOperand(0));
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

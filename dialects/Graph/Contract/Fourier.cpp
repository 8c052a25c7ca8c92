// SPDX-License-Identifier: Apache-2.0
//
// Discrete Fourier transforms as products with matrices of cosines and sines, which run at full speed; lengths that can be cut in
// two are, so that the matrices stay small.
#include "dialects/Graph/Analysis/Requirements/Requirements.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Contract/Contract.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Move/Axes.h"
#include "dialects/Graph/Move/MoveOps.h"

#include <cmath>

using namespace mlir;

namespace hewn::graph {

namespace {
/// Real and imaginary part; `imaginary` null where it is zero.
struct Complex {
  Value real, imaginary;
};
/// cos and sin of 2*pi*i*j/n, [rows, columns].
struct Waves {
  Value cosine, sine;
};
} // namespace

/// Written in ops over indices, which constant folding evaluates where the length is known. Angles are brought into half a
/// turn around 0 in integers: larger ones have poor sines in floats.
static Waves makeWaves(Composer &c, Type type, DimExpr rows, DimExpr columns, DimExpr length) {
  OpBuilder &b = c.b;
  Type wide = type.isF64() ? type : Type(b.getF32Type());
  auto counting = [&](const DimExpr &count, ArrayRef<DimExpr> shape) { return c.reshape(c.range(count), shape); };
  Value n = c.number(length);
  Value product = c.op<MulOp>({counting(rows, {rows, DimExpr(1)}), counting(columns, {DimExpr(1), columns})});
  auto times = [&](int64_t factor, Value x) { return c.op<MulOp>({c.number(DimExpr(factor)), x}); };
  auto sub = [&](Value x, Value y) { return c.op<SubOp>({x, y}); };
  // The sine of q quarter turns by n, q folded into [-n, n]: as it goes up and down again.
  Value quarter = c.op<DivOp>({makeSplat(b, c.loc, wide, 1.5707963267948966), c.cast(n, wide)}), turn = times(4, n);
  auto sine = [&](Value q) {
    q = sub(q, c.op<MulOp>({c.op<DivOp>({q, turn}), turn}));
    q = c.op<MaximumOp>({c.op<MinimumOp>({q, sub(times(2, n), q)}), sub(q, turn)});
    return c.cast(c.op<SinOp>(c.op<MulOp>({c.cast(q, wide), quarter})), type);
  };
  Value quarters = times(4, product);
  return {sine(c.op<AddOp>({quarters, n})), sine(quarters)};
}

/// `x` by waves, `sign` that of the exponent; `times` is the product of a real tensor and cosines or sines.
static Complex multiply(Composer &c, Complex x, Waves w, int sign, function_ref<Value(Value, Value)> times) {
  auto part = [&](Value a, Value wave) { return a ? times(a, wave) : Value(); };
  Value rc = part(x.real, w.cosine), rs = part(x.real, w.sine), ic = part(x.imaginary, w.cosine),
        is = part(x.imaginary, w.sine);
  // (r + i*m)(cos + i*s*sin) = r cos - s m sin + i (m cos + s r sin)
  if (!x.imaginary)
    return {rc, sign < 0 ? c.op<NegOp>(rs) : rs};
  if (sign < 0)
    return {c.op<AddOp>({rc, is}), c.op<SubOp>({ic, rs})};
  return {c.op<SubOp>({rc, is}), c.op<AddOp>({ic, rs})};
}

/// A factor of a length by which a transform is cut in two; 0: it is better whole, or unknown, or (nearly) prime.
static int64_t factorOf(const DimExpr &length) {
  constexpr int64_t leastLength = 128, leastFactor = 4, mostFactor = 64;
  int64_t n = length.constant().value_or(0);
  if (n < leastLength)
    return 0;
  for (int64_t factor = std::min(mostFactor, int64_t(std::sqrt(double(n)))); factor >= leastFactor; --factor)
    if (n % factor == 0)
      return factor;
  return 0;
}

/// Transforms the last dim of `x` to its first `columns` frequencies; `sign` is that of the exponent. A long one of n = p * q elements
/// is p transforms of q and q of p (Cooley and Tukey, 1965): element q*a + b and frequency c + p*d meet in the wave
/// exp(2*pi*i*(a*c/p + b*c/n + b*d/q)).
static Complex transform(Composer &c, Complex x, DimExpr columns, DimExpr length, int sign) {
  if (!x.real)
    return {};
  Type type = getElementType(x.real);
  int64_t factor = factorOf(length);
  if (factor == 0)
    return multiply(c, x, makeWaves(c, type, length, columns, length), sign,
                    [&](Value a, Value wave) { return composeMatMul(c, a, wave); });
  DimExpr p(factor), q = length.floorDiv(p);
  Dims cut = getDims(x.real);
  cut.back() = p;
  cut.push_back(q);
  x = {c.reshape(x.real, cut), x.imaginary ? c.reshape(x.imaginary, cut) : Value()};
  x = multiply(c, x, makeWaves(c, type, p, p, p), sign, [&](Value a, Value wave) { return composeMatMul(c, wave, a); });
  x = multiply(c, x, makeWaves(c, type, p, q, length), sign,
               [&](Value a, Value wave) { return c.op<MulOp>({a, wave}); });
  x = transform(c, x, q, q, sign);
  Dims whole = getDims(x.real);
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, whole.size()));
  std::swap(order.back(), order[order.size() - 2]);
  whole.pop_back();
  whole.back() = length;
  auto join = [&](Value y) {
    return c.slice(c.reshape(c.transpose(y, order), whole), whole.size() - 1, DimExpr(0), columns);
  };
  return {join(x.real), join(x.imaginary)};
}

/// Crops or pads the last dim with zeros.
static Value resizeLast(Composer &c, Value x, DimExpr size) {
  if (!x)
    return x;
  Dims dims = getDims(x), low(dims.size(), DimExpr(0)), high(dims.size(), DimExpr(0));
  high.back() = size - dims.back();
  return c.pad(x, low, high);
}

/// The two parts of a tensor whose last dim holds them (or the real one alone).
static std::optional<Complex> takeApart(OnnxNode &node, Composer &c, Value x) {
  Dims dims = getDims(x);
  if (dims.size() < 2 || !(dims.back().is(1) || dims.back().is(2))) {
    (void)node.refuse("the last dim must hold real parts, or real and imaginary parts");
    return std::nullopt;
  }
  int64_t last = dims.size() - 1;
  Dims parts(dims.begin(), dims.end() - 1);
  auto part = [&](int64_t i) { return c.reshape(c.slice(x, last, DimExpr(i), DimExpr(1)), parts); };
  return Complex{part(0), dims.back().is(2) ? part(1) : Value()};
}

static Value putTogether(Composer &c, Complex x) {
  if (!x.real || !x.imaginary)
    return {};
  Dims dims = getDims(x.real);
  dims.push_back(DimExpr(1));
  return c.concat({c.reshape(x.real, dims), c.reshape(x.imaginary, dims)}, dims.size() - 1);
}

/// Moves dim `axis` to the end, or back.
static Value moveAxis(Composer &c, Value x, int64_t axis, bool back) {
  if (!x)
    return x;
  int64_t rank = getRank(x);
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (back) {
    order.insert(order.begin() + axis, rank - 1);
    order.pop_back();
  } else {
    order.erase(order.begin() + axis);
    order.push_back(axis);
  }
  return c.transpose(x, order);
}

/// One dim that a scalar input tells.
static std::optional<DimExpr> readDim(OnnxNode &node, Value value) {
  std::optional<Dims> contents = node.contentsOrRead(value);
  if (!contents)
    return std::nullopt;
  if (contents->size() != 1) {
    (void)node.refuse("a length that is no scalar");
    return std::nullopt;
  }
  return contents->front();
}

/// The whole spectrum of a real signal from the first half of it: the other half mirrors it, conjugated. So each pair
/// of frequencies adds twice the real part of one.
static Value inverseOfHalf(Composer &c, Complex x, DimExpr length) {
  DimExpr half = length.floorDiv(DimExpr(2)) + DimExpr(1);
  x = {resizeLast(c, x.real, half), resizeLast(c, x.imaginary, half)};
  if (!x.real)
    return {};
  Type type = getElementType(x.real);
  Value two = makeSplat(c.b, c.loc, type, 2);
  // The constant and, for even lengths, the highest frequency stand alone: their imaginary parts don't count.
  Waves w = makeWaves(c, type, half, length, length);
  DimExpr inner = (length + DimExpr(1)).floorDiv(DimExpr(2)) - DimExpr(1);
  Value once = c.filled({DimExpr(1), DimExpr(1)}, type, 1);
  Value weights = c.concat({once, c.expand(c.reshape(two, {DimExpr(1), DimExpr(1)}), {inner, DimExpr(1)}),
                            c.expand(once, {half - inner - DimExpr(1), DimExpr(1)})},
                           0);
  Value sum = composeMatMul(c, x.real, c.op<MulOp>({w.cosine, weights}));
  if (x.imaginary)
    sum = c.op<SubOp>({sum, composeMatMul(c, x.imaginary, c.op<MulOp>({w.sine, weights}))});
  return sum;
}

static Value divideByLength(Composer &c, Value x, DimExpr length) {
  if (!x)
    return x;
  return c.op<DivOp>({x, c.cast(c.number(length), getElementType(x))});
}

LogicalResult buildDFT(OnnxNode &node) {
  Composer c(node);
  Value input = node.input(0);
  int64_t written = node.getInt("axis", 1);
  std::optional<DimExpr> unknown;
  Dims around = getDims(input);
  if (node.opset() >= 20) {
    bool absent;
    std::optional<Dims> axes = axesOrRead(node, "axis", 2, around.size(), absent);
    if (!axes && !absent)
      return failure();
    if (axes && axes->size() != 1)
      return node.refuse("axis is no single number");
    written = axes ? axes->front().constant().value_or(1) : -2;
    if (axes && !axes->front().constant())
      unknown = axes->front();
  }
  // Around an axis that is known only when the model runs, the tensor is one of three dims, and the parts.
  if (unknown) {
    Dims four = shortened(node, aroundAxis(ArrayRef(around).drop_back(), *unknown));
    four.push_back(around.back());
    input = c.reshape(input, four);
  }
  int64_t rank = getRank(input);
  std::optional<int64_t> axis = node.axis(written, rank);
  std::optional<Complex> x = takeApart(node, c, input);
  if (!axis || !x)
    return failure();
  if (*axis == rank - 1)
    return node.refuse("transforms the dim of real and imaginary parts");
  bool inverse = node.getInt("inverse", 0), half = node.getInt("onesided", 0);
  x->real = moveAxis(c, x->real, *axis, false);
  x->imaginary = moveAxis(c, x->imaginary, *axis, false);
  DimExpr extent = getDims(input)[*axis];
  std::optional<DimExpr> length = node.input(1)
                                      ? readDim(node, node.input(1))
                                      : std::optional(inverse && half ? (extent - DimExpr(1)) * DimExpr(2) : extent);
  if (!length)
    return failure();
  if (half) // it has an element of whatever is transformed
    require(node.b, node.loc, Relation::AtMost, DimExpr(1), *length);
  // The result with the input's dims, but for the one that was transformed.
  auto asBefore = [&](Value y) {
    if (!y || !unknown)
      return y;
    Dims dims = around, made = getDims(y);
    for (auto [d, dim] : llvm::enumerate(MutableArrayRef(dims).drop_back()))
      dim = node.shortened(dim + equals(*unknown, DimExpr(int64_t(d))) * (made[1] - dim));
    dims.back() = made.back();
    return c.reshape(y, dims);
  };
  if (inverse && half) {
    Value signal = moveAxis(c, divideByLength(c, inverseOfHalf(c, *x, *length), *length), *axis, true);
    if (!signal)
      return failure();
    Dims dims = getDims(signal);
    dims.push_back(DimExpr(1));
    return node.finish(asBefore(c.reshape(signal, dims)));
  }
  x->real = resizeLast(c, x->real, *length);
  x->imaginary = resizeLast(c, x->imaginary, *length);
  DimExpr columns = half ? length->floorDiv(DimExpr(2)) + DimExpr(1) : *length;
  Complex y = transform(c, *x, columns, *length, inverse ? 1 : -1);
  if (inverse)
    y = {divideByLength(c, y.real, *length), divideByLength(c, y.imaginary, *length)};
  return node.finish(
      asBefore(putTogether(c, {moveAxis(c, y.real, *axis, true), moveAxis(c, y.imaginary, *axis, true)})));
}

LogicalResult buildSTFT(OnnxNode &node) {
  Composer c(node);
  Value signal = node.input(0), window = node.input(2);
  Dims dims = getDims(signal);
  if (dims.size() == 2) // without the dim of parts
    signal = c.reshape(signal, {dims[0], dims[1], DimExpr(1)});
  else if (dims.size() != 3)
    return node.refuse("needs a signal of rank 3");
  if (window && getRank(window) != 1)
    return node.refuse("needs a window of rank 1");
  std::optional<DimExpr> step = readDim(node, node.input(1));
  std::optional<DimExpr> length =
      node.input(3) ? readDim(node, node.input(3)) : std::optional(window ? getDims(window)[0] : dims[1]);
  std::optional<Complex> x = takeApart(node, c, signal);
  if (!step || !length || !x)
    return failure();
  for (const DimExpr &size : {*step, *length})
    require(node.b, node.loc, Relation::AtMost, DimExpr(1), size);
  DimExpr frames = (dims[1] - *length).floorDiv(*step) + DimExpr(1);
  // frames[b, f, i] = signal[b, f*step + i]: indices rather than windows, so that lengths may be known only when run.
  auto range = [&](DimExpr count, DimExpr stride, ArrayRef<DimExpr> shape) {
    return c.reshape(c.range(c.number(DimExpr(0)), c.number(stride), count), shape);
  };
  Value places =
      c.op<AddOp>({range(frames, *step, {frames, DimExpr(1)}), range(*length, DimExpr(1), {DimExpr(1), *length})});
  auto cut = [&](Value part) -> Value {
    if (!part)
      return {};
    Value framed = node.make<GatherOp>({part, places}, node.attr("axis", int64_t(1)));
    return window ? c.op<MulOp>({framed, window}) : framed;
  };
  bool half = node.getInt("onesided", 1);
  DimExpr columns = half ? length->floorDiv(DimExpr(2)) + DimExpr(1) : *length;
  return node.finish(putTogether(c, transform(c, {cut(x->real), cut(x->imaginary)}, columns, *length, -1)));
}

} // namespace hewn::graph

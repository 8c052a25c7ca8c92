// SPDX-License-Identifier: Apache-2.0
//
// Decomposes discrete Fourier transforms into matmuls with cosine and sine matrices. A length that
// has a suitable factor is split into two shorter transforms, so that the matrices stay small. For
// lengths that are dynamic, or whose matrices would be large, calls a runtime function.
#include "dialects/Graph/Analysis/Requirements/Requirements.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Contract/Contract.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Indexing/Axes.h"
#include "dialects/Graph/Indexing/IndexingOps.h"
#include "dialects/Graph/RuntimeCall/RuntimeCall.h"

#include <cmath>

using namespace mlir;

namespace hewn::graph {

namespace {
/// A complex tensor as real and imaginary part. `imaginary` is null if the imaginary part is zero.
struct Complex {
  Value real, imaginary;
};
/// The matrices of a Fourier transform: cos and sin of 2*pi*i*j/n, with one row per i and one
/// column per j.
struct Waves {
  Value cosine, sine;
};
} // namespace

/// Emits the cosine and sine matrices of a Fourier transform as ops on indices, which constant
/// folding evaluates if the length is static. Angles are first reduced to [-pi/2, pi/2] in integer
/// arithmetic, because sines of large float angles are inaccurate.
static Waves makeWaves(Composer &c, Type type, DimExpr rows, DimExpr columns, DimExpr length) {
  OpBuilder &b = c.b;
  Type wide = type.isF64() ? type : Type(b.getF32Type());
  auto counting = [&](const DimExpr &count, ArrayRef<DimExpr> shape) { return c.reshape(c.range(count), shape); };
  Value n = c.number(length);
  Value product = c.op<MulOp>({counting(rows, {rows, DimExpr(1)}), counting(columns, {DimExpr(1), columns})});
  auto times = [&](int64_t factor, Value x) { return c.op<MulOp>({c.number(DimExpr(factor)), x}); };
  auto sub = [&](Value x, Value y) { return c.op<SubOp>({x, y}); };
  // Computes sin(pi/2 * q/n), where the integer q is first folded into [-n, n], where the sine is
  // monotonic.
  Value quarter = c.op<DivOp>({makeSplat(b, c.loc, wide, 1.5707963267948966), c.cast(n, wide)}), turn = times(4, n);
  auto sine = [&](Value q) {
    q = sub(q, c.op<MulOp>({c.op<DivOp>({q, turn}), turn}));
    q = c.op<MaximumOp>({c.op<MinimumOp>({q, sub(times(2, n), q)}), sub(q, turn)});
    return c.cast(c.op<SinOp>(c.op<MulOp>({c.cast(q, wide), quarter})), type);
  };
  Value quarters = times(4, product);
  return {sine(c.op<AddOp>({quarters, n})), sine(quarters)};
}

/// Multiplies x by the complex matrix cos + i*sign*sin. `sign` is the sign of the transform's
/// exponent; `times` multiplies a real tensor by one of the real matrices.
static Complex multiply(Composer &c, Complex x, Waves w, int sign, function_ref<Value(Value, Value)> times) {
  auto part = [&](Value a, Value wave) { return a ? times(a, wave) : Value(); };
  Value rc = part(x.real, w.cosine), rs = part(x.real, w.sine), ic = part(x.imaginary, w.cosine),
        is = part(x.imaginary, w.sine);
  // For x = r + i*m and the sign s: (r + i*m)(cos + i*s*sin) = r cos - s m sin + i (m cos + s r
  // sin)
  if (!x.imaginary)
    return {rc, sign < 0 ? c.op<NegOp>(rs) : rs};
  if (sign < 0)
    return {c.op<AddOp>({rc, is}), c.op<SubOp>({ic, rs})};
  return {c.op<SubOp>({rc, is}), c.op<AddOp>({ic, rs})};
}

/// Returns a factor by which a long Fourier transform is split, or 0 if its length is short,
/// dynamic, or has no suitable factor.
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

/// Returns true if matmuls suit a Fourier transform: its length is static, and no matrix has more
/// than `kMostRows` rows. The matrices of a prime length n have n * n elements, whereas the runtime
/// function takes n * log(n) steps. `split` is false for a transform whose length is never split.
static bool suitsMatrices(const DimExpr &length, bool split) {
  constexpr int64_t kMostRows = 256;
  std::optional<int64_t> n = length.constant();
  while (n && split && factorOf(DimExpr(*n)))
    *n /= factorOf(DimExpr(*n));
  return n && *n <= kMostRows;
}

/// Emits a Fourier transform along the last dim of x, of `length` elements. The result has the
/// first `columns` frequencies. `sign` is the sign of the exponent. A long transform of n = p * q
/// elements is split into transforms of length p and length q (Cooley and Tukey, 1965): the factor
/// of element q*a + b and frequency c + p*d is exp(2*pi*i*(a*c/p + b*c/n + b*d/q)).
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

/// Crops the last dim of x to `size`, or pads it with zeros.
static Value resizeLast(Composer &c, Value x, DimExpr size) {
  if (!x)
    return x;
  Dims dims = getDims(x), low(dims.size(), DimExpr(0)), high(dims.size(), DimExpr(0));
  high.back() = size - dims.back();
  return c.pad(x, low, high);
}

/// Splits x into real and imaginary part along its last dim, of size 2. If the size is 1, x is
/// real.
static std::optional<Complex> takeApart(OnnxNode &node, Composer &c, Value x) {
  Dims dims = getDims(x);
  if (dims.size() < 2 || !(dims.back().is(1) || dims.back().is(2))) {
    (void)node.refuse("the last dim must be 1 (real) or 2 (real and imaginary part)");
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

/// Transposes x so that dim `axis` is last, or, if `back` is set, so that the last dim is dim
/// `axis`.
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

/// Returns the value of a scalar input as a dim.
static std::optional<DimExpr> readDim(OnnxNode &node, Value value) {
  std::optional<Dims> contents = node.contentsOrRead(value);
  if (!contents)
    return std::nullopt;
  if (contents->size() != 1) {
    (void)node.refuse("a length must be a scalar");
    return std::nullopt;
  }
  return contents->front();
}

/// Emits the inverse Fourier transform of a spectrum to a real signal of `length` elements, from
/// the first half of the spectrum. The second half is the mirrored complex conjugate of the first
/// one, so a pair of frequencies contributes twice the real part of one of them.
static Value inverseOfHalf(Composer &c, Complex x, DimExpr length) {
  DimExpr half = length.floorDiv(DimExpr(2)) + DimExpr(1);
  x = {resizeLast(c, x.real, half), resizeLast(c, x.imaginary, half)};
  if (!x.real)
    return {};
  Type type = getElementType(x.real);
  Value two = makeSplat(c.b, c.loc, type, 2);
  // In an inverse transform to a real signal, frequency 0 and, for even lengths, the highest
  // frequency have no conjugate partner. Their imaginary parts do not contribute to the signal.
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
    std::optional<Dims> axes = axesOrRead(node, "axis", 2, around.size(), absent, 1);
    if (!axes && !absent)
      return failure();
    if (axes && axes->size() != 1)
      return node.refuse("axis must be a scalar");
    written = axes ? axes->front().constant().value_or(1) : -2;
    if (axes && !axes->front().constant())
      unknown = axes->front();
  }
  // If the axis of the transform is not known before run time, reshapes the tensor to four dims:
  // before the axis, the axis, after the axis, and real and imaginary parts.
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
    return node.refuse("the axis must not be the dim of real and imaginary parts");
  bool inverse = node.getInt("inverse", 0), half = node.getInt("onesided", 0);
  DimExpr extent = getDims(input)[*axis];
  std::optional<DimExpr> length = node.input(1)
                                      ? readDim(node, node.input(1))
                                      : std::optional(inverse && half ? (extent - DimExpr(1)) * DimExpr(2) : extent);
  if (!length)
    return failure();
  // requires a signal of at least one element for half of a spectrum, and a positive dft_length
  if (half || node.input(1))
    require(node.b, node.loc, Relation::AtMost, DimExpr(1), *length);
  // Reshapes the result of a transform to the rank of its input. The result's dims are those of the
  // input, except for the transformed one.
  auto asBefore = [&](Value y) {
    if (!y || !unknown)
      return y;
    Dims dims = around, made = getDims(y);
    for (auto [d, dim] : llvm::enumerate(MutableArrayRef(dims).drop_back()))
      dim = node.shortened(dim + equals(*unknown, DimExpr(int64_t(d))) * (made[1] - dim));
    dims.back() = made.back();
    return c.reshape(y, dims);
  };
  if (!suitsMatrices(*length, !(inverse && half)))
    return node.finish(asBefore(makeFourier(node, input, *axis, *length, inverse, half)));
  x->real = moveAxis(c, x->real, *axis, false);
  x->imaginary = moveAxis(c, x->imaginary, *axis, false);
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
  if (dims.size() == 2) // the signal is real: it has no dim of real and imaginary parts
    signal = c.reshape(signal, {dims[0], dims[1], DimExpr(1)});
  else if (dims.size() != 3)
    return node.refuse("requires a signal of rank 3");
  if (window && getRank(window) != 1)
    return node.refuse("requires a window of rank 1");
  std::optional<DimExpr> step = readDim(node, node.input(1));
  std::optional<DimExpr> length =
      node.input(3) ? readDim(node, node.input(3)) : std::optional(window ? getDims(window)[0] : dims[1]);
  std::optional<Complex> x = takeApart(node, c, signal);
  if (!step || !length || !x)
    return failure();
  for (const DimExpr &size : {*step, *length})
    require(node.b, node.loc, Relation::AtMost, DimExpr(1), size);
  if (window) // otherwise, a window of one element would be broadcast
    require(node.b, node.loc, Relation::Equal, getDims(window)[0], *length);
  DimExpr frames = (dims[1] - *length).floorDiv(*step) + DimExpr(1);
  // Emits frames[b, f, i] = signal[b, f*step + i] as a gather, because the step and the length of a
  // frame may be dynamic, unlike strides and sizes of windows.
  auto range = [&](DimExpr count, DimExpr stride, ArrayRef<DimExpr> shape) {
    return c.reshape(c.range(c.number(DimExpr(0)), c.number(stride), count), shape);
  };
  Value places =
      c.op<AddOp>({range(frames, *step, {frames, DimExpr(1)}), range(*length, DimExpr(1), {DimExpr(1), *length})});
  bool half = node.getInt("onesided", 1);
  auto cut = [&](Value part, Value window) -> Value {
    if (!part)
      return {};
    Value framed = node.make<GatherOp>({part, places}, node.attr("axis", int64_t(1)));
    return window ? c.op<MulOp>({framed, window}) : framed;
  };
  if (!suitsMatrices(*length, true)) {
    Value frames = cut(signal, window ? c.reshape(window, {getDims(window)[0], DimExpr(1)}) : Value());
    return node.finish(frames ? makeFourier(node, frames, 2, *length, false, half) : Value());
  }
  DimExpr columns = half ? length->floorDiv(DimExpr(2)) + DimExpr(1) : *length;
  return node.finish(
      putTogether(c, transform(c, {cut(x->real, window), cut(x->imaginary, window)}, columns, *length, -1)));
}

} // namespace hewn::graph

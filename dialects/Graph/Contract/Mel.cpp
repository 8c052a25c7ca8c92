// SPDX-License-Identifier: Apache-2.0
//
// Import of MelWeightMatrix: triangular filters over the frequency bins of a spectrum, evenly
// spaced on the mel scale. If all inputs are constant, the matrix is a constant. Otherwise it is
// computed at run time, in float64.
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"

#include <cmath>

using namespace mlir;

namespace hewn::graph {

constexpr int64_t kMaxBands = 4096, kLongest = 1 << 20;

/// Returns the value of input `i` of the node if it is a single number known at compile time.
static std::optional<double> numberOf(OnnxNode &node, unsigned i) {
  Value value = node.input(i);
  if (value && isa<FloatType>(getElementType(value))) {
    std::optional<SmallVector<double>> known = node.floatContents(value);
    if (known && known->size() == 1)
      return known->front();
  } else if (value) {
    std::optional<Dims> known = node.contents(value);
    if (known && known->size() == 1 && known->front().constant())
      return double(*known->front().constant());
  }
  return std::nullopt;
}

namespace {
/// Short forms for emitting arithmetic on float64 scalars and tensors.
struct Doubles {
  Composer &c;
  Value of(double value) { return makeSplat(c.b, c.loc, c.b.getF64Type(), value); }
  Value of(Value value) { return c.cast(value, c.b.getF64Type()); }
  Value add(Value a, Value b) { return c.op<AddOp>({a, b}); }
  Value sub(Value a, Value b) { return c.op<SubOp>({a, b}); }
  Value mul(Value a, Value b) { return c.op<MulOp>({a, b}); }
  Value div(Value a, Value b) { return c.op<DivOp>({a, b}); }
  Value atMost(Value a, Value b) { return c.op<LessOrEqualOp>({a, b}); }
  Value both(Value a, Value b) { return c.op<AndOp>({a, b}); }
  Value choose(Value condition, Value a, Value b) { return c.op<WhereOp>({condition, a, b}); }
  Value mel(Value hertz) {
    Value ratio = add(of(1.0), div(hertz, of(700.0)));
    return mul(of(2595 / std::log(10.0)), c.op<LogOp>({ratio}));
  }
  Value hertz(Value mel) { return mul(of(700.0), sub(c.op<PowOp>({of(10.0), div(mel, of(2595.0))}), of(1.0))); }
};
} // namespace

/// Emits the computation of a MelWeightMatrix whose inputs are not constant. First emits checks of
/// the sizes that the inputs give, before the matrix of these sizes is allocated.
static LogicalResult composeMel(OnnxNode &node, Type type) {
  Composer c(node);
  Doubles d{c};
  Value given[5];
  for (unsigned i = 0; i < 5; ++i) {
    Dims dims = node.input(i) ? getDims(node.input(i)) : Dims(2, DimExpr(0));
    if (dims.size() > 1 || (dims.size() == 1 && !dims[0].is(1)))
      return node.refuse("input " + Twine(i) + " must be a scalar");
    given[i] = d.of(c.reshape(node.input(i), {}));
  }
  auto [bands, length, rate, lowest, highest] = given;
  Value low = d.mel(lowest), high = d.mel(highest);
  Value step = d.div(d.sub(high, low), d.add(bands, d.of(2.0)));
  auto bin = [&](Value i) {
    Value position = d.div(d.mul(d.add(length, d.of(1.0)), d.hertz(d.add(low, d.mul(i, step)))), rate);
    return c.op<FloorOp>({position});
  };
  Value rows = d.add(c.op<FloorOp>({d.div(length, d.of(2.0))}), d.of(1.0)), one = d.of(1.0);
  Value holds = d.both(d.both(d.atMost(one, bands), d.atMost(bands, d.of(double(kMaxBands)))),
                       d.both(d.atMost(one, length), d.atMost(length, d.of(double(kLongest)))));
  Value inside = d.both(d.atMost(d.of(0.0), bin(d.of(0.0))), d.atMost(bin(d.add(bands, one)), d.sub(rows, one)));
  holds = d.both(d.both(holds, d.atMost(one, rate)), inside);
  if (!holds)
    return failure();
  RequireOp::create(node.b, node.loc, holds);

  std::optional<Dims> counts = node.contentsOrRead(node.input(0)), lengths = node.contentsOrRead(node.input(1));
  if (!counts || !lengths)
    return failure();
  DimExpr columns = counts->front(), height = lengths->front().floorDiv(DimExpr(2)) + DimExpr(1);
  Value at = d.of(c.reshape(c.range(columns), {DimExpr(1), columns}));
  Value j = d.of(c.reshape(c.range(height), {height, DimExpr(1)}));
  Value left = bin(at), centre = bin(d.add(at, one)), right = bin(d.add(at, d.of(2.0)));
  Value rising = d.choose(c.op<EqualOp>({centre, left}), one, d.div(d.sub(j, left), d.sub(centre, left)));
  rising = d.choose(d.both(d.atMost(left, j), d.atMost(j, centre)), rising, d.of(0.0));
  Value falls = d.both(d.atMost(centre, j), c.op<LessOp>({j, right}));
  return node.finish(c.cast(d.choose(falls, d.div(d.sub(right, j), d.sub(right, centre)), rising), type));
}

LogicalResult buildMelWeightMatrix(OnnxNode &node) {
  Type type = node.elementTypeOf(node.getInt("output_datatype", 1));
  if (!type || !isa<FloatType>(type))
    return node.refuse("output_datatype must be a float type");
  double given[5];
  for (unsigned i = 0; i < 5; ++i) {
    std::optional<double> number = numberOf(node, i);
    if (!number)
      return composeMel(node, type);
    given[i] = *number;
  }
  auto [bands, length, rate, lowest, highest] = given;
  if (!type.isF32() && !type.isF64())
    return composeMel(node, type);
  // Rejects larger sizes of a MelWeightMatrix as errors in the model: the matrix would exhaust
  // memory.
  if (!(bands >= 1 && bands <= kMaxBands && length >= 1 && length <= kLongest && rate > 0 && lowest > -700 &&
        highest > -700) ||
      bands * length > (1 << 26))
    return node.refuse("the number of bands, the DFT length or the edge frequencies are out of range");
  int64_t columns = int64_t(bands), rows = int64_t(length) / 2 + 1;
  double low = 2595 * std::log10(1 + lowest / 700), high = 2595 * std::log10(1 + highest / 700);
  double step = (high - low) / (bands + 2);
  SmallVector<int64_t> bins;
  for (int64_t i = 0; i < columns + 2; ++i) {
    double hertz = 700 * (std::pow(10.0, (low + double(i) * step) / 2595) - 1);
    double bin = std::floor((length + 1) * hertz / rate);
    if (!(bin >= 0 && bin < double(rows)))
      return node.refuse("edge frequencies are outside of the spectrum");
    bins.push_back(int64_t(bin));
  }
  SmallVector<double> matrix(size_t(rows * columns), 0);
  for (int64_t i = 0; i < columns; ++i) {
    int64_t left = bins[i], centre = bins[i + 1], right = bins[i + 2];
    for (int64_t j = left; j <= centre; ++j)
      matrix[j * columns + i] = centre == left ? 1 : double(j - left) / double(centre - left);
    for (int64_t j = centre; j < right; ++j)
      matrix[j * columns + i] = double(right - j) / double(right - centre);
  }
  auto shape = RankedTensorType::get({rows, columns}, type);
  if (type.isF64())
    return node.finish(makeConstant(node.b, node.loc, DenseElementsAttr::get(shape, ArrayRef<double>(matrix))));
  SmallVector<float> narrow(matrix.begin(), matrix.end());
  return node.finish(makeConstant(node.b, node.loc, DenseElementsAttr::get(shape, ArrayRef<float>(narrow))));
}

} // namespace hewn::graph

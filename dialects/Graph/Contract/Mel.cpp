// SPDX-License-Identifier: Apache-2.0
//
// MelWeightMatrix: triangles over the bins of a spectrum, evenly spaced as the ear hears. What it is made of stands in the
// model, so that the matrix is a constant.
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/GraphOps.h"

#include <cmath>

using namespace mlir;

namespace hewn::graph {

/// Input `i` as the one number that it holds; nullopt after `refuse`.
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
  (void)node.refuse("input " + Twine(i) + " is no single number that is known when compiling");
  return std::nullopt;
}

LogicalResult buildMelWeightMatrix(OnnxNode &node) {
  double given[5];
  for (unsigned i = 0; i < 5; ++i) {
    std::optional<double> number = numberOf(node, i);
    if (!number)
      return failure();
    given[i] = *number;
  }
  auto [bands, length, rate, lowest, highest] = given;
  Type type = node.elementTypeOf(node.getInt("output_datatype", 1));
  // More would be a mistake that takes all memory.
  if (!(bands >= 1 && bands <= 4096 && length >= 1 && length <= (1 << 20) && rate > 0 && lowest > -700 &&
        highest > -700) ||
      bands * length > (1 << 26) || !type || !(type.isF32() || type.isF64()))
    return node.refuse("has bands, lengths or edges that make no matrix of floats");
  int64_t columns = int64_t(bands), rows = int64_t(length) / 2 + 1;
  double low = 2595 * std::log10(1 + lowest / 700), high = 2595 * std::log10(1 + highest / 700);
  double step = (high - low) / (bands + 2);
  SmallVector<int64_t> bins;
  for (int64_t i = 0; i < columns + 2; ++i) {
    double hertz = 700 * (std::pow(10.0, (low + double(i) * step) / 2595) - 1);
    double bin = std::floor((length + 1) * hertz / rate);
    if (!(bin >= 0 && bin < double(rows)))
      return node.refuse("has edges outside of the spectrum");
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

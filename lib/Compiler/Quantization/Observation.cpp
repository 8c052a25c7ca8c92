// SPDX-License-Identifier: Apache-2.0
#include "lib/Compiler/Quantization/Observation.h"
#include "lib/Compiler/Quantization/Samples.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>

namespace hewn::quantize {

/// Elements of an array behind each other that belong to one channel.
static int64_t runLength(const Array &array, unsigned channelDim) {
  int64_t length = 1;
  for (size_t d = channelDim + 1; d < array.shape.size(); ++d)
    length *= array.shape[d];
  return length;
}

void Observation::add(const Array &array, std::optional<unsigned> channelDim) {
  std::vector<float> elements = floatsOf(array);
  seen.add(elements);
  if (!channelDim || elements.empty())
    return;
  int64_t inside = runLength(array, *channelDim);
  auto size = size_t(array.shape[*channelDim]);
  evidence.channels.resize(size);
  evidence.count += double(elements.size()) / double(size);
  ++evidence.runs;
  std::vector<double> peaks(size);
  for (size_t begin = 0; begin < elements.size(); begin += size_t(inside)) {
    size_t at = begin / size_t(inside) % size;
    Channel &channel = evidence.channels[at];
    for (size_t i = begin; i < begin + size_t(inside); ++i) {
      channel.low = std::min(channel.low, elements[i]);
      channel.high = std::max(channel.high, elements[i]);
      channel.sum += double(elements[i]);
      channel.squares += double(elements[i]) * double(elements[i]);
      peaks[at] = std::max(peaks[at], std::fabs(double(elements[i])));
    }
  }
  for (auto [channel, peak] : llvm::zip(evidence.channels, peaks)) {
    channel.peaks += peak;
    channel.peakSquares += peak * peak;
  }
}

void Observation::addDivided(const Array &array, unsigned channelDim, llvm::ArrayRef<double> factors) {
  std::vector<float> elements = floatsOf(array);
  auto inside = size_t(runLength(array, channelDim));
  for (size_t i = 0; i < elements.size(); ++i)
    elements[i] /= float(factors[i / inside % factors.size()]);
  seen.add(elements);
}

int64_t momentBytes(const Array &array, unsigned channelDim) {
  int64_t size = array.shape[channelDim];
  return size * size * int64_t(sizeof(float));
}

void Observation::addMoments(const Array &array, unsigned channelDim, int64_t step) {
  std::vector<float> elements = floatsOf(array);
  auto size = size_t(array.shape[channelDim]), inside = size_t(runLength(array, channelDim));
  evidence.moments.size = int64_t(size);
  evidence.moments.sums.resize(size * size);
  size_t rows = size ? elements.size() / size : 0;
  std::vector<float> x(size);
  for (size_t row = 0; row < rows; row += size_t(step)) {
    ++evidence.moments.rows;
    for (size_t i = 0; i < size; ++i)
      x[i] = elements[(row / inside * size + i) * inside + row % inside];
    for (size_t i = 0; i < size; ++i) {
      float *sums = &evidence.moments.sums[i * size], own = x[i];
      for (size_t j = 0; own != 0 && j <= i; ++j)
        sums[j] += own * x[j];
    }
  }
}

void Observation::completeMoments() {
  auto size = size_t(evidence.moments.size);
  for (size_t i = 0; i < size; ++i)
    for (size_t j = 0; j < i; ++j)
      evidence.moments.sums[j * size + i] = evidence.moments.sums[i * size + j];
}

} // namespace hewn::quantize

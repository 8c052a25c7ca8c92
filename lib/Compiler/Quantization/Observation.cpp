// SPDX-License-Identifier: Apache-2.0
#include "lib/Compiler/Quantization/Observation.h"
#include "lib/Compiler/Quantization/Samples.h"
#include "lib/Target/Targets.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <cstring>

namespace hewn::quantize {

/// Returns the number of adjacent elements of an array that belong to one channel.
static int64_t runLength(const Array &array, unsigned channelDim) {
  int64_t length = 1;
  for (size_t d = channelDim + 1; d < array.shape.size(); ++d)
    length *= array.shape[d];
  return length;
}

void Observation::add(const Array &array, std::optional<unsigned> channelDim) {
  std::vector<float> converted;
  llvm::ArrayRef<float> elements = floatsOf(array, converted);
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

void Observation::add(const Observation &other) {
  seen.add(other.seen);
  evidence.count += other.evidence.count;
  evidence.runs += other.evidence.runs;
  evidence.channels.resize(std::max(evidence.channels.size(), other.evidence.channels.size()));
  for (auto [channel, added] : llvm::zip(evidence.channels, other.evidence.channels)) {
    channel.low = std::min(channel.low, added.low);
    channel.high = std::max(channel.high, added.high);
    channel.sum += added.sum;
    channel.squares += added.squares;
    channel.peaks += added.peaks;
    channel.peakSquares += added.peakSquares;
  }
}

void Observation::addDivided(const Array &array, unsigned channelDim, llvm::ArrayRef<double> factors) {
  std::vector<float> converted, divided;
  llvm::ArrayRef<float> elements = floatsOf(array, converted);
  auto inside = size_t(runLength(array, channelDim));
  std::vector<float> divisors(factors.begin(), factors.end());
  divided.reserve(elements.size());
  for (size_t channel = 0; divided.size() < elements.size(); channel = (channel + 1) % divisors.size())
    for (float x : elements.slice(divided.size(), inside))
      divided.push_back(x / divisors[channel]);
  seen.add(divided);
}

int64_t momentBytes(const Array &array, unsigned channelDim) {
  int64_t size = array.shape[channelDim];
  return size * size * int64_t(sizeof(float));
}

void Observation::addMoments(const Array &array, unsigned channelDim, int64_t step) {
  std::vector<float> converted;
  llvm::ArrayRef<float> elements = floatsOf(array, converted);
  auto size = size_t(array.shape[channelDim]), inside = size_t(runLength(array, channelDim));
  evidence.moments.size = int64_t(size);
  evidence.moments.sums.resize(size * size);
  size_t rows = size ? elements.size() / size : 0, each = size_t(step);
  static RankUpdate *const update = target::rankUpdate();
  RowPanel panel(size);
  for (size_t first = 0; first < rows; first += panel.count * each) {
    panel.count = std::min(RowPanel::kRows, (rows - first + each - 1) / each);
    evidence.moments.rows += int64_t(panel.count);
    for (size_t i = 0; i < size; ++i)
      for (size_t r = 0; r < panel.count; ++r) {
        size_t row = first + r * each;
        panel.row(r)[i] = elements[(row / inside * size + i) * inside + row % inside];
      }
    update(panel, evidence.moments.sums.data());
  }
}

void Observation::completeMoments() {
  auto size = size_t(evidence.moments.size);
  for (size_t i = 0; i < size; ++i)
    for (size_t j = 0; j < i; ++j)
      evidence.moments.sums[j * size + i] = evidence.moments.sums[i * size + j];
}

} // namespace hewn::quantize

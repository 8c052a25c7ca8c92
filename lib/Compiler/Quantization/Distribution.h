// SPDX-License-Identifier: Apache-2.0
//
// A histogram of the observed elements of a tensor, and the choice of a quantized range for it.
#ifndef HEWN_LIB_COMPILER_QUANTIZATION_DISTRIBUTION_H
#define HEWN_LIB_COMPILER_QUANTIZATION_DISTRIBUTION_H

#include "lib/Transforms/Quantize/Quantization.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <vector>

namespace hewn::quantize {

/// A histogram whose range need not be known in advance. It spans [-reach, reach), where reach is a
/// power of two. If an element is outside of that range, reach is doubled and pairs of bins are
/// merged. The elements are read once, and the result does not depend on their order.
class Distribution {
public:
  /// Counts the elements of an array. If one of the elements is not finite, the histogram is marked
  /// as invalid and counts nothing more.
  void add(llvm::ArrayRef<float> elements);
  /// Adds the counts of another histogram.
  void add(const Distribution &other);

  bool isFinite() const { return finite; }
  uint64_t count() const { return total; }
  float smallest() const { return low; }
  float largest() const { return high; }

  /// Scale and zero point of a mapping to 8-bit unsigned integers. The value 0 is mapped without
  /// error.
  struct Mapping {
    double scale = 1;
    int64_t zero = 0;
  };
  Mapping mapping(const Activations &how) const;
  /// Errors of quantizing the elements, computed from the centers of bins: Σ x², Σ (x - x')², where
  /// x' is the dequantized value of x, and the number of clipped elements.
  struct Loss {
    double signal = 0, noise = 0;
    uint64_t clipped = 0;
  };
  Loss loss(const Mapping &mapping) const;

private:
  static constexpr int64_t kBins = 4096;
  void widen(float magnitude);
  void widenTwice();
  double center(int64_t bin) const { return (double(bin) + 0.5 - double(kBins) / 2) * width(); }
  double width() const { return 2 * reach / double(kBins); }
  double percentile(double share, bool upper) const;
  double divergence(double from, double to) const;

  std::vector<uint64_t> bins;
  double reach = 0;
  float low = 0, high = 0;
  uint64_t total = 0;
  bool finite = true;
};

/// Returns the mapping for the range [from, to], which is extended to contain zero.
Distribution::Mapping mappingOf(double from, double to, bool symmetric);

} // namespace hewn::quantize

#endif

// SPDX-License-Identifier: Apache-2.0
//
// What runs showed of a tensor's elements, and the range of integers that is laid over it.
#ifndef HEWN_LIB_COMPILER_QUANTIZATION_DISTRIBUTION_H
#define HEWN_LIB_COMPILER_QUANTIZATION_DISTRIBUTION_H

#include "lib/Transforms/Quantize/Quantization.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <vector>

namespace hewn::quantize {

/// A histogram that needs no range beforehand: it spans [-reach, reach), where reach is a power of two, and twice that when an element lies
/// outside, two bins becoming one. So data are seen once, in any order, and the result does not depend on it.
class Distribution {
public:
  /// Counts the elements. What is not finite is noted, and not counted.
  void add(llvm::ArrayRef<float> elements);
  /// Counts what another has counted, as if it had seen the elements itself.
  void add(const Distribution &other);

  bool isFinite() const { return finite; }
  uint64_t count() const { return total; }
  float smallest() const { return low; }
  float largest() const { return high; }

  /// The scale and zero point of unsigned integers of 8 bits: zero is one of them.
  struct Mapping {
    double scale = 1;
    int64_t zero = 0;
  };
  Mapping mapping(const Activations &how) const;
  /// The elements, as far as bins tell, through integers: Σ x², Σ (x - x')² and how many lie outside of the range.
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

/// The mapping of [from, to], widened to hold zero.
Distribution::Mapping mappingOf(double from, double to, bool symmetric);

} // namespace hewn::quantize

#endif

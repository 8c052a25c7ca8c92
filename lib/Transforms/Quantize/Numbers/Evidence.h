// SPDX-License-Identifier: Apache-2.0
//
// What runs showed of the left operands of contractions, as far as the choice of integers for their weights asks for it.
#ifndef HEWN_LIB_TRANSFORMS_QUANTIZE_EVIDENCE_H
#define HEWN_LIB_TRANSFORMS_QUANTIZE_EVIDENCE_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hewn::quantize {

/// One channel of an operand: its extremes, with zero, Σ x and Σ x². `peaks`, `peakSquares`: the same sums over runs, of each run's max|x|.
struct Channel {
  float low = 0, high = 0;
  double sum = 0, squares = 0, peaks = 0, peakSquares = 0;
};

/// Σ x xᵀ over the rows x of an operand: [size, size].
struct SecondMoments {
  int64_t size = 0, rows = 0;
  std::vector<float> sums;
};

struct Evidence {
  /// Elements of each channel; runs that showed them.
  double count = 0, runs = 0;
  std::vector<Channel> channels;
  SecondMoments moments;
};

/// By the name of a contraction.
using EvidenceOf = std::map<std::string, const Evidence *>;

} // namespace hewn::quantize

#endif

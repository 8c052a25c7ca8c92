// SPDX-License-Identifier: Apache-2.0
//
// Calibration statistics of the left operands of contractions, as far as the quantization of
// weights needs them.
#ifndef HEWN_LIB_TRANSFORMS_QUANTIZE_EVIDENCE_H
#define HEWN_LIB_TRANSFORMS_QUANTIZE_EVIDENCE_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hewn::quantize {

/// Statistics of one channel of activations: its range including zero, Σ x and Σ x². `peaks` and
/// `peakSquares` are Σ p and Σ p² over the calibration runs, where p is the largest |x| of a run.
struct Channel {
  float low = 0, high = 0;
  double sum = 0, squares = 0, peaks = 0, peakSquares = 0;
};

/// Second moments of a contraction's left operand: Σ x xᵀ over its observed rows x, as a matrix
/// [size, size].
struct SecondMoments {
  int64_t size = 0, rows = 0;
  std::vector<float> sums;
};

struct Evidence {
  /// Number of elements that calibration observed per channel, and number of calibration runs.
  double count = 0, runs = 0;
  std::vector<Channel> channels;
  SecondMoments moments;
};

/// Calibration statistics of each contraction's left operand, by the contraction's name.
using EvidenceOf = std::map<std::string, const Evidence *>;

} // namespace hewn::quantize

#endif

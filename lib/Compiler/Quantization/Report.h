// SPDX-License-Identifier: Apache-2.0
//
// What a quantization costs and brings, in numbers.
#ifndef HEWN_LIB_COMPILER_QUANTIZATION_REPORT_H
#define HEWN_LIB_COMPILER_QUANTIZATION_REPORT_H

#include "lib/Compiler/Quantization/Timing.h"
#include "lib/Transforms/Quantize/Passes.h"
#include "llvm/Support/JSON.h"
#include <map>

namespace hewn::quantize {

/// How a tensor of the quantized model differs from the one of floats, over all runs.
class Agreement {
public:
  /// Two tensors of one shape; false where they are not.
  bool add(const Array &wanted, const Array &got);
  double decibels() const;
  /// What others of the same kind have at least, as far as these runs tell: noise is counted as one of its standard errors more, or of few runs as
  /// many as hold for five of six choices of runs too (of a quotient of two sums: Cochran, "Sampling Techniques", 1977, 6.4; Student, 1908). Of one
  /// run: what it has.
  double likelyDecibels() const;
  double largestError() const;
  /// Its figures; what only tensors of scores have (argmax along the last dim) is left out of others.
  llvm::json::Object json() const;
  /// Whether anything was compared: numbers of tensors of floats.
  bool isThere() const { return elements > 0 || isBroken; }
  /// Whether all rows along the last dim were probabilities: none below zero, and 1 in sum.
  bool isOfProbabilities() const { return rows > 0 && probabilities == rows; }

private:
  double signal = 0, noise = 0, product = 0, signalOfGot = 0, largest = 0;
  /// Of a run's noise n and signal s: Σ n², Σ n s, Σ s².
  double noiseSquares = 0, noiseBySignal = 0, signalSquares = 0;
  /// Another shape, or a number in one and none in the other: no bound holds it.
  bool isBroken = false;
  int64_t elements = 0, rows = 0, sameArgmax = 0, probabilities = 0, runs = 0;
};

struct OperandRange {
  float low = 0, high = 0;
  double decibels = 0, clipped = 0;
};

struct Report {
  int64_t samples = 0, compared = 0;
  /// The numbers of the samples that outputs are judged by and nothing was fitted to, from 1 on; none: the samples were too few.
  std::vector<int64_t> heldOut;
  /// How many fits were judged, each by samples that it is without. Where there are several, what is delivered is fitted to all samples.
  int64_t fits = 1;
  std::vector<QuantizedSite> sites;
  std::vector<std::pair<std::string, Agreement>> outputs;
  /// The same over the samples that were fitted to, where outputs are of others, and a bound of the largest error asks for it or those others have no
  /// number of an output.
  std::vector<Agreement> fitted;
  /// Outputs of floats that no sample has a number of.
  std::vector<std::string> notShown;
  /// By the name of a contraction: its left operand as runs of the float model had it, and in the quantized model beside that one.
  std::map<std::string, OperandRange> ranges;
  std::map<std::string, Agreement> operands;
  /// Contractions that went back to floats for a bound, in this order.
  std::vector<std::string> returned;

  Times times;

  /// Of outputs that the samples have no number of, nothing.
  double leastDecibels() const;
  /// The same by Agreement::likelyDecibels, and `less` than that, or `lessOfFitted` where fitted samples alone have numbers of an output; of outputs that
  /// are probabilities at most what runs had less `lessOfProbabilities`.
  double leastLikelyDecibels(double less, double lessOfFitted, double lessOfProbabilities) const;
  /// By what output number `i` is judged: the samples that are compared, or where they have no number of it the fitted ones.
  const Agreement &judged(size_t i) const;
  double largestError() const;
  std::string json(const Quantization &quantization) const;
};

} // namespace hewn::quantize

#endif

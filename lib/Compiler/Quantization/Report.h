// SPDX-License-Identifier: Apache-2.0
//
// The report of a quantizing compile: errors of outputs and operands, and contractions that fell
// back to float.
#ifndef HEWN_LIB_COMPILER_QUANTIZATION_REPORT_H
#define HEWN_LIB_COMPILER_QUANTIZATION_REPORT_H

#include "lib/Compiler/Quantization/Timing.h"
#include "lib/Transforms/Quantize/Passes.h"
#include "llvm/Support/JSON.h"
#include <map>

namespace hewn::quantize {

/// Statistics of the difference between a tensor of the quantized model and that of the float
/// model, over all runs.
class Agreement {
public:
  /// Adds the tensors of one run: of the float model and of the quantized model. Returns false if
  /// they have different shapes.
  bool add(const Array &wanted, const Array &got);
  double decibels() const;
  /// Estimates the signal-to-noise ratio in decibels that other data probably exceed. The noise of
  /// the runs is increased by one standard error. If there are few runs, it is increased so far
  /// that five of six sets of runs stay below it (ratio of two sums: Cochran, "Sampling
  /// Techniques", 1977, 6.4; Student, 1908). If there is one run, the result is its ratio.
  double likelyDecibels() const;
  double largestError() const;
  /// Returns the figures for the JSON report. They include the share of rows with equal argmax only
  /// if the last dim has several elements.
  llvm::json::Object json() const;
  /// Returns true if the comparison has a result: finite elements were compared, or the tensors
  /// were found to be incomparable (`isBroken`).
  bool isThere() const { return elements > 0 || isBroken; }
  /// Returns true if all rows along the last dim are probabilities: nonnegative with sum 1.
  bool isOfProbabilities() const { return rows > 0 && probabilities == rows; }

private:
  double signal = 0, noise = 0, product = 0, signalOfGot = 0, largest = 0;
  /// Σ n², Σ n s and Σ s² over runs, where n is the noise and s the signal of a run.
  double noiseSquares = 0, noiseBySignal = 0, signalSquares = 0;
  /// True if the tensors of the two models have different shapes, or if an element is finite in
  /// only one of them. In that case no bound is met.
  bool isBroken = false;
  int64_t elements = 0, rows = 0, sameArgmax = 0, probabilities = 0, runs = 0;
};

struct OperandRange {
  float low = 0, high = 0;
  double decibels = 0, clipped = 0;
};

struct Report {
  int64_t samples = 0, compared = 0;
  /// Numbers (from 1) of the held-out samples on which outputs are compared. Empty if there were
  /// too few samples to hold some out.
  std::vector<int64_t> heldOut;
  /// Number of fits that cross-validation compared. If it is above 1, the delivered model is fitted
  /// to all samples.
  int64_t fits = 1;
  std::vector<QuantizedCandidate> sites;
  std::vector<std::pair<std::string, Agreement>> outputs;
  /// Comparisons of outputs on the samples to which the model was fitted. Used only if outputs are
  /// compared on held-out samples, in two cases: for a bound of the largest error, and for an
  /// output that has no finite element in the held-out samples.
  std::vector<Agreement> fitted;
  /// Names of float outputs that have no finite element in any sample.
  std::vector<std::string> notShown;
  /// For each contraction, the range of its left operand in the float model, and the comparison of
  /// that operand between the two models.
  std::map<std::string, OperandRange> ranges;
  std::map<std::string, Agreement> operands;
  /// Names of contractions that fell back to float to satisfy a bound, in the order in which they
  /// fell back.
  std::vector<std::string> returned;

  Times times;

  /// Returns the lowest signal-to-noise ratio of all outputs with finite elements, in decibels.
  double leastDecibels() const;
  /// Returns the lowest Agreement::likelyDecibels of all outputs, after a margin is subtracted:
  /// `less`, or `lessOfFitted` for outputs that are compared on fitted samples. For an output that
  /// consists of probabilities, the value is at most its measured decibels minus
  /// `lessOfProbabilities`.
  double leastLikelyDecibels(double less, double lessOfFitted, double lessOfProbabilities) const;
  /// Returns the comparison of output `i` that counts for bounds: that on the compared samples or,
  /// if they have no finite element, that on the fitted samples.
  const Agreement &judged(size_t i) const;
  double largestError() const;
  std::string json(const Quantization &quantization) const;
};

} // namespace hewn::quantize

#endif

// SPDX-License-Identifier: Apache-2.0
//
// What a bound of decibels is judged by: all samples that are kept, each through a model that was fitted without it.
//
// One part of the samples that is held out is too few to tell what others have, where most of the noise is some samples'. So the same is fitted
// for each of the parts, to all others, and the noise of all parts together is what a choice is judged by (k-fold cross-validation; Stone, 1974;
// Geisser, "The Predictive Sample Reuse Method", 1975). What goes into the artifact is fitted to all of them, which is no worse.
// The models of parts compute contractions both ways, so that one compile a part does for all choices of what goes back to floats.
#include "lib/Compiler/Quantization/Quantizer.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include <cstring>

namespace hewn::quantize {

/// Weights of float32, in bytes, beyond which part 0 alone is judged by: there is a model a part, with both kinds of weights, at a time.
static constexpr int64_t kMostWeightBytes = 256 << 20;
/// Memory for outputs that all choices are compared with.
static constexpr int64_t kRightBytes = 64 << 20;
/// Noise so many decibels below a bound meets it in other data too: thirty times as much does.
static constexpr double kFarDecibels = 15;

bool Quantizer::isFarFromBounds() const {
  return meetsBounds() && (leastDecibels() <= 0 || judgedDecibels() >= leastDecibels() + kFarDecibels);
}

/// Of what is wanted now; nothing after an error.
std::optional<Quantizer::Trial> Quantizer::compileTrial() {
  Trial trial{part, {}, nullptr, {}};
  std::vector<QuantizedSite> told;
  QuantizeStep step{wanted, &told};
  step.trial = &trial.sites;
  CompileOptions options = scratch();
  options.step = &step;
  trial.model = ScratchModel::compile(options, diagnostics);
  if (!trial.model)
    return std::nullopt; // diagnostics say why
  return trial;
}

/// A run with each contraction as far from floats (0) as its share says; 1: as it is quantized.
bool Quantizer::runTrial(const Trial &trial, const Samples::Inputs &inputs, llvm::ArrayRef<float> shares,
                         std::vector<Array> &outputs) {
  Samples::Inputs all = inputs;
  Array array{{kDLFloat, 32, 1}, {int64_t(shares.size())}, std::vector<char>(shares.size() * sizeof(float))};
  std::memcpy(array.bytes.data(), shares.data(), array.bytes.size());
  all.push_back(std::move(array));
  return run(trial.model->library(), all, outputs);
}

/// The outputs of floats for sample number `sample` of the trial's part, in `own` where there is no room to keep them for the next choice.
bool Quantizer::runFloats(Trial &trial, size_t sample, const Samples::Inputs &inputs, std::vector<Array> &own,
                          llvm::ArrayRef<Array> &right) {
  if (sample >= trial.right.size()) {
    if (!run(floats->library(), inputs, own))
      return false;
    own.resize(numOutputs()); // without the operands
    right = own;
    int64_t bytes = 0;
    for (const Array &array : own)
      bytes += int64_t(array.bytes.size());
    if (sample > trial.right.size() || rightBytes + bytes > kRightBytes)
      return true;
    rightBytes += bytes;
    trial.right.push_back(std::move(own));
  }
  right = trial.right[sample];
  return true;
}

/// Fits without each of the parts in turn, and judges by all of them, where something is held out and there is a bound of decibels.
bool Quantizer::crossFit() {
  int64_t bytes = 0;
  for (const QuantizedSite &site : report.sites)
    bytes += site.weightBits ? site.floatBytes : 0;
  if (!samples.areHeldOut() || leastDecibels() <= 0 || bytes > kMostWeightBytes)
    return true;
  for (part = 0; part < Samples::kParts; ++part) {
    if (part > 0) {
      wanted = asked;
      if (!fit())
        return false;
    }
    std::optional<Trial> trial = compileTrial();
    if (!trial)
      return false;
    trials.push_back(std::move(*trial));
  }
  part = Samples::kNoPart;
  wanted = asked;
  if (!fit())
    return false;
  report.heldOut = samples.numbers(llvm::to_vector(llvm::seq(Samples::kParts)));
  report.compared = int64_t(report.heldOut.size());
  report.fits = Samples::kParts;
  return judge();
}

/// Trials tell of the outputs without a compile; the largest error is of the artifact itself.
bool Quantizer::judge() {
  if (trials.empty())
    return compare();
  return judgeByTrials() && (given.largestError <= 0 || compare());
}

/// How the outputs differ with those contractions as floats that are so in `wanted`.
bool Quantizer::judgeByTrials() {
  for (auto &[name, agreement] : report.outputs)
    agreement = {};
  std::vector<Array> own, got;
  for (Trial &trial : trials) {
    std::vector<float> shares(trial.sites.size, 0);
    // As `wanted` has it, which is fitted to all: what one part's samples alone made floats of is integers in that part's trial.
    for (const auto &[number, name] : trial.sites.sites)
      if (auto site = wanted.sites.find(name); site == wanted.sites.end() || !site->second.scheme.keepFloat)
        shares[number] = 1;
    for (auto [sample, inputs] : llvm::enumerate(samples.compared(trial.part))) {
      tell("judging by samples that nothing was fitted to");
      llvm::ArrayRef<Array> right;
      if (!runFloats(trial, sample, *inputs, own, right) || !runTrial(trial, *inputs, shares, got))
        return false;
      for (size_t i = 0; i < numOutputs(); ++i)
        report.outputs[i].second.add(right[i], got[i]);
    }
  }
  return true;
}

} // namespace hewn::quantize

// SPDX-License-Identifier: Apache-2.0
//
// Checks a bound in decibels by cross-validation: each kept sample is run by a model that was
// fitted without it.
//
// A single held-out part is too small to predict other data if a few samples have most of the
// noise. The model is therefore fitted once for each part, without the samples of that part. A
// choice of contractions that fall back to float is accepted if the noise over all parts satisfies
// the bound (k-fold cross-validation; Stone, 1974; Geisser, "The Predictive Sample Reuse Method",
// 1975). The artifact is fitted to all samples, which is at least as good. The models of the parts
// compute contractions both in float and quantized, so that one compile per part is enough for all
// choices.
#include "lib/Compiler/Quantization/Quantizer.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include <cstring>

namespace hewn::quantize {

/// Limit of the size of float32 weights for cross-validation. The model of each part has float and
/// quantized weights in memory. For larger weights, only part 0 is held out, and no further part
/// needs a model.
static constexpr int64_t kMostWeightBytes = 256 << 20;
/// Memory limit for outputs of the float model, with which the outputs of each choice are compared.
static constexpr int64_t kRightBytes = 64 << 20;
/// If the samples exceed a bound by this margin in decibels, the bound also holds for other data
/// with thirty times as much noise, so that cross-validation is not needed.
static constexpr double kFarDecibels = 15;

bool Quantizer::isFarFromBounds() const {
  return meetsBounds() && (leastDecibels() <= 0 || judgedDecibels() >= leastDecibels() + kFarDecibels);
}

/// Compiles a model with the current choices in `wanted` that computes contractions both in float
/// and quantized. Returns nullopt after an error.
std::optional<Quantizer::Trial> Quantizer::compileTrial() {
  Trial trial{part, {}, nullptr, {}};
  std::vector<QuantizedCandidate> told;
  QuantizeStep step{wanted, &told};
  step.trial = &trial.sites;
  CompileOptions options = scratch();
  options.step = &step;
  trial.model = ScratchModel::compile(options, diagnostics);
  if (!trial.model)
    return std::nullopt; // the compile has reported the error
  return trial;
}

/// Runs the model of a trial. `shares` has a number for each contraction: 0 selects the
/// contraction's float result, 1 its quantized result.
bool Quantizer::runTrial(const Trial &trial, const Samples::Inputs &inputs, llvm::ArrayRef<float> shares,
                         std::vector<Array> &outputs) {
  Samples::Inputs all = inputs;
  Array array{{kDLFloat, 32, 1}, {int64_t(shares.size())}, std::vector<char>(shares.size() * sizeof(float))};
  std::memcpy(array.bytes.data(), shares.data(), array.bytes.size());
  all.push_back(std::move(array));
  return run(trial.model->library(), all, outputs);
}

/// Computes the float model's outputs for sample number `sample` of the trial's part and lets
/// `right` refer to them. If the memory limit allows it, the outputs are kept for comparing further
/// choices of quantized contractions, otherwise they are stored in `own`.
bool Quantizer::runFloats(Trial &trial, size_t sample, const Samples::Inputs &inputs, std::vector<Array> &own,
                          llvm::ArrayRef<Array> &right) {
  if (sample >= trial.right.size()) {
    if (!run(floats->library(), inputs, own))
      return false;
    own.resize(numOutputs()); // drops the observed operands, which follow the outputs
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

/// Compiles a trial for each part of the samples, fitted to the other parts, and compares the
/// outputs of all trials with the float model. Does nothing if there are no held-out samples, or no
/// bound in decibels.
bool Quantizer::crossFit() {
  int64_t bytes = 0;
  for (const QuantizedCandidate &site : report.sites)
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

/// Compares the outputs for the current choice of quantized contractions. If trials exist, they are
/// run and no compile is needed. A bound of the largest error is checked on the delivered model.
bool Quantizer::judge() {
  if (trials.empty())
    return compare();
  return judgeByTrials() && (given.largestError <= 0 || compare());
}

/// Compares the outputs of the trials with those of the float model. Contractions that fall back to
/// float in `wanted` do so in the trials.
bool Quantizer::judgeByTrials() {
  for (auto &[name, agreement] : report.outputs)
    agreement = {};
  std::vector<Array> own, got;
  for (Trial &trial : trials) {
    std::vector<float> shares(trial.sites.size, 0);
    // `wanted` was fitted to all samples. If the fit without this part left a contraction in float,
    // the trial has no share for it.
    for (const auto &[number, name] : trial.sites.sites)
      if (auto site = wanted.sites.find(name); site == wanted.sites.end() || !site->second.scheme.keepFloat)
        shares[number] = 1;
    for (auto [sample, inputs] : llvm::enumerate(samples.compared(trial.part))) {
      tell("judging by held-out samples");
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

// SPDX-License-Identifier: Apache-2.0
//
// Lets contractions fall back to float until the quantized model satisfies a bound.
//
// First, the error that each contraction causes alone is measured: one program computes all
// contractions in float and quantized, and an input selects. Contractions are sorted by error per
// saved cycle, the largest first; a prefix of this list falls back to float. Errors of different
// contractions add up if they are small, so the length of the prefix can be predicted. The
// predicted prefix is compiled and compared, and a binary search extends it if the bound does not
// hold.
//
// The list is sorted by errors on fitted samples. The length of the prefix is checked on held-out
// samples (Trials.cpp), if there are any: with two samples, the order would be as overfitted to
// them as a range is.
#include "lib/Compiler/Quantization/Quantizer.h"
#include "lib/Transforms/Quantize/Numbers/RoundWeights.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <cstring>

namespace hewn::quantize {

/// Default bound in decibels for 8-bit integers. It is meant to hold for other data as well, as far
/// as the samples can predict that (Agreement::likelyDecibels).
static constexpr double kLeastDecibels = 25;
/// Decibels that are added to the bound if there are too few samples to hold some out: the samples
/// to which ranges, factors and shifts were fitted have less noise than other data.
static constexpr double kMoreOfFitted = 3;
/// Decibels that are added to the bound for outputs that are probabilities. Rows in which one class
/// is certain have nearly all of the signal and little noise, so the ratio overstates the accuracy
/// of rows in which two classes are likely.
static constexpr double kMoreOfProbabilities = 5;
/// Approximate number of runs that measure the errors of single contractions, and the least and
/// greatest number of samples that are used for these runs.
static constexpr int64_t kTrialRuns = 512, kFewestSamples = 4, kMostSamples = 8;

double Quantizer::leastDecibels() const {
  bool areBytes = wanted.scheme.weights.bits == 8 && wanted.scheme.activations.integers;
  return given.leastDecibels > 0 ? given.leastDecibels : areBytes && given.largestError <= 0 ? kLeastDecibels : 0;
}

/// Returns the signal-to-noise ratio in decibels that is compared with the bound: the ratio that is
/// expected for other data. If the user gave the bound and there are no held-out samples, returns
/// the ratio measured on the samples.
double Quantizer::judgedDecibels() const {
  bool isSaid = given.leastDecibels > 0, areHeldOut = !report.heldOut.empty();
  if (isSaid && !areHeldOut)
    return report.leastDecibels();
  return report.leastLikelyDecibels(areHeldOut ? 0 : kMoreOfFitted, kMoreOfFitted, isSaid ? 0 : kMoreOfProbabilities);
}

bool Quantizer::meetsBounds() const {
  return (leastDecibels() <= 0 || judgedDecibels() >= leastDecibels()) &&
         (given.largestError <= 0 || report.largestError() <= given.largestError);
}

/// Returns true if the contraction may fall back to float. A contraction that the user's
/// quantization text names may do so only if the user also gave a bound.
bool Quantizer::mayGoBack(const std::string &name) const {
  auto chosen = wanted.sites.find(name);
  bool isMeant = chosen != wanted.sites.end() && (asGiven.count(name) || chosen->second.scheme.evenIfSlower);
  return hasBound() || !isMeant;
}

/// Returns the names of the contractions that are quantized in the compared model or in a trial.
std::vector<std::string> Quantizer::candidates() const {
  std::set<std::string> names;
  for (const QuantizedCandidate &site : report.sites)
    if (site.weightBits && mayGoBack(site.node))
      names.insert(site.node);
  for (const Trial &trial : trials)
    for (const auto &[number, name] : trial.sites.sites)
      if (mayGoBack(name))
        names.insert(name);
  return {names.begin(), names.end()};
}

/// Adds the squared error Σ (x - x')² of each floating-point output to `noise`.
static void addNoise(llvm::ArrayRef<Array> right, llvm::ArrayRef<Array> got, std::vector<double> &noise) {
  noise.resize(right.size());
  for (auto [a, b, sum] : llvm::zip(right, got, noise)) {
    std::vector<float> ofA, ofB;
    llvm::ArrayRef<float> x = floatsOf(a, ofA), y = floatsOf(b, ofB);
    for (size_t i = 0; i < std::min(x.size(), y.size()); ++i)
      if (double left = double(x[i]) - double(y[i]); std::isfinite(left))
        sum += left * left;
  }
}

bool Quantizer::measureLosses() {
  std::optional<Trial> own;
  if (trials.empty() && !(own = compileTrial()))
    return false;
  const Trial &trial = own ? *own : trials.front();
  std::vector<const Samples::Inputs *> fitted = samples.fitted(trial.part);
  int64_t each = kTrialRuns / std::max<int64_t>(int64_t(trial.sites.sites.size()), 1);
  size_t count = std::min(fitted.size(), size_t(std::clamp(each, kFewestSamples, kMostSamples)));
  std::vector<double> signal;
  std::map<std::string, std::vector<double>> noise;
  for (const Samples::Inputs *inputs : llvm::ArrayRef(fitted).take_front(count)) {
    std::vector<float> shares(trial.sites.size, 0);
    auto runWith = [&](std::vector<Array> &outputs) {
      tell("measuring the error of each contraction");
      return runTrial(trial, *inputs, shares, outputs);
    };
    std::vector<Array> right, got;
    if (!runWith(right))
      return false;
    std::vector<Array> nothing = right;
    for (Array &array : nothing)
      std::fill(array.bytes.begin(), array.bytes.end(), 0);
    addNoise(right, nothing, signal);
    for (const auto &[number, name] : trial.sites.sites) {
      shares[number] = 1;
      if (!runWith(got))
        return false;
      shares[number] = 0;
      addNoise(right, got, noise[name]);
    }
  }
  losses.clear();
  for (const auto &[name, sums] : noise)
    for (auto [n, s] : llvm::zip(sums, signal))
      losses[name].push_back(s > 0 ? n / s : n > 0 ? 1 : 0);
  return true;
}

/// Predicts how many contractions must fall back to float: the length of the shortest prefix of
/// `order` such that the noise of all other contractions together satisfies the bound in decibels.
size_t Quantizer::expectedCount(llvm::ArrayRef<std::string> order) const {
  double margin = report.leastDecibels() - judgedDecibels();
  double most = leastDecibels() > 0 ? std::pow(10, -(leastDecibels() + margin) / 10) : HUGE_VAL;
  std::vector<double> left;
  size_t count = order.size();
  for (; count > 0; --count) {
    auto found = losses.find(order[count - 1]);
    for (size_t i = 0; found != losses.end() && i < found->second.size(); ++i) {
      left.resize(std::max(left.size(), i + 1));
      left[i] += found->second[i];
    }
    if (llvm::any_of(left, [&](double noise) { return !(noise <= most); }))
      break;
  }
  return std::max<size_t>(count, 1);
}

/// Lets the first `count` contractions of `order` fall back to float, quantizes the others as in
/// `whole`, and compares the outputs.
bool Quantizer::keepFirst(const Quantization &whole, llvm::ArrayRef<std::string> order, size_t count) {
  wanted = whole;
  report.returned.clear();
  for (const std::string &name : order.take_front(count)) {
    Site &site = wanted.sites[name];
    site.node = name;
    site.scheme.keepFloat = true;
    site.why = llvm::formatv("in integers, which alone leave {0:f1} dB in the outputs, the bound was not met",
                             decibels(1, worstLoss(name)));
    report.returned.push_back(name);
  }
  return judge();
}

double Quantizer::worstLoss(const std::string &name) const {
  auto found = losses.find(name);
  return found == losses.end() || found->second.empty() ? 0 : *llvm::max_element(found->second);
}

/// Sorts the contractions by noise per saved cycle, the largest first.
std::vector<std::string> Quantizer::orderOf(const std::vector<std::string> &names) const {
  std::map<std::string, double> saved;
  double all = 0;
  for (const QuantizedCandidate &site : report.sites) {
    saved[site.node] = double(std::max<int64_t>(site.floatCycles - site.integerCycles, 0));
    all += saved[site.node];
  }
  // If the target has no cost model, all contractions count as saving equally many cycles.
  std::vector<std::pair<double, std::string>> order;
  for (const std::string &name : names)
    order.push_back({-worstLoss(name) / (all > 0 ? std::max(saved[name], kNothing * all) : 1), name});
  llvm::sort(order);
  std::vector<std::string> sorted;
  for (const auto &[key, name] : order)
    sorted.push_back(name);
  return sorted;
}

bool Quantizer::returnToFloats() {
  if (isFarFromBounds())
    return true;
  if (candidates().empty())
    return meetsBounds() || explain();
  if (!crossFit())
    return false;
  if (!meetsBounds() && !searchCount(candidates()))
    return false;
  // If only trials have compared the outputs, compares the operands of the finally quantized
  // contractions now, because the report contains them.
  return trials.empty() || given.largestError > 0 || compare();
}

/// Searches for the least number of contractions that must fall back to float, by bisection that
/// starts at the predicted number. The search relies on the error decreasing with that number.
bool Quantizer::searchCount(const std::vector<std::string> &names) {
  if (!measureLosses())
    return false;
  std::vector<std::string> order = orderOf(names);
  const Quantization whole = wanted;
  size_t low = expectedCount(order), high = order.size();
  if (!keepFirst(whole, order, low))
    return false;
  if (meetsBounds())
    return true;
  while (low + 1 < high) {
    size_t middle = (low + high) / 2;
    if (!keepFirst(whole, order, middle))
      return false;
    (meetsBounds() ? high : low) = middle;
  }
  return (low == high || keepFirst(whole, order, high)) && (meetsBounds() || explain());
}

/// If the user gave a bound, reports as an error that the model does not satisfy it even with all
/// contractions in float. Returns true if the user gave no bound.
bool Quantizer::explain() {
  if (given.leastDecibels > 0 && judgedDecibels() < given.leastDecibels)
    diagnostics.error(llvm::formatv(
        "the bound of {0} dB is not met even with all contractions in float32: the outputs have {1:f1} dB",
        given.leastDecibels, judgedDecibels()));
  if (given.largestError > 0 && report.largestError() > given.largestError)
    diagnostics.error(llvm::formatv("the bound of {0} on the largest error is not met even with all contractions in "
                                    "float32: the largest error is {1:e2}",
                                    given.largestError, report.largestError()));
  return !hasBound();
}

} // namespace hewn::quantize

// SPDX-License-Identifier: Apache-2.0
//
// What goes back to floats for a bound. Which goes first is told by the samples that all else was fitted to, how many by those held out (Trials.cpp), where
// there are such: an order that two samples tell fits these two as much as a range does.
//
// Where all that can be are integers and the bound is not met, each contraction is asked what its own rounding does to the outputs: one program
// computes all of them both ways, and an input says which is taken. Noise of several adds up, as long as it is small; so the fewest from the front
// of the list are expected to be those that leave less than the bound. What is expected is then measured, and more are taken by halves.
// The list begins with those that lose most for the cycles that they save.
#include "lib/Compiler/Quantization/Quantizer.h"
#include "lib/Transforms/Quantize/Numbers/RoundWeights.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <cstring>

namespace hewn::quantize {

/// Of integers of 8 bits where the user says no bound, in decibels. It is to hold for other data too, as far as samples tell
/// (Agreement::likelyDecibels).
static constexpr double kLeastDecibels = 25;
/// So many more are asked where samples are too few to hold some out: those that ranges, factors and shifts were fitted to lose less than others.
static constexpr double kMoreOfFitted = 3;
/// So many more are asked of probabilities: rows that are sure of their class have all the signal there, and next to no noise, so that the ratio
/// says more than rows between two classes have.
static constexpr double kMoreOfProbabilities = 5;
/// Runs that tell contractions apart, about.
static constexpr int64_t kTrialRuns = 512, kFewestSamples = 4, kMostSamples = 8;

double Quantizer::leastDecibels() const {
  bool areBytes = wanted.scheme.weights.bits == 8 && wanted.scheme.activations.integers;
  return given.leastDecibels > 0 ? given.leastDecibels : areBytes && given.largestError <= 0 ? kLeastDecibels : 0;
}

/// What other data are expected to have. Of a bound that a user says of few samples: what these have.
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

/// What the user asked for by name is integers whatever it loses, unless a bound was asked for too.
bool Quantizer::mayGoBack(const std::string &name) const {
  auto chosen = wanted.sites.find(name);
  bool isMeant = chosen != wanted.sites.end() && (asGiven.count(name) || chosen->second.scheme.evenIfSlower);
  return hasBound() || !isMeant;
}

/// What is compared has these as integers, or one of the fits that are judged.
std::vector<std::string> Quantizer::candidates() const {
  std::set<std::string> names;
  for (const QuantizedSite &site : report.sites)
    if (site.weightBits && mayGoBack(site.node))
      names.insert(site.node);
  for (const Trial &trial : trials)
    for (const auto &[number, name] : trial.sites.sites)
      if (mayGoBack(name))
        names.insert(name);
  return {names.begin(), names.end()};
}

/// Σ (x - x')² of each output of floats.
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
      tell("what each contraction loses");
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

/// The fewest from the front after which the noise of the others is expected to meet the bound of decibels.
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

/// The first `count` of them are floats, the others what they were.
bool Quantizer::keepFirst(const Quantization &whole, llvm::ArrayRef<std::string> order, size_t count) {
  wanted = whole;
  report.returned.clear();
  for (const std::string &name : order.take_front(count)) {
    Site &site = wanted.sites[name];
    site.node = name;
    site.scheme.keepFloat = true;
    site.why = llvm::formatv("integers, {0:f1} dB of the outputs by themselves, stood in the way of the bound",
                             decibels(1, worstLoss(name)));
    report.returned.push_back(name);
  }
  return judge();
}

double Quantizer::worstLoss(const std::string &name) const {
  auto found = losses.find(name);
  return found == losses.end() || found->second.empty() ? 0 : *llvm::max_element(found->second);
}

/// What is lost for each cycle that is saved, of all that can go back, the most of it first.
std::vector<std::string> Quantizer::orderOf(const std::vector<std::string> &names) const {
  std::map<std::string, double> saved;
  double all = 0;
  for (const QuantizedSite &site : report.sites) {
    saved[site.node] = double(std::max<int64_t>(site.floatCycles - site.integerCycles, 0));
    all += saved[site.node];
  }
  // Where no machine's model tells, all save alike.
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
  // Where trials alone told of the outputs, what was compared of operands is not of what is chosen.
  return trials.empty() || given.largestError > 0 || compare();
}

/// How many of them it takes is searched by halves from what is expected on, since the error falls with their number.
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

/// Of a bound that is not met: an error where the user has said it.
bool Quantizer::explain() {
  if (given.leastDecibels > 0 && judgedDecibels() < given.leastDecibels)
    diagnostics.error(llvm::formatv("the bound of {0} dB is not met by any of it: with all contractions in float32 the "
                                    "outputs have {1:f1} dB",
                                    given.leastDecibels, judgedDecibels()));
  if (given.largestError > 0 && report.largestError() > given.largestError)
    diagnostics.error(
        llvm::formatv("the bound of {0} on the largest error is not met by any of it: with all contractions "
                      "in float32 an output is off by {1:e2}",
                      given.largestError, report.largestError()));
  return !hasBound();
}

} // namespace hewn::quantize

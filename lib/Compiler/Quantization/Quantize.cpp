// SPDX-License-Identifier: Apache-2.0
#include "lib/Compiler/Quantization/Quantize.h"
#include "lib/Compiler/Quantization/MeanShift.h"
#include "lib/Compiler/Quantization/Quantizer.h"
#include "lib/Transforms/Quantize/Numbers/RoundWeights.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <cstring>

namespace hewn {

namespace quantize {

/// `kMomentBytes`: memory limit for the second moments of operands that are collected in one pass
/// over the samples. `kMomentRows`: approximate number of rows that are added to the moments of
/// each operand.
static constexpr int64_t kMomentBytes = 512 << 20, kMomentRows = 8192;

CompileResult Quantizer::run() {
  if (!begin() || !(given.nextSample ? calibrate() && fit() : decide()))
    return {};
  if (given.nextSample && (!compare() || !returnToFloats()))
    return {};
  for (const std::string &name : report.notShown)
    diagnostics.warning("no calibration sample has a finite element of output '" + name +
                        "'; its error is unknown, and no bound is checked for it");
  report.sites.clear();
  CompileOptions last = plain();
  QuantizeStep step{wanted, &report.sites, nullptr, nullptr, [&] { return checkNames(); }};
  last.step = &step;
  CompileResult result = compileOnce(last, diagnostics);
  if (result.ok && given.nextSample)
    result.ok = measureTimes();
  result.quantization = writeQuantization(wanted);
  result.report = report.json(wanted);
  return result;
}

static bool wants(const Quantization &wanted, llvm::function_ref<bool(const Scheme &)> what) {
  auto isWanted = [&](const Scheme &scheme) { return !scheme.keepFloat && what(scheme); };
  return isWanted(wanted.scheme) || llvm::any_of(wanted.rules, [&](const Rule &rule) { return isWanted(rule.scheme); });
}

bool Quantizer::begin() {
  std::optional<Quantization> read = readQuantization(given.quantize, diagnostics);
  if (!read)
    return false;
  wanted = std::move(*read);
  for (const auto &[name, site] : wanted.sites)
    asGiven.insert(name);
  if (hasBound() && !given.nextSample)
    diagnostics.error("a bound of the error needs calibration data");
  bool isBare = !given.nextSample && !wanted.isChosen;
  if (isBare && wants(wanted, [](const Scheme &scheme) { return scheme.activations.integers; })) {
    diagnostics.warning("there is no calibration data, so only weights are quantized and activations stay float32");
    wanted.scheme.activations.integers = false;
    for (Rule &rule : wanted.rules)
      rule.scheme.activations.integers = false;
  }
  if (isBare) {
    if (!wanted.asksForData.empty())
      diagnostics.error("the quantization uses '" + wanted.asksForData + "', which needs calibration data");
    auto leaveOut = [](Scheme &scheme) {
      scheme.biasCorrection = false;
      scheme.smoothing = 0;
    };
    leaveOut(wanted.scheme);
    for (Rule &rule : wanted.rules)
      leaveOut(rule.scheme);
  }
  asked = wanted;
  return !diagnostics.hasErrors();
}

bool Quantizer::run(LoadedLibrary &library, const std::vector<Array> &inputs, std::vector<Array> &outputs) {
  hewn_status status = library.run(inputs, outputs);
  if (status.code != HEWN_OK)
    diagnostics.error(std::string("calibration run: ") + status.message);
  return status.code == HEWN_OK;
}

void Quantizer::tell(llvm::StringRef what) {
  if (told != what)
    toldRuns = 0;
  told = what.str();
  if (given.progress)
    given.progress(llvm::formatv("{0}, run {1}", what, ++toldRuns).str());
}

void Quantizer::forEach(size_t count, llvm::function_ref<void(size_t)> work) {
  if (pool.getMaxConcurrency() == 1) {
    for (size_t i = 0; i < count; ++i)
      work(i);
    return;
  }
  for (size_t i = 0; i < count; ++i)
    pool.async([&work, i] { work(i); });
  pool.wait();
}

bool Quantizer::again(llvm::function_ref<void(std::vector<Array> &outputs)> visit) {
  std::vector<Array> outputs;
  for (const Samples::Inputs *inputs : samples.fitted(part)) {
    tell("ranges and weights by channel");
    if (!run(floats->library(), *inputs, outputs))
      return false;
    visit(outputs);
  }
  return true;
}

/// Runs all samples through the float model and collects calibration statistics.
bool Quantizer::calibrate() {
  CompileOptions options = scratch();
  QuantizeStep step{wanted, nullptr, &exposed};
  options.step = &step;
  floats = ScratchModel::compile(options, diagnostics);
  if (!floats)
    return false;
  for (std::vector<Observation> &group : shown)
    group.resize(exposed.size());
  bool ran = samples.run(floats->library(), diagnostics, [&](std::vector<Array> &outputs, Samples::Group group) {
    forEach(exposed.size(), [&](size_t i) {
      if (!exposed[i].isRows)
        shown[group][i].add(outputs[exposed[i].result], exposed[i].channelDim);
    });
  });
  if (!ran)
    return false;
  report.samples = samples.count();
  report.heldOut = samples.numbers({0});
  return true;
}

bool Quantizer::fit() { return chooseMappings() && decide() && correctBias(); }

bool Quantizer::chooseMappings() {
  seen.assign(exposed.size(), {});
  for (auto [group, observations] : llvm::enumerate(shown))
    if (!samples.areHeldOut() || group != part)
      for (auto [all, one] : llvm::zip(seen, observations))
        all.add(one);
  notShown = 0;
  for (auto [i, operand] : llvm::enumerate(exposed)) {
    if (operand.isRows || operand.isChannels)
      continue;
    // If an operand is not finite in one sample, its contraction stays float in every fit of the
    // quantization. That includes the fit in which that sample is held out: otherwise a quantized
    // contraction would be compared on a sample that it cannot represent.
    const Distribution *distribution = &seen[i].seen;
    for (const std::vector<Observation> &group : shown)
      if (!group[i].seen.isFinite())
        distribution = &group[i].seen;
    for (const ExposedOperand::Contraction &reader : operand.readers)
      choose(reader, *distribution);
  }
  if (notShown > 0 && trials.empty())
    diagnostics.warning(llvm::formatv("{0} contractions got operands that are not finite or empty in the calibration "
                                      "runs; they stay float32",
                                      notShown));
  return true;
}

void Quantizer::choose(const ExposedOperand::Contraction &reader, const Distribution &distribution) {
  Site &site = siteOf(reader.name, reader.kind);
  if (!distribution.isFinite()) {
    site.scheme.keepFloat = true;
    site.why = "its operand was not finite in a calibration run";
    ++notShown;
    return;
  }
  if (distribution.count() == 0) {
    site.scheme.keepFloat = true;
    site.why = "its operand was empty in all calibration runs";
    ++notShown;
    return;
  }
  Distribution::Mapping mapping = distribution.mapping(site.scheme.activations);
  double largest = std::max(-double(distribution.smallest()), double(distribution.largest()));
  if (largest > 0 && (mapping.scale < kLeastScale || largest < kLeastScale)) {
    site.scheme.keepFloat = true;
    site.why = llvm::formatv("its operand was at most {0:e1} in the calibration runs, which is too small for a scale",
                             largest);
    return;
  }
  site.scale = mapping.scale;
  site.zero = mapping.zero;
  Distribution::Loss loss = distribution.loss(mapping);
  double clipped = distribution.count() ? double(loss.clipped) / double(distribution.count()) : 0;
  report.ranges[reader.name] = {distribution.smallest(), distribution.largest(), decibels(loss.signal, loss.noise),
                                clipped};
}

/// Makes the decisions that depend on the target's cost model, the weights and the calibration
/// statistics: which contractions stay float because integers are slower, the smoothing factors,
/// and the compensated rounding of weights.
bool Quantizer::decide() {
  EvidenceOf evidence;
  for (auto [i, operand] : llvm::enumerate(exposed))
    if (!operand.isRows && operand.channelDim)
      for (const ExposedOperand::Contraction &reader : operand.readers)
        evidence[reader.name] = &seen[i].evidence;
  if (!decideBy(evidence))
    return false;
  MomentPass moments;
  for (auto [i, operand] : llvm::enumerate(exposed))
    if (operand.isRows && operand.channelDim && isStillRead(operand))
      moments.waiting.push_back(i);
  return rangesAndMoments(std::move(moments));
}

namespace {

/// Sums up the cycles that contractions with integer activations and weights save.
class Savings {
public:
  void add(const QuantizedCandidate &site) {
    cycles += isKnown(site) ? saved(site) : 0;
    bytes += double(site.floatBytes);
  }
  /// Returns the reason why a contraction should stay float, or an empty string. It should stay
  /// float if integers save almost no time, because quantizing it may still cost much accuracy. An
  /// example are channel gates (squeeze-and-excitation): they are computed from one row, so no
  /// other row averages out its error, and they scale the entire tensor.
  std::string whyFloat(const QuantizedCandidate &site) const {
    // a contraction with at least this share of the weight bytes is quantized to save memory
    constexpr double few = 1.0 / 32;
    if (!site.slower.empty())
      return site.slower;
    bool isNothing = isKnown(site) && saved(site) < kNothing * cycles && double(site.floatBytes) < few * bytes;
    return isNothing ? "it would save less than a thousandth of the cycles that all contractions save" : "";
  }

private:
  static bool isKnown(const QuantizedCandidate &site) { return site.activations && site.floatCycles > 0; }
  static double saved(const QuantizedCandidate &site) {
    return double(std::max<int64_t>(site.floatCycles - site.integerCycles, 0));
  }
  double cycles = 0, bytes = 0;
};

} // namespace

bool Quantizer::decideBy(const EvidenceOf &evidence) {
  std::vector<QuantizedCandidate> told;
  CompileOptions options = plain();
  options.emit = "graph";
  options.output.clear();
  options.remarks.clear();
  options.explain = false;
  QuantizeStep step{wanted, &told};
  step.evidence = &evidence;
  options.step = &step;
  if (!compileOnce(options, diagnostics).ok)
    return false;
  Savings all;
  for (const QuantizedCandidate &site : told)
    all.add(site);
  for (const QuantizedCandidate &site : told)
    if (!asGiven.count(site.node))
      note(site, all.whyFloat(site));
  return true;
}

Site &Quantizer::siteOf(llvm::StringRef node, llvm::StringRef kind) {
  auto [found, isNew] = wanted.sites.try_emplace(node.str());
  if (isNew) {
    found->second.node = node.str();
    found->second.scheme = wanted.schemeFor(node, kind);
  }
  return found->second;
}

void Quantizer::note(const QuantizedCandidate &told, std::string whyFloat) {
  bool staysFloat = told.weightBits && !whyFloat.empty() && !wanted.schemeFor(told.node, told.kind).evenIfSlower;
  if (!staysFloat && told.smooth.empty() && told.codes.empty() && told.codebook.empty())
    return;
  Site &site = siteOf(told.node, told.kind);
  if (staysFloat) {
    site.scheme.keepFloat = true;
    site.why = std::move(whyFloat);
    return;
  }
  if (!told.smooth.empty())
    site.smooth = told.smooth;
  if (!told.codes.empty())
    site.codes = told.codes;
  if (!told.codebook.empty())
    site.codebook = told.codebook;
}

/// Returns the operands that have smoothing factors. Contractions that read one operand with equal
/// factors are in one entry.
std::vector<Quantizer::Smoothed> Quantizer::smoothedOperands() {
  std::vector<Smoothed> smoothed;
  for (auto [i, operand] : llvm::enumerate(exposed))
    for (const ExposedOperand::Contraction &reader : operand.readers) {
      auto site = wanted.sites.find(reader.name);
      if (operand.isRows || site == wanted.sites.end() || site->second.smooth.empty() || asGiven.count(reader.name))
        continue;
      bool isShared = !smoothed.empty() && smoothed.back().operand == i &&
                      smoothed.back().readers.front()->smooth == site->second.smooth;
      if (!isShared)
        smoothed.push_back({i, {}});
      smoothed.back().readers.push_back(&site->second);
    }
  return smoothed;
}

/// Runs the kept samples again to measure the ranges of smoothed operands and the second moments of
/// operands, in as few passes as the memory limit allows.
bool Quantizer::rangesAndMoments(MomentPass pass) {
  std::vector<Smoothed> smoothed = smoothedOperands();
  while (!smoothed.empty() || !pass.waiting.empty()) {
    std::vector<Observation> divided(smoothed.size());
    bool ran = again([&](std::vector<Array> &outputs) {
      forEach(smoothed.size(), [&](size_t i) {
        const ExposedOperand &operand = exposed[smoothed[i].operand];
        divided[i].addDivided(outputs[operand.result], *operand.channelDim, smoothed[i].readers.front()->smooth);
      });
      addMoments(outputs, pass);
    });
    if (!ran)
      return false;
    for (auto [which, observation] : llvm::zip(smoothed, divided))
      for (const Site *site : which.readers)
        choose({site->node, ""}, observation.seen);
    smoothed.clear();
    if (pass.now.empty() || !decideByMoments(pass))
      return !diagnostics.hasErrors();
  }
  return true;
}

/// Returns true if at least one contraction that reads the operand is not yet excluded from
/// quantization.
bool Quantizer::isStillRead(const ExposedOperand &operand) const {
  return llvm::any_of(operand.readers, [&](const ExposedOperand::Contraction &reader) {
    auto site = wanted.sites.find(reader.name);
    return site == wanted.sites.end() || !site->second.scheme.keepFloat;
  });
}

/// Adds the observed operands that a run returns to the second moments of the current pass. In the
/// first run of a pass, selects as many operands as the memory limit allows.
void Quantizer::addMoments(llvm::ArrayRef<Array> outputs, MomentPass &pass) {
  int64_t bytes = 0;
  for (bool isFirst = pass.now.empty();
       isFirst && !pass.waiting.empty() && (pass.now.empty() || bytes < kMomentBytes);) {
    const ExposedOperand &next = exposed[pass.waiting.back()];
    bytes += momentBytes(outputs[next.result], *next.channelDim);
    pass.now.push_back(pass.waiting.back());
    pass.waiting.pop_back();
  }
  forEach(pass.now.size(), [&](size_t number) {
    size_t i = pass.now[number];
    const Array &array = outputs[exposed[i].result];
    unsigned channels = *exposed[i].channelDim;
    int64_t rows =
        array.elements() / std::max<int64_t>(array.shape[channels], 1) * int64_t(samples.fitted(part).size());
    seen[i].addMoments(array, channels, std::max<int64_t>(1, rows / kMomentRows));
  });
}

/// Runs the step `decide` with the second moments that the pass collected, then frees the moments.
bool Quantizer::decideByMoments(MomentPass &pass) {
  EvidenceOf evidence;
  for (size_t i : pass.now) {
    seen[i].completeMoments();
    for (const ExposedOperand::Contraction &reader : exposed[i].readers)
      evidence[reader.name] = &seen[i].evidence;
  }
  if (!evidence.empty() && !decideBy(evidence))
    return false;
  for (size_t i : pass.now)
    seen[i].evidence = {};
  pass.now.clear();
  return true;
}

/// Runs the kept samples through a model that computes each contraction in float and quantized.
/// Records for each contraction the bias that cancels the mean shift of its result columns.
bool Quantizer::correctBias() {
  if (!wants(wanted, [](const Scheme &scheme) { return scheme.biasCorrection; }))
    return true;
  std::vector<QuantizedCandidate> told;
  std::vector<ExposedShift> shifts;
  CompileOptions options = scratch();
  QuantizeStep step{wanted, &told, nullptr, &shifts};
  options.step = &step;
  std::unique_ptr<ScratchModel> model = ScratchModel::compile(options, diagnostics);
  if (!model)
    return false;
  std::vector<MeanShift> means(shifts.size());
  std::vector<Array> outputs;
  std::vector<float> converted;
  for (const Samples::Inputs *inputs : samples.fitted(part)) {
    tell("bias correction");
    if (!run(model->library(), *inputs, outputs))
      return false;
    for (auto [shift, mean] : llvm::zip(shifts, means)) {
      int64_t rows = 0;
      std::memcpy(&rows, outputs[shift.result + 1].bytes.data(), sizeof(rows));
      mean.add(floatsOf(outputs[shift.result], converted), double(rows));
    }
  }
  for (auto [shift, mean] : llvm::zip(shifts, means))
    if (std::vector<double> found = mean.estimate(); !found.empty()) {
      Site &site = siteOf(shift.node, shift.kind);
      for (double one : found)
        // subtracts from 0 to avoid -0, which the text of a quantization cannot represent
        site.bias.push_back(double(float(0 - one)));
    }
  return true;
}

} // namespace quantize

CompileResult compileQuantized(const CompileOptions &options, Diagnostics &diagnostics) {
  return quantize::Quantizer(options, diagnostics).run();
}

} // namespace hewn

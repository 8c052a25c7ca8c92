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

/// Memory for the moments of rows at a time, and rows of an operand that they are of, about.
static constexpr int64_t kMomentBytes = 512 << 20, kMomentRows = 8192;

CompileResult Quantizer::run() {
  if (!begin() || (given.nextSample && !calibrate()) || !decide())
    return {};
  if (given.nextSample && (!correctBias() || !compare() || !returnToFloats()))
    return {};
  for (const std::string &name : report.notShown)
    diagnostics.warning("no sample of the calibration data has a number of output '" + name +
                        "': what integers do to it is not known, and no bound is held there");
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
    diagnostics.error("a bound of the error holds over calibration data, and there are none");
  bool isBare = !given.nextSample && wanted.sites.empty();
  if (isBare && wants(wanted, [](const Scheme &scheme) { return scheme.activations.integers; })) {
    diagnostics.warning("without calibration data no ranges are known: weights alone become integers, and activations "
                        "stay float32");
    wanted.scheme.activations.integers = false;
    for (Rule &rule : wanted.rules)
      rule.scheme.activations.integers = false;
  }
  if (isBare) {
    if (!wanted.asksForData.empty())
      diagnostics.error("the quantization asks for '" + wanted.asksForData +
                        "', which calibration data tell, and there are none");
    auto leaveOut = [](Scheme &scheme) {
      scheme.biasCorrection = false;
      scheme.smoothing = 0;
    };
    leaveOut(wanted.scheme);
    for (Rule &rule : wanted.rules)
      leaveOut(rule.scheme);
  }
  return !diagnostics.hasErrors();
}

bool Quantizer::run(LoadedLibrary &library, const std::vector<Array> &inputs, std::vector<Array> &outputs) {
  hewn_status status = library.run(inputs, outputs);
  if (status.code != HEWN_OK)
    diagnostics.error(std::string("a run on calibration data: ") + status.message);
  return status.code == HEWN_OK;
}

void Quantizer::tell(llvm::StringRef what) {
  if (told != what)
    toldRuns = 0;
  told = what.str();
  if (given.progress)
    given.progress(llvm::formatv("{0}, run {1}", what, ++toldRuns).str());
}

bool Quantizer::again(llvm::function_ref<void(std::vector<Array> &outputs)> visit) {
  for (const std::vector<Array> &inputs : samples.fitted()) {
    std::vector<Array> outputs;
    tell("ranges and weights by channel");
    if (!run(floats->library(), inputs, outputs))
      return false;
    visit(outputs);
  }
  return true;
}

/// Runs all samples through the model of floats, and chooses the mapping of each operand.
bool Quantizer::calibrate() {
  CompileOptions options = scratch();
  QuantizeStep step{wanted, nullptr, &exposed};
  options.step = &step;
  floats = ScratchModel::compile(options, diagnostics);
  if (!floats)
    return false;
  seen.resize(exposed.size());
  bool ran = samples.run(floats->library(), diagnostics, [&](std::vector<Array> &outputs) {
    for (auto [operand, observation] : llvm::zip(exposed, seen))
      if (!operand.isRows)
        observation.add(outputs[operand.result], operand.channelDim);
  });
  if (!ran)
    return false;
  report.samples = samples.count();
  report.heldOut = samples.heldOut().vec();
  for (auto [operand, observation] : llvm::zip(exposed, seen))
    if (!operand.isRows && !operand.isChannels)
      for (const ExposedOperand::Contraction &reader : operand.readers)
        choose(reader, observation.seen);
  if (notShown > 0)
    diagnostics.warning(llvm::formatv("runs over the calibration data gave {0} contractions operands that are not "
                                      "finite or have no elements: these stay float32",
                                      notShown));
  return true;
}

void Quantizer::choose(const ExposedOperand::Contraction &reader, const Distribution &distribution) {
  Site &site = siteOf(reader.name, reader.kind);
  if (!distribution.isFinite()) {
    site.scheme.keepFloat = true;
    site.why = "a run gave it operands that are not finite";
    ++notShown;
    return;
  }
  if (distribution.count() == 0) {
    site.scheme.keepFloat = true;
    site.why = "no run gave it an operand with elements";
    ++notShown;
    return;
  }
  Distribution::Mapping mapping = distribution.mapping(site.scheme.activations);
  double largest = std::max(-double(distribution.smallest()), double(distribution.largest()));
  if (largest > 0 && (mapping.scale < kLeastScale || largest < kLeastScale)) {
    site.scheme.keepFloat = true;
    site.why = llvm::formatv("runs gave it numbers of at most {0:e1}, which are too small for a scale", largest);
    return;
  }
  site.scale = mapping.scale;
  site.zero = mapping.zero;
  Distribution::Loss loss = distribution.loss(mapping);
  double clipped = distribution.count() ? double(loss.clipped) / double(distribution.count()) : 0;
  report.ranges[reader.name] = {distribution.smallest(), distribution.largest(), decibels(loss.signal, loss.noise),
                                clipped};
}

/// What the machine that it is for, the weights, and what runs showed say together: what is slower as integers, factors of channels, integers
/// that make up for each other's rounding.
bool Quantizer::decide() {
  EvidenceOf evidence;
  std::vector<size_t> rows;
  for (auto [i, operand] : llvm::enumerate(exposed)) {
    if (operand.isRows && operand.channelDim)
      rows.push_back(i);
    else if (operand.channelDim)
      for (const ExposedOperand::Contraction &reader : operand.readers)
        evidence[reader.name] = &seen[i].evidence;
  }
  if (!decideBy(evidence) || !rangesAfterSmoothing())
    return false;
  return rows.empty() || decideByMoments(std::move(rows));
}

namespace {

/// What all contractions of integers on both sides save.
class Savings {
public:
  void add(const QuantizedSite &site) {
    cycles += isKnown(site) ? saved(site) : 0;
    bytes += double(site.floatBytes);
  }
  /// Why a contraction is better left alone; empty where it is not. What saves next to nothing may still lose much: gates of channels
  /// are made by one row, whose errors no other row makes up for, and scale all that there is.
  std::string whyFloat(const QuantizedSite &site) const {
    constexpr double few = 1.0 / 32; // of the bytes, which are saved too
    if (!site.slower.empty())
      return site.slower;
    bool isNothing = isKnown(site) && saved(site) < kNothing * cycles && double(site.floatBytes) < few * bytes;
    return isNothing ? "it would save less than a thousandth of the cycles that all of them save" : "";
  }

private:
  static bool isKnown(const QuantizedSite &site) { return site.activations && site.floatCycles > 0; }
  static double saved(const QuantizedSite &site) {
    return double(std::max<int64_t>(site.floatCycles - site.integerCycles, 0));
  }
  double cycles = 0, bytes = 0;
};

} // namespace

bool Quantizer::decideBy(const EvidenceOf &evidence) {
  std::vector<QuantizedSite> told;
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
  for (const QuantizedSite &site : told)
    all.add(site);
  for (const QuantizedSite &site : told)
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

void Quantizer::note(const QuantizedSite &told, std::string whyFloat) {
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

/// Ranges of operands whose channels have factors, over the kept samples.
bool Quantizer::rangesAfterSmoothing() {
  struct Smoothed {
    size_t operand;
    std::vector<const Site *> readers; // of the same factors
  };
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
  if (smoothed.empty())
    return true;
  std::vector<Observation> divided(smoothed.size());
  bool ran = again([&](std::vector<Array> &outputs) {
    for (auto [which, observation] : llvm::zip(smoothed, divided)) {
      const ExposedOperand &operand = exposed[which.operand];
      observation.addDivided(outputs[operand.result], *operand.channelDim, which.readers.front()->smooth);
    }
  });
  for (auto [which, observation] : llvm::zip(smoothed, divided))
    for (const Site *site : which.readers)
      choose({site->node, ""}, observation.seen);
  return ran;
}

/// Some operands at a time, as far as the memory for moments goes.
bool Quantizer::decideByMoments(std::vector<size_t> operands) {
  while (!operands.empty()) {
    std::vector<size_t> now;
    bool ran = again([&](std::vector<Array> &outputs) {
      if (now.empty()) {
        int64_t bytes = 0;
        while (!operands.empty() && (now.empty() || bytes < kMomentBytes)) {
          const ExposedOperand &next = exposed[operands.back()];
          bytes += momentBytes(outputs[next.result], *next.channelDim);
          now.push_back(operands.back());
          operands.pop_back();
        }
      }
      for (size_t i : now) {
        const Array &array = outputs[exposed[i].result];
        unsigned channels = *exposed[i].channelDim;
        int64_t rows =
            array.elements() / std::max<int64_t>(array.shape[channels], 1) * int64_t(samples.fitted().size());
        seen[i].addMoments(array, channels, std::max<int64_t>(1, rows / kMomentRows));
      }
    });
    if (!ran)
      return false;
    EvidenceOf evidence;
    for (size_t i : now) {
      seen[i].completeMoments();
      for (const ExposedOperand::Contraction &reader : exposed[i].readers)
        evidence[reader.name] = &seen[i].evidence;
    }
    if (now.empty() || !decideBy(evidence))
      return !diagnostics.hasErrors();
    for (size_t i : now)
      seen[i].evidence = {};
  }
  return true;
}

/// Runs the kept samples through a model that computes contractions both ways, and notes for each what takes the mean of its shift off again.
bool Quantizer::correctBias() {
  if (!wants(wanted, [](const Scheme &scheme) { return scheme.biasCorrection; }))
    return true;
  std::vector<QuantizedSite> told;
  std::vector<ExposedShift> shifts;
  CompileOptions options = scratch();
  QuantizeStep step{wanted, &told, nullptr, &shifts};
  options.step = &step;
  std::unique_ptr<ScratchModel> model = ScratchModel::compile(options, diagnostics);
  if (!model)
    return false;
  std::vector<MeanShift> means(shifts.size());
  for (const std::vector<Array> &inputs : samples.fitted()) {
    std::vector<Array> outputs;
    tell("bias correction");
    if (!run(model->library(), inputs, outputs))
      return false;
    for (auto [shift, mean] : llvm::zip(shifts, means)) {
      int64_t rows = 0;
      std::memcpy(&rows, outputs[shift.result + 1].bytes.data(), sizeof(rows));
      mean.add(floatsOf(outputs[shift.result]), double(rows));
    }
  }
  for (auto [shift, mean] : llvm::zip(shifts, means))
    if (std::vector<double> found = mean.estimate(); !found.empty()) {
      Site &site = siteOf(shift.node, shift.kind);
      for (double one : found)
        site.bias.push_back(double(float(-one)));
    }
  return true;
}

} // namespace quantize

CompileResult compileQuantized(const CompileOptions &options, Diagnostics &diagnostics) {
  return quantize::Quantizer(options, diagnostics).run();
}

} // namespace hewn

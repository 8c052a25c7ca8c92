// SPDX-License-Identifier: Apache-2.0
#include "lib/Compiler/Quantization/Quantize.h"
#include "lib/Compiler/Quantization/Distribution.h"
#include "lib/Compiler/Quantization/Report.h"
#include "lib/Compiler/Quantization/Samples.h"
#include "lib/Support/Printable.h"
#include "lib/Transforms/Quantize/RoundWeights.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <cstring>
#include <set>

using llvm::StringRef;

namespace hewn {

using namespace quantize;

namespace {

class Quantizer {
public:
  Quantizer(const CompileOptions &options, Diagnostics &diagnostics)
      : given(options), diagnostics(diagnostics), samples(options) {}

  CompileResult run() {
    if (!begin() || (given.nextSample && !calibrate()))
      return {};
    if (given.nextSample && (!correctBias() || !compare() || !returnToFloats()))
      return {};
    report.sites.clear();
    CompileOptions last = plain();
    QuantizeStep step{wanted, &report.sites, nullptr, nullptr, [&] { return checkNames(); }};
    last.step = &step;
    CompileResult result = compileOnce(last, diagnostics);
    result.quantization = writeQuantization(wanted);
    result.report = report.json(wanted);
    return result;
  }

private:
  bool begin();
  bool calibrate();
  void choose(const ExposedOperand::Contraction &reader, const Distribution &distribution);
  bool correctBias();
  bool compare();
  bool returnToFloats();
  bool checkNames();

  /// The options of a step.
  CompileOptions plain() const {
    CompileOptions options = given;
    options.quantize.clear();
    options.nextSample = nullptr;
    return options;
  }
  /// Those of one that is run here: the numbers of a machine that is not at hand are those of this one.
  CompileOptions scratch() const {
    CompileOptions options = plain();
    options.target = "host";
    return options;
  }

  const CompileOptions &given;
  Diagnostics &diagnostics;
  Quantization wanted;
  Samples samples;
  std::unique_ptr<ScratchModel> floats;
  std::vector<ExposedOperand> exposed;
  std::vector<Distribution> seen;
  Report report;
};

bool wantsRanges(const Quantization &wanted) {
  auto wants = [](const Scheme &scheme) { return !scheme.keepFloat && scheme.activations.integers; };
  return wants(wanted.scheme) || llvm::any_of(wanted.rules, [&](const Rule &rule) { return wants(rule.scheme); });
}

bool wants(const Quantization &wanted, bool Scheme::*what) {
  auto isWanted = [&](const Scheme &scheme) { return !scheme.keepFloat && scheme.*what; };
  return isWanted(wanted.scheme) || llvm::any_of(wanted.rules, [&](const Rule &rule) { return isWanted(rule.scheme); });
}

bool Quantizer::begin() {
  std::optional<Quantization> read = readQuantization(given.quantize, diagnostics);
  if (!read)
    return false;
  wanted = std::move(*read);
  if (given.leastDecibels > 0 && !given.nextSample)
    diagnostics.error("a bound of the error holds over calibration data, and there are none");
  if (!given.nextSample && wantsRanges(wanted) && wanted.sites.empty()) {
    diagnostics.warning("without calibration data no ranges are known: weights alone become integers, and activations "
                        "stay float32");
    wanted.scheme.activations.integers = false;
    for (Rule &rule : wanted.rules)
      rule.scheme.activations.integers = false;
  }
  if (!given.nextSample && wanted.sites.empty()) {
    if (!wanted.asksForData.empty())
      diagnostics.error("the quantization asks for '" + wanted.asksForData +
                        "', which calibration data tell, and there are none");
    wanted.scheme.biasCorrection = false;
    for (Rule &rule : wanted.rules)
      rule.scheme.biasCorrection = false;
  }
  return !diagnostics.hasErrors();
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
    for (auto [operand, distribution] : llvm::zip(exposed, seen))
      distribution.add(floatsOf(outputs[operand.result]));
  });
  if (!ran)
    return false;
  report.samples = samples.count();
  for (auto [operand, distribution] : llvm::zip(exposed, seen))
    for (const ExposedOperand::Contraction &reader : operand.readers)
      choose(reader, distribution);
  return true;
}

void Quantizer::choose(const ExposedOperand::Contraction &reader, const Distribution &distribution) {
  Site &site = wanted.sites[reader.name];
  site.node = reader.name;
  site.scheme = wanted.schemeFor(reader.name, reader.kind);
  if (!distribution.isFinite()) {
    site.scheme.keepFloat = true;
    site.why = "a run gave it operands that are not finite";
    return;
  }
  Distribution::Mapping mapping = distribution.mapping(site.scheme.activations);
  site.scale = mapping.scale;
  site.zero = mapping.zero;
  Distribution::Loss loss = distribution.loss(mapping);
  double clipped = distribution.count() ? double(loss.clipped) / double(distribution.count()) : 0;
  report.ranges[reader.name] = {distribution.smallest(), distribution.largest(), decibels(loss.signal, loss.noise),
                                clipped};
}

/// Runs the kept samples through a model that computes contractions both ways, and notes for each what takes the mean of its shift off again.
bool Quantizer::correctBias() {
  if (!wants(wanted, &Scheme::biasCorrection))
    return true;
  std::vector<QuantizedSite> told;
  std::vector<ExposedShift> shifts;
  CompileOptions options = scratch();
  QuantizeStep step{wanted, &told, nullptr, &shifts};
  options.step = &step;
  std::unique_ptr<ScratchModel> model = ScratchModel::compile(options, diagnostics);
  if (!model)
    return false;
  std::vector<std::vector<double>> sums(shifts.size());
  std::vector<double> rows(shifts.size());
  for (const std::vector<Array> &inputs : samples.kept()) {
    std::vector<Array> outputs;
    if (hewn_status status = model->library().run(inputs, outputs); status.code != HEWN_OK) {
      diagnostics.error(std::string("a run on calibration data: ") + status.message);
      return false;
    }
    for (auto [shift, sum, count] : llvm::zip(shifts, sums, rows)) {
      std::vector<float> columns = floatsOf(outputs[shift.result]);
      sum.resize(columns.size());
      for (auto [all, one] : llvm::zip(sum, columns))
        all += double(one);
      int64_t more = 0;
      std::memcpy(&more, outputs[shift.result + 1].bytes.data(), sizeof(more));
      count += double(more);
    }
  }
  for (auto [shift, sum, count] : llvm::zip(shifts, sums, rows)) {
    bool isFinite = llvm::all_of(sum, [](double x) { return std::isfinite(x); });
    if (!(count > 0) || !isFinite)
      continue;
    auto [found, isNew] = wanted.sites.try_emplace(shift.node);
    Site &site = found->second;
    if (isNew) {
      site.node = shift.node;
      site.scheme = wanted.schemeFor(shift.node, shift.kind);
    }
    for (double all : sum)
      site.bias.push_back(double(float(-all / count)));
  }
  return true;
}

/// Runs the kept samples through both models, and notes how the outputs and the operands of contractions differ.
bool Quantizer::compare() {
  CompileOptions options = scratch();
  std::vector<ExposedOperand> again = exposed;
  report.sites.clear();
  QuantizeStep step{wanted, &report.sites, exposed.empty() ? nullptr : &again, nullptr, [&] { return checkNames(); }};
  options.step = &step;
  std::unique_ptr<ScratchModel> integers = ScratchModel::compile(options, diagnostics);
  if (!integers)
    return false;
  const hewn_model &model = floats->library().model();
  size_t numOutputs = size_t(model.num_outputs) - exposed.size();
  report.outputs.clear();
  for (size_t i = 0; i < numOutputs; ++i)
    report.outputs.push_back({printable(model.outputs[i].name), {}});
  std::vector<Agreement> operands(exposed.size());
  for (const std::vector<Array> &inputs : samples.kept()) {
    std::vector<Array> right, got;
    for (auto [library, outputs] : {std::pair(&floats->library(), &right), std::pair(&integers->library(), &got)})
      if (hewn_status status = library->run(inputs, *outputs); status.code != HEWN_OK) {
        diagnostics.error(std::string("a run on calibration data: ") + status.message);
        return false;
      }
    for (size_t i = 0; i < numOutputs; ++i)
      report.outputs[i].second.add(right[i], got[i]);
    for (auto [i, operand] : llvm::enumerate(exposed))
      operands[i].add(right[operand.result], got[again[i].result]);
  }
  report.compared = int64_t(samples.kept().size());
  for (auto [operand, agreement] : llvm::zip(exposed, operands))
    for (const ExposedOperand::Contraction &reader : operand.readers)
      report.operandDecibels[reader.name] = agreement.decibels();
  return true;
}

/// Where a bound is not met: contractions go back to floats, those first whose own rounding loses most, as many as it takes. How many that is
/// is searched by halves, since the error falls with their number.
bool Quantizer::returnToFloats() {
  if (given.leastDecibels <= 0 || report.leastDecibels() >= given.leastDecibels)
    return true;
  std::vector<std::pair<double, std::string>> order;
  for (const QuantizedSite &site : report.sites)
    if (site.weightBits) {
      auto range = report.ranges.find(site.node);
      double own =
          range == report.ranges.end() ? site.weightDecibels : std::min(site.weightDecibels, range->second.decibels);
      order.push_back({own, site.node});
    }
  llvm::sort(order);
  const Quantization whole = wanted;
  auto tryFirst = [&](size_t count) {
    wanted = whole;
    report.returned.clear();
    for (size_t i = 0; i < count; ++i) {
      const std::string &name = order[i].second;
      Site &site = wanted.sites[name];
      site.node = name;
      site.scheme.keepFloat = true;
      site.why = llvm::formatv("its rounding, {0:f1} dB by itself, stood in the way of the bound", order[i].first);
      report.returned.push_back(name);
    }
    return compare();
  };
  size_t low = 0, high = order.size();
  while (low + 1 < high) {
    size_t middle = (low + high) / 2;
    if (!tryFirst(middle))
      return false;
    (report.leastDecibels() >= given.leastDecibels ? high : low) = middle;
  }
  if (!tryFirst(high))
    return false;
  if (report.leastDecibels() >= given.leastDecibels)
    return true;
  diagnostics.error(llvm::formatv("the bound of {0} dB is not met by any of it: with all contractions in float32 the "
                                  "outputs have {1:f1} dB",
                                  given.leastDecibels, report.leastDecibels()));
  return false;
}

/// Sites and rules are for contractions that are there. Of a model's cases each has told of its own.
bool Quantizer::checkNames() {
  std::set<std::string> told;
  llvm::erase_if(report.sites, [&](const QuantizedSite &site) { return !told.insert(site.node).second; });
  std::vector<StringRef> names;
  std::set<StringRef> kinds;
  for (const QuantizedSite &site : report.sites) {
    names.push_back(site.node);
    kinds.insert(site.kind);
  }
  unsigned before = diagnostics.numErrors();
  auto refuse = [&](const std::string &what, StringRef name) {
    StringRef near = nearestName(name, names);
    diagnostics.error("the quantization names " + what + " '" + printable(name) + "', which no contraction is" +
                      (near.empty() ? "" : "; did you mean '" + near.str() + "'?"));
  };
  for (const auto &[name, site] : wanted.sites)
    if (!llvm::is_contained(names, name))
      refuse("the node", name);
  for (const Rule &rule : wanted.rules) {
    auto isFor = [&](const QuantizedSite &site) {
      Quantization one;
      one.rules = {rule};
      return &one.schemeFor(site.node, site.kind) != &one.scheme;
    };
    if (llvm::any_of(report.sites, isFor))
      continue;
    if (!rule.op.empty() && !kinds.count(rule.op))
      diagnostics.error("the quantization has a rule for the op '" + printable(rule.op) +
                        "', which no contraction is; there are: " + llvm::join(kinds, ", "));
    else
      refuse("the nodes", rule.node);
  }
  return diagnostics.numErrors() == before;
}

} // namespace

CompileResult compileQuantized(const CompileOptions &options, Diagnostics &diagnostics) {
  return Quantizer(options, diagnostics).run();
}

} // namespace hewn

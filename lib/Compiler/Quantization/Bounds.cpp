// SPDX-License-Identifier: Apache-2.0
//
// How the model of integers compares with that of floats, and what goes back to floats for a bound.
#include "lib/Compiler/Quantization/Quantizer.h"
#include "lib/Compiler/Quantization/Timing.h"
#include "lib/Support/Printable.h"
#include "lib/Transforms/Quantize/Numbers/RoundWeights.h"
#include "llvm/Support/FormatVariadic.h"

namespace hewn::quantize {

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
    if (!run(floats->library(), inputs, right) || !run(integers->library(), inputs, got))
      return false;
    for (size_t i = 0; i < numOutputs; ++i)
      report.outputs[i].second.add(right[i], got[i]);
    for (auto [i, operand] : llvm::enumerate(exposed))
      operands[i].add(right[operand.result], got[again[i].result]);
  }
  report.compared = int64_t(samples.kept().size());
  for (auto [operand, agreement] : llvm::zip(exposed, operands))
    for (const ExposedOperand::Contraction &reader : operand.readers)
      report.operands[reader.name] = agreement;
  return true;
}

/// Where a bound is not met: contractions go back to floats, those first whose own rounding loses most, as many as it takes. How many that is
/// is searched by halves, since the error falls with their number.
bool Quantizer::returnToFloats() {
  if (!hasBound() || meetsBounds())
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
    (meetsBounds() ? high : low) = middle;
  }
  if (!tryFirst(high))
    return false;
  if (meetsBounds())
    return true;
  if (given.leastDecibels > 0 && report.leastDecibels() < given.leastDecibels)
    diagnostics.error(llvm::formatv("the bound of {0} dB is not met by any of it: with all contractions in float32 the "
                                    "outputs have {1:f1} dB",
                                    given.leastDecibels, report.leastDecibels()));
  if (given.largestError > 0 && report.largestError() > given.largestError)
    diagnostics.error(
        llvm::formatv("the bound of {0} on the largest error is not met by any of it: with all contractions "
                      "in float32 an output is off by {1:e2}",
                      given.largestError, report.largestError()));
  return false;
}

bool Quantizer::meetsBounds() const {
  return (given.leastDecibels <= 0 || report.leastDecibels() >= given.leastDecibels) &&
         (given.largestError <= 0 || report.largestError() <= given.largestError);
}

/// Both models as they are delivered, without results for operands, on the first sample.
bool Quantizer::measureTimes() {
  if (samples.kept().empty())
    return true;
  std::vector<QuantizedSite> told;
  QuantizeStep step{wanted, &told};
  CompileOptions options = scratch();
  std::unique_ptr<ScratchModel> before = ScratchModel::compile(options, diagnostics);
  options.step = &step;
  std::unique_ptr<ScratchModel> after = before ? ScratchModel::compile(options, diagnostics) : nullptr;
  if (!after)
    return false;
  report.times = measure(before->library(), after->library(), samples.kept().front());
  return true;
}

} // namespace hewn::quantize

// SPDX-License-Identifier: Apache-2.0
//
// Compares the quantized model with the float model.
#include "lib/Compiler/Quantization/Quantizer.h"
#include "lib/Compiler/Quantization/Timing.h"
#include "lib/Support/Printable.h"
#include "lib/Target/Targets.h"
#include "lib/Transforms/Quantize/Numbers/RoundWeights.h"
#include "llvm/Support/FormatVariadic.h"

namespace hewn::quantize {

bool Quantizer::compareOn(llvm::ArrayRef<const Samples::Inputs *> all, LoadedLibrary &integers,
                          llvm::function_ref<void(llvm::ArrayRef<Array> right, llvm::ArrayRef<Array> got)> visit) {
  std::vector<Array> right, got;
  for (const Samples::Inputs *inputs : all) {
    tell("comparing integers with floats");
    if (!run(floats->library(), *inputs, right) || !run(integers, *inputs, got))
      return false;
    visit(right, got);
  }
  return true;
}

/// Runs the samples on which models are compared through the float model and the quantized model.
/// Records the differences of contractions' operands. Records those of outputs as well, unless
/// trials compare the outputs on more samples.
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
  size_t count = numOutputs();
  if (trials.empty()) {
    report.outputs.clear();
    for (size_t i = 0; i < count; ++i)
      report.outputs.push_back({printable(model.outputs[i].name), {}});
    report.compared = int64_t(samples.compared(part).size());
  }
  report.fitted.assign(count, {});
  std::vector<Agreement> operands(exposed.size());
  bool ran = compareOn(samples.compared(part), integers->library(), [&](auto right, auto got) {
    for (size_t i = 0; i < count; ++i)
      (trials.empty() ? report.outputs[i].second : report.fitted[i]).add(right[i], got[i]);
    forEach(exposed.size(), [&](size_t i) { operands[i].add(right[exposed[i].result], got[again[i].result]); });
  });
  // The largest error of an output is taken over all samples, so the samples to which the model was
  // fitted are run, too. They also count for outputs that have no finite element in the held-out
  // samples.
  std::vector<size_t> ofFloats;
  for (size_t i = 0; i < count; ++i)
    if (uint8_t code = model.outputs[i].dtype.code; code == kDLFloat || code == kDLBfloat)
      ofFloats.push_back(i);
  bool isShown = llvm::all_of(ofFloats, [&](size_t i) { return report.outputs[i].second.isThere(); });
  if (ran && !report.heldOut.empty() && (given.largestError > 0 || !isShown))
    ran = compareOn(samples.fitted(part), integers->library(), [&](auto right, auto got) {
      for (size_t i = 0; i < count; ++i)
        report.fitted[i].add(right[i], got[i]);
    });
  if (!ran)
    return false;
  report.notShown.clear();
  for (size_t i : ofFloats)
    if (!report.judged(i).isThere())
      report.notShown.push_back(report.outputs[i].first);
  for (auto [operand, agreement] : llvm::zip(exposed, operands))
    for (const ExposedOperand::Contraction &reader : operand.readers)
      report.operands[reader.name] = agreement;
  return true;
}

/// Loads the compiled artifact into this process. Returns null if it cannot be run here: it is the
/// text of a stage, is for another target, or is no shared library.
std::unique_ptr<LoadedLibrary> Quantizer::artifact() const {
  if (!given.emit.empty() || given.target != "host" || !given.partition.empty() || !target::isLibrary(given.output))
    return nullptr;
  std::string problem;
  return LoadedLibrary::open(given.output, "", {}, problem);
}

/// Measures the run times of the float model and the quantized model on the first sample. The
/// models are compiled without observed operands, as users run them.
bool Quantizer::measureTimes() {
  std::vector<const Samples::Inputs *> fitted = samples.fitted(part);
  if (fitted.empty())
    return true;
  CompileOptions options = scratch();
  std::unique_ptr<ScratchModel> before = ScratchModel::compile(options, diagnostics), after;
  std::unique_ptr<LoadedLibrary> delivered = artifact();
  if (before && !delivered) {
    std::vector<QuantizedCandidate> told;
    QuantizeStep step{wanted, &told};
    options.step = &step;
    after = ScratchModel::compile(options, diagnostics);
  }
  if (!before || (!delivered && !after))
    return false;
  report.times = measure(before->library(), delivered ? *delivered : after->library(), *fitted.front());
  return true;
}

} // namespace hewn::quantize

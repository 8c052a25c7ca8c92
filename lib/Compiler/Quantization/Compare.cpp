// SPDX-License-Identifier: Apache-2.0
//
// How the model of integers compares with that of floats.
#include "lib/Compiler/Quantization/Quantizer.h"
#include "lib/Compiler/Quantization/Timing.h"
#include "lib/Support/Printable.h"
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

/// Runs the samples to judge by through both models, and notes how the operands of contractions differ, and the outputs, where no trials are that tell
/// of them by more samples.
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
  // The largest error is of every sample that there is; and where those held out have no number of an output, the others tell of it.
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

/// The artifact as it runs here; null where it is text, for another machine, or no library of its own.
std::unique_ptr<LoadedLibrary> Quantizer::artifact() const {
  if (!given.emit.empty() || given.target != "host" || !given.partition.empty() ||
      !llvm::StringRef(given.output).ends_with(".so"))
    return nullptr;
  std::string problem;
  return LoadedLibrary::open(given.output, "", {}, problem);
}

/// Both models as they are delivered, without results for operands, on the first sample.
bool Quantizer::measureTimes() {
  std::vector<const Samples::Inputs *> fitted = samples.fitted(part);
  if (fitted.empty())
    return true;
  CompileOptions options = scratch();
  std::unique_ptr<ScratchModel> before = ScratchModel::compile(options, diagnostics), after;
  std::unique_ptr<LoadedLibrary> delivered = artifact();
  if (before && !delivered) {
    std::vector<QuantizedSite> told;
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

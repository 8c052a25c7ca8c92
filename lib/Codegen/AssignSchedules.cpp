// SPDX-License-Identifier: Apache-2.0
//
// Chooses the schedule of a plan.kernel (see Passes.td).
#include "lib/Codegen/Contract/Tunable.h"
#include "lib/Codegen/Kernel/KernelGenerator.h"
#include "lib/Codegen/Passes.h"
#include "lib/Schedule/Tuning.h"
#include "lib/Support/Diagnostics.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using hewn::graph::Dims;

namespace hewn::codegen {
#define GEN_PASS_DEF_ASSIGNSCHEDULESPASS
#include "lib/Codegen/Passes.h.inc"

namespace {

/// Parses `text`, the schedule in a row of the tuning file, which replaces the cost model's choice
/// `chosen`. Returns null and sets `problem` if no code can be generated for the schedule.
Attribute scheduleOf(KernelContext &k, Attribute chosen, StringRef text, std::string &problem) {
  MLIRContext *context = k.kernel.getContext();
  auto keepFirst = [&](Diagnostic &diagnostic) {
    if (problem.empty())
      problem = diagnostic.str();
  };
  ThreadDiagnostics collect(*context, keepFirst);
  Attribute given = parseAttribute(text, context);
  if (given && succeeded(verifyInstead(k, chosen, given)))
    return given;
  return {};
}

struct AssignSchedulesPass : impl::AssignSchedulesPassBase<AssignSchedulesPass> {
  using AssignSchedulesPassBase::AssignSchedulesPassBase;

  /// The tuning of the option `tuning`. Null if schedules come from the cost model alone.
  const plan::Tuning *given = nullptr;
  std::shared_ptr<plan::Tuning> ofFile;
  /// Name by which the tuning identifies the target of the current module.
  std::string tuningTarget;

  LogicalResult initialize(MLIRContext *context) override {
    if (tuning.empty())
      return success();
    Diagnostics problems;
    ofFile = std::make_shared<plan::Tuning>();
    (void)ofFile->read(tuning, problems);
    for (const Message &message : problems.messages())
      emitError(UnknownLoc::get(context)) << message.message;
    given = ofFile.get();
    return success(!problems.hasErrors());
  }

  /// Returns the kernel's measured schedule from the tuning (measurements of `hewn tune`), or
  /// `chosen`, the cost model's choice, if the tuning has none.
  Attribute tuned(KernelContext &k, Attribute chosen) const {
    std::string key = given ? tuningKey(k) : "", problem;
    const plan::TuningRow *row = key.empty() ? nullptr : given->find(tuningTarget, key);
    if (!row && !key.empty()) // report the kernel's key, for which the tuning has no row
      missed(k.kernel, "hewn-assign-schedules", "NotTuned", "the tuning has no row for this kernel")
          << remark::metric("Key", key);
    Attribute other = row ? scheduleOf(k, chosen, row->schedule, problem) : Attribute();
    if (!problem.empty())
      k.kernel.emitWarning("ignoring the tuning row for kernel '") << key << "': " << problem;
    return other ? other : chosen;
  }

  void runOnOperation() override {
    auto ofModule = getOperation()->getParentOfType<ModuleOp>()->getAttrOfType<StringAttr>(plan::kTuningTargetAttr);
    tuningTarget = machine.empty() && ofModule ? ofModule.str() : machine.getValue();
    if (!getOperation().isLowered() && failed(decide()))
      signalPassFailure();
  }

  LogicalResult decide() {
    plan::KernelOp kernel = getOperation();
    const KernelGenerator &generator = KernelGenerator::of(kernel);
    if (failed(generator.verify(kernel)))
      return failure();
    const auto &analysis = getAnalysis<KernelAnalysis>();
    markAnalysesPreserved<KernelAnalysis>(); // it does not depend on attributes
    // The choice of some schedules emits code next to the ops and inspects it.
    plan::KernelSource source(kernel);
    KernelContext k = describeKernel(source.get(), analysis);
    std::optional<Buffer> memory = takeScratch(k);
    Attribute partial = kernel.getScheduleAttr();
    FailureOr<Attribute> schedule = partial;
    if (!partial || (generator.owns(partial) && !generator.isComplete(partial))) {
      schedule = generator.choose(k, partial);
      if (succeeded(schedule))
        schedule = tuned(k, *schedule);
    }
    if (failed(schedule))
      return failure();
    kernel.setScheduleAttr(*schedule);
    if (!generator.owns(*schedule))
      return success(); // LowerKernels.cpp emits the error for a schedule of the wrong target
    Dims dims = generator.scratch(k, *schedule);
    bool isThere = memory ? memory->dims == dims && memory->elementType.isF32() : dims.empty();
    if (!isThere)
      kernel->setAttr(plan::kScratchAttr, graph::dimsAttr(&getContext(), dims));
    return success();
  }
};

} // namespace

} // namespace hewn::codegen

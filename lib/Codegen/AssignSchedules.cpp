// SPDX-License-Identifier: Apache-2.0
//
// Chooses the schedule of each plan.kernel and adds the scratch memory that it needs (see
// Passes.td).
#include "dialects/Graph/Builders/Compose.h"
#include "lib/Codegen/Contract/AttentionEngine.h"
#include "lib/Codegen/Contract/ContractSchedule.h"
#include "lib/Codegen/Contract/Tunable.h"
#include "lib/Codegen/Contract/WinogradEngine.h"
#include "lib/Codegen/GPU/GpuEngine.h"
#include "lib/Codegen/Loops/LoopEngine.h"
#include "lib/Codegen/Passes.h"
#include "lib/Schedule/GpuAttentionSchedule.h"
#include "lib/Schedule/Tuning.h"
#include "lib/Support/Diagnostics.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;

namespace hewn::codegen {
#define GEN_PASS_DEF_ASSIGNSCHEDULESPASS
#include "lib/Codegen/Passes.h.inc"

namespace {

/// Returns the schedule of a kernel for a CPU. If the shapes of one of the steps of fused attention
/// do not match, emits an error and fails.
FailureOr<Attribute> choose(KernelContext &k) {
  if (OrReason<graph::FusedAttention> attention = attentionIn(k)) {
    FailureOr<plan::AttentionAttr> schedule = chooseAttention(k, *attention);
    if (failed(schedule))
      return failure();
    if (*schedule)
      return Attribute(*schedule);
  } else if (hasSeveralContractions(k)) {
    missedContraction(k, "NotChained", attention.why());
  }
  if (Attribute schedule = chooseWinograd(k))
    return schedule;
  if (Attribute schedule = chooseContraction(k))
    return schedule;
  return Attribute(chooseLoops(k));
}

/// Returns the dims of the scratch memory that the schedule needs. Returns no dims if the schedule
/// needs none, or if it does not apply to the kernel (the kernel generator then emits the error).
Dims scratchOf(KernelContext &k, Attribute schedule) {
  auto attr = dyn_cast<plan::GpuAttentionAttr>(schedule);
  if (!attr)
    return contractionScratch(k, schedule);
  OrReason<graph::FusedAttention> attention = gpuAttention(k);
  return attention ? plan::gpuAttentionScratch(*attention, attr) : Dims();
}

/// Returns the index of the kernel result that is scratch memory, or nullopt if there is none.
std::optional<unsigned> findScratch(plan::KernelOp kernel) {
  for (OpOperand &result : kernel.getBody().front().getTerminator()->getOpOperands())
    if (result.get().getDefiningOp<graph::ScratchOp>())
      return result.getOperandNumber();
  return std::nullopt;
}

void setResults(plan::KernelOp kernel) {
  TypeRange results = kernel.getBody().front().getTerminator()->getOperandTypes();
  kernel.setFunctionType(
      FunctionType::get(kernel.getContext(), kernel.getFunctionType().getInputs(), llvm::to_vector(results)));
}

/// Removes the kernel's result `i`, which is scratch memory.
void eraseScratch(plan::KernelOp kernel, unsigned i) {
  Operation *yield = kernel.getBody().front().getTerminator();
  Operation *scratch = yield->getOperand(i).getDefiningOp();
  yield->eraseOperand(i);
  if (scratch->use_empty())
    scratch->erase();
  setResults(kernel);
}

/// Adds scratch memory with the dims `dims` to the kernel as its first result. Returns the type of
/// the scratch memory.
Type addScratch(plan::KernelOp kernel, const Dims &dims) {
  Block &body = kernel.getBody().front();
  OpBuilder b(&body, body.begin());
  Value scratch = graph::make<graph::ScratchOp>(b, kernel.getLoc(), {},
                                                {b.getNamedAttr("shape", graph::dimsAttr(b.getContext(), dims)),
                                                 b.getNamedAttr("of", TypeAttr::get(b.getF32Type()))});
  body.getTerminator()->insertOperands(0, scratch);
  setResults(kernel);
  return scratch.getType();
}

/// Rewrites `dims`, the dims of a kernel's scratch memory, for a launch: substitutes the symbol
/// values that the launch passes for the kernel's symbols. Returns nullopt if a value is not a dim
/// expression, or if the launch passes another number of values than the kernel has symbols.
std::optional<Dims> dimsAtLaunch(plan::LaunchOp launch, plan::KernelOp kernel, const Dims &dims) {
  llvm::StringMap<DimExpr> values;
  if (launch.getSymbols().size() != kernel.getSymbols().size())
    return std::nullopt;
  for (auto [symbol, value] : llvm::zip(kernel.getSymbols(), launch.getSymbols())) {
    std::optional<DimExpr> given = DimExpr::fromAttr(value);
    if (!given)
      return std::nullopt;
    values.try_emplace(cast<StringAttr>(symbol).getValue(), *given);
  }
  return llvm::map_to_vector<4>(dims, [&](const DimExpr &dim) {
    return dim.substitute([&](StringRef name) {
      auto found = values.find(name);
      return found == values.end() ? DimExpr::symbol(name) : found->second;
    });
  });
}

/// Replaces the launch by a launch without result `without` (if given), and with scratch memory of
/// `type` and `dims` as its first result (if `type` is given).
LogicalResult replaceLaunch(plan::LaunchOp launch, plan::KernelOp kernel, std::optional<unsigned> without, Type type,
                            const Dims &dims) {
  OpBuilder b(launch);
  SmallVector<Type> types;
  SmallVector<Attribute> known;
  if (type) {
    std::optional<Dims> own = dimsAtLaunch(launch, kernel, dims);
    if (!own)
      return launch.emitOpError("passes symbols to '") << launch.getKernel() << "' that are not dim expressions";
    types.push_back(type);
    known.push_back(graph::dimsAttr(b.getContext(), *own));
  }
  SmallVector<Value> kept;
  for (auto [i, result] : llvm::enumerate(launch.getResults())) {
    if (i == without)
      continue;
    kept.push_back(result);
    types.push_back(result.getType());
    known.push_back(graph::dimsAttr(b.getContext(), graph::getDims(result)));
  }
  if (without && !launch.getResult(*without).use_empty())
    return launch.emitOpError("has scratch memory as a result that has uses");
  auto other =
      plan::LaunchOp::create(b, launch.getLoc(), types, launch.getKernel(), launch.getInputs(), launch.getSymbols());
  other->setDiscardableAttrs(launch->getDiscardableAttrDictionary());
  other->removeDiscardableAttr(graph::kDimsAttr);
  if (llvm::any_of(types, [](Type t) { return !cast<RankedTensorType>(t).hasStaticShape(); }))
    other->setAttr(graph::kDimsAttr, b.getArrayAttr(known));
  for (auto [old, fresh] : llvm::zip(kept, other.getResults().take_back(kept.size())))
    old.replaceAllUsesWith(fresh);
  launch.erase();
  return success();
}

/// Replaces the scratch memory of the kernel and of its launches by scratch memory with the dims
/// `dims`, or removes it if `dims` is empty.
LogicalResult setScratch(plan::KernelOp kernel, ArrayRef<plan::LaunchOp> launches, const Dims &dims) {
  std::optional<unsigned> old = findScratch(kernel);
  if (old)
    for (plan::LaunchOp launch : launches)
      if (*old >= launch->getNumResults())
        return launch.emitOpError() << "has fewer results than '" << launch.getKernel() << "'";
  if (old)
    eraseScratch(kernel, *old);
  Type type = dims.empty() ? Type() : addScratch(kernel, dims);
  for (plan::LaunchOp launch : launches)
    if (failed(replaceLaunch(launch, kernel, old, type, dims)))
      return failure();
  return success();
}

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
    auto ofModule = getOperation()->getAttrOfType<StringAttr>(plan::kTuningTargetAttr);
    tuningTarget = machine.empty() && ofModule ? ofModule.str() : machine.getValue();
    llvm::StringMap<SmallVector<plan::LaunchOp>> launches;
    getOperation().walk([&](plan::LaunchOp launch) { launches[launch.getKernel()].push_back(launch); });
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<plan::KernelOp>()))
      if (failed(decide(kernel, launches[kernel.getSymName()])))
        return signalPassFailure();
  }

  /// Returns the schedule of a kernel for a GPU.
  static Attribute chooseForGpu(plan::KernelOp kernel, plan::GpuTileAttr wanted) {
    OpBuilder b(kernel);
    KernelContext k = beginKernelFunction(kernel, b);
    takeScratch(k);
    Attribute schedule = chooseGpu(k, b, wanted);
    k.function.erase();
    return schedule;
  }

  LogicalResult decide(plan::KernelOp kernel, ArrayRef<plan::LaunchOp> launches) const {
    bool ofGpu = bool(plan::gpuOf(kernel));
    if (ofGpu && failed(verifyForGpu(kernel)))
      return failure();
    KernelContext k = describeKernel(kernel);
    std::optional<Buffer> memory = takeScratch(k);
    FailureOr<Attribute> schedule = kernel.getScheduleAttr();
    auto wanted = dyn_cast_or_null<plan::GpuTileAttr>(*schedule);
    if (ofGpu && (!*schedule || wanted))
      schedule = chooseForGpu(kernel, wanted);
    else if (!*schedule && succeeded(schedule = choose(k)))
      schedule = tuned(k, *schedule);
    if (failed(schedule))
      return failure();
    kernel.setScheduleAttr(*schedule);
    if (plan::isOfGpu(*schedule) != ofGpu)
      return success(); // LowerKernels.cpp emits the error for a schedule of the wrong target
    Dims dims = scratchOf(k, *schedule);
    bool isThere = memory ? memory->dims == dims && memory->elementType.isF32() : dims.empty();
    return isThere ? success() : setScratch(kernel, launches, dims);
  }
};

} // namespace

} // namespace hewn::codegen

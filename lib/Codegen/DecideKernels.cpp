// SPDX-License-Identifier: Apache-2.0
//
// Writes on each plan.kernel how it is computed, and gives it the scratch memory that it needs for that.
//
//     plan.kernel @k(%x: tensor<4x64xf32>, %w: tensor<64x16xf32>) -> tensor<4x16xf32> {
//       %0 = graph.matmul %x, %w
//       graph.yield %0 }
//     →  ... attributes {schedule = #plan.contract<m = 4, n = 16, lanes = 8, cycles = 512>}
//
// This is where an engine is chosen: a kernel of two contractions with rows between them is a chain, one around a contraction that
// the machine can tile is that, all others are loops. Engines do what is written (LowerKernels.cpp) and choose nothing; a schedule that
// is there already, by hand or from a search, stays, and they refuse it where no code can be made by it. Kernels of a grid get one
// of its own kinds (Grid/DecideGrid.cpp), in which the tile that a contraction has been given before (#plan.grid_tile) is made whole.
//
// A tuning (lib/Schedule/Tuning.h) is what a search has measured before: where it has a row for a kernel by which code can be made, that is
// the kernel's schedule; where it has one by which none can be made, that is said, and the model's stays.
//
// Memory is another result of the kernel and of its launches, so that it has a place in the arena while the kernel runs. It is as the
// schedule wants it, also where that has been edited since.
#include "dialects/Graph/Builders/Compose.h"
#include "lib/Codegen/Contract/ChainEngine.h"
#include "lib/Codegen/Contract/ContractSchedule.h"
#include "lib/Codegen/Contract/Tunable.h"
#include "lib/Codegen/Contract/WinogradEngine.h"
#include "lib/Codegen/Grid/GridEngine.h"
#include "lib/Codegen/Loops/LoopEngine.h"
#include "lib/Codegen/Passes.h"
#include "lib/Schedule/GridChainSchedule.h"

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
#define GEN_PASS_DEF_DECIDEKERNELSPASS
#include "lib/Codegen/Passes.h.inc"

namespace {

/// The schedule of a kernel for a machine with vectors; failure where a step of a chain does not fit, which has been said.
FailureOr<Attribute> choose(KernelFunction &k) {
  if (Found<graph::Chain> chain = chainIn(k)) {
    FailureOr<plan::ChainAttr> schedule = chooseChain(k, *chain);
    if (failed(schedule))
      return failure();
    if (*schedule)
      return Attribute(*schedule);
  } else if (hasSeveralContractions(k)) {
    missedContraction(k, "NotChained", chain.why());
  }
  if (Attribute schedule = chooseWinograd(k))
    return schedule;
  if (Attribute schedule = chooseContraction(k))
    return schedule;
  return Attribute(chooseLoops(k));
}

/// Dims of the scratch memory that the schedule needs; empty: none, or the kernel is none that it fits, which its engine says.
Dims scratchOf(KernelFunction &k, Attribute schedule) {
  auto attr = dyn_cast<plan::GridChainAttr>(schedule);
  if (!attr)
    return contractionScratch(k, schedule);
  Found<graph::Chain> chain = gridChain(k);
  return chain ? plan::gridChainScratch(*chain, attr) : Dims();
}

/// The number of the kernel's result that is scratch memory.
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

/// Takes its memory, result number `i`, from the kernel.
void eraseScratch(plan::KernelOp kernel, unsigned i) {
  Operation *yield = kernel.getBody().front().getTerminator();
  Operation *scratch = yield->getOperand(i).getDefiningOp();
  yield->eraseOperand(i);
  if (scratch->use_empty())
    scratch->erase();
  setResults(kernel);
}

/// Gives the kernel memory of these dims, as its first result; its type.
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

/// Dims in the kernel's symbols, as the launch gives these; nullopt where it gives what is no expression, or too few.
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

/// The launch without result number `without`, where given, and with memory of a type and dims before the others, where given.
LogicalResult replaceLaunch(plan::LaunchOp launch, plan::KernelOp kernel, std::optional<unsigned> without, Type type,
                            const Dims &dims) {
  OpBuilder b(launch);
  SmallVector<Type> types;
  SmallVector<Attribute> known;
  if (type) {
    std::optional<Dims> own = dimsAtLaunch(launch, kernel, dims);
    if (!own)
      return launch.emitOpError("gives '") << launch.getKernel() << "' symbols that are none";
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
    return launch.emitOpError("has memory to work in as a result, which somebody reads");
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

/// Gives the kernel, and its launches, scratch memory of these dims instead of what it has; no dims: none.
LogicalResult setScratch(plan::KernelOp kernel, ArrayRef<plan::LaunchOp> launches, const Dims &dims) {
  std::optional<unsigned> old = findScratch(kernel);
  if (old)
    for (plan::LaunchOp launch : launches)
      if (*old >= launch->getNumResults())
        return launch.emitOpError() << "does not give '" << launch.getKernel() << "' what it takes";
  if (old)
    eraseScratch(kernel, *old);
  Type type = dims.empty() ? Type() : addScratch(kernel, dims);
  for (plan::LaunchOp launch : launches)
    if (failed(replaceLaunch(launch, kernel, old, type, dims)))
      return failure();
  return success();
}

/// The schedule of a row instead of the model's, or why no code can be made by it.
Attribute scheduleOf(KernelFunction &k, Attribute chosen, StringRef text, std::string &problem) {
  MLIRContext *context = k.kernel.getContext();
  ScopedDiagnosticHandler collect(context, [&](Diagnostic &diagnostic) {
    if (problem.empty())
      problem = diagnostic.str();
    return success();
  });
  Attribute given = parseAttribute(text, context);
  if (given && succeeded(verifyInstead(k, chosen, given)))
    return given;
  return {};
}

struct DecideKernelsPass : impl::DecideKernelsPassBase<DecideKernelsPass> {
  using DecideKernelsPassBase::DecideKernelsPassBase;
  DecideKernelsPass(const plan::Tuning *given, StringRef name) : given(given) { machine = name.str(); }

  /// What is decided by: the caller's, or the file's that the option names. Null: the model alone.
  const plan::Tuning *given = nullptr;
  std::shared_ptr<plan::Tuning> ofFile;

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

  /// What the tuning has for the kernel instead of what the model has chosen.
  Attribute tuned(KernelFunction &k, Attribute chosen) const {
    std::string key = given ? tuningKey(k) : "", problem;
    const plan::TuningRow *row = key.empty() ? nullptr : given->find(machine, key);
    if (!row && !key.empty()) // a search, or whoever wonders, sees what was looked for
      missed(k.kernel, "hewn-decide-kernels", "NotTuned", "the tuning has no row for it") << remark::metric("Key", key);
    Attribute other = row ? scheduleOf(k, chosen, row->schedule, problem) : Attribute();
    if (!problem.empty())
      k.kernel.emitWarning("a row of the tuning is not used, whose kernel is '") << key << "': " << problem;
    return other ? other : chosen;
  }

  void runOnOperation() override {
    llvm::StringMap<SmallVector<plan::LaunchOp>> launches;
    getOperation().walk([&](plan::LaunchOp launch) { launches[launch.getKernel()].push_back(launch); });
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<plan::KernelOp>()))
      if (failed(decide(kernel, launches[kernel.getSymName()])))
        return signalPassFailure();
  }

  /// The same on a grid of threads.
  static Attribute chooseForGrid(plan::KernelOp kernel, plan::GridTileAttr wanted) {
    OpBuilder b(kernel);
    KernelFunction k = beginKernelFunction(kernel, b);
    takeScratch(k);
    Attribute schedule = chooseGrid(k, b, wanted);
    k.function.erase();
    return schedule;
  }

  LogicalResult decide(plan::KernelOp kernel, ArrayRef<plan::LaunchOp> launches) const {
    bool ofGrid = bool(plan::gridOf(kernel));
    if (ofGrid && failed(verifyForGrid(kernel)))
      return failure();
    KernelFunction k = describeKernel(kernel);
    std::optional<Buffer> memory = takeScratch(k);
    FailureOr<Attribute> schedule = kernel.getScheduleAttr();
    auto wanted = dyn_cast_or_null<plan::GridTileAttr>(*schedule);
    if (ofGrid && (!*schedule || wanted))
      schedule = chooseForGrid(kernel, wanted);
    else if (!*schedule && succeeded(schedule = choose(k)))
      schedule = tuned(k, *schedule);
    if (failed(schedule))
      return failure();
    kernel.setScheduleAttr(*schedule);
    if (plan::isOfGrid(*schedule) != ofGrid)
      return success(); // LowerKernels.cpp refuses it
    Dims dims = scratchOf(k, *schedule);
    bool isThere = memory ? memory->dims == dims && memory->elementType.isF32() : dims.empty();
    return isThere ? success() : setScratch(kernel, launches, dims);
  }
};

} // namespace

std::unique_ptr<Pass> createDecideKernelsPass(const plan::Tuning *tuning, StringRef machine) {
  return std::make_unique<DecideKernelsPass>(tuning, machine);
}

} // namespace hewn::codegen

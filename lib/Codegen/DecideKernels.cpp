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
// is there already, by hand or from a search, stays, and they refuse it where no code can be made by it. Kernels of a grid
// get theirs from ChooseTiles.cpp.
//
// Memory is another result of the kernel and of its launches, so that it has a place in the arena while the kernel runs.
#include "dialects/Graph/Builders/Compose.h"
#include "lib/Codegen/Contract/ChainEngine.h"
#include "lib/Codegen/Contract/ContractSchedule.h"
#include "lib/Codegen/Contract/WinogradEngine.h"
#include "lib/Codegen/Loops/LoopEngine.h"
#include "lib/Codegen/Passes.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;

namespace hewn::codegen {
#define GEN_PASS_DEF_DECIDEKERNELSPASS
#include "lib/Codegen/Passes.h.inc"

namespace {

/// The schedule of a kernel for a machine with vectors; failure where a step of a chain does not fit, which has been said.
FailureOr<Attribute> choose(KernelFunction &k) {
  if (std::optional<graph::Chain> chain = chainIn(k.kernel)) {
    FailureOr<plan::ChainAttr> schedule = chooseChain(k, *chain);
    if (failed(schedule))
      return failure();
    if (*schedule)
      return Attribute(*schedule);
  }
  if (Attribute schedule = chooseWinograd(k))
    return schedule;
  if (Attribute schedule = chooseContraction(k))
    return schedule;
  return Attribute(chooseLoops(k));
}

/// Dims of the scratch memory that the schedule needs; empty: none, or the kernel is none that it fits, which its engine says.
Dims scratchOf(KernelFunction &k, Attribute schedule) {
  return llvm::TypeSwitch<Attribute, Dims>(schedule)
      .Case([&](plan::ChainAttr attr) {
        std::optional<graph::Chain> chain = chainIn(k.kernel);
        return chain ? chainScratch(*chain, attr) : Dims();
      })
      .Case([&](plan::WinogradAttr attr) { return winogradScratch(k, attr); })
      .Case([&](plan::ContractAttr attr) {
        std::optional<ContractForm> form = contractForm(k, attr.getUnit());
        return form ? contractScratch(*form, attr) : Dims();
      })
      .Default([](Attribute) { return Dims(); });
}

/// Gives the kernel memory of these dims, as its first result.
Type addScratch(plan::KernelOp kernel, const Dims &dims) {
  Block &body = kernel.getBody().front();
  OpBuilder b(&body, body.begin());
  Value scratch = graph::make<graph::ScratchOp>(b, kernel.getLoc(), {},
                                                {b.getNamedAttr("shape", graph::dimsAttr(b.getContext(), dims)),
                                                 b.getNamedAttr("of", TypeAttr::get(b.getF32Type()))});
  body.getTerminator()->insertOperands(0, scratch);
  FunctionType type = kernel.getFunctionType();
  SmallVector<Type> results = {scratch.getType()};
  llvm::append_range(results, type.getResults());
  kernel.setFunctionType(b.getFunctionType(type.getInputs(), results));
  return scratch.getType();
}

/// The launch with one result before the others, of these dims in the kernel's symbols.
void addResult(plan::LaunchOp launch, plan::KernelOp kernel, Type type, const Dims &dims) {
  OpBuilder b(launch);
  SmallVector<Type> types = {type};
  llvm::append_range(types, launch.getResultTypes());
  auto added =
      plan::LaunchOp::create(b, launch.getLoc(), types, launch.getKernel(), launch.getInputs(), launch.getSymbols());
  added->setDiscardableAttrs(launch->getDiscardableAttrDictionary());
  auto valueOf = [&](StringRef name) {
    for (auto [symbol, value] : llvm::zip(kernel.getSymbols(), launch.getSymbols()))
      if (cast<StringAttr>(symbol).getValue() == name)
        return *DimExpr::fromAttr(value);
    return DimExpr::symbol(name);
  };
  Dims own = llvm::map_to_vector<4>(dims, [&](const DimExpr &dim) { return dim.substitute(valueOf); });
  SmallVector<Attribute> known = {graph::dimsAttr(b.getContext(), own)};
  for (Value result : launch.getResults())
    known.push_back(graph::dimsAttr(b.getContext(), graph::getDims(result)));
  bool open = llvm::any_of(types, [](Type t) { return !cast<RankedTensorType>(t).hasStaticShape(); });
  if (open)
    added->setAttr(graph::kDimsAttr, b.getArrayAttr(known));
  launch.replaceAllUsesWith(added.getResults().drop_front());
  launch.erase();
}

struct DecideKernelsPass : impl::DecideKernelsPassBase<DecideKernelsPass> {
  void runOnOperation() override {
    llvm::StringMap<SmallVector<plan::LaunchOp>> launches;
    getOperation().walk([&](plan::LaunchOp launch) { launches[launch.getKernel()].push_back(launch); });
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<plan::KernelOp>()))
      if (!plan::gridOf(kernel) && failed(decide(kernel, launches[kernel.getSymName()])))
        return signalPassFailure();
  }

  static LogicalResult decide(plan::KernelOp kernel, ArrayRef<plan::LaunchOp> launches) {
    KernelFunction k = describeKernel(kernel);
    std::optional<Buffer> memory = takeScratch(k);
    FailureOr<Attribute> schedule = kernel.getScheduleAttr();
    if (!*schedule)
      schedule = choose(k);
    if (failed(schedule))
      return failure();
    kernel.setScheduleAttr(*schedule);
    Dims dims = memory ? Dims() : scratchOf(k, *schedule);
    if (dims.empty())
      return success();
    Type type = addScratch(kernel, dims);
    for (plan::LaunchOp launch : launches)
      addResult(launch, kernel, type, dims);
    return success();
  }
};

} // namespace
} // namespace hewn::codegen

// SPDX-License-Identifier: Apache-2.0
//
// Adds the scratch memory that the schedules of kernels need (see Passes.td).
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Graph.h"
#include "lib/Transforms/Fuse/Passes.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;

namespace hewn {
#define GEN_PASS_DEF_INSERTSCRATCHPASS
#include "lib/Transforms/Fuse/Passes.h.inc"

namespace {

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

/// Replaces the launch by a launch without result `without` (if given), and with scratch memory of
/// `type` and `dims` as its first result (if `type` is given).
LogicalResult replaceLaunch(plan::LaunchOp launch, plan::KernelOp kernel, std::optional<unsigned> without, Type type,
                            const Dims &dims) {
  OpBuilder b(launch);
  SmallVector<Type> types;
  SmallVector<Attribute> known;
  if (type) {
    // The verifier of launches has checked the symbols.
    auto own = llvm::map_to_vector<4>(
        dims, [&](const DimExpr &dim) { return *plan::atLaunch(dim, kernel.getSymbols(), launch); });
    types.push_back(type);
    known.push_back(graph::dimsAttr(b.getContext(), own));
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
    eraseScratch(kernel, *old);
  Type type = dims.empty() ? Type() : addScratch(kernel, dims);
  for (plan::LaunchOp launch : launches)
    if (failed(replaceLaunch(launch, kernel, old, type, dims)))
      return failure();
  return success();
}

struct InsertScratchPass : impl::InsertScratchPassBase<InsertScratchPass> {
  void runOnOperation() override {
    llvm::StringMap<SmallVector<plan::LaunchOp>> launches;
    getOperation().walk([&](plan::LaunchOp launch) { launches[launch.getKernel()].push_back(launch); });
    for (auto kernel : getOperation().getOps<plan::KernelOp>()) {
      std::optional<Dims> dims = graph::parseDims(kernel->removeAttr(plan::kScratchAttr));
      if (dims && !kernel.isLowered() && failed(setScratch(kernel, launches[kernel.getSymName()], *dims)))
        return signalPassFailure();
    }
  }
};

} // namespace
} // namespace hewn

// SPDX-License-Identifier: Apache-2.0
//
// Verifies the result of the kernels stage (see Passes.td).
#include "dialects/Graph/Analysis/SpaceMap.h"
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Contract/FusedAttention.h"
#include "dialects/Graph/Graph.h"
#include "lib/Schedule/Schedule.h"
#include "lib/Schedule/ScheduleModel.h"
#include "lib/Transforms/Fuse/Passes.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace hewn {
#define GEN_PASS_DEF_VERIFYKERNELSPASS
#include "lib/Transforms/Fuse/Passes.h.inc"

namespace {

/// Returns true if the value holds split-K partials of a contraction, which code generation writes
/// directly to the kernel's result.
bool isSpread(Value value) {
  auto spread = value.getDefiningOp<graph::SplitKOpInterface>();
  return spread && spread->getOperand(0).getDefiningOp<graph::ContractOpInterface>();
}

LogicalResult verifySpace(plan::KernelOp kernel) {
  Block &body = kernel.getBody().front();
  SmallVector<Operation *> ops = llvm::map_to_vector(body.without_terminator(), [](Operation &op) { return &op; });
  if (llvm::count_if(ops, llvm::IsaPred<graph::ContractOpInterface>) > 1) {
    OrReason<graph::FusedAttention> chain =
        graph::matchAttention(ops, /*narrow=*/plan::supports(kernel, plan::KernelFeature::NarrowAttention));
    return chain ? success()
                 : kernel.emitOpError("has several contractions that cannot be fused as attention: ") << chain.why();
  }
  std::optional<graph::SpaceMap> map = graph::SpaceMap::spaceOf(ops);
  if (!map)
    return success();
  for (Operation *op : ops)
    if (!llvm::any_of(op->getResults(), isSpread) && !map->add(op))
      return op->emitOpError("reads a value at another index than the one at which its kernel computes it");
  for (Value result : body.getTerminator()->getOperands())
    if (Operation *maker = result.getDefiningOp();
        !isSpread(result) && !isa_and_nonnull<graph::ScratchOp>(maker) && !map->placeOf(result))
      return (maker ? maker : kernel)
          ->emitOpError("is a kernel result with neither one element per point of the iteration space nor one per row");
  return success();
}

/// Verifies inputs that the kernel's result may overwrite: to compute an element of the result, the
/// kernel may read only the input's element with the same index.
LogicalResult verifyInPlace(plan::LaunchOp launch, plan::KernelOp kernel) {
  auto marked = launch->getAttrOfType<DenseI64ArrayAttr>(plan::kMayOverwriteAttr);
  if (!marked || !kernel)
    return success();
  Block &body = kernel.getBody().front();
  if (body.getTerminator()->getNumOperands() != 1)
    return launch.emitOpError("may overwrite inputs, but its kernel has several results");
  Value result = body.getTerminator()->getOperand(0);
  llvm::DenseSet<Value> own = graph::readAtOwnIndex(body, graph::getDims(result));
  for (int64_t input : marked.asArrayRef())
    if (input < 0 || input >= int64_t(body.getNumArguments()) || !own.contains(body.getArgument(unsigned(input))))
      return launch.emitOpError("may overwrite input ")
             << input << ", but its kernel reads that input at other indices than the result's";
  return success();
}

/// Returns a symbol that occurs in `dims` and that the kernel does not declare in `own`. Returns an
/// empty string if the kernel declares all of them.
std::string foreignSymbol(const graph::Dims &dims, const llvm::StringSet<> &own) {
  std::string foreign;
  for (const graph::DimExpr &dim : dims)
    dim.walkSymbols([&](StringRef symbol) {
      if (!own.contains(symbol))
        foreign = symbol.str();
    });
  return foreign;
}

LogicalResult verifySymbols(plan::KernelOp kernel) {
  llvm::StringSet<> own;
  for (Attribute symbol : kernel.getSymbols())
    own.insert(cast<StringAttr>(symbol).getValue());
  auto check = [&](Operation *at, const graph::Dims &dims) -> LogicalResult {
    std::string foreign = foreignSymbol(dims, own);
    if (foreign.empty())
      return success();
    return at->emitOpError() << "has a dim in the symbol '" << foreign << "', which the kernel does not declare";
  };
  for (Value argument : kernel.getBody().getArguments())
    if (failed(check(kernel, graph::getDims(argument))))
      return failure();
  for (Operation &op : kernel.getBody().front()) {
    for (Value result : op.getResults())
      if (failed(check(&op, graph::getDims(result))))
        return failure();
    for (NamedAttribute attribute : op.getAttrs())
      if (std::optional<graph::Dims> dims = graph::parseDims(attribute.getValue()); dims && failed(check(&op, *dims)))
        return failure();
  }
  return success();
}

struct VerifyKernelsPass : impl::VerifyKernelsPassBase<VerifyKernelsPass> {
  void runOnOperation() override {
    bool bad = false;
    auto refuse = [&](Operation *op, const char *what) {
      op->emitOpError(what);
      bad = true;
    };
    getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
      auto kernel = dyn_cast<plan::KernelOp>(op);
      if (kernel && kernel.isLowered())
        return WalkResult::skip();
      bool inKernel = op->getParentOfType<plan::KernelOp>() != nullptr;
      bool kind = isa<graph::ElementwiseOpInterface, graph::ReduceOpInterface, graph::PrefixScanOpInterface,
                      graph::ContractOpInterface, graph::IndexingOpInterface>(op);
      if (isa<graph::GroupOp, graph::DecomposeOpInterface>(op))
        refuse(op, "must not remain: groups and decomposable ops have to be lowered to kernels");
      else if (kind && !inKernel && !graph::isViewKind(op))
        refuse(op, "computes outside of a kernel");
      else if (inKernel && !kind && !isa<graph::ConstantOp, graph::YieldOp>(op))
        refuse(op, "cannot be part of a kernel");
      // A splat constant is emitted as one number. A kernel has no memory for other constants.
      if (auto constant = dyn_cast<graph::ConstantOp>(op);
          constant && inKernel && !isa<SplatElementsAttr>(constant.getValue()))
        refuse(op, "is a non-splat constant inside of a kernel");
      return WalkResult::advance();
    });
    for (plan::KernelOp kernel : getOperation().getOps<plan::KernelOp>())
      bad |= !kernel.isLowered() && (failed(verifySymbols(kernel)) || failed(verifySpace(kernel)));
    if (bad)
      return signalPassFailure();
    SymbolTable kernels(getOperation());
    getOperation()->walk([&](plan::LaunchOp launch) {
      bad |= failed(verifyInPlace(launch, plan::findGraphKernel(kernels, launch.getKernel())));
    });
    if (bad)
      signalPassFailure();
  }
};
} // namespace
} // namespace hewn

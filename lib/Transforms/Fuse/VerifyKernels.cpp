// SPDX-License-Identifier: Apache-2.0
//
// Closes the kernels stage: what computes lies in a kernel, and a kernel holds only ops of the kinds that engines know.
// Constants in a kernel are one number each. What may stand outside is what costs nothing or is control: constants, views, symbols, parts, If,
// Loop, Scan. A kernel names the symbols that its dims are written in; a launch gives it what it takes. What a kernel makes of its contraction or reductions is read at the one index that a point of its space has (SpaceMap).
#include "dialects/Graph/Analysis/SpaceMap.h"
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Contract/Chain.h"
#include "dialects/Graph/Graph.h"
#include "lib/Schedule/Schedule.h"
#include "lib/Transforms/Fuse/Passes.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace hewn {
#define GEN_PASS_DEF_VERIFYKERNELSPASS
#include "lib/Transforms/Fuse/Passes.h.inc"

namespace {

/// Whether the value is the sum of a contraction in parts (SplitK), which its engine writes itself.
bool isSpread(Value value) {
  auto spread = value.getDefiningOp<graph::SplitKOpInterface>();
  return spread && spread->getOperand(0).getDefiningOp<graph::ContractOpInterface>();
}

LogicalResult verifySpace(plan::KernelOp kernel) {
  Block &body = kernel.getBody().front();
  SmallVector<Operation *> ops = llvm::map_to_vector(body.without_terminator(), [](Operation &op) { return &op; });
  if (llvm::count_if(ops, llvm::IsaPred<graph::ContractOpInterface>) > 1) {
    Found<graph::Chain> chain = graph::findChain(ops, /*narrow=*/bool(plan::gridOf(kernel)));
    return chain ? success() : kernel.emitOpError("has several contractions that are no chain: ") << chain.why();
  }
  std::optional<graph::SpaceMap> map = graph::SpaceMap::spaceOf(ops);
  if (!map)
    return success();
  for (Operation *op : ops)
    if (!llvm::any_of(op->getResults(), isSpread) && !map->add(op))
      return op->emitOpError("reads what its kernel's engine holds at another index than where that is");
  for (Value result : body.getTerminator()->getOperands())
    if (Operation *maker = result.getDefiningOp();
        !isSpread(result) && !isa_and_nonnull<graph::ScratchOp>(maker) && !map->placeOf(result))
      return (maker ? maker : kernel)
          ->emitOpError("is a result with neither an element a point of its kernel's space nor one a row");
  return success();
}

/// A result may be made where an input lies of which no element is wanted once it is overwritten.
LogicalResult verifyInPlace(plan::LaunchOp launch, plan::KernelOp kernel) {
  auto marked = launch->getAttrOfType<DenseI64ArrayAttr>(plan::kMayOverwriteAttr);
  if (!marked || !kernel)
    return success();
  Block &body = kernel.getBody().front();
  if (body.getTerminator()->getNumOperands() != 1)
    return launch.emitOpError("may overwrite inputs, and has several results");
  Value result = body.getTerminator()->getOperand(0);
  llvm::DenseSet<Value> own = graph::readAtOwnIndex(body, graph::getDims(result));
  for (int64_t input : marked.asArrayRef())
    if (input < 0 || input >= int64_t(body.getNumArguments()) || !own.contains(body.getArgument(unsigned(input))))
      return launch.emitOpError("may overwrite input ")
             << input << ", which is read for more than the element in its place";
  return success();
}

/// A symbol in a list of dims that is none of the kernel's; "" where there is none.
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
    return at->emitOpError() << "has a dim in the symbol '" << foreign << "', which is none of the kernel's";
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

LogicalResult verifyLaunch(plan::LaunchOp launch, SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<plan::KernelOp>(launch, launch.getKernelAttr());
  if (!kernel)
    return success(); // already a function of loops
  FunctionType type = kernel.getFunctionType();
  if (launch.getOperandTypes() != TypeRange(type.getInputs()) ||
      launch.getResultTypes() != TypeRange(type.getResults()) ||
      launch.getSymbols().size() != kernel.getSymbols().size())
    return launch.emitOpError() << "does not give '" << launch.getKernel() << "' what it takes";
  return success();
}

struct VerifyKernelsPass : impl::VerifyKernelsPassBase<VerifyKernelsPass> {
  void runOnOperation() override {
    bool bad = false;
    auto refuse = [&](Operation *op, const char *what) {
      op->emitOpError(what);
      bad = true;
    };
    getOperation()->walk([&](Operation *op) {
      bool inKernel = op->getParentOfType<plan::KernelOp>() != nullptr;
      bool kind = isa<graph::ElementwiseOpInterface, graph::ReduceOpInterface, graph::CumulateOpInterface,
                      graph::ContractOpInterface, graph::MoveOpInterface>(op);
      if (isa<graph::GroupOp, graph::ComposeOpInterface>(op))
        refuse(op, "is left over: groups and composed ops end in kernels");
      else if (kind && !inKernel && !graph::isViewKind(op))
        refuse(op, "computes outside of a kernel");
      else if (inKernel && !kind && !isa<graph::ConstantOp, graph::YieldOp>(op))
        refuse(op, "cannot be part of a kernel");
      // Engines have a number for it, and no memory.
      if (auto constant = dyn_cast<graph::ConstantOp>(op);
          constant && inKernel && !isa<SplatElementsAttr>(constant.getValue()))
        refuse(op, "is a constant of unlike elements inside of a kernel");
    });
    for (plan::KernelOp kernel : getOperation().getOps<plan::KernelOp>())
      bad |= failed(verifySymbols(kernel)) || failed(verifySpace(kernel));
    SymbolTableCollection symbols;
    getOperation()->walk([&](plan::LaunchOp launch) { bad |= failed(verifyLaunch(launch, symbols)); });
    if (bad)
      return signalPassFailure();
    SymbolTable kernels(getOperation());
    getOperation()->walk([&](plan::LaunchOp launch) {
      bad |= failed(verifyInPlace(launch, kernels.lookup<plan::KernelOp>(launch.getKernel())));
    });
    if (bad)
      signalPassFailure();
  }
};
} // namespace
} // namespace hewn

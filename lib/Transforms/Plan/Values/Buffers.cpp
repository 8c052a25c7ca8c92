// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Plan/Values/Buffers.h"
#include "dialects/Graph/Analysis/Layout.h"
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Control/ControlFlow.h"
#include "dialects/Plan/Subviews.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;

namespace hewn::plan {

DimExpr bufferBytes(RankedTensorType type, ArrayRef<DimExpr> dims) {
  int64_t bits = type.getElementType().getIntOrFloatBitWidth();
  return graph::storedElements(type, dims) * DimExpr(std::max<int64_t>(bits / 8, 1));
}

Dims bufferDims(Value value) {
  if (auto result = dyn_cast<OpResult>(value))
    if (auto part = dyn_cast<graph::RuntimeCallOpInterface>(result.getOwner())) {
      SmallVector<Dims> bounds = part.getBoundDims(graph::getDims);
      if (result.getResultNumber() < bounds.size())
        return bounds[result.getResultNumber()];
    }
  return graph::getDims(value);
}

AssembleOp assemblyOf(Value value) {
  // A value with many users does not become a subview of a concat's result: its strided type would
  // need a variant of each user's kernel. The limit also avoids quadratic time, because each user
  // queries this function.
  if (isa_and_nonnull<LaunchOp>(value.getDefiningOp()) && !value.hasNUsesOrMore(kMaxSubviewReaders + 1))
    for (Operation *user : value.getUsers())
      if (auto assembly = dyn_cast<AssembleOp>(user))
        return assembly;
  return {};
}

DimExpr subviewOffset(Value subview) {
  AssembleOp assembly = assemblyOf(subview);
  Value whole = assembly.getOutput();
  graph::Assembly form = formOf(assembly);
  Dims strides = graph::storedStrides(cast<RankedTensorType>(whole.getType()), graph::getDims(whole));
  if (form.isInterleaved()) {
    int64_t number = llvm::find(assembly.getSubviews(), subview) - assembly.getSubviews().begin();
    DimExpr offset(0);
    for (auto [stride, first] : llvm::zip(strides, form.firstOf(number)))
      offset = offset + stride * DimExpr(first * graph::elementBytes(whole));
    return offset;
  }
  int64_t dim = form.dim, before = 0;
  for (Value other : assembly.getSubviews()) {
    if (other == subview)
      break;
    before += cast<RankedTensorType>(other.getType()).getDimSize(dim);
  }
  return strides[dim] * DimExpr(before * graph::elementBytes(whole));
}

bool ownsBuffer(OpResult result) {
  Operation *op = result.getOwner();
  return isa<RankedTensorType>(result.getType()) && !assemblyOf(result) &&
         (isa<LaunchOp, AssembleOp, CopyOp, graph::RuntimeCallOpInterface, graph::DimValueOp>(op) || graph::loopOf(op));
}

static void collectRoots(Value value, Roots &found) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    graph::ControlOpInterface loop = graph::loopOf(argument.getOwner()->getParentOp());
    for (const graph::CarriedValue &carried : loop ? loop.getCarriedValues() : SmallVector<graph::CarriedValue>())
      if (carried.argument == argument)
        return void(found.insert(carried.result));
    if (Value sequence = loop ? loop.findSequence(argument) : Value())
      return collectRoots(sequence, found);
    return void(found.insert(value));
  }
  auto result = cast<OpResult>(value);
  Operation *op = result.getOwner();
  if (graph::isViewKind(op))
    return collectRoots(op->getOperand(0), found);
  if (AssembleOp assembly = assemblyOf(value))
    return void(found.insert(assembly.getOutput()));
  if (graph::branchesOf(op)) {
    for (Region &region : op->getRegions())
      if (!region.empty())
        collectRoots(region.front().getTerminator()->getOperand(result.getResultNumber()), found);
    return;
  }
  found.insert(value);
}

Roots roots(Value value) {
  Roots found;
  collectRoots(value, found);
  return found;
}

SmallVector<Value> overwritableBuffers(Operation *launch) {
  SmallVector<Value> buffers;
  auto inputs = launch->getAttrOfType<DenseI64ArrayAttr>(kMayOverwriteAttr);
  ArrayRef<int64_t> allowed = inputs ? inputs.asArrayRef() : ArrayRef<int64_t>();
  // Returns true if another operand of the launch, which the launch may not overwrite, is in the
  // same buffer. The kernel may read that operand's elements after they are overwritten.
  auto isReadOtherwise = [&](Value root) {
    return llvm::any_of(launch->getOpOperands(), [&](OpOperand &operand) {
      return !llvm::is_contained(allowed, operand.getOperandNumber()) && roots(operand.get()).contains(root);
    });
  };
  for (int64_t i : allowed) {
    Roots all = roots(launch->getOperand(unsigned(i)));
    auto root = all.size() == 1 ? dyn_cast<OpResult>(all[0]) : OpResult();
    if (root && ownsBuffer(root) && root.getOwner()->getBlock() == launch->getBlock() &&
        bufferBytes(root) == bufferBytes(launch->getResult(0)) && !isReadOtherwise(root))
      buffers.push_back(root);
  }
  return buffers;
}

llvm::StringSet<> inputSymbols(FunctionOpInterface program) {
  llvm::StringSet<> symbols;
  for (BlockArgument argument : program.getArguments())
    for (const DimExpr &dim : graph::getDims(argument))
      dim.walkSymbols([&](StringRef name) { symbols.insert(name); });
  return symbols;
}

bool hasKnownDims(Value root, const llvm::StringSet<> &symbols) {
  bool known = true;
  for (const DimExpr &dim : bufferDims(root))
    dim.walkSymbols([&](StringRef name) { known &= symbols.contains(name); });
  return known;
}

/// Returns true if a loop carries the value with other dims than its initial value has.
static bool changesSize(Value root) {
  graph::ControlOpInterface loop = graph::loopOf(root.getDefiningOp());
  std::optional<unsigned> number = loop ? loop.findCarried(root) : std::nullopt;
  if (!number)
    return false;
  graph::CarriedValue carried = loop.getCarriedValues()[*number];
  Dims dims = graph::getDims(root);
  return dims != graph::getDims(carried.initial) || dims != graph::getDims(carried.argument) ||
         dims != graph::getDims(carried.next);
}

bool hasFixedSize(Value root, const llvm::StringSet<> &symbols) {
  return hasKnownDims(root, symbols) && !changesSize(root);
}

} // namespace hewn::plan

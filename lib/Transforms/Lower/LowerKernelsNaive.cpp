// SPDX-License-Identifier: Apache-2.0
//
// Lowers a plan.kernel to one plain loop nest per op (see Passes.td).
#include "lib/Transforms/Lower/GraphToLinalg.h"
#include "lib/Transforms/Lower/Passes.h"

using namespace mlir;
using hewn::graph::DimExpr;

namespace hewn {
#define GEN_PASS_DEF_LOWERKERNELSNAIVEPASS
#include "lib/Transforms/Lower/Passes.h.inc"

namespace {

/// Returns the 1-D memref type that holds a tensor of this type.
MemRefType bufferType(Type tensor) {
  return MemRefType::get({ShapedType::kDynamic}, storageTypeOf(cast<RankedTensorType>(tensor).getElementType()));
}

/// Reports the kernel's first op or argument that the lowering at -O0 does not support, with the
/// reason.
LogicalResult check(plan::KernelOp kernel) {
  auto blocked = [](Value v) {
    auto layout = dyn_cast_or_null<graph::LayoutAttr>(cast<RankedTensorType>(v.getType()).getEncoding());
    return layout && layout.getBlockDim() >= 0;
  };
  Block &body = kernel.getBody().front();
  if (llvm::any_of(body.getArguments(), blocked))
    return kernel.emitOpError("has an argument in a blocked layout, which -O0 does not lower");
  for (Operation &op : body) {
    if (auto constant = dyn_cast<graph::ConstantOp>(op); constant && !isa<SplatElementsAttr>(constant.getValue()))
      return op.emitOpError("is a non-splat constant inside a kernel");
    if (llvm::any_of(op.getResults(), blocked))
      return op.emitOpError("has a result in a blocked layout, which -O0 does not lower");
  }
  return success();
}

class KernelLowering {
public:
  explicit KernelLowering(plan::KernelOp kernel) : kernel(kernel), b(kernel) {}

  LogicalResult run() {
    if (failed(check(kernel)))
      return failure();
    begin();
    Block &body = kernel.getBody().front();
    Operation *yield = body.getTerminator();
    // The op that defines a yielded value writes directly into the kernel's result. A value that is
    // yielded twice, an argument or a constant is copied into the result.
    SmallVector<std::pair<Value, Value>> copies;
    for (auto [value, buffer] : llvm::zip_equal(yield->getOperands(), outputs))
      if (isa<BlockArgument>(value) || value.getDefiningOp<graph::ConstantOp>() || memory.buffers.contains(value))
        copies.push_back({value, buffer});
      else
        memory.buffers[value] = buffer;
    for (Operation &op : body.without_terminator()) {
      if (isa<graph::ConstantOp>(op))
        continue;
      for (Value result : op.getResults())
        if (!memory.buffers.contains(result))
          allocate(result);
      if (failed(lowerOp(&op, b, memory)))
        return failure();
    }
    for (auto [value, buffer] : copies)
      copyTensor(value, buffer, kernel.getLoc(), b, memory);
    for (Value buffer : allocated)
      memref::DeallocOp::create(b, kernel.getLoc(), buffer);
    return success();
  }

private:
  /// Creates the function of a kernel, with the arguments of the kernel ABI: context, inputs,
  /// results, symbols.
  void begin() {
    SmallVector<Type> types = {LLVM::LLVMPointerType::get(kernel.getContext())};
    for (Type type : kernel.getFunctionType().getInputs())
      types.push_back(bufferType(type));
    for (Type type : kernel.getFunctionType().getResults())
      types.push_back(bufferType(type));
    types.append(kernel.getSymbols().size(), b.getIndexType());
    auto function = func::FuncOp::create(b, kernel.getLoc(), kernel.getSymName(), b.getFunctionType(types, {}));
    Block *entry = function.addEntryBlock();
    b.setInsertionPointToStart(entry);
    auto done = func::ReturnOp::create(b, kernel.getLoc());
    b.setInsertionPoint(done);
    unsigned next = 1;
    for (Value input : kernel.getBody().getArguments())
      memory.buffers[input] = entry->getArgument(next++);
    for (unsigned i = 0; i < kernel.getFunctionType().getNumResults(); ++i)
      outputs.push_back(entry->getArgument(next++));
    for (Attribute symbol : kernel.getSymbols())
      memory.symbols[cast<StringAttr>(symbol).getValue()] = entry->getArgument(next++);
  }

  void allocate(Value tensor) {
    NaiveElements e(b, tensor.getLoc(), memory);
    Value elements = e.expression(graph::numElements(graph::getDims(tensor))).base;
    Value buffer = memref::AllocOp::create(b, tensor.getLoc(), bufferType(tensor.getType()), ValueRange(elements));
    memory.buffers[tensor] = buffer;
    allocated.push_back(buffer);
  }

  plan::KernelOp kernel;
  OpBuilder b;
  NaiveMemory memory;
  SmallVector<Value> outputs, allocated;
};

struct LowerKernelsNaivePass : impl::LowerKernelsNaivePassBase<LowerKernelsNaivePass> {
  void runOnOperation() override {
    if (getOperation().isLowered())
      return;
    plan::KernelSource source(getOperation());
    if (failed(KernelLowering(source.get()).run()))
      return signalPassFailure();
    source.replaceByCode();
  }
};

} // namespace
} // namespace hewn

// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Kernel/KernelContext.h"
#include "lib/Support/Remarks.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace hewn::codegen {

KernelContext describeKernel(plan::KernelOp kernel, const KernelAnalysis &analysis) {
  KernelContext k;
  k.kernel = kernel;
  k.analysis = &analysis;
  auto describe = [](Value value) {
    return describeBuffer({}, cast<RankedTensorType>(value.getType()), graph::getDims(value));
  };
  for (Value input : kernel.getBody().getArguments())
    k.inputs[input] = describe(input);
  for (Value result : kernel.getBody().front().getTerminator()->getOperands()) {
    k.results.push_back(result);
    k.outputs.push_back(describe(result));
  }
  return k;
}

KernelContext beginKernelFunction(plan::KernelOp kernel, const KernelAnalysis &analysis, OpBuilder &b) {
  MLIRContext *context = kernel.getContext();
  auto memrefOf = [&](Type tensor) -> Type {
    return MemRefType::get({ShapedType::kDynamic}, storageType(cast<RankedTensorType>(tensor).getElementType()));
  };
  SmallVector<Type> types = {LLVM::LLVMPointerType::get(context)};
  for (Type input : kernel.getFunctionType().getInputs())
    types.push_back(memrefOf(input));
  for (Type result : kernel.getFunctionType().getResults())
    types.push_back(memrefOf(result));
  types.append(kernel.getSymbols().size(), IndexType::get(context));

  b.setInsertionPoint(kernel);
  KernelContext k = describeKernel(kernel, analysis);
  k.function = func::FuncOp::create(b, kernel.getLoc(), kernel.getSymName(), b.getFunctionType(types, {}));
  Block *entry = k.function.addEntryBlock();
  b.setInsertionPointToEnd(entry);
  auto done = func::ReturnOp::create(b, kernel.getLoc());
  b.setInsertionPoint(done);

  unsigned next = 1;
  for (Value input : kernel.getBody().getArguments())
    k.inputs[input].memref = entry->getArgument(next++);
  for (Buffer &output : k.outputs)
    output.memref = entry->getArgument(next++);
  for (Attribute symbol : kernel.getSymbols())
    k.symbols[cast<StringAttr>(symbol).getValue()] = entry->getArgument(next++);
  return k;
}

std::optional<Buffer> takeScratch(KernelContext &k) {
  for (size_t i = 0; i < k.results.size(); ++i)
    if (k.results[i].getDefiningOp<graph::ScratchOp>()) {
      Buffer memory = k.outputs[i];
      k.results.erase(k.results.begin() + i);
      k.outputs.erase(k.outputs.begin() + i);
      return memory;
    }
  return std::nullopt;
}

static constexpr StringLiteral kDecides = "hewn-assign-schedules";

void missedContraction(KernelContext &k, StringRef name, StringRef why) {
  for (graph::ContractOpInterface op : k.analysis->contractions)
    missed(op, kDecides, name, why);
}

void missedReductions(KernelContext &k, StringRef why) {
  for (auto op : k.kernel.getBody().getOps<graph::ReduceOpInterface>())
    missed(op, kDecides, "NotRows", why);
}

void missedTransposes(KernelContext &k, StringRef why) {
  for (auto op : k.kernel.getBody().getOps<graph::IndexingOpInterface>())
    if (op.getViewKind() == graph::ViewKind::Transpose)
      missed(op, kDecides, "NotByTiles", why);
}

InFlightDiagnostic refuse(KernelContext &k, Attribute schedule) {
  return k.kernel.emitOpError("@") << k.kernel.getName() << " has the schedule " << schedule;
}

LogicalResult verifyScratch(KernelContext &k, const graph::Dims &needed, const std::optional<Buffer> &memory) {
  if (needed.empty() || (memory && memory->dims == needed && memory->elementType.isF32()))
    return success();
  return k.kernel.emitOpError("@") << k.kernel.getName() << " has a schedule that needs scratch memory of "
                                   << graph::dimsAttr(k.kernel.getContext(), needed) << " float32s"
                                   << ", but the kernel does not have it";
}

} // namespace hewn::codegen

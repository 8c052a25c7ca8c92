// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/GPU/SimtCalls.h"
#include "lib/Codegen/GPU/MachineOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace hewn::codegen {

const MachineOps *MachineOps::of(MLIRContext *context, plan::GpuAttr gpu) {
  for (Dialect *dialect : context->getLoadedDialects())
    if (const auto *ops = dialect->getRegisteredInterface<MachineOps>(); ops && ops->areOf(gpu))
      return ops;
  return nullptr;
}

void SimtCalls::moveTo(Operation *op) {
  b.setInsertionPoint(op);
  loc = op->getLoc();
}

Value SimtCalls::number(int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(int32_t(value)));
}

Value SimtCalls::plus(Value address, int64_t bytes) {
  if (bytes == 0)
    return address;
  Value more = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(bytes));
  return arith::AddIOp::create(b, loc, address, more);
}

LLVM::LLVMFuncOp SimtCalls::declare(StringRef name, LLVM::LLVMFunctionType type, SimtEffects effects) {
  if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return known;
  OpBuilder top(module.getBodyRegion());
  auto callee = LLVM::LLVMFuncOp::create(top, module.getLoc(), name, type);
  callee.setNoUnwind(true);
  callee.setWillReturn(true);
  callee.setConvergent(effects == SimtEffects::Exchanges || effects == SimtEffects::Reads ||
                       effects == SimtEffects::OrdersTogether);
  using LLVM::ModRefInfo;
  auto touches = [&](ModRefInfo inaccessible, ModRefInfo rest) {
    callee.setMemoryEffectsAttr(
        LLVM::MemoryEffectsAttr::get(b.getContext(), rest, rest, inaccessible, rest, rest, rest));
  };
  if (effects == SimtEffects::None)
    touches(ModRefInfo::NoModRef, ModRefInfo::NoModRef);
  else if (effects == SimtEffects::Exchanges)
    touches(ModRefInfo::ModRef, ModRefInfo::NoModRef);
  else if (effects == SimtEffects::Reads)
    touches(ModRefInfo::Ref, ModRefInfo::Ref);
  return callee;
}

SmallVector<Value> SimtCalls::call(const Twine &name, ValueRange operands, TypeRange results, SimtEffects effects) {
  MLIRContext *context = b.getContext();
  Type result = results.empty()       ? Type(LLVM::LLVMVoidType::get(context))
                : results.size() == 1 ? results[0]
                                      : LLVM::LLVMStructType::getLiteral(context, llvm::to_vector(results));
  auto type = LLVM::LLVMFunctionType::get(result, llvm::to_vector(operands.getTypes()));
  auto made = LLVM::CallOp::create(b, loc, declare(name.str(), type, effects), operands);
  if (results.size() <= 1)
    return llvm::to_vector_of<Value>(made.getResults());
  SmallVector<Value> values;
  for (int64_t i = 0; i < int64_t(results.size()); ++i)
    values.push_back(LLVM::ExtractValueOp::create(b, loc, made.getResult(), i));
  return values;
}

StringRef SimtCalls::factorName(Type type) {
  if (isa<IntegerType>(type))
    return type.isUnsignedInteger() ? "u8" : "s8";
  return type.isF16() ? "f16" : type.isBF16() ? "bf16" : "f32";
}

} // namespace hewn::codegen

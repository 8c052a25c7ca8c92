// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Math/Device/DeviceMath.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/SourceMgr.h"

using namespace llvm;

namespace hewn::codegen {

/// libm.c as LLVM IR: made when hewn is built.
static const char source[] =
#include "lib/Codegen/Math/Device/libm.ll.inc"
    ;

/// No machine has an instruction for it, and what a code generator writes instead is right for small quotients alone.
static void callRemainders(Module &module) {
  SmallVector<BinaryOperator *> found;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (instruction.getOpcode() == Instruction::FRem)
        found.push_back(cast<BinaryOperator>(&instruction));
  for (BinaryOperator *remainder : found) {
    Type *type = remainder->getType();
    IRBuilder<> b(remainder);
    FunctionCallee callee = module.getOrInsertFunction(type->isFloatTy() ? "fmodf" : "fmod", type, type, type);
    remainder->replaceAllUsesWith(b.CreateCall(callee, {remainder->getOperand(0), remainder->getOperand(1)}));
    remainder->eraseFromParent();
  }
}

Error linkDeviceMath(Module &module, StringRef prefix) {
  callRemainders(module);
  StringSet<> own;
  bool needed = false;
  for (const Function &function : module) {
    needed |= function.isDeclaration() && !function.isIntrinsic();
    if (!function.isDeclaration())
      own.insert(function.getName());
  }
  if (!needed)
    return Error::success();
  SMDiagnostic problem;
  std::unique_ptr<Module> library =
      parseIR(MemoryBufferRef(StringRef(source, sizeof(source) - 1), "libm"), problem, module.getContext());
  if (!library)
    return createStringError("internal error: the device's math can't be read: " + problem.getMessage());
  library->setTargetTriple(module.getTargetTriple());
  library->setDataLayout(module.getDataLayout());
  if (NamedMDNode *flags = library->getModuleFlagsMetadata())
    library->eraseNamedMetadata(flags);
  if (Linker::linkModules(module, std::move(library), Linker::LinkOnlyNeeded))
    return createStringError("internal error: the device's math can't be linked");
  for (Function &function : module)
    if (!function.isDeclaration() && !own.contains(function.getName())) {
      function.setAttributes({}); // those of the machine that it was read as
      function.setLinkage(GlobalValue::InternalLinkage);
      function.setName(prefix + "_" + function.getName());
    }
  for (GlobalVariable &variable : module.globals())
    if (variable.getName() == "twoOverPi" || variable.getName().starts_with("atanOf"))
      variable.setName(prefix + "_" + variable.getName());
  return Error::success();
}

} // namespace hewn::codegen

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

/// The library in a context; null with a reason where it can't be read.
static std::unique_ptr<Module> readLibrary(LLVMContext &context, SMDiagnostic &problem) {
  return parseIR(MemoryBufferRef(StringRef(source, sizeof(source) - 1), "libm"), problem, context);
}

/// The functions that it has: read once, since most kernels call none of them.
static const StringSet<> &libraryFunctions() {
  static const StringSet<> names = [] {
    StringSet<> found;
    LLVMContext context;
    SMDiagnostic problem;
    if (std::unique_ptr<Module> library = readLibrary(context, problem))
      for (const Function &function : *library)
        if (!function.isDeclaration())
          found.insert(function.getName());
    return found;
  }();
  return names;
}

Error linkDeviceMath(Module &module, StringRef prefix) {
  callRemainders(module);
  StringSet<> own; // what was there before
  bool needed = false;
  for (const GlobalValue &value : module.global_values()) {
    needed |= value.isDeclaration() && libraryFunctions().contains(value.getName());
    if (!value.isDeclaration())
      own.insert(value.getName());
  }
  if (!needed)
    return Error::success();
  SMDiagnostic problem;
  std::unique_ptr<Module> library = readLibrary(module.getContext(), problem);
  if (!library)
    return createStringError("internal error: the device's math can't be read: " + problem.getMessage());
  library->setTargetTriple(module.getTargetTriple());
  library->setDataLayout(module.getDataLayout());
  if (NamedMDNode *flags = library->getModuleFlagsMetadata())
    library->eraseNamedMetadata(flags);
  if (Linker::linkModules(module, std::move(library), Linker::LinkOnlyNeeded))
    return createStringError("internal error: the device's math can't be linked");
  auto isLinked = [&](const GlobalValue &value) { return !value.isDeclaration() && !own.contains(value.getName()); };
  for (Function &function : module)
    if (isLinked(function)) {
      function.setAttributes({}); // those of the machine that it was read as
      function.setLinkage(GlobalValue::InternalLinkage);
      function.setName(prefix + "_" + function.getName());
    }
  for (GlobalVariable &variable : module.globals()) // its tables: kernels of one text must not share a name
    if (isLinked(variable))
      variable.setName(prefix + "_" + variable.getName());
  return Error::success();
}

} // namespace hewn::codegen

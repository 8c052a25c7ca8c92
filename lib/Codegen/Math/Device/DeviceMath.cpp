// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Math/Device/DeviceMath.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/SourceMgr.h"

using namespace llvm;

namespace hewn::codegen {

/// The functions of libm.c as LLVM IR, which the build of hewn generates.
static const char source[] =
#include "lib/Codegen/Math/Device/libm.ll.inc"
    ;

/// Replaces frem instructions by calls of fmod. No target has an instruction for frem, and the
/// expansion in LLVM's code generators is correct for small quotients only.
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

/// Reads the math library into an LLVM context. Returns null and sets `problem` if it cannot be
/// parsed.
static std::unique_ptr<Module> readLibrary(LLVMContext &context, SMDiagnostic &problem) {
  return parseIR(MemoryBufferRef(StringRef(source, sizeof(source) - 1), "libm"), problem, context);
}

/// Returns the names of the library's functions. They are cached, so that the library need not be
/// parsed for kernels that call none of its functions.
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
  StringSet<> own; // symbols defined before linking
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
    return createStringError("internal error: the device math library cannot be read: " + problem.getMessage());
  library->setTargetTriple(module.getTargetTriple());
  library->setDataLayout(module.getDataLayout());
  if (NamedMDNode *flags = library->getModuleFlagsMetadata())
    library->eraseNamedMetadata(flags);
  if (Linker::linkModules(module, std::move(library), Linker::LinkOnlyNeeded))
    return createStringError("internal error: the device math library cannot be linked");
  auto isLinked = [&](const GlobalValue &value) { return !value.isDeclaration() && !own.contains(value.getName()); };
  for (Function &function : module)
    if (isLinked(function)) {
      function.setAttributes({}); // they describe the build host
      function.setLinkage(GlobalValue::InternalLinkage);
      function.setName(prefix + "_" + function.getName());
    }
  // Rename the math library's constant tables with the prefix, as its functions: kernels in one PTX
  // module must not share names.
  for (GlobalVariable &variable : module.globals())
    if (isLinked(variable))
      variable.setName(prefix + "_" + variable.getName());
  return Error::success();
}

} // namespace hewn::codegen

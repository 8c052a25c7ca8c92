// SPDX-License-Identifier: Apache-2.0
#include "lib/Compiler/Generate.h"
#include "dialects/Plan/Plan.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;
using llvm::Error;

namespace hewn {

/// Of all that the code and the numbers depend on.
static std::string digestOf(ModuleOp module, const codegen::CodeOptions &options, const GeneratedCode &generated) {
  std::string bytes, constants = generated.weights.digest();
  llvm::raw_string_ostream os(bytes);
  (void)writeBytecodeToFile(module, os);
  llvm::SHA256 hash;
  for (StringRef text : {StringRef(bytes), StringRef(options.machine.cpu), StringRef(options.machine.features),
                         StringRef(generated.interface.name), StringRef(constants)})
    hash.update(text);
  return llvm::toHex(hash.final(), /*LowerCase=*/true).substr(0, 40);
}

Error generate(ModuleOp module, codegen::CodeOptions options, StringRef weightsFile, const WeightTable &table,
               GeneratedCode &generated) {
  codegen::ProgramInterface &interface = generated.interface;
  options.prefix = interface.name + "_";
  llvm::Expected<std::vector<codegen::CompiledKernel>> kernels = codegen::compileKernels(module, options);
  if (!kernels)
    return kernels.takeError();
  generated.code = std::move(*kernels);

  llvm::LLVMContext context;
  llvm::Module code(interface.name, context);
  if (Error error = codegen::setMachine(code, options.machine))
    return error;
  auto program = module.lookupSymbol<func::FuncOp>(plan::kProgramName);
  FailureOr<llvm::Function *> run = codegen::emitProgram(program, interface, table, generated.weights, code);
  if (failed(run))
    return llvm::createStringError("internal error: the program can't be emitted");
  interface.digest = digestOf(module, options, generated);
  codegen::WeightsReference reference{generated.weights.size(), generated.weights.digest(), weightsFile.str()};
  if (Error error = codegen::emitDescriptor(interface, reference, *run, code))
    return error;
  llvm::Expected<std::string> object = codegen::generateCode(code, options);
  if (!object)
    return object.takeError();
  generated.code.push_back({plan::kProgramName.str(), std::move(*object)});
  return Error::success();
}

} // namespace hewn

// SPDX-License-Identifier: Apache-2.0
#include "lib/Compiler/Generate.h"
#include "dialects/Plan/Plan.h"
#include "lib/Codegen/Emit/CodeCache.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;
using llvm::Error;

namespace hewn {

using codegen::Variant;

namespace {

/// Of all that the code and the numbers depend on.
std::string digestOf(ArrayRef<Variant> variants, const GeneratedCode &generated) {
  llvm::SHA256 hash;
  for (const Variant &variant : variants) {
    std::string bytes;
    llvm::raw_string_ostream os(bytes);
    (void)writeBytecodeToFile(variant.module, os);
    for (StringRef text : {StringRef(bytes), StringRef(variant.machine.cpu), StringRef(variant.machine.features)})
      hash.update(text);
  }
  hash.update(generated.interface.name);
  hash.update(generated.weights.digest());
  return llvm::toHex(hash.final(), /*LowerCase=*/true).substr(0, 40);
}

std::vector<Variant> nameVariants(ArrayRef<PlannedVariant> planned, StringRef model) {
  std::vector<Variant> variants;
  for (const PlannedVariant &variant : planned) {
    // Dots, which no C name has: a model's functions are never those of another one.
    std::string prefix = model.str() + ".";
    if (variant.machine.device) // whose code allows of no dots
      prefix = model.str() + "_";
    else if (planned.size() > 1)
      prefix += codegen::cName(variant.machine.name) + ".";
    variants.push_back({variant.module, variant.machine, prefix});
  }
  return variants;
}

/// A program as LLVM has it, in a context of its own.
struct Program {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  const codegen::MachineSpec *machine;
  std::string symbol, text, code;
};

class Generator {
public:
  Generator(ArrayRef<Variant> variants, const codegen::MachineSpec &base, const codegen::CodeOptions &options,
            GeneratedCode &generated)
      : variants(variants), base(base), options(options), generated(generated) {}

  Error emitPrograms(ArrayRef<codegen::KernelSymbols> kernels, const WeightTable &table);
  Error compilePrograms();
  /// The texts of a device's kernels become a part of the descriptor.
  void joinKernels(const codegen::MachineSpec &machine);
  Error compileDescriptor(const codegen::WeightsReference &weights);

private:
  ArrayRef<Variant> variants;
  const codegen::MachineSpec &base;
  const codegen::CodeOptions &options;
  GeneratedCode &generated;
  std::vector<Program> programs;
  codegen::DeviceKernels deviceKernels;
  std::optional<codegen::DeviceReference> deviceCode;
};

/// Every variant's program. Those that come out the same, which they do where all kernels are shared, are one.
Error Generator::emitPrograms(ArrayRef<codegen::KernelSymbols> kernels, const WeightTable &table) {
  codegen::ProgramInterface &interface = generated.interface;
  interface.variants.resize(variants.size());
  llvm::StringMap<std::string> byText;
  for (size_t v = variants.size(); v-- > 0;) {
    // What launches a device's kernels runs wherever a driver does.
    const codegen::MachineSpec &machine = variants[v].machine.device ? base : variants[v].machine;
    Program program{std::make_unique<llvm::LLVMContext>(),           nullptr, &machine,
                    (variants[v].prefix + plan::kProgramName).str(), "",      ""};
    program.module = std::make_unique<llvm::Module>(interface.name, *program.context);
    if (Error error = codegen::setMachine(*program.module, machine))
      return error;
    auto function = ModuleOp(variants[v].module).lookupSymbol<func::FuncOp>(plan::kProgramName);
    FailureOr<llvm::Function *> run =
        codegen::emitProgram(function, interface, kernels[v], table, generated.weights, *program.module,
                             variants[v].machine.device ? &deviceKernels : nullptr);
    if (failed(run))
      return llvm::createStringError("internal error: the program can't be emitted");
    llvm::raw_string_ostream os(program.text);
    program.module->print(os, nullptr);
    codegen::VariantInterface &shown = interface.variants[v];
    shown.target = variants[v].machine.name;
    shown.cpuFeatures = machine.cpuFeatures;
    shown.arena = codegen::readArenaSize(function);
    // Less demanding ones come first here: what serves them serves all that has the same text.
    shown.run = byText.try_emplace(program.text, program.symbol).first->second;
    if (shown.run != program.symbol)
      continue;
    for (llvm::Function &defined : *program.module)
      if (!defined.isDeclaration())
        defined.setName(variants[v].prefix + defined.getName());
    programs.push_back(std::move(program));
  }
  return Error::success();
}

Error Generator::compilePrograms() {
  codegen::CodeCache cache(options);
  if (Error error = codegen::forEachInParallel(options.threads, programs.size(), [&](size_t i) -> Error {
        Program &program = programs[i];
        llvm::Expected<std::string> code = cache.find({program.symbol, program.text}, *program.machine, [&] {
          return codegen::generateCode(*program.module, *program.machine, options);
        });
        if (!code)
          return code.takeError();
        program.code = std::move(*code);
        return Error::success();
      }))
    return error;
  generated.numPrograms = programs.size();
  for (Program &program : programs)
    generated.code.push_back({program.symbol, std::move(program.code)});
  return Error::success();
}

void Generator::joinKernels(const codegen::MachineSpec &machine) {
  std::vector<StringRef> texts;
  for (const codegen::CompiledUnit &unit : generated.code)
    texts.push_back(unit.code);
  std::string text = machine.device->join(texts), language = machine.device->language(text);
  deviceCode = {std::move(text), std::move(language), machine.device->table(), &deviceKernels};
  generated.code.clear();
}

Error Generator::compileDescriptor(const codegen::WeightsReference &weights) {
  llvm::LLVMContext context;
  llvm::Module code(generated.interface.name, context);
  if (Error error = codegen::setMachine(code, base))
    return error;
  if (Error error = codegen::emitDescriptor(generated.interface, weights, code, deviceCode ? &*deviceCode : nullptr))
    return error;
  llvm::Expected<std::string> object = codegen::generateCode(code, base, options);
  if (!object)
    return object.takeError();
  generated.code.push_back({generated.interface.name, std::move(*object)});
  return Error::success();
}

} // namespace

Error generate(ArrayRef<PlannedVariant> planned, const codegen::MachineSpec &base, const codegen::CodeOptions &options,
               StringRef weightsFile, const WeightTable &table, GeneratedCode &generated) {
  std::vector<Variant> variants = nameVariants(planned, generated.interface.name);
  llvm::Expected<codegen::CompiledKernels> kernels = codegen::compileKernels(variants, options);
  if (!kernels)
    return kernels.takeError();
  generated.code = std::move(kernels->units);
  generated.numKernels = generated.code.size();

  Generator generator(variants, base, options, generated);
  if (variants.front().machine.device)
    generator.joinKernels(variants.front().machine);
  if (Error error = generator.emitPrograms(kernels->symbols, table))
    return error;
  if (Error error = generator.compilePrograms())
    return error;
  generated.interface.digest = digestOf(variants, generated);
  return generator.compileDescriptor({generated.weights.size(), generated.weights.digest(), weightsFile.str()});
}

} // namespace hewn

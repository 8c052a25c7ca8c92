// SPDX-License-Identifier: Apache-2.0
#include "lib/Compiler/Emit/Generate.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Plan/Plan.h"
#include "lib/Codegen/Emit/CodeCache.h"
#include "lib/Codegen/Emit/LinkerTool.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;
using llvm::Error;

namespace hewn {

using codegen::Variant;

namespace {

/// The planned module of one case for one target.
struct Planned {
  Variant variant;
  size_t machine, caseNumber;
};

/// Lists the modules of all targets and cases, grouped by target. Assigns a unique symbol prefix to
/// each module.
std::vector<Planned> nameModules(ArrayRef<PlannedTarget> variants, StringRef model) {
  std::vector<Planned> modules;
  for (auto [m, variant] : llvm::enumerate(variants)) {
    // Symbols contain a dot, which C identifiers cannot, so that symbols of different models never
    // collide. PTX does not allow dots, so device code has an underscore.
    StringRef dot = variant.machine.device ? "_" : ".";
    std::string name = model.str();
    if (variants.size() > 1)
      name += (dot + codegen::cName(variant.machine.name)).str();
    for (auto [k, module] : llvm::enumerate(variant.cases))
      if (module)
        modules.push_back({{module, variant.machine, casePrefix(name, dot, k, variant.cases.size())}, m, k});
  }
  return modules;
}

/// The LLVM module of a host program. It has an LLVM context of its own, so that programs can be
/// compiled in parallel.
struct Program {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  const codegen::TargetSpec *machine;
  std::string symbol, text, code;
};

class Generator {
public:
  Generator(ArrayRef<Planned> planned, size_t numMachines, const codegen::TargetSpec &base,
            const codegen::CodeOptions &options, GeneratedCode &generated)
      : planned(planned), numMachines(numMachines), base(base), options(options), generated(generated) {}

  Error emitPrograms(ArrayRef<codegen::KernelSymbols> kernels);
  /// Returns the code generation options of a host program. Large programs are not optimized: they
  /// are straight-line code that calls kernels; optimizing it takes LLVM long and does not make it
  /// faster.
  codegen::CodeOptions optionsOf(const llvm::Module &program) const;
  Error compilePrograms();
  /// Adds the texts of the device kernels (PTX) to the model's descriptor.
  void joinKernels(const codegen::TargetSpec &machine);
  Error compileDescriptor(const codegen::WeightsReference &weights);

private:
  /// Emits the descriptor and the description of the model.
  Error emitDescriptor(const codegen::WeightsReference &weights, llvm::Module &code) const;
  /// Returns the artifact's digest: a hash of all compiled code, of the weights' digest, and of the
  /// descriptor without the digest itself. It does not depend on names in the IR.
  llvm::Expected<std::string> digest(const codegen::WeightsReference &weights) const;

  ArrayRef<Planned> planned;
  size_t numMachines;
  const codegen::TargetSpec &base;
  const codegen::CodeOptions &options;
  GeneratedCode &generated;
  std::vector<Program> programs;
  codegen::DeviceKernels deviceKernels;
  std::optional<codegen::DeviceReference> deviceCode;
};

/// Emits the host program of each variant. If two variants share all kernels, their programs are
/// equal, and one program is emitted for both.
Error Generator::emitPrograms(ArrayRef<codegen::KernelSymbols> kernels) {
  codegen::ProgramInterface &interface = generated.interface;
  interface.variants.resize(numMachines);
  for (codegen::VariantInterface &shown : interface.variants)
    shown.programs.resize(interface.cases.size());
  llvm::StringMap<std::string> byText;
  for (size_t v = planned.size(); v-- > 0;) {
    const Variant &variant = planned[v].variant;
    // The program that launches the kernels of a device is compiled for the baseline, so that it
    // runs on any host CPU.
    const codegen::TargetSpec &machine = variant.machine.device ? base : variant.machine;
    Program program{std::make_unique<llvm::LLVMContext>(),       nullptr, &machine,
                    (variant.prefix + plan::kProgramName).str(), "",      ""};
    program.module = std::make_unique<llvm::Module>(interface.name, *program.context);
    if (Error error = codegen::setMachine(*program.module, machine))
      return error;
    auto function = ModuleOp(variant.module).lookupSymbol<func::FuncOp>(plan::kProgramName);
    if (interface.numRanks > 0)
      generated.weights.setReader(planned[v].caseNumber * size_t(interface.numRanks) / interface.cases.size());
    FailureOr<llvm::Function *> run = codegen::emitProgram(
        function, interface.ofCase(planned[v].caseNumber), kernels[v], graph::weightsOf(function.getContext()),
        generated.weights, *program.module, variant.machine.device ? &deviceKernels : nullptr);
    if (failed(run))
      return llvm::make_error<ReportedError>();
    llvm::raw_string_ostream os(program.text);
    program.module->print(os, nullptr);
    codegen::VariantInterface &shown = interface.variants[planned[v].machine];
    shown.target = variant.machine.name;
    shown.cpuFeatures = machine.cpuFeatures;
    codegen::ProgramCode &code = shown.programs[planned[v].caseNumber];
    code.arena = codegen::readArenaSize(function);
    // Emits programs for targets with fewer instruction sets first: the program of a target with
    // more instruction sets can then be replaced by an equal one that was already emitted.
    code.run = byText.try_emplace(program.text, program.symbol).first->second;
    if (code.run != program.symbol)
      continue;
    for (llvm::Function &defined : *program.module)
      if (!defined.isDeclaration())
        defined.setName(variant.prefix + defined.getName());
    programs.push_back(std::move(program));
  }
  return Error::success();
}

codegen::CodeOptions Generator::optionsOf(const llvm::Module &program) const {
  // limit above which a program is not optimized, in LLVM instructions; a program with hundreds of
  // kernels has about 3,000
  constexpr unsigned many = 8192;
  codegen::CodeOptions own = options;
  // Host programs of compiles whose kernels are named by a hash of their content are not optimized:
  // they run only a few times, in this process.
  own.optimize = own.optimize && !own.namesByContent && program.getInstructionCount() <= many;
  return own;
}

Error Generator::compilePrograms() {
  codegen::CodeCache cache(options);
  if (Error error = codegen::forEachInParallel(options, programs.size(), [&](size_t i) -> Error {
        Program &program = programs[i];
        llvm::Expected<std::string> code = cache.find({program.symbol, program.text}, *program.machine, [&] {
          return codegen::generateCode(*program.module, *program.machine, optionsOf(*program.module));
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

void Generator::joinKernels(const codegen::TargetSpec &machine) {
  std::vector<StringRef> texts;
  for (const codegen::CompiledUnit &unit : generated.code)
    texts.push_back(unit.code);
  std::string text = machine.device->join(texts), language = machine.device->language(text);
  deviceCode = {std::move(text), std::move(language), machine.device->table(), &deviceKernels};
  generated.code.clear();
}

Error Generator::emitDescriptor(const codegen::WeightsReference &weights, llvm::Module &code) const {
  if (Error error = codegen::setMachine(code, base))
    return error;
  codegen::emitDescriptor(generated.interface, weights, *base.platform, code, deviceCode ? &*deviceCode : nullptr);
  base.platform->linker.storeDescription(code, codegen::describeProgram(generated.interface, weights));
  return Error::success();
}

llvm::Expected<std::string> Generator::digest(const codegen::WeightsReference &weights) const {
  llvm::LLVMContext context;
  llvm::Module descriptor(generated.interface.name, context);
  if (Error error = emitDescriptor(weights, descriptor))
    return std::move(error);
  std::string text;
  llvm::raw_string_ostream os(text);
  descriptor.print(os, nullptr);
  llvm::SHA256 hash;
  auto add = [&](StringRef bytes) {
    // the size first, so that no two sequences of texts have the same bytes
    uint64_t size = bytes.size();
    hash.update(StringRef(reinterpret_cast<const char *>(&size), sizeof(size)));
    hash.update(bytes);
  };
  for (const codegen::CompiledUnit &unit : generated.code) {
    add(unit.name);
    add(unit.code);
  }
  add(text);
  return llvm::toHex(hash.final(), /*LowerCase=*/true).substr(0, 40);
}

Error Generator::compileDescriptor(const codegen::WeightsReference &weights) {
  llvm::Expected<std::string> digest = this->digest(weights);
  if (!digest)
    return digest.takeError();
  generated.interface.digest = *digest;
  llvm::LLVMContext context;
  llvm::Module code(generated.interface.name, context);
  if (Error error = emitDescriptor(weights, code))
    return error;
  llvm::Expected<std::string> object = codegen::generateCode(code, base, options);
  if (!object)
    return object.takeError();
  generated.code.push_back({generated.interface.name, std::move(*object)});
  return Error::success();
}

} // namespace

std::string casePrefix(StringRef before, StringRef dot, size_t number, size_t count) {
  return (before + (count > 1 ? dot + "case" + Twine(number) : Twine("")) + dot).str();
}

char ReportedError::ID = 0;

Error generate(ArrayRef<PlannedTarget> variants, const codegen::TargetSpec &base, const codegen::CodeOptions &options,
               StringRef weightsFile, GeneratedCode &generated) {
  std::vector<Planned> planned = nameModules(variants, generated.interface.name);
  auto modules = llvm::map_to_vector(planned, [](const Planned &p) { return p.variant; });
  llvm::Expected<codegen::CompiledKernels> kernels = codegen::compileKernels(modules, options);
  if (!kernels)
    return kernels.takeError();
  generated.code = std::move(kernels->units);
  generated.numKernels = generated.code.size();

  Generator generator(planned, variants.size(), base, options, generated);
  if (variants.front().machine.device)
    generator.joinKernels(variants.front().machine);
  if (Error error = generator.emitPrograms(kernels->symbols))
    return error;
  if (Error error = generator.compilePrograms())
    return error;
  for (int32_t rank = 0; rank < generated.interface.numRanks; ++rank)
    generated.interface.weightsByRank.push_back(generated.weights.bytesOf(size_t(rank)));
  return generator.compileDescriptor({generated.weights.size(), generated.weights.digest(), weightsFile.str()});
}

} // namespace hewn

// SPDX-License-Identifier: Apache-2.0
//
// Compiles the kernels of a module, each in an LLVM module of its own.
#include "dialects/Plan/Plan.h"
#include "dialects/Simt/Simt.h"
#include "lib/Codegen/Emit/CodeCache.h"
#include "lib/Codegen/Emit/LowerToLLVM.h"
#include "lib/Codegen/Emit/Object.h"
#include "lib/Codegen/Emit/SharedMemory.h"
#include "lib/Codegen/Passes.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/ModuleTranslation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SHA256.h"
#include <mutex>

using namespace mlir;
using llvm::createStringError;
using llvm::Expected;

namespace hewn::codegen {

void registerLoweringDialects(DialectRegistry &registry) {
  registry.insert<simt::SimtDialect, affine::AffineDialect, arith::ArithDialect, cf::ControlFlowDialect,
                  func::FuncDialect, index::IndexDialect, LLVM::LLVMDialect, math::MathDialect, memref::MemRefDialect,
                  scf::SCFDialect, ub::UBDialect, vector::VectorDialect>();
  arith::registerConvertArithToLLVMInterface(registry);
  cf::registerConvertControlFlowToLLVMInterface(registry);
  index::registerConvertIndexToLLVMInterface(registry);
  registerConvertFuncToLLVMInterface(registry);
  registerConvertMathToLLVMInterface(registry);
  registerConvertMemRefToLLVMInterface(registry);
  ub::registerConvertUBToLLVMInterface(registry);
  vector::registerConvertVectorToLLVMInterface(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

namespace {

/// A kernel, as bytecode, that a thread of the pool compiles.
struct Job {
  /// Name of the kernel's function in `bytecode`.
  std::string name;
  std::string bytecode;
  /// Symbol of the kernel in the artifact, without the variant's prefix.
  std::string ownName;
  /// The variant (instruction set) that the kernel is compiled for. Other variants of the program
  /// may use the code, too.
  const Variant *variant = nullptr;
  std::string symbol() const { return variant->prefix + ownName; }
  /// The block size and resources of a GPU kernel.
  Device::Block block;
};

/// Returns, by kernel name, the numbers of the arguments that may alias each other. Kernels have
/// such arguments if their launches may overwrite an input in place: these inputs, and all results.
llvm::StringMap<SmallVector<unsigned>> findSharedArguments(ModuleOp module) {
  llvm::StringMap<SmallVector<unsigned>> shared;
  module.walk([&](plan::LaunchOp launch) {
    auto inputs = launch->getAttrOfType<DenseI64ArrayAttr>(plan::kMayOverwriteAttr);
    if (!inputs)
      return;
    SmallVector<unsigned> &arguments = shared[launch.getKernel()];
    if (!arguments.empty())
      return;                     // the attribute is the same on all launches of a kernel
    constexpr unsigned first = 1; // argument 0 is the context
    for (int64_t input : inputs.asArrayRef())
      arguments.push_back(first + unsigned(input));
    for (unsigned i = 0; i < launch->getNumResults(); ++i)
      arguments.push_back(first + launch.getInputs().size() + i);
  });
  return shared;
}

/// Removes names and locations, so that equal kernels of different programs have the same bytecode.
void makeAnonymous(ModuleOp module, FunctionOpInterface kernel) {
  kernel.setName("kernel");
  Location nowhere = UnknownLoc::get(module.getContext());
  module->walk([&](Operation *op) {
    op->setLoc(nowhere);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          argument.setLoc(nowhere);
  });
}

/// Serializes a kernel's entry function and everything that it references. `shared` has the numbers
/// of its arguments that may alias others.
Job packKernel(plan::KernelOp kernel, ArrayRef<unsigned> shared, bool namesByContent) {
  func::FuncOp entry = kernel.getEntry();
  SymbolTable table(kernel);
  OwningOpRef<ModuleOp> alone = ModuleOp::create(entry.getLoc());
  llvm::SetVector<Operation *> reached;
  reached.insert(entry);
  for (unsigned i = 0; i < reached.size(); ++i) {
    if (auto uses = SymbolTable::getSymbolUses(reached[i]))
      for (const SymbolTable::SymbolUse &use : *uses)
        if (Operation *other = table.lookup(use.getSymbolRef().getRootReference()))
          reached.insert(other);
    Operation *copy = reached[i]->clone();
    // Remove the attribute of the Plan dialect, which the MLIR context of the compiling thread does
    // not register.
    copy->removeAttr(plan::kLaunchInfoAttr);
    alone->push_back(copy);
  }
  auto copy = cast<FunctionOpInterface>(&alone->getBody()->front());
  plan::GpuLaunchAttr info = plan::gpuLaunchOf(entry);
  auto share = [&](unsigned argument) {
    copy.setArgAttr(argument, plan::kSharedArgumentAttr, UnitAttr::get(copy->getContext()));
  };
  for (unsigned argument : shared)
    share(argument);
  // In a persistent kernel, phases read memory that other phases write, so no pointer is `noalias`.
  for (unsigned i = 0; info && info.getMeets() && i < copy.getNumArguments(); ++i)
    if (isa<MemRefType>(copy.getArgumentTypes()[i]))
      share(i);
  Job job;
  job.ownName = kernel.getName().str();
  if (namesByContent)
    makeAnonymous(*alone, copy);
  job.name = copy.getName().str();
  if (info) {
    job.block = {info.getThreads(), info.getRegisters(), info.getSharedBytes(), info.getMeets()};
  }
  llvm::raw_string_ostream os(job.bytecode);
  BytecodeWriterConfig config;
  config.setElideResourceDataFlag();
  (void)writeBytecodeToFile(*alone, os, config);
  if (namesByContent)
    job.ownName = llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(job.bytecode)), /*LowerCase=*/true);
  return job;
}

/// Renames the kernel to `symbol` and gives it hidden visibility. Makes all other functions
/// internal.
void nameFunctions(llvm::Module &module, StringRef kernel, const std::string &symbol) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    if (function.getName() == kernel) {
      function.setName(symbol);
      function.setVisibility(llvm::GlobalValue::HiddenVisibility);
    } else {
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
    }
  }
}

/// An MLIR context with the lowering passes, which lowers one kernel after another. Creating both
/// for each kernel would take about a fifth of a small kernel's compile time.
struct Lowering {
  Lowering(const DialectRegistry &registry, const Device *device)
      : context(registry, MLIRContext::Threading::DISABLED), toLLVM(&context) {
    // Disable the verifier, which would take a quarter of a kernel's compile time. The passes are
    // upstream passes, and their input has been verified.
    toLLVM.enableVerifier(false);
    buildLowerToLLVM(toLLVM, device);
  }
  MLIRContext context;
  PassManager toLLVM;
};

/// A pool of Lowering objects (an MLIR context with its passes), one per active thread.
class Lowerings {
public:
  /// `device` is the device that runs the kernels of all variants, or null if they run on the host.
  Lowerings(const Device *device, const CodeOptions &options)
      : makesInstructions(options.form == CodeForm::LLVM ? nullptr : device) {
    registerLoweringDialects(registry);
    if (device)
      device->registerDialects(registry);
  }
  std::unique_ptr<Lowering> take() {
    std::lock_guard<std::mutex> lock(mutex);
    return free.empty() ? std::make_unique<Lowering>(registry, makesInstructions) : free.pop_back_val();
  }
  /// Returns `lowering` to the pool after a kernel was lowered successfully. After a failure, the
  /// caller drops it instead, because its state is unknown.
  void give(std::unique_ptr<Lowering> lowering) {
    std::lock_guard<std::mutex> lock(mutex);
    free.push_back(std::move(lowering));
  }

private:
  const Device *makesInstructions;
  DialectRegistry registry;
  std::mutex mutex;
  SmallVector<std::unique_ptr<Lowering>> free;
};

Expected<std::string> compile(const Job &job, const CodeOptions &options, Lowering &lowering) {
  MLIRContext &context = lowering.context;
  std::string problem;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (problem.empty())
      problem = diagnostic.str();
    return success();
  });
  auto failure = [&](StringRef stage) {
    return createStringError("internal error: kernel " + job.ownName + " can't be " + stage + ": " + problem);
  };
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(job.bytecode, ParserConfig(&context));
  if (!module)
    return failure("read");
  ExpandFloat8PassOptions conversions;
  conversions.half = !job.variant->machine.hasHalfConversions;
  conversions.bfloat = !job.variant->machine.hasBfloatConversions;
  if (conversions.half || conversions.bfloat) {
    PassManager expand(&context);
    expand.enableVerifier(false);
    expand.addPass(createExpandFloat8Pass(conversions));
    if (failed(expand.run(*module)))
      return failure("lowered");
  }
  for (auto function : module->getOps<func::FuncOp>()) {
    lowerMinMax(function, /*selects=*/!job.variant->machine.device);
    useBarePointers(function);
  }
  if (failed(lowering.toLLVM.run(*module)))
    return failure("lowered");
  moveHalfTypesAsIntegers(*module);
  if (failed(holdAsIntegers(*module, [&](Type type) {
        return (conversions.half && isa<Float16Type>(type)) || (conversions.bfloat && isa<BFloat16Type>(type));
      })))
    return failure("lowered");
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(*module, llvmContext, job.name);
  if (!code)
    return failure("translated");
  if (llvm::Error error = setMachine(*code, job.variant->machine))
    return std::move(error);
  nameFunctions(*code, job.name, job.symbol());
  CodeOptions wanted = options;
  if (const Device *device = job.variant->machine.device) {
    llvm::Function &kernel = *code->getFunction(job.symbol());
    if (job.block.meets) {
      shareMemoryOfParts(*code, job.symbol());
      for (llvm::Function &part : *code) {
        if (!part.isTargetIntrinsic()) // LLVM knows its own intrinsics
          part.setConvergent();        // the function may contain a barrier
        if (!part.isDeclaration() && &part != &kernel)
          part.addFnAttr(kPartAttr);
      }
    }
    if (llvm::Error error = device->link(*code, kernel))
      return createStringError("kernel " + job.ownName + ": " + llvm::toString(std::move(error)));
    if (wanted.form == CodeForm::Object)
      wanted.form = CodeForm::Assembly;
    if (wanted.form != CodeForm::LLVM)
      device->finish(*code, kernel, job.block);
  }
  return generateCode(*code, job.variant->machine, wanted);
}

/// Returns true if code for the target `less` runs equally well on the target `more`: `less`
/// requires no other CPU features and has the same vector width.
bool serves(const TargetSpec &less, const TargetSpec &more) {
  return (less.cpuFeatures & ~more.cpuFeatures) == 0 && less.vectorBytes == more.vectorBytes;
}

/// Returns the distinct kernels of all variants. Those of the variant that requires the fewest CPU
/// features are first. Sets `symbols` to the symbols of each variant's kernels.
std::vector<Job> gatherJobs(ArrayRef<Variant> variants, std::vector<llvm::StringMap<std::string>> &symbols,
                            bool namesByContent) {
  std::vector<Job> jobs;
  llvm::StringMap<SmallVector<size_t>> byContent;
  symbols.resize(variants.size());
  for (size_t v = variants.size(); v-- > 0;) {
    const Variant &variant = variants[v];
    llvm::StringMap<SmallVector<unsigned>> shared = findSharedArguments(variant.module);
    for (auto kernel : ModuleOp(variant.module).getOps<plan::KernelOp>()) {
      if (!kernel.isLowered())
        continue;
      Job job = packKernel(kernel, shared.lookup(kernel.getSymName()), namesByContent);
      job.variant = &variant;
      SmallVector<size_t> &equal = byContent[job.bytecode];
      const auto *found =
          llvm::find_if(equal, [&](size_t i) { return serves(jobs[i].variant->machine, variant.machine); });
      if (found == equal.end()) {
        equal.push_back(jobs.size());
        found = std::prev(equal.end());
        jobs.push_back(std::move(job));
      }
      symbols[v][kernel.getSymName()] = jobs[*found].symbol();
    }
  }
  return jobs;
}

} // namespace

Expected<CompiledKernels> compileKernels(ArrayRef<Variant> variants, const CodeOptions &options) {
  CompiledKernels kernels;
  std::vector<Job> jobs = gatherJobs(variants, kernels.symbols, options.namesByContent);
  CodeCache cache(options);
  Lowerings lowerings(variants.empty() ? nullptr : variants.front().machine.device, options);
  for (const Job &job : jobs)
    kernels.units.push_back({job.ownName, ""});
  if (llvm::Error error = forEachInParallel(options, jobs.size(), [&](size_t i) -> llvm::Error {
        const Variant &variant = *jobs[i].variant;
        Expected<std::string> code = cache.find({variant.prefix, jobs[i].bytecode}, variant.machine, [&] {
          std::unique_ptr<Lowering> lowering = lowerings.take();
          Expected<std::string> made = compile(jobs[i], options, *lowering);
          if (made)
            lowerings.give(std::move(lowering));
          return made;
        });
        if (!code)
          return code.takeError();
        kernels.units[i].code = std::move(*code);
        return llvm::Error::success();
      }))
    return std::move(error);
  cache.prune();
  return kernels;
}

} // namespace hewn::codegen

// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Emit/Object.h"
#include "dialects/Plan/Plan.h"
#include "lib/Codegen/Emit/Calls.h"
#include "lib/Codegen/Emit/MaskedAccesses.h"

#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/StandardInstrumentations.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/GVN.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include <atomic>
#include <mutex>

using namespace llvm;

namespace hewn::codegen {

static Expected<std::unique_ptr<TargetMachine>> createMachine(const TargetSpec &spec, bool optimize,
                                                              bool fuseProducts = true) {
  std::string error;
  Triple triple(spec.triple);
  const Target *target = TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return createStringError("no code generator for " + spec.triple);
  TargetOptions options;
  options.AllowFPOpFusion = fuseProducts ? FPOpFusion::Fast : FPOpFusion::Standard;
  options.FunctionSections = true;
  options.DataSections = true;
  std::unique_ptr<TargetMachine> machine(
      target->createTargetMachine(triple, spec.cpu, spec.features, options, spec.platform->relocation, CodeModel::Small,
                                  optimize ? CodeGenOptLevel::Default : CodeGenOptLevel::None));
  if (!machine || !machine->getMCSubtargetInfo()->isCPUStringValid(spec.cpu))
    return createStringError("LLVM has no processor '" + spec.cpu + "'");
  return machine;
}

Error setMachine(Module &module, const TargetSpec &spec) {
  auto machine = createMachine(spec, true);
  if (!machine)
    return machine.takeError();
  module.setTargetTriple(Triple(spec.triple));
  module.setDataLayout((*machine)->createDataLayout());
  return Error::success();
}

/// Optimizes the module with a short list of passes. Kernels are emitted as unrolled vector loops,
/// to which LLVM's loop and vectorization passes have nothing to add. The list takes half the time
/// of O2 and yields the same code.
static void optimizeModule(Module &module, TargetMachine &machine) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager graphs;
  ModuleAnalysisManager modules;
  // Make LLVM's passes skip functions with the attribute optnone, which `keepUnscheduled` sets.
  PassInstrumentationCallbacks callbacks;
  OptNoneInstrumentation leaveAlone(/*DebugLogging=*/false);
  leaveAlone.registerCallbacks(callbacks);
  PassBuilder builder(&machine, PipelineTuningOptions(), std::nullopt, &callbacks);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);

  FunctionPassManager passes;
  passes.addPass(SROAPass(SROAOptions::ModifyCFG));
  passes.addPass(EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(SimplifyCFGPass());
  passes.addPass(InstCombinePass());
  passes.addPass(createFunctionToLoopPassAdaptor(LICMPass(LICMOptions()), /*UseMemorySSA=*/true));
  passes.addPass(GVNPass());
  passes.addPass(InstCombinePass());
  passes.addPass(SimplifyCFGPass());
  ModulePassManager all;
  all.addPass(createModuleToFunctionPassAdaptor(std::move(passes)));
  all.run(module, modules);
}

/// Returns x * y + z, computed in float64 and rounded to float32.
static Value *multiplyWide(IRBuilder<> &b, ArrayRef<Value *> operands) {
  Type *narrow = operands[0]->getType(), *wide = narrow->getWithNewType(b.getDoubleTy());
  Value *extended[3];
  for (unsigned i = 0; i < 3; ++i)
    extended[i] = b.CreateFPExt(operands[i], wide);
  return b.CreateFPTrunc(b.CreateFAdd(b.CreateFMul(extended[0], extended[1]), extended[2]), narrow);
}

/// Returns multiplyWide of vectors that fill a vector register, by halves, each of which fills a
/// register as float64. The conversion to float32 leaves zeros in the other half of the register:
/// LLVM selects this instruction only if the zeros are in the IR.
static Value *multiplyHalves(IRBuilder<> &b, ArrayRef<Value *> operands, unsigned lanes) {
  const unsigned half = lanes / 2;
  auto all = to_vector(seq<int>(0, int(lanes))), joined = to_vector(seq<int>(0, int(half / 2)));
  append_range(joined, seq<int>(int(half), int(half + half / 2)));
  auto *pairs = FixedVectorType::get(b.getInt64Ty(), half);
  Value *halves[2];
  for (unsigned h = 0; h < 2; ++h) {
    auto own = to_vector(seq<int>(int(h * half), int((h + 1) * half)));
    auto parts = map_to_vector(operands, [&](Value *operand) { return b.CreateShuffleVector(operand, own); });
    Value *sum = multiplyWide(b, parts);
    halves[h] = b.CreateBitCast(b.CreateShuffleVector(sum, Constant::getNullValue(sum->getType()), all), pairs);
  }
  return b.CreateBitCast(b.CreateShuffleVector(halves[0], halves[1], joined), operands[0]->getType());
}

/// Expands float32 FMAs to a float64 multiplication and addition, for a target without FMA
/// instructions. LLVM would call the C library for each lane. The float64 product is exact, and the
/// rounding of the float64 sum hardly ever changes the float32 result.
static void expandFusedProducts(Module &module, int64_t vectorBytes) {
  SmallVector<IntrinsicInst *> found;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (auto *call = dyn_cast<IntrinsicInst>(&instruction);
          call && call->getIntrinsicID() == Intrinsic::fma && call->getType()->getScalarType()->isFloatTy())
        found.push_back(call);
  for (IntrinsicInst *call : found) {
    IRBuilder<> b(call);
    auto operands = to_vector_of<Value *>(call->args());
    auto *vector = dyn_cast<FixedVectorType>(call->getType());
    const bool fills = vector && int64_t(vector->getNumElements()) * 4 == vectorBytes;
    call->replaceAllUsesWith(fills ? multiplyHalves(b, operands, vector->getNumElements()) : multiplyWide(b, operands));
    call->eraseFromParent();
  }
}

/// Makes code for x86 compatible with CET: functions that are called through a pointer begin with
/// endbr64 (IBT), and no code changes return addresses (SHSTK). The object records both. The linker
/// enables them in a program if every object has them.
static void protectControlFlow(Module &module) {
  if (!module.getTargetTriple().isX86())
    return;
  for (StringRef flag : {"cf-protection-branch", "cf-protection-return"})
    module.setModuleFlag(Module::Min, flag, 1);
}

/// Sets target properties that LLVM reads from function attributes instead of the TargetMachine.
static void setFunctionAttributes(Module &module, const TargetSpec &spec) {
  for (Function &function : module) {
    function.addFnAttr("target-cpu", spec.cpu);
    function.addFnAttr("target-features", spec.features);
    function.addFnAttr("prefer-vector-width", std::to_string(spec.vectorBytes * 8));
    function.addFnAttr(Attribute::NoUnwind);
  }
}

Expected<std::string> generateCode(Module &module, const TargetSpec &spec, const CodeOptions &options) {
  auto machine = createMachine(spec, options.optimize, options.fuseProducts);
  if (!machine)
    return machine.takeError();
  setFunctionAttributes(module, spec);
  protectControlFlow(module);
  std::string problem;
  raw_string_ostream problems(problem);
  if (verifyModule(module, &problems))
    return createStringError("invalid LLVM IR: " + problem);
  splitMaskedAccesses(module, spec.vectorBytes);
  if (options.optimize)
    optimizeModule(module, **machine);
  if (!spec.fusedProducts) // afterwards, since LLVM's combiner would remove the zeros
    expandFusedProducts(module, spec.vectorBytes);
  storeFewLanes(module);
  if (options.form == CodeForm::LLVM) {
    std::string text;
    raw_string_ostream os(text);
    module.print(os, nullptr);
    return text;
  }
  SmallVector<char, 0> code;
  raw_svector_ostream os(code);
  legacy::PassManager emit;
  CodeGenFileType type = options.form == CodeForm::Object ? CodeGenFileType::ObjectFile : CodeGenFileType::AssemblyFile;
  if ((*machine)->addPassesToEmitFile(emit, os, nullptr, type))
    return createStringError("the code generator for " + spec.triple + " cannot emit this form of output");
  emit.run(module);
  if (options.form == CodeForm::Object)
    if (Error error = checkCalls(module, StringRef(code.data(), code.size()), spec.platform->linker))
      return std::move(error);
  return std::string(code.begin(), code.end());
}

/// Message of the last fatal error of LLVM on this thread.
static thread_local std::string fatalMessage;
/// True after a crash in LLVM. Locks may then still be held and memory is leaked, so this process
/// must not compile again.
static std::atomic<bool> broken = false;

Error recoverLLVM(function_ref<Error()> work) {
  if (broken)
    return createStringError(
        "internal error: the compiler crashed earlier in this process and left memory and locks in an unknown "
        "state; compile in a new process");
  fatalMessage.clear();
  Error result = Error::success();
  CrashRecoveryContext recovery;
  if (recovery.RunSafely([&] {
        try {
          result = work();
        } catch (const std::exception &e) { // out of memory, or an exception from a library
          result = joinErrors(std::move(result), createStringError(Twine("internal error: ") + e.what()));
        }
      }))
    return result;
  broken = true;
  consumeError(std::move(result));
  return createStringError("internal error: " + (fatalMessage.empty() ? "the compiler crashed" : fatalMessage));
}

namespace {
/// While an instance exists, fatal errors of LLVM abort the work of their thread instead of the
/// process. The handlers are global: the first instance installs them and the last one removes
/// them.
class FatalErrors {
public:
  FatalErrors() {
    std::lock_guard<std::mutex> lock(mutex);
    if (count++ > 0)
      return;
    install_fatal_error_handler(leave);
    install_bad_alloc_error_handler(leave);
    CrashRecoveryContext::Enable();
  }
  ~FatalErrors() {
    std::lock_guard<std::mutex> lock(mutex);
    if (--count > 0)
      return;
    CrashRecoveryContext::Disable();
    remove_bad_alloc_error_handler();
    remove_fatal_error_handler();
  }

private:
  static void leave(void *, const char *reason, bool) {
    fatalMessage = reason;
    if (CrashRecoveryContext *recovery = CrashRecoveryContext::GetCurrent())
      recovery->HandleExit(70);
  }
  static inline std::mutex mutex;
  static inline unsigned count = 0;
};
} // namespace

Error guardLLVM(function_ref<Error()> work) {
  FatalErrors handled;
  return recoverLLVM(work);
}

Error forEachInParallel(const CodeOptions &options, size_t count, function_ref<Error(size_t)> work) {
  std::vector<std::optional<Error>> results(count);
  std::atomic<bool> isCancelled = false;
  DefaultThreadPool pool(hardware_concurrency(options.threads));
  for (size_t i = 0; i < count; ++i)
    pool.async([&, i] {
      if (options.isCancelled && options.isCancelled())
        isCancelled = true;
      if (!isCancelled)
        results[i] = recoverLLVM([&] { return work(i); });
    });
  pool.wait();
  Error errors = isCancelled ? createStringError("the compilation was cancelled") : Error::success();
  for (std::optional<Error> &result : results)
    if (result)
      errors = joinErrors(std::move(errors), std::move(*result));
  return errors;
}

} // namespace hewn::codegen

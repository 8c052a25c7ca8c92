// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Emit/Object.h"
#include "dialects/Plan/Plan.h"
#include "lib/Codegen/Emit/Calls.h"

#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
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

static Expected<std::unique_ptr<TargetMachine>> createMachine(const MachineSpec &spec, bool optimize,
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
      target->createTargetMachine(triple, spec.cpu, spec.features, options, Reloc::PIC_, CodeModel::Small,
                                  optimize ? CodeGenOptLevel::Default : CodeGenOptLevel::None));
  if (!machine || !machine->getMCSubtargetInfo()->isCPUStringValid(spec.cpu))
    return createStringError("LLVM has no processor '" + spec.cpu + "'");
  return machine;
}

Error setMachine(Module &module, const MachineSpec &spec) {
  auto machine = createMachine(spec, true);
  if (!machine)
    return machine.takeError();
  module.setTargetTriple(Triple(spec.triple));
  module.setDataLayout((*machine)->createDataLayout());
  return Error::success();
}

/// Our emitters write what LLVM's loop and vector passes would make, so a short list does: half the time of O2, the
/// same code.
static void optimizeModule(Module &module, TargetMachine &machine) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager graphs;
  ModuleAnalysisManager modules;
  PassBuilder builder(&machine);
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

/// Products that must be rounded once, on a machine that has no such instruction: LLVM would call the C library for each
/// lane. In float64 the product is exact, and the sum is rounded where float32 hardly ever sees it.
static void expandFusedProducts(Module &module) {
  SmallVector<IntrinsicInst *> found;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (auto *call = dyn_cast<IntrinsicInst>(&instruction);
          call && call->getIntrinsicID() == Intrinsic::fma && call->getType()->getScalarType()->isFloatTy())
        found.push_back(call);
  for (IntrinsicInst *call : found) {
    IRBuilder<> b(call);
    Type *wide = call->getType()->getWithNewType(b.getDoubleTy());
    Value *operands[3];
    for (unsigned i = 0; i < 3; ++i)
      operands[i] = b.CreateFPExt(call->getArgOperand(i), wide);
    Value *sum = b.CreateFAdd(b.CreateFMul(operands[0], operands[1]), operands[2]);
    call->replaceAllUsesWith(b.CreateFPTrunc(sum, call->getType()));
    call->eraseFromParent();
  }
}

/// Lanes `from` to `to` of a vector, computed from such lanes of what it is computed from: where they are constant, LLVM sees it.
static Value *lanesOf(IRBuilder<> &b, Value *vector, unsigned from, unsigned to, unsigned depth = 0) {
  constexpr unsigned mostDepth = 8;
  if (auto *shuffle = dyn_cast<ShuffleVectorInst>(vector))
    return b.CreateShuffleVector(shuffle->getOperand(0), shuffle->getOperand(1),
                                 shuffle->getShuffleMask().slice(from, to - from));
  if (depth < mostDepth && isa<BinaryOperator, CmpInst>(vector)) {
    auto *op = cast<Instruction>(vector);
    Value *lhs = lanesOf(b, op->getOperand(0), from, to, depth + 1);
    Value *rhs = lanesOf(b, op->getOperand(1), from, to, depth + 1);
    if (auto *compare = dyn_cast<CmpInst>(op))
      return b.CreateCmp(compare->getPredicate(), lhs, rhs);
    return b.CreateBinOp(Instruction::BinaryOps(op->getOpcode()), lhs, rhs);
  }
  return b.CreateShuffleVector(vector, to_vector<16>(seq<int>(from, to)));
}

/// A masked load or store of `lanes` elements as accesses of `most` elements each.
static void splitMaskedAccess(IntrinsicInst *call, unsigned most, unsigned elementBytes) {
  bool load = call->getIntrinsicID() == Intrinsic::masked_load;
  Value *pointer = call->getArgOperand(load ? 0 : 1), *mask = call->getArgOperand(load ? 1 : 2);
  Value *data = call->getArgOperand(load ? 2 : 0); // what lanes that are not loaded are, or what is stored
  Align align = call->getParamAlign(load ? 0 : 1).valueOrOne();
  unsigned lanes = cast<FixedVectorType>(data->getType())->getNumElements();
  IRBuilder<> b(call);
  SmallVector<Value *> parts;
  for (unsigned from = 0; from < lanes; from += most) {
    unsigned to = std::min(from + most, lanes);
    uint64_t offset = uint64_t(from) * elementBytes;
    // Not known to be inside of the buffer: none of these lanes need exist.
    Value *at = b.CreatePtrAdd(pointer, b.getInt64(offset)), *some = lanesOf(b, mask, from, to);
    Value *part = b.CreateShuffleVector(data, to_vector<16>(seq<int>(from, to)));
    if (load)
      parts.push_back(b.CreateMaskedLoad(part->getType(), at, commonAlignment(align, offset), some, part));
    else
      b.CreateMaskedStore(part, at, commonAlignment(align, offset), some);
  }
  if (load)
    call->replaceAllUsesWith(concatenateVectors(b, parts));
  call->eraseFromParent();
}

/// Masked accesses of what a register holds. LLVM 22 would divide wider ones itself, but where the mask is a vector it does so wrongly:
/// where a part's lanes are all masked out, and this shows only after the mask was divided, it leaves 1 in them where it had 0 (a lane's
/// highest bit is all that its instruction looks at), and then takes the 1 for a lane that is wanted and loads all of the part. Of
/// parts that are divided here such masks are constants of 0, which no load is left for.
static void splitMaskedAccesses(Module &module, const MachineSpec &spec) {
  const DataLayout &layout = module.getDataLayout();
  SmallVector<std::pair<IntrinsicInst *, unsigned>> found;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (auto *call = dyn_cast<IntrinsicInst>(&instruction)) {
        Intrinsic::ID id = call->getIntrinsicID();
        if (id != Intrinsic::masked_load && id != Intrinsic::masked_store)
          continue;
        auto *type = dyn_cast<FixedVectorType>(id == Intrinsic::masked_load ? call->getType()
                                                                            : call->getArgOperand(0)->getType());
        unsigned bytes = type ? layout.getTypeStoreSize(type->getElementType()) : 0;
        if (bytes && type->getNumElements() * bytes > spec.vectorBytes)
          found.push_back({call, bytes});
      }
  for (auto [call, bytes] : found)
    splitMaskedAccess(call, std::max<unsigned>(spec.vectorBytes / bytes, 1), bytes);
}

/// What LLVM reads from functions instead of from the machine.
static void setFunctionAttributes(Module &module, const MachineSpec &spec) {
  for (Function &function : module) {
    function.addFnAttr("target-cpu", spec.cpu);
    function.addFnAttr("target-features", spec.features);
    function.addFnAttr("prefer-vector-width", std::to_string(spec.vectorBytes * 8));
    function.addFnAttr(Attribute::NoUnwind);
  }
}

Expected<std::string> generateCode(Module &module, const MachineSpec &spec, const CodeOptions &options) {
  auto machine = createMachine(spec, options.optimize, options.fuseProducts);
  if (!machine)
    return machine.takeError();
  setFunctionAttributes(module, spec);
  std::string problem;
  raw_string_ostream problems(problem);
  if (verifyModule(module, &problems))
    return createStringError("invalid LLVM IR: " + problem);
  if (!spec.fusedProducts)
    expandFusedProducts(module);
  splitMaskedAccesses(module, spec);
  if (options.optimize)
    optimizeModule(module, **machine);
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
    return createStringError("the code generator for " + spec.triple + " has no such output");
  emit.run(module);
  if (options.form == CodeForm::Object)
    if (Error error = checkCalls(module, StringRef(code.data(), code.size())))
      return std::move(error);
  return std::string(code.begin(), code.end());
}

/// What LLVM said last before it gave up, on the thread where it did.
static thread_local std::string fatalMessage;
/// After a crash locks may be held and memory is lost: nothing more is compiled in this process.
static std::atomic<bool> broken = false;

Error recoverLLVM(function_ref<Error()> work) {
  if (broken)
    return createStringError(
        "internal error: the compiler crashed before in this process, and left memory and locks in no known "
        "state; another process compiles");
  fatalMessage.clear();
  Error result = Error::success();
  CrashRecoveryContext recovery;
  if (recovery.RunSafely([&] {
        try {
          result = work();
        } catch (const std::exception &e) { // no memory, and whatever else a library throws
          result = joinErrors(std::move(result), createStringError(Twine("internal error: ") + e.what()));
        }
      }))
    return result;
  broken = true;
  consumeError(std::move(result));
  return createStringError("internal error: " + (fatalMessage.empty() ? "the compiler crashed" : fatalMessage));
}

namespace {
/// While one lives, fatal errors of LLVM end the work of their thread and not the process. They are the process's: the first one
/// installs the handlers, the last one takes them away.
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

Error forEachInParallel(unsigned threads, size_t count, function_ref<Error(size_t)> work) {
  std::vector<std::optional<Error>> results(count);
  DefaultThreadPool pool(hardware_concurrency(threads));
  for (size_t i = 0; i < count; ++i)
    pool.async([&, i] { results[i] = recoverLLVM([&] { return work(i); }); });
  pool.wait();
  Error errors = Error::success();
  for (std::optional<Error> &result : results)
    errors = joinErrors(std::move(errors), std::move(*result));
  return errors;
}

} // namespace hewn::codegen

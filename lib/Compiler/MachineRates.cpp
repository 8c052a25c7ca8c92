// SPDX-License-Identifier: Apache-2.0
//
// Measures instruction rates and memory bandwidth with loops of LLVM IR. The loops are compiled for
// the same target as kernels and loaded by LLVM's JIT linker. Loops for rates add products to
// enough accumulators to hide the latency of an FMA. Loops for bandwidth load vectors, with one
// addition per load.
#include "lib/Compiler/MachineRates.h"
#include "hewn/services.h"
#include "lib/Codegen/Emit/Object.h"
#include "lib/Compiler/Emit/Runtime.h"
#include "lib/Target/Targets.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <thread>

using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

namespace hewn {

static bool isInteger(StringRef type) { return type.ltrim("su").starts_with("i"); }

double MachineRates::rateOf(StringRef type, bool rounds) const {
  double most = rates.empty() ? 0 : rates.front().perSecond;
  for (const Rate &rate : rates)
    if (isInteger(type) ? isInteger(rate.type) : rate.type == type || (rounds && !isInteger(rate.type)))
      most = std::max(most, rate.perSecond);
  return most;
}

double MachineRates::bandwidthOf(double bytes) const {
  double most = 0;
  for (size_t i = bandwidths.size(); i-- > 0;) {
    // Interpolates the bandwidth linearly in the logarithm of the buffer size. If a larger buffer
    // was measured with a higher bandwidth, that bandwidth also counts for smaller buffers.
    most = std::max(most, bandwidths[i].bytesPerSecond);
    if (i == 0 || bytes >= bandwidths[i].bytes)
      return most;
    if (bytes > bandwidths[i - 1].bytes) {
      double part = std::log(bandwidths[i].bytes / bytes) / std::log(bandwidths[i].bytes / bandwidths[i - 1].bytes);
      return most + part * std::max(0.0, bandwidths[i - 1].bytesPerSecond - most);
    }
  }
  return most;
}

namespace {

/// `kTries`: number of measurements of a loop, of which the fastest counts. The measurements are
/// many and short, so that the scheduler does not interrupt all of them even on a busy machine.
/// `kReadSums`: number of accumulators of a loop that measures bandwidth.
constexpr int kTries = 12, kReadSums = 8;
constexpr double kSecondsOfATry = 5e-4, kSecondsOfAll = 3e-2;
/// Smallest and largest total size of the buffers that all threads read. The largest size exceeds
/// the last-level cache of a group of cores.
constexpr size_t kFewestBytes = size_t(16) << 10, kMostBytes = size_t(256) << 20;

using Clock = std::chrono::steady_clock;
/// A compiled loop: runs `count` iterations on the buffer `memory`.
using Loop = void (*)(char *memory, int64_t count);

/// Builds a function `name` that runs a loop body `count` times with `numSums` accumulators of
/// `type`, and stores their sum.
class LoopBuilder {
public:
  LoopBuilder(llvm::Module &module, StringRef name, llvm::Type *type, int numSums) : b(module.getContext()) {
    llvm::Type *i64 = b.getInt64Ty();
    auto *function = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), i64}, false),
                                            llvm::Function::ExternalLinkage, name, module);
    memory = function->getArg(0);
    auto *entry = llvm::BasicBlock::Create(module.getContext(), "entry", function);
    loop = llvm::BasicBlock::Create(module.getContext(), "loop", function);
    exit = llvm::BasicBlock::Create(module.getContext(), "exit", function);
    b.SetInsertPoint(entry);
    left = b.CreateAlignedLoad(type, memory, llvm::Align(64));
    right = b.CreateAlignedLoad(type, b.CreateConstGEP1_64(b.getInt8Ty(), memory, 64), llvm::Align(64));
    b.CreateBr(loop);
    b.SetInsertPoint(loop);
    step = b.CreatePHI(i64, 2);
    step->addIncoming(b.getInt64(0), entry);
    for (int i = 0; i < numSums; ++i) {
      sums.push_back(b.CreatePHI(type, 2));
      sums.back()->addIncoming(llvm::Constant::getNullValue(type), entry);
    }
  }

  void finish(llvm::ArrayRef<llvm::Value *> next) {
    auto *function = loop->getParent();
    llvm::Value *following = b.CreateAdd(step, b.getInt64(1));
    step->addIncoming(following, loop);
    for (auto [sum, value] : llvm::zip_equal(sums, next))
      sum->addIncoming(value, loop);
    b.CreateCondBr(b.CreateICmpSLT(following, function->getArg(1)), loop, exit);
    b.SetInsertPoint(exit);
    llvm::Value *all = next.front();
    for (llvm::Value *one : next.drop_front())
      all = all->getType()->isFPOrFPVectorTy() ? b.CreateFAdd(all, one) : b.CreateAdd(all, one);
    b.CreateAlignedStore(all, memory, llvm::Align(64));
    b.CreateRetVoid();
  }

  llvm::IRBuilder<> b;
  llvm::Value *memory, *left, *right;
  llvm::PHINode *step;
  llvm::SmallVector<llvm::PHINode *> sums;
  llvm::BasicBlock *loop, *exit;
};

/// Returns the number of accumulators of a loop of FMAs: enough to hide the latency of an FMA on
/// any target, and so few that registers are left for both operands of the FMA.
int numSums(plan::TargetAttr target) { return int(std::clamp<int64_t>(target.getVectorRegisters() - 4, 4, 16)); }

void buildFloats(llvm::Module &module, plan::TargetAttr target) {
  auto *type =
      llvm::FixedVectorType::get(llvm::Type::getFloatTy(module.getContext()), unsigned(target.getVectorBytes() / 4));
  LoopBuilder loop(module, "floats", type, numSums(target));
  llvm::SmallVector<llvm::Value *> next;
  for (llvm::PHINode *sum : loop.sums)
    next.push_back(target.getHasFma()
                       ? loop.b.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {loop.left, loop.right, sum})
                       : loop.b.CreateFAdd(sum, loop.b.CreateFMul(loop.left, sum)));
  loop.finish(next);
}

/// Builds a loop of dot-product instructions. Returns false if LLVM has no such intrinsic for the
/// target.
bool buildDot(llvm::Module &module, StringRef name, plan::TargetAttr target, plan::DotProductAttr dot) {
  llvm::Intrinsic::ID id = llvm::Intrinsic::lookupIntrinsicID(dot.getIntrinsic().getValue());
  if (id == llvm::Intrinsic::not_intrinsic)
    return false;
  llvm::LLVMContext &context = module.getContext();
  auto vectorOf = [&](llvm::Type *element) {
    return llvm::FixedVectorType::get(element,
                                      unsigned(target.getVectorBytes() * 8 / element->getPrimitiveSizeInBits()));
  };
  auto *lanes = vectorOf(dot.getSum().isF32() ? llvm::Type::getFloatTy(context) : llvm::Type::getInt32Ty(context));
  unsigned bits = dot.getRight().getIntOrFloatBitWidth();
  llvm::Type *factor =
      dot.getRight().isBF16() ? llvm::Type::getBFloatTy(context) : llvm::Type::getIntNTy(context, bits);
  // The overloaded dot-product intrinsics of LLVM take the types of the accumulator and of the
  // operands as type parameters.
  llvm::SmallVector<llvm::Type *> overloads;
  if (llvm::Intrinsic::isOverloaded(id))
    overloads = {lanes, vectorOf(factor)};
  llvm::FunctionType *type = llvm::Intrinsic::getType(context, id, overloads);
  LoopBuilder loop(module, name, lanes, numSums(target));
  auto as = [&](llvm::Value *value, llvm::Type *wanted) { return loop.b.CreateBitCast(value, wanted); };
  llvm::SmallVector<llvm::Value *> next;
  for (llvm::PHINode *sum : loop.sums) {
    llvm::SmallVector<llvm::Value *> operands;
    unsigned first = dot.getAccumulates();
    if (dot.getAccumulates())
      operands.push_back(as(sum, type->getParamType(0)));
    // If the instruction does not accumulate, the accumulator is passed as an operand. Otherwise
    // the dot product would be the same in each iteration, and LLVM would move it out of the loop.
    operands.push_back(as(dot.getAccumulates() ? loop.left : sum, type->getParamType(first)));
    operands.push_back(as(loop.right, type->getParamType(first + 1)));
    llvm::Value *product = as(loop.b.CreateIntrinsic(id, overloads, operands), lanes);
    next.push_back(dot.getAccumulates()        ? product
                   : lanes->isFPOrFPVectorTy() ? loop.b.CreateFAdd(sum, product)
                                               : loop.b.CreateAdd(sum, product));
  }
  loop.finish(next);
  return true;
}

/// Builds a loop that measures bandwidth. Each iteration loads one vector per accumulator.
void buildReads(llvm::Module &module, plan::TargetAttr target) {
  auto *type =
      llvm::FixedVectorType::get(llvm::Type::getInt32Ty(module.getContext()), unsigned(target.getVectorBytes() / 4));
  LoopBuilder loop(module, "reads", type, kReadSums);
  llvm::Value *from =
      loop.b.CreateGEP(loop.b.getInt8Ty(), loop.memory,
                       loop.b.CreateMul(loop.step, loop.b.getInt64(uint64_t(kReadSums * target.getVectorBytes()))));
  llvm::SmallVector<llvm::Value *> next;
  for (auto [i, sum] : llvm::enumerate(loop.sums)) {
    llvm::Value *at = loop.b.CreateConstGEP1_64(loop.b.getInt8Ty(), from, i * uint64_t(target.getVectorBytes()));
    next.push_back(loop.b.CreateAdd(
        sum, loop.b.CreateAlignedLoad(type, at, llvm::Align(std::min<int64_t>(64, target.getVectorBytes())))));
  }
  loop.finish(next);
}

/// Runs a measurement loop on several threads at the same time, each with a buffer of its own.
class Team {
public:
  Team(int threads, size_t bytes) : threads(threads), all(static_cast<char *>(std::aligned_alloc(4096, bytes))) {
    if (all)
      // writes to the threads' buffers, because the kernel maps all untouched pages to one zero
      // page
      std::memset(all, 0, bytes);
  }
  Team(const Team &) = delete;
  ~Team() { std::free(all); }

  /// Returns how often per second all threads together call `loop`, each with a buffer of `bytes`
  /// bytes. The best of several measurements counts.
  double callsPerSecond(Loop loop, int64_t count, size_t bytes) const {
    double once = seconds(loop, count, bytes, 1); // warms up the caches
    once = std::max(std::min(once, seconds(loop, count, bytes, 1)), 1e-8);
    auto calls = std::max<int64_t>(1, int64_t(kSecondsOfATry / once));
    double best = 0;
    Clock::time_point begin = Clock::now();
    for (int i = 0;
         i < kTries && (i < 2 || std::chrono::duration<double>(Clock::now() - begin).count() < kSecondsOfAll); ++i)
      best = std::max(best, double(calls) / seconds(loop, count, bytes, calls));
    return best * threads;
  }

  const int threads;
  char *const all;

private:
  /// Returns the time that the slowest of the threads takes for its calls of `loop`.
  double seconds(Loop loop, int64_t count, size_t bytes, int64_t calls) const {
    std::atomic<int> ready = 0, expected = threads;
    std::vector<double> taken(size_t(threads), 0.0);
    auto work = [&](int index) {
      ++ready;
      while (ready < expected)
        std::this_thread::yield();
      Clock::time_point begin = Clock::now();
      for (int64_t call = 0; call < calls; ++call)
        loop(all + size_t(index) * bytes, count);
      taken[size_t(index)] = std::chrono::duration<double>(Clock::now() - begin).count();
    };
    std::vector<std::thread> others;
    try {
      for (int i = 1; i < threads; ++i)
        others.emplace_back(work, i);
    } catch (const std::system_error &) {
      // If the system cannot create a further thread, extrapolates the rate from the threads that
      // run.
      expected = int(others.size()) + 1;
    }
    work(0);
    for (std::thread &other : others)
      other.join();
    return std::max(*llvm::max_element(taken), 1e-9);
  }
};

Expected<std::string> compileLoops(const codegen::TargetSpec &spec, plan::TargetAttr target,
                                   llvm::SmallVectorImpl<plan::DotProductAttr> &dots) {
  llvm::LLVMContext context;
  llvm::Module module("rates", context);
  if (Error error = codegen::setMachine(module, spec))
    return std::move(error);
  buildFloats(module, target);
  buildReads(module, target);
  for (mlir::Attribute attr : target.getDots() ? target.getDots().getValue() : llvm::ArrayRef<mlir::Attribute>())
    // Dot products with 16-bit accumulators are not measured: the accumulators overflow soon, and
    // only kernels with low-bit weights use them.
    if (auto dot = mlir::dyn_cast<plan::DotProductAttr>(attr); dot && dot.getSum().getIntOrFloatBitWidth() == 32)
      if (buildDot(module, "dot" + std::to_string(dots.size()), target, dot))
        dots.push_back(dot);
  return codegen::generateCode(module, spec, {});
}

std::string typeText(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

Error measure(const codegen::TargetSpec &spec, MachineRates &rates) {
  mlir::DialectRegistry registry;
  registry.insert<plan::PlanDialect>();
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  plan::TargetAttr target = target::attribute(&context, spec, Precision::Highest);
  llvm::SmallVector<plan::DotProductAttr> dots;
  Expected<std::string> code = compileLoops(spec, target, dots);
  if (!code)
    return code.takeError();
  auto jit = llvm::orc::LLJITBuilder().create();
  if (!jit)
    return jit.takeError();
  if (Error error = (*jit)->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(*code, "rates")))
    return error;
  const size_t most = std::max<size_t>(kMostBytes, size_t(rates.threads) * kFewestBytes);
  Team team(rates.threads, most);
  if (!team.all)
    return llvm::createStringError("no memory to measure with");
  auto loopOf = [&](StringRef name) -> Expected<Loop> {
    Expected<llvm::orc::ExecutorAddr> found = (*jit)->lookup(name);
    if (!found)
      return found.takeError();
    return found->toPtr<Loop>();
  };
  auto addRate = [&](StringRef loop, std::string type, int64_t opsOfALane) -> Error {
    Expected<Loop> found = loopOf(loop);
    if (!found)
      return found.takeError();
    constexpr int64_t steps = 1 << 12;
    double opsOfACall = double(steps * numSums(target) * (target.getVectorBytes() / 4) * opsOfALane);
    rates.rates.push_back({std::move(type), team.callsPerSecond(*found, steps, kFewestBytes) * opsOfACall});
    return Error::success();
  };
  if (Error error = addRate("floats", "f32", 2))
    return error;
  for (auto [i, dot] : llvm::enumerate(dots))
    if (Error error = addRate("dot" + std::to_string(i), typeText(dot.getRight()), 2 * dot.getGroup()))
      return error;
  // If the target has several dot-product instructions for integer types of one size, keeps only
  // the rate of the fastest.
  auto isSlower = [&](const MachineRates::Rate &rate) {
    return isInteger(rate.type) && rate.perSecond < rates.rateOf(rate.type, /*rounds=*/false);
  };
  std::vector<MachineRates::Rate> kept;
  llvm::copy_if(rates.rates, std::back_inserter(kept), [&](const MachineRates::Rate &rate) { return !isSlower(rate); });
  rates.rates = std::move(kept);
  Expected<Loop> reads = loopOf("reads");
  if (!reads)
    return reads.takeError();
  int64_t stepBytes = kReadSums * target.getVectorBytes();
  for (size_t bytes = size_t(rates.threads) * kFewestBytes; bytes <= most;
       bytes = bytes < most ? std::min(4 * bytes, most) : most + 1) {
    size_t each = bytes / size_t(rates.threads) / 4096 * 4096;
    double calls = team.callsPerSecond(*reads, int64_t(each) / stepBytes, each);
    rates.bandwidths.push_back({double(bytes), calls * double(int64_t(each) / stepBytes * stepBytes)});
  }
  return Error::success();
}

} // namespace

Expected<MachineRates> measureMachine(StringRef name, int threads) {
  Clock::time_point begin = Clock::now();
  target::initialize();
  std::optional<codegen::TargetSpec> spec = target::find(name);
  if (!spec)
    return llvm::createStringError("unknown target '" + name + "'");
  if (spec->device)
    return llvm::createStringError("'" + name + "' is a GPU, whose rates are not measured");
  if (!target::isForThisMachine(*spec) || (spec->cpuFeatures & ~hewn_rt_platform.cpu_features()))
    return llvm::createStringError("this machine does not run code for '" + name + "'");
  MachineRates rates;
  rates.target = name.str();
  rates.threads = std::max(threads, 1);
  Error error = codegen::guardLLVM([&] { return measure(*spec, rates); });
  if (error)
    return std::move(error);
  rates.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return rates;
}

} // namespace hewn

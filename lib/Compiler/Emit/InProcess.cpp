// SPDX-License-Identifier: Apache-2.0
//
// Runs generated objects in this process. LLVM's JIT linker loads them and binds them to the
// runtime in this binary.
#include "lib/Compiler/Emit/InProcess.h"
#include "dialects/Plan/Plan.h"
#include "hewn/services.h"
#include "lib/Compiler/Emit/Generate.h"
#include "lib/Pipelines/Pipelines.h"
#include "lib/Support/Diagnostics.h"
#include "lib/Target/Targets.h"
#include "lib/Transforms/Plan/Values/Buffers.h"

#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>

using namespace mlir;
using llvm::Error;

namespace hewn {

namespace {

using Results = std::vector<std::vector<char>>;

/// A block of memory with an alignment of 64 bytes.
struct Block {
  explicit Block(size_t bytes) : data(static_cast<char *>(std::aligned_alloc(64, (bytes + 127) / 64 * 64))) {}
  ~Block() { std::free(data); }
  Block(const Block &) = delete;
  Block &operator=(const Block &) = delete;
  char *data;
};

/// An output stream that writes to a preallocated buffer.
class MemoryStream : public llvm::raw_ostream {
public:
  explicit MemoryStream(char *to) : raw_ostream(/*unbuffered=*/true), to(to) {}

private:
  void write_impl(const char *data, size_t size) override {
    std::memcpy(to + at, data, size);
    at += size;
  }
  uint64_t current_pos() const override { return at; }
  char *to;
  size_t at = 0;
};

template <typename T> llvm::orc::ExecutorSymbolDef symbolOf(T *address) {
  return {llvm::orc::ExecutorAddr::fromPtr(address), llvm::JITSymbolFlags::Exported};
}

/// Returns the addresses of the runtime functions that generated code calls, by name.
llvm::orc::SymbolMap services(llvm::orc::LLJIT &jit) {
  llvm::orc::SymbolMap map;
#define HEWN_SERVICE(name) map[jit.mangleAndIntern(#name)] = symbolOf(&name);
  HEWN_SERVICE(hewn_rt_table)
  HEWN_SERVICE(hewn_rt_platform)
  HEWN_SERVICE(hewn_rt_pool)
  HEWN_SERVICE(hewn_rt_weights)
  HEWN_SERVICE(hewn_rt_parallel_for)
  HEWN_SERVICE(hewn_rt_threads)
  HEWN_SERVICE(hewn_rt_alloc)
  HEWN_SERVICE(hewn_rt_free)
  HEWN_SERVICE(hewn_rt_alloc_output)
  HEWN_SERVICE(hewn_rt_fail)
  HEWN_SERVICE(hewn_rt_code)
  HEWN_SERVICE(hewn_rt_trace)
  HEWN_SERVICE(hewn_rt_begin_kernel)
  HEWN_SERVICE(hewn_rt_check_cancel)
  HEWN_SERVICE(hewn_rt_draw_index)
  HEWN_SERVICE(hewn_rt_cpu)
  HEWN_SERVICE(hewn_rt_variant)
  HEWN_SERVICE(hewn_arena_bytes)
  HEWN_SERVICE(hewn_run_pointers)
#undef HEWN_SERVICE
  return map;
}

bool lower(ModuleOp module) {
  PipelineOptions options;
  options.optimize = false;
  options.foldConstants = false; // this module is the constant subgraph
  PassManager pm(module.getContext());
  buildGraphStage(pm, options);
  buildKernelsStage(pm, options);
  buildLoopsStage(pm, options);
  buildPlanStage(pm, options);
  return succeeded(pm.run(module));
}

/// Returns the sizes in bytes of the results of `main`. The sizes are static, because constant
/// folding runs only ops with static shapes.
std::vector<size_t> resultBytes(ModuleOp module) {
  std::vector<size_t> sizes;
  auto program = module.lookupSymbol<func::FuncOp>(plan::kProgramName);
  for (Value value : program.getBody().front().getTerminator()->getOperands())
    sizes.push_back(size_t(plan::bufferBytes(value).constant().value_or(0)));
  return sizes;
}

Error run(GeneratedCode &generated, llvm::ArrayRef<size_t> sizes, Results &results) {
  Block constants(generated.weights.size());
  if (!constants.data)
    return llvm::createStringError("no memory for constants");
  MemoryStream stream(constants.data);
  generated.weights.write(stream);

  auto jit = llvm::orc::LLJITBuilder().create();
  if (!jit)
    return jit.takeError();
  llvm::orc::SymbolMap symbols = services(**jit);
  std::string name = generated.interface.name;
  symbols[(*jit)->mangleAndIntern(name + "_weights")] = symbolOf(constants.data);
  llvm::orc::JITDylib &library = (*jit)->getMainJITDylib();
  if (Error error = library.define(llvm::orc::absoluteSymbols(std::move(symbols))))
    return error;
  for (const codegen::CompiledUnit &unit : generated.code)
    if (Error error = (*jit)->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(unit.code, unit.name)))
      return error;
  auto found = (*jit)->lookup(name);
  if (!found)
    return found.takeError();
  const auto *model = found->toPtr<const hewn_model *>();

  std::vector<void *> outputs;
  for (size_t size : sizes) {
    results.emplace_back(size);
    outputs.push_back(results.back().data());
  }
  hewn_context *context = nullptr;
  hewn_status status = hewn_context_create(model, nullptr, &context);
  if (status.code == HEWN_OK)
    status = hewn_run_pointers(model, context, nullptr, outputs.data(), nullptr, nullptr);
  Error error = status.code == HEWN_OK ? Error::success() : llvm::createStringError(status.message);
  hewn_context_destroy(context);
  return error;
}

} // namespace

FailureOr<Results> evaluate(OwningOpRef<ModuleOp> module, const codegen::CodeOptions &options) {
  const PlannedTarget host{*target::find("host"), {*module}};
  (*module)->setAttr(plan::kTargetAttr, target::attribute(module->getContext(), host.machine, Precision::Highest));
  Results results;
  // Suppresses diagnostics: if folding fails, the user has made no error, and the ops are compiled
  // as usual.
  ThreadDiagnostics quiet(*module->getContext(), [](Diagnostic &) {});
  if (!lower(*module) || (options.isCancelled && options.isCancelled()))
    return failure();
  Error error = codegen::guardLLVM([&]() -> Error {
    GeneratedCode generated;
    auto program = module->lookupSymbol<func::FuncOp>(plan::kProgramName);
    FailureOr<codegen::ProgramInterface> interface = codegen::readInterface(program, "folded");
    if (failed(interface))
      return llvm::createStringError("no interface");
    generated.interface = std::move(*interface);
    if (Error error = generate(host, target::baseTarget(host.machine), options, "", generated))
      return error;
    return run(generated, resultBytes(*module), results);
  });
  if (error) {
    llvm::consumeError(std::move(error));
    return failure();
  }
  return results;
}

} // namespace hewn

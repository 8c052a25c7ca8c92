// SPDX-License-Identifier: Apache-2.0
//
// Access to the kernels of launches, and to the launch attributes of their functions.
#include "dialects/Plan/Plan.h"

using namespace mlir;
using hewn::graph::DimExpr;

namespace hewn::plan {

using Emit = llvm::function_ref<InFlightDiagnostic()>;

static LogicalResult verifyNames(Emit emitError, ArrayAttr symbols) {
  if (!llvm::all_of(symbols, llvm::IsaPred<StringAttr>))
    return emitError() << "symbols must be strings";
  return success();
}

LogicalResult TasksAttr::verify(Emit emitError, DimExpr, ArrayAttr symbols) { return verifyNames(emitError, symbols); }

LogicalResult GpuLaunchAttr::verify(Emit emitError, std::optional<DimExpr>, int64_t threads, ArrayAttr symbols,
                                    int64_t sharedBytes, int64_t blockBytes, int64_t registers, DimExpr work,
                                    DimExpr traffic, bool, bool, int64_t counters, ArrayAttr boxes, int64_t keeps,
                                    int64_t keptBytes) {
  // The emitted launch code uses 32-bit integers for the numbers of threads and counters.
  constexpr int64_t most = INT32_MAX;
  if (threads < 1 || threads > most || counters > most)
    return emitError() << "threads must be 1 to " << most << ", and counters at most as many";
  for (auto [name, value] : std::initializer_list<std::pair<StringRef, int64_t>>{{"sharedBytes", sharedBytes},
                                                                                 {"blockBytes", blockBytes},
                                                                                 {"registers", registers},
                                                                                 {"counters", counters},
                                                                                 {"keeps", keeps},
                                                                                 {"keptBytes", keptBytes}})
    if (value < 0)
      return emitError() << name << " must not be negative";
  // the resident bytes of several kernels are added up, which must not overflow
  if (keptBytes > most)
    return emitError() << "keptBytes must be at most " << most;
  if (boxes && !llvm::all_of(boxes, llvm::IsaPred<TmaTileAttr>))
    return emitError() << "boxes must be #plan.tma_tile attributes";
  return verifyNames(emitError, symbols);
}

GpuLaunchAttr gpuLaunchOf(Operation *function) {
  return function ? function->getAttrOfType<GpuLaunchAttr>(kLaunchInfoAttr) : GpuLaunchAttr();
}

TasksAttr tasksOf(Operation *function) {
  return function ? function->getAttrOfType<TasksAttr>(kLaunchInfoAttr) : TasksAttr();
}

void changeGpuLaunch(Operation *function, llvm::function_ref<void(GpuLaunch &)> change) {
  GpuLaunch launch;
  if (GpuLaunchAttr own = gpuLaunchOf(function))
    launch = {own.getBlocks(),    own.getThreads(), own.getSymbols(), own.getSharedBytes(), own.getBlockBytes(),
              own.getRegisters(), own.getWork(),    own.getTraffic(), own.getAlone(),       own.getMeets(),
              own.getCounters(),  own.getBoxes(),   own.getKeeps(),   own.getKeptBytes()};
  else
    launch.symbols = ArrayAttr::get(function->getContext(), {});
  change(launch);
  function->setAttr(kLaunchInfoAttr,
                    GpuLaunchAttr::get(function->getContext(), launch.blocks, launch.threads, launch.symbols,
                                       launch.sharedBytes, launch.blockBytes, launch.registers, launch.work,
                                       launch.traffic, launch.alone, launch.meets, launch.counters, launch.boxes,
                                       launch.keeps, launch.keptBytes));
}

KernelOp findGraphKernel(const SymbolTable &table, StringRef name) {
  auto kernel = table.lookup<KernelOp>(name);
  return kernel && !kernel.isLowered() ? kernel : KernelOp();
}

func::FuncOp entryOf(LaunchOp launch, StringRef suffix) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(launch, launch.getKernelAttr());
  if (!kernel || suffix.empty())
    return kernel ? kernel.getEntry() : func::FuncOp();
  return kernel.lookupSymbol<func::FuncOp>((kernel.getSymName() + suffix).str());
}

KernelSource::KernelSource(KernelOp kernel) : kernel(kernel), source(cast<KernelOp>(kernel->cloneWithoutRegions())) {
  source.getBody().takeBody(kernel.getBody());
  kernel.getBody().emplaceBlock().push_back(source);
}

KernelSource::~KernelSource() {
  if (!source)
    return;
  source->remove();
  kernel.getBody().takeBody(source.getBody());
  source->erase();
}

void KernelSource::replaceByCode() {
  source->erase();
  source = {};
}

std::optional<DimExpr> atLaunch(const DimExpr &expr, ArrayAttr symbols, LaunchOp launch) {
  if (symbols.size() != launch.getSymbols().size())
    return std::nullopt;
  return expr.substitute([&](StringRef name) {
    for (auto [known, given] : llvm::zip(symbols, launch.getSymbols()))
      if (cast<StringAttr>(known).getValue() == name)
        // LaunchOp::verify has checked that `given` is an integer or an expression
        return *DimExpr::fromAttr(given);
    return DimExpr::symbol(name);
  });
}

} // namespace hewn::plan

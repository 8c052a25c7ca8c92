// SPDX-License-Identifier: Apache-2.0
//
// Resident weights: constants that the blocks of a persistent kernel keep in shared memory over the
// steps of a loop (lib/Transforms/Fuse/MarkResidentWeights.cpp).
//
//     call @joint_k_keep(%w)      // each block loads its part of %w into shared memory of its own
//     scf.for ... { call @joint_k_kept(%state, %w) }
#include "lib/Codegen/GPU/GpuBuilder.h"
#include "lib/Codegen/GPU/Persistent/PersistentEmitter.h"
#include "lib/Support/Remarks.h"
#include "lib/Transforms/Plan/Join/PersistentCost.h"
#include "lib/Transforms/Plan/Values/Buffers.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using hewn::graph::DimExpr;

namespace hewn::codegen {

/// Returns the limit of a block's shared memory in bytes. Without a target, offsets are limited to
/// the 32 bits that they are emitted with.
static int64_t mostShared(plan::GpuAttr gpu) {
  return gpu ? std::max(gpu.getSharedBytes(), gpu.getLimits().getStaticSharedBytes()) : INT32_MAX;
}

FailureOr<int64_t> PersistentEmitter::sharedBytesOf(func::FuncOp part) {
  // Sizes saturate above the limit, so that dims and alignments of hand-written IR do not overflow.
  constexpr uint64_t tooMany = uint64_t(INT32_MAX) + 1;
  uint64_t bytes = 0;
  auto add = [&](memref::GetGlobalOp use) {
    MemRefType type = use.getType();
    auto space = dyn_cast_or_null<IntegerAttr>(type.getMemorySpace());
    auto global = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(use, use.getNameAttr());
    if (!space || space.getInt() != kSharedSpace || !global || use.getName().ends_with(plan::kKeptMemorySuffix))
      return WalkResult::advance();
    if (!type.getElementType().isIntOrFloat())
      return WalkResult(part.emitOpError("@")
                        << part.getName() << " has shared memory with an element type other than integers and floats: "
                        << type.getElementType());
    uint64_t size = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
    for (int64_t dim : type.getShape())
      size = llvm::SaturatingMultiply(size, uint64_t(dim));
    uint64_t alignment = std::clamp<uint64_t>(global.getAlignment().value_or(1), 16, tooMany);
    bytes = std::min(llvm::SaturatingAdd(llvm::alignTo(bytes, alignment), size), tooMany);
    return WalkResult::advance();
  };
  if (part.walk(add).wasInterrupted())
    return failure();
  int64_t most = mostShared(plan::gpuOf(part));
  if (int64_t(bytes) > most)
    return part.emitOpError("@") << part.getName() << " needs more shared memory than the " << most
                                 << " bytes that a block may have";
  return int64_t(llvm::alignTo(bytes, 16));
}

/// Records the size of the dynamic shared memory, if that of the phases and the resident weights
/// exceeds the static limit.
LogicalResult PersistentEmitter::layOutShared() {
  int64_t all = 0;
  for (auto &[name, part] : parts) {
    FailureOr<int64_t> own = sharedBytesOf(part);
    if (failed(own))
      return failure();
    all = std::max(all, *own);
  }
  for (auto &[name, bytes] : kept)
    all += bytes;
  plan::GpuAttr gpu = plan::gpuOf(function);
  if (all > (gpu ? gpu.getLimits().getStaticSharedBytes() : 0))
    plan::changeGpuLaunch(function, [&](plan::GpuLaunch &launch) { launch.sharedBytes = all; });
  return success();
}

LogicalResult PersistentEmitter::markResidentWeights(graph::ControlOpInterface loop) {
  plan::GpuAttr gpu = plan::gpuOf(loop);
  int64_t room = gpu ? gpu.getSharedBytes() - plan::kSharedBesideKept : 0;
  llvm::StringSet<> here; // kernels seen so far, each with one resident constant
  for (auto launch : loop.getLoopBody().getOps<plan::LaunchOp>()) {
    std::optional<unsigned> operand = plan::keptOperand(launch);
    func::FuncOp entry = plan::entryOf(launch);
    if (!operand || !here.insert(launch.getKernel()).second)
      continue;
    int64_t own = plan::gpuLaunchOf(entry).getKeptBytes(), sum = own;
    for (auto &[name, bytes] : kept)
      sum += name == launch.getKernel() ? 0 : bytes;
    auto beside = [&](StringRef suffix) {
      func::FuncOp function = plan::entryOf(launch, suffix);
      return plan::gpuLaunchOf(function) ? function : func::FuncOp();
    };
    func::FuncOp bringing = beside(plan::kKeepSuffix);
    Value memory = pointer(launch.getInputs()[*operand]);
    if (sum > room && bringing)
      missed(
          launch, "hewn-form-persistent-kernels", "NotKept",
          "its weights do not fit a block's shared memory together with resident weights of the loop's other kernels");
    if (sum > room || !bringing || !beside(plan::kKeptSuffix) || !memory)
      continue;
    kept[launch.getKernel()] = own;
    keeping.insert(launch);
    // The call that loads resident weights may overwrite those of an earlier loop in shared memory.
    // This is correct, because all blocks have passed a barrier since the earlier weights were last
    // read.
    func::FuncOp part = partOf(bringing);
    SmallVector<Value> arguments = {function.getArgument(0)};
    arguments.push_back(viewOf(launch.getInputs()[*operand], memory, part.getArgumentTypes()[1]));
    if (failed(passSymbols(launch, arguments)))
      return failure();
    arguments.push_back(number(0));
    callPart(part, arguments);
  }
  return success();
}

} // namespace hewn::codegen

// SPDX-License-Identifier: Apache-2.0
//
// Constants that the blocks of a joint kernel keep in shared memory over the steps of a loop (lib/Transforms/Fuse/KeepConstants.cpp).
//
//     call @joint_k_keep(%w)                what each block reads of %w, to memory that no other part has
//     scf.for ... { call @joint_k_kept(%state, %w) }
#include "lib/Codegen/Grid/Grid.h"
#include "lib/Codegen/Grid/Joint/JointEmitter.h"
#include "lib/Support/Remarks.h"
#include "lib/Transforms/Plan/Join/JointCost.h"
#include "lib/Transforms/Plan/Values/Buffers.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using hewn::graph::DimExpr;

namespace hewn::codegen {

/// All that a block may have, on whatever machine where none is said: numbers of the emitted code are of 32 bits.
static int64_t mostShared(plan::GridAttr grid) {
  return grid ? std::max(grid.getSharedBytes(), grid.getLimits().getStaticSharedBytes()) : INT32_MAX;
}

FailureOr<int64_t> JointEmitter::sharedBytesOf(func::FuncOp part) {
  // What is behind the limit is as good as the largest number, so that no text's dims or alignment overflow.
  constexpr uint64_t tooMany = uint64_t(INT32_MAX) + 1;
  uint64_t bytes = 0;
  auto add = [&](memref::GetGlobalOp use) {
    MemRefType type = use.getType();
    auto space = dyn_cast_or_null<IntegerAttr>(type.getMemorySpace());
    auto global = module.lookupSymbol<memref::GlobalOp>(use.getNameAttr());
    if (!space || space.getInt() != kSharedSpace || !global || use.getName().ends_with(plan::kKeptMemorySuffix))
      return WalkResult::advance();
    if (!type.getElementType().isIntOrFloat())
      return WalkResult(part.emitOpError("@")
                        << part.getName() << " has elements in shared memory that are no numbers, "
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
  int64_t most = mostShared(plan::gridOf(part));
  if (int64_t(bytes) > most)
    return part.emitOpError("@") << part.getName() << " has more than the " << most
                                 << " bytes of shared memory that a block may have";
  return int64_t(llvm::alignTo(bytes, 16));
}

/// Where parts have more than what every block has, and what they keep.
LogicalResult JointEmitter::layOutShared() {
  int64_t all = 0;
  for (auto &[name, part] : parts) {
    FailureOr<int64_t> own = sharedBytesOf(part);
    if (failed(own))
      return failure();
    all = std::max(all, *own);
  }
  for (auto &[name, bytes] : kept)
    all += bytes;
  plan::GridAttr grid = plan::gridOf(function);
  if (all > (grid ? grid.getLimits().getStaticSharedBytes() : 0))
    plan::changeGridLaunch(function, [&](plan::GridLaunch &launch) { launch.sharedBytes = all; });
  return success();
}

LogicalResult JointEmitter::keepConstants(graph::ControlOpInterface loop) {
  plan::GridAttr grid = plan::gridOf(loop);
  int64_t room = grid ? grid.getSharedBytes() - plan::kSharedBesideKept : 0;
  llvm::StringSet<> here; // a kernel's memory has one constant at a time
  for (auto launch : loop.getLoopBody().getOps<plan::LaunchOp>()) {
    std::optional<unsigned> operand = plan::keptOperand(launch);
    func::FuncOp kernel = plan::functionOf(launch);
    if (!operand || !here.insert(launch.getKernel()).second)
      continue;
    int64_t own = plan::gridLaunchOf(kernel).getKeptBytes(), sum = own;
    for (auto &[name, bytes] : kept)
      sum += name == launch.getKernel() ? 0 : bytes;
    auto beside = [&](StringRef suffix) {
      auto function = module.lookupSymbol<func::FuncOp>((launch.getKernel() + suffix).str());
      return plan::gridLaunchOf(function) ? function : func::FuncOp();
    };
    func::FuncOp bringing = beside(plan::kKeepSuffix);
    Value memory = pointer(launch.getInputs()[*operand]);
    if (sum > room && bringing)
      missed(launch, "hewn-form-joints", "NotKept",
             "its constant has no room in a block's shared memory beside what other kernels of the loop keep");
    if (sum > room || !bringing || !beside(plan::kKeptSuffix) || !memory)
      continue;
    kept[launch.getKernel()] = own;
    keeping.insert(launch);
    func::FuncOp part = partOf(bringing); // (What was there nobody reads: who did has met the others since.)
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

// SPDX-License-Identifier: Apache-2.0
//
// Constants that the blocks of a joint kernel keep in shared memory over the steps of a loop (lib/Transforms/Fuse/KeepConstants.cpp).
//
//     call @joint_k_keep(%w)                what each block reads of %w, to memory that no other part has
//     scf.for ... { call @joint_k_kept(%state, %w) }
#include "lib/Codegen/Grid/Grid.h"
#include "lib/Codegen/Grid/Joint/JointEmitter.h"
#include "lib/Transforms/Plan/Join/JointCost.h"
#include "lib/Transforms/Plan/Values/Buffers.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using hewn::graph::DimExpr;

namespace hewn::codegen {

int64_t JointEmitter::sharedBytesOf(func::FuncOp part) {
  int64_t bytes = 0;
  part.walk([&](memref::GetGlobalOp use) {
    MemRefType type = use.getType();
    auto global = module.lookupSymbol<memref::GlobalOp>(use.getNameAttr());
    if (type.getMemorySpaceAsInt() != kSharedSpace || !global || use.getName().ends_with(plan::kKeptMemorySuffix))
      return;
    bytes = int64_t(llvm::alignTo(uint64_t(bytes), std::max<uint64_t>(global.getAlignment().value_or(1), 16)));
    bytes += type.getNumElements() * int64_t(llvm::divideCeil(type.getElementTypeBitWidth(), 8));
  });
  return int64_t(llvm::alignTo(uint64_t(bytes), 16));
}

/// Where parts have more than what every block has, and what they keep.
void JointEmitter::giveShared() {
  int64_t all = 0;
  for (auto &[name, part] : parts)
    all = std::max(all, sharedBytesOf(part));
  for (auto &[name, bytes] : kept)
    all += bytes;
  plan::GridAttr grid = plan::gridOf(function);
  if (all > (grid ? grid.getLimits().getStaticSharedBytes() : 0))
    plan::changeGridLaunch(function, [&](plan::GridLaunch &launch) { launch.sharedBytes = all; });
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
    if (sum > room || !bringing || !beside(plan::kKeptSuffix) || !memory)
      continue;
    kept[launch.getKernel()] = own;
    keeping.insert(launch);
    func::FuncOp part = partOf(bringing); // (What was there nobody reads: who did has met the others since.)
    SmallVector<Value> arguments = {function.getArgument(0)};
    arguments.push_back(viewOf(launch.getInputs()[*operand], memory, part.getArgumentTypes()[1]));
    if (failed(passSymbols(launch, arguments)))
      return failure();
    callPart(part, arguments);
  }
  return success();
}

} // namespace hewn::codegen

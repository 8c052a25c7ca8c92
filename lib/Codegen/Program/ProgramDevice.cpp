// SPDX-License-Identifier: Apache-2.0
//
// Emits the code of programs that run kernels on a device with its own memory. The arena exists in
// host and in device memory, with the same offsets. lib/Transforms/Plan/Copies/Memories.h
// determines in which of the two a value is stored.
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Collective/Collective.h"
#include "dialects/Graph/Control/ControlFlow.h"
#include "hewn/services.h"
#include "lib/Codegen/Program/ProgramEmitter.h"
#include "lib/Transforms/Plan/Copies/Memories.h"
#include "lib/Transforms/Plan/Values/Buffers.h"

using namespace mlir;
using hewn::graph::DimExpr;

namespace hewn::codegen {

void ProgramEmitter::failIfNotOk(llvm::Value *code) { failIf(b.CreateICmpNE(code, b.getInt32(HEWN_OK)), code); }

void ProgramEmitter::beginDevice() {
  Slot arenaSlot = variable(ptr), weightsSlot = variable(ptr);
  llvm::Value *code =
      b.CreateCall(service("hewn_device_begin", i32, {ptr, ptr, ptr}), {runContext, arenaSlot, weightsSlot});
  // If hewn_device_begin fails, return without calling hewn_device_end.
  llvm::BasicBlock *failed = block("failed"), *begun = block("begun");
  b.CreateCondBr(b.CreateICmpNE(code, b.getInt32(HEWN_OK)), failed, begun);
  b.SetInsertPoint(failed);
  b.CreateRet(code);
  b.SetInsertPoint(exit);
  b.CreateRet(b.CreateCall(service("hewn_device_end", i32, {ptr, i32}), {runContext, exitCode}));
  b.SetInsertPoint(begun);
  deviceArena = b.CreateLoad(ptr, arenaSlot);
  deviceWeights = b.CreateLoad(ptr, weightsSlot);
  for (BlockArgument argument : program.getArguments()) {
    if (plan::isReadFrom(argument, plan::Memory::Host)) {
      pointers[argument] = b.CreateCall(service("hewn_device_host_input", ptr, {ptr, i32, i64}),
                                        {runContext, b.getInt32(argument.getArgNumber()), bytesOf(argument)});
      failIfNull(pointers[argument]);
    }
    if (!plan::isReadFrom(argument, plan::Memory::Device))
      continue;
    llvm::Value *memory = b.CreateCall(service("hewn_device_input", ptr, {ptr, i32, i64}),
                                       {runContext, b.getInt32(argument.getArgNumber()), bytesOf(argument)});
    failIfNull(memory);
    devicePointers[argument] = memory;
  }
  meetRanks();
  if (!isReplayable())
    return;
  // Allocate the outputs before the recording of a run begins, because a recorded run must not
  // allocate memory.
  for (OpOperand &operand : program.getBody().front().getTerminator()->getOpOperands()) {
    llvm::Value *bytes = bytesOf(operand.get());
    failIfNull(b.CreateCall(service("hewn_device_output", ptr, {ptr, i32, i64}),
                            {runContext, b.getInt32(operand.getOperandNumber()), bytes}));
  }
  llvm::Value *play = b.CreateCall(service("hewn_device_replay", i32, {ptr}), {runContext});
  failIf(b.CreateICmpSLT(play, b.getInt32(0)), b.getInt32(HEWN_UNSUPPORTED));
  // If the runtime has replayed a recorded run, this run is complete.
  failIf(b.CreateICmpSGT(play, b.getInt32(0)), b.getInt32(HEWN_OK));
}

void ProgramEmitter::meetRanks() {
  // Emit one call for each group of ranks that exchanges data. Sends and receives between two ranks
  // use the group of all ranks.
  llvm::SetVector<std::pair<int64_t, int64_t>> groups;
  program.getBody().walk([&](Operation *op) {
    std::optional<graph::Transfer> transfer = graph::transferOf(op);
    if (!transfer)
      return;
    bool isMessage = transfer->kind == graph::Transfer::Send || transfer->kind == graph::Transfer::Receive;
    groups.insert(isMessage ? std::pair<int64_t, int64_t>(0, 0)
                            : std::pair(transfer->ranks.first, transfer->ranks.count));
  });
  for (auto [first, count] : groups)
    failIfNotOk(b.CreateCall(service("hewn_device_meet", i32, {ptr, i32, i32}),
                             {runContext, b.getInt32(uint32_t(first)), b.getInt32(uint32_t(count))}));
}

bool ProgramEmitter::isReplayable() {
  // A run can be replayed if launches and transfers compute all results, and if the sizes and trip
  // counts of loops depend on the inputs' dims only.
  bool same = llvm::none_of(interface.outputs, [](const TensorInterface &output) { return output.dynamic; });
  program.getBody().walk([&](Operation *op) {
    same &= isa<plan::LaunchOp, graph::ConstantOp, graph::YieldOp, func::ReturnOp>(op) || graph::countedLoopOf(op) ||
            graph::isViewKind(op) || graph::transferOf(op);
    if (auto places = op->getAttrOfType<ArrayAttr>(plan::kBuffersAttr))
      same &= llvm::none_of(places.getAsRange<plan::BufferAttr>(),
                            [](plan::BufferAttr place) { return place.getKind() == plan::BufferKind::Dynamic; });
  });
  for (Value returned : program.getBody().front().getTerminator()->getOperands())
    same &= isOnDevice(returned);
  return same;
}

llvm::Value *ProgramEmitter::describeBox(plan::LaunchOp op, plan::TmaTileAttr box, ArrayAttr symbols,
                                         ArrayRef<llvm::Value *> arguments) {
  if (box.getArgument() >= int64_t(arguments.size()))
    return nullptr;
  SmallVector<llvm::Value *> sizes;
  auto add = [&](ArrayRef<Attribute> list) {
    for (Attribute attr : list) {
      FailureOr<DimExpr> expr = ofLaunch(op, *DimExpr::fromAttr(attr), symbols);
      if (failed(expr))
        return false;
      sizes.push_back(value(*expr));
    }
    return true;
  };
  if (!add(box.getExtents().getValue()) || !add(box.getStrides().getValue()))
    return nullptr;
  for (int64_t size : box.getSizes().asArrayRef())
    sizes.push_back(b.getInt64(uint64_t(size)));
  Slot memory = variable(i64, b.getInt64(sizes.size())), made = variable(structs.type(RuntimeStruct::hewn_device_box));
  made->setAlignment(llvm::Align(64));
  for (auto [i, size] : llvm::enumerate(sizes))
    b.CreateStore(size, b.CreateConstInBoundsGEP1_64(i64, memory, i));
  failIfNotOk(
      b.CreateCall(service("hewn_device_describe", i32, {ptr, ptr, ptr, i32, i32, i32, ptr}),
                   {runContext, made, arguments[size_t(box.getArgument())], b.getInt32(uint32_t(box.getBytes())),
                    b.getInt32(box.getRounds()), b.getInt32(uint32_t(box.getExtents().size())), memory}));
  return made;
}

LogicalResult ProgramEmitter::launchOnDevice(plan::LaunchOp op, ArrayRef<llvm::Value *> arguments) {
  plan::GpuLaunchAttr info = plan::gpuLaunchOf(plan::entryOf(op));
  if (!info || !info.getBlocks())
    return op.emitOpError("launches a kernel without a number of blocks and threads");
  FailureOr<DimExpr> blocks = ofLaunch(op, *info.getBlocks(), info.getSymbols());
  if (failed(blocks))
    return failure();
  const std::string symbol = kernels.lookup(op.getKernel());
  auto [number, isNew] = device->numbers.try_emplace(symbol, unsigned(device->kernels.size()));
  if (isNew)
    device->kernels.push_back({symbol, info.getThreads(), info.getSharedBytes(), info.getMeets(), info.getCounters()});

  // The first argument, the context, is not used on a device.
  SmallVector<llvm::Value *> values = {llvm::ConstantPointerNull::get(ptr)};
  llvm::append_range(values, arguments.drop_front());
  if (info.getMeets())
    values.push_back(deviceArena);
  if (info.getCounters() > 0) {
    values.push_back(b.CreateCall(service("hewn_device_counters", ptr, {ptr}), {runContext}));
    failIfNull(values.back());
  }
  ArrayAttr boxes = info.getBoxes();
  size_t count = values.size() + (boxes ? boxes.size() : 0);
  Slot memory = variable(i64, b.getInt64(values.size())), addresses = variable(ptr, b.getInt64(count));
  for (auto [i, value] : llvm::enumerate(values)) {
    llvm::Value *at = b.CreateConstInBoundsGEP1_64(i64, memory, i);
    b.CreateStore(value, at);
    b.CreateStore(at, b.CreateConstInBoundsGEP1_64(ptr, addresses, i));
  }
  for (size_t i = values.size(); i < count; ++i) {
    llvm::Value *made =
        describeBox(op, cast<plan::TmaTileAttr>(boxes[i - values.size()]), info.getSymbols(), arguments);
    if (!made)
      return op.emitOpError("launches a kernel with malformed TMA tiles");
    b.CreateStore(made, b.CreateConstInBoundsGEP1_64(ptr, addresses, i));
  }
  failIfNotOk(b.CreateCall(service("hewn_device_launch", i32, {ptr, i32, i64, ptr}),
                           {runContext, b.getInt32(number->second), value(*blocks), addresses}));
  return success();
}

void ProgramEmitter::deviceCopy(llvm::Value *to, llvm::Value *from, llvm::Value *bytes, int32_t direction) {
  failIfNotOk(b.CreateCall(service("hewn_device_copy", i32, {ptr, ptr, ptr, i64, i32}),
                           {runContext, to, from, bytes, b.getInt32(direction)}));
}

void ProgramEmitter::giveOutput(unsigned index, llvm::Value *memory, Value value) {
  StringRef name = isOnDevice(value) ? "hewn_device_give" : "hewn_device_give_host";
  failIfNotOk(
      b.CreateCall(service(name, i32, {ptr, i32, ptr, i64}), {runContext, b.getInt32(index), memory, bytesOf(value)}));
}

void ProgramEmitter::copyAcross(plan::CopyOp op) {
  auto result = cast<OpResult>(op.getOutput());
  llvm::Value *from = hostPointer(op.getInput()), *to = pointers[result] = place(result);
  deviceCopy(to, from, bytesOf(op.getInput()),
             op.getTo() == plan::CopyTo::Host ? HEWN_DEVICE_TO_HOST : HEWN_DEVICE_FROM_HOST);
}

} // namespace hewn::codegen

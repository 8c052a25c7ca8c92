// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Plan/MemoryPlan.h"
#include "dialects/Graph/Control/ControlFlow.h"
#include "lib/Support/Remarks.h"
#include "lib/Transforms/Plan/Arena/Packing.h"
#include "lib/Transforms/Plan/Arena/PlannedArena.h"

using namespace mlir;
using hewn::graph::DimExpr;

namespace hewn::plan {

void MemoryPlan::collect() {
  placeReturned();
  program.getBody().walk([&](Operation *op) {
    if (graph::ControlOpInterface loop = graph::countedLoopOf(op))
      placeSlices(loop);
  });
  for (auto &[value, life] : liveness.lifetimes())
    if (!places.count(value))
      placeInMemory(value, life);
  program.getBody().walk([&](Operation *op) {
    if (graph::ControlOpInterface loop = graph::loopOf(op))
      stage(loop);
  });
}

void MemoryPlan::pack() {
  arena = packArena(requests, samplesOf(program));
  for (auto [assign, offset] : llvm::zip(requesters, arena.offsets))
    assign(place(BufferKind::Arena, offset));
  for (auto [value, request] : sharers)
    places[value] = place(BufferKind::Arena, arena.offsets[request]);
}

void MemoryPlan::write() {
  program.getBody().walk([&](Operation *op) {
    SmallVector<Attribute> list;
    for (OpResult result : op->getResults())
      list.push_back(placeOf(result));
    if (!list.empty() && !isa<graph::ConstantOp>(op))
      op->setAttr(kBuffersAttr, ArrayAttr::get(context, list));
  });
  for (auto &[loop, list] : staging)
    if (!llvm::all_of(list, llvm::IsaPred<UnitAttr>))
      loop->setAttr(kStagingAttr, ArrayAttr::get(context, list));
  program->setAttr(kArenaBytesAttr, arena.bytes.toAttr(context));
  program->removeAttr(kArenaLevelsAttr);
  if (!arena.levels.empty())
    program->setAttr(kArenaLevelsAttr, ArrayAttr::get(context, llvm::map_to_vector(arena.levels, [&](const DimExpr &e) {
                                                        return e.toAttr(context);
                                                      })));
  program->removeAttr(kMaxLiveAttr);
  if (arena.bytes.constant())
    program->setAttr(kMaxLiveAttr, DimExpr(PlannedArena(program).at({}).live).toAttr(context));
}

Value MemoryPlan::ownRoot(Value value, Block *block) {
  Roots all = roots(value);
  auto result = all.size() == 1 ? dyn_cast<OpResult>(all[0]) : OpResult();
  if (!result || !ownsBuffer(result) || places.count(result) || result.getOwner()->getBlock() != block)
    return {};
  // A runtime call's result has a buffer for the upper bounds of its dims. Its actual size may be
  // smaller, so it cannot be written to an output buffer or a slice of exactly its size.
  if (isa<graph::RuntimeCallOpInterface>(result.getOwner()) && bufferDims(result) != graph::getDims(result))
    return {};
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && bufferBytes(result) == bufferBytes(type, graph::getDims(value)) ? Value(result) : Value();
}

void MemoryPlan::placeReturned() {
  Block *entry = &program.getBody().front();
  for (OpOperand &operand : entry->getTerminator()->getOpOperands()) {
    Value root = ownRoot(operand.get(), entry);
    if (!root)
      continue;
    // A program output of data-dependent size is allocated by the op that produces it. A loop
    // cannot be that op, because it needs the output's buffer before its first step.
    bool known = hasKnownDims(root, symbols);
    if (known ? hasFixedSize(root, symbols) : isa<LaunchOp, graph::DimValueOp>(root.getDefiningOp()))
      places[root] = place(BufferKind::Output, int64_t(operand.getOperandNumber()));
  }
}

void MemoryPlan::placeSlices(graph::ControlOpInterface loop) {
  for (const graph::StackedValue &stacked : loop.getStackedValues())
    if (Value root = ownRoot(stacked.slice, &loop.getLoopBody()))
      if (isa<LaunchOp>(root.getDefiningOp()))
        places[root] = place(BufferKind::Slice, int64_t(stacked.result.getResultNumber()));
}

void MemoryPlan::placeInMemory(Value value, Lifetime life) {
  DimExpr bytes = bufferBytes(value);
  if (!hasFixedSize(value, symbols)) {
    places[value] = place(BufferKind::Dynamic);
    return;
  }
  places[value] = {}; // pack() sets the assignment
  // In place: the value reuses the buffer of an input whose lifetime ends at this launch.
  for (Value buffer : overwritableBuffers(value.getDefiningOp())) {
    auto owner = requestOf.find(buffer);
    if (owner == requestOf.end() || requests[owner->second].life.end != life.begin)
      continue;
    unsigned request = owner->second;
    requests[request].life.end = life.end;
    requestOf[value] = request;
    sharers.push_back({value, request});
    return;
  }
  requestOf[value] = unsigned(requests.size());
  requests.push_back({bytes, life});
  requesters.push_back([this, value](BufferAttr p) { places[value] = p; });
}

void MemoryPlan::stage(graph::ControlOpInterface loop) {
  SmallVector<graph::CarriedValue> all = loop.getCarriedValues();
  SmallVector<Attribute> &list = staging[loop];
  list.assign(all.size(), UnitAttr::get(context));
  llvm::DenseSet<Value> results;
  for (const graph::CarriedValue &carried : all)
    results.insert(carried.result);
  for (size_t i = 0; i < all.size(); ++i) {
    const graph::CarriedValue &carried = all[i];
    auto found = places.find(carried.result);
    if (found == places.end() || (found->second && found->second.getKind() == BufferKind::Dynamic))
      continue;
    bool swaps =
        llvm::any_of(roots(carried.next), [&](Value root) { return root != carried.result && results.contains(root); });
    if (!swaps)
      continue;
    requests.push_back({bufferBytes(carried.result), liveness.handOver(loop)});
    requesters.push_back([&list, i](BufferAttr p) { list[i] = p; });
  }
}

Attribute MemoryPlan::placeOf(OpResult result) {
  if (auto found = places.find(result); found != places.end())
    return found->second;
  if (graph::branchesOf(result.getOwner()))
    return place(BufferKind::Forward);
  if (assemblyOf(result))
    return place(BufferKind::Subview, subviewOffset(result));
  return place(BufferKind::Alias);
}

void MemoryPlan::emitRemarks(StringRef pass) {
  llvm::DenseSet<Value> inPlace;
  for (const auto &[value, request] : sharers)
    inPlace.insert(value);
  program.walk([&](LaunchOp launch) {
    if (!launch->hasAttr(kMayOverwriteAttr) || inPlace.contains(launch->getResult(0)))
      return;
    auto place = places.find(launch->getResult(0));
    if (place == places.end() || !place->second || place->second.getKind() != BufferKind::Arena)
      return;
    missed(launch, pass, "NotInPlace",
           overwritableBuffers(launch).empty()
               ? "result not written in place: the input's buffer is not in the arena, or another operand also reads it"
               : "result not written in place: the input is used later");
  });
}

std::vector<Request> arenaRequests(func::FuncOp program) {
  MemoryPlan plan(program);
  plan.collect();
  return plan.inArena();
}

std::vector<int64_t> liveBytes(func::FuncOp program, ArrayRef<Sample> samples) {
  std::vector<Request> requests = arenaRequests(program);
  std::vector<int64_t> needs;
  for (const Sample &sample : samples) {
    std::vector<ArenaBlock> blocks;
    for (const Request &request : requests)
      blocks.push_back({std::max<int64_t>(0, evaluate(aligned(request.bytes), sample)), request.life});
    needs.push_back(liveAtOnce(blocks));
  }
  return needs;
}

} // namespace hewn::plan

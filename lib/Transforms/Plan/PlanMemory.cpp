// SPDX-License-Identifier: Apache-2.0
//
// Gives every value of the program a place.
//
// Before:
//     %1 = plan.launch @k0(%0) symbols [] : (tensor<8xf32>) -> tensor<8xf32>
//     %2 = plan.launch @k1(%1) symbols [] : (tensor<8xf32>) -> tensor<8xf32>
//     return %2
// After:
//     %1 = plan.launch @k0(%0) symbols [] {plan.places = [#plan.place<arena, 0>]} ...
//     %2 = plan.launch @k1(%1) symbols [] {plan.places = [#plan.place<output, 0>]} ...
// and the function has `plan.arena_bytes`, where all sizes are static `plan.max_live`, and else, where offsets refer to them,
// `plan.arena_levels`.
//
// In this order: results that are returned go to the outputs; what a scan yields slice by slice is made in the slice;
// sizes that are known only when run are allocated then; all else is packed into the arena by lifetime
// (Offsets.h), in the memory of an input where the launch allows it and nobody else needs that.
//
// It does not choose the order of ops (OrderLaunches), and carries a loop's values by copies.
#include "lib/Transforms/Plan/Arena/Offsets.h"
#include "lib/Transforms/Plan/Arena/PlannedArena.h"
#include "lib/Transforms/Plan/Passes.h"
#include "lib/Transforms/Plan/Values/Buffers.h"
#include "lib/Transforms/Plan/Values/Liveness.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace hewn {
#define GEN_PASS_DEF_PLANMEMORYPASS
#include "lib/Transforms/Plan/Passes.h.inc"
} // namespace hewn

using namespace mlir;
using namespace hewn;
using namespace hewn::plan;
using hewn::graph::DimExpr;

namespace {

class MemoryPlan {
public:
  explicit MemoryPlan(func::FuncOp program)
      : program(program), context(program.getContext()), symbols(inputSymbols(program)), liveness(program) {}

  /// Places what has a place of its own, and lists what the arena must hold.
  void collect() {
    placeReturned();
    program.getBody().walk([&](graph::ScanOp scan) { placeSlices(scan); });
    for (auto &[value, life] : liveness.lifetimes())
      if (!places.count(value))
        placeInMemory(value, life);
    program.getBody().walk([&](Operation *op) {
      if (isa<graph::LoopOp, graph::ScanOp>(op))
        stage(op);
    });
  }
  const std::vector<Request> &inArena() const { return requests; }

  /// Gives everything in the arena an offset.
  void pack() {
    arena = packArena(requests, samplesOf(program));
    for (auto [assign, offset] : llvm::zip(requesters, arena.offsets))
      assign(place("arena", offset.toAttr(context)));
    for (auto [value, request] : sharers)
      places[value] = place("arena", arena.offsets[request].toAttr(context));
  }

  void write() {
    program.getBody().walk([&](Operation *op) {
      SmallVector<Attribute> list;
      for (OpResult result : op->getResults())
        list.push_back(placeOf(result));
      if (!list.empty() && !isa<graph::ConstantOp>(op))
        op->setAttr(kPlacesAttr, ArrayAttr::get(context, list));
    });
    for (auto &[loop, list] : staging)
      if (!llvm::all_of(list, llvm::IsaPred<UnitAttr>))
        loop->setAttr(kStagingAttr, ArrayAttr::get(context, list));
    program->setAttr(kArenaBytesAttr, arena.bytes.toAttr(context));
    program->removeAttr(kArenaLevelsAttr);
    if (!arena.levels.empty())
      program->setAttr(kArenaLevelsAttr,
                       ArrayAttr::get(context, llvm::map_to_vector(
                                                   arena.levels, [&](const DimExpr &e) { return e.toAttr(context); })));
    program->removeAttr(kMaxLiveAttr);
    if (arena.bytes.constant())
      program->setAttr(kMaxLiveAttr, DimExpr(PlannedArena(program).at({}).live).toAttr(context));
  }

private:
  PlaceAttr place(StringRef kind, Attribute offset = {}) { return PlaceAttr::get(context, kind, offset); }
  PlaceAttr place(StringRef kind, int64_t index) { return place(kind, DimExpr(index).toAttr(context)); }

  /// The only buffer in which `value` lies, if that is a result of `block` which nothing has placed yet.
  Value ownRoot(Value value, Block *block) {
    Roots all = roots(value);
    auto result = all.size() == 1 ? dyn_cast<OpResult>(all[0]) : OpResult();
    if (!result || !ownsBuffer(result) || places.count(result) || result.getOwner()->getBlock() != block)
      return {};
    // A buffer of a part's bounds may be larger than what it holds in the end.
    if (isa<graph::PartOpInterface>(result.getOwner()) && bufferDims(result) != graph::getDims(result))
      return {};
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && bufferBytes(result) == bufferBytes(type, graph::getDims(value)) ? Value(result) : Value();
  }

  void placeReturned() {
    Block *entry = &program.getBody().front();
    for (OpOperand &operand : entry->getTerminator()->getOpOperands()) {
      Value root = ownRoot(operand.get(), entry);
      if (!root)
        continue;
      // The memory of an output whose size depends on data exists from the op on that makes it; loops fill theirs
      // earlier.
      bool known = isKnown(bufferBytes(root), symbols);
      if (known ? !isLoopCarriedElsewhere(root) : isa<LaunchOp, graph::DimValueOp>(root.getDefiningOp()))
        places[root] = place("output", int64_t(operand.getOperandNumber()));
    }
  }

  /// Whether the result is a loop's whose size changes from step to step.
  bool isLoopCarriedElsewhere(Value root) {
    return isa<graph::LoopOp, graph::ScanOp>(root.getDefiningOp()) && !keepsSize(cast<OpResult>(root));
  }

  /// Whether a loop's or scan's result has one size from the first step to the last.
  bool keepsSize(OpResult result) {
    Operation *op = result.getOwner();
    unsigned i = result.getResultNumber();
    Block &body = op->getRegion(0).front();
    auto scan = dyn_cast<graph::ScanOp>(op);
    unsigned carried = scan ? unsigned(scan.getNumStates()) : op->getNumOperands() - 2;
    if (i >= carried)
      return true;
    unsigned skipped = scan ? 0 : 2;
    graph::Dims dims = graph::getDims(result);
    return dims == graph::getDims(op->getOperand(i + skipped)) &&
           dims == graph::getDims(body.getArgument(i + skipped)) &&
           dims == graph::getDims(body.getTerminator()->getOperand(i + (scan ? 0 : 1)));
  }

  void placeSlices(graph::ScanOp scan) {
    Block &body = scan.getBody().front();
    for (OpOperand &operand : body.getTerminator()->getOpOperands())
      if (operand.getOperandNumber() >= scan.getNumStates())
        if (Value root = ownRoot(operand.get(), &body))
          if (isa<LaunchOp>(root.getDefiningOp()))
            places[root] = place("slice", int64_t(operand.getOperandNumber()));
  }

  void placeInMemory(Value value, Lifetime life) {
    DimExpr bytes = bufferBytes(value);
    if (!isKnown(bytes, symbols) || isLoopCarriedElsewhere(value)) {
      places[value] = place("dynamic");
      return;
    }
    places[value] = {}; // set when packed
    // In place: the buffer of an input that ends here lives on.
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
    requesters.push_back([this, value](PlaceAttr p) { places[value] = p; });
  }

  /// Carried values that swap must not overwrite each other: they go through memory of their own.
  void stage(Operation *loop) {
    auto scan = dyn_cast<graph::ScanOp>(loop);
    unsigned carried = scan ? unsigned(scan.getNumStates()) : loop->getNumOperands() - 2;
    Operation *yield = loop->getRegion(0).front().getTerminator();
    SmallVector<Attribute> &list = staging[loop];
    list.assign(carried, UnitAttr::get(context));
    for (unsigned i = 0; i < carried; ++i) {
      Value result = loop->getResult(i);
      auto found = places.find(result);
      if (found == places.end() || (found->second && found->second.getKind() == "dynamic"))
        continue;
      bool swaps = llvm::any_of(roots(yield->getOperand(i + (scan ? 0 : 1))), [&](Value root) {
        return root != result && root.getDefiningOp() == loop && cast<OpResult>(root).getResultNumber() < carried;
      });
      if (!swaps)
        continue;
      requests.push_back({bufferBytes(result), liveness.handOver(loop)});
      requesters.push_back([&list, i](PlaceAttr p) { list[i] = p; });
    }
  }

  Attribute placeOf(OpResult result) {
    if (auto found = places.find(result); found != places.end())
      return found->second;
    if (isa<graph::IfOp>(result.getOwner()))
      return place("forward");
    return place("alias");
  }

  func::FuncOp program;
  MLIRContext *context;
  llvm::StringSet<> symbols;
  Liveness liveness;
  DenseMap<Value, PlaceAttr> places;
  std::map<Operation *, SmallVector<Attribute>> staging;
  std::vector<Request> requests;
  std::vector<std::function<void(PlaceAttr)>> requesters;
  /// Which request a value's memory is, and the values that are made in the memory of another's.
  DenseMap<Value, unsigned> requestOf;
  std::vector<std::pair<Value, unsigned>> sharers;
  Arena arena;
};

struct PlanMemory : public hewn::impl::PlanMemoryPassBase<PlanMemory> {
  void runOnOperation() override {
    auto program = getOperation().lookupSymbol<func::FuncOp>(kProgramName);
    if (!program || program.isDeclaration())
      return;
    MemoryPlan plan(program);
    plan.collect();
    plan.pack();
    plan.write();
  }
};

} // namespace

namespace hewn::plan {

std::vector<Request> arenaRequests(func::FuncOp program) {
  MemoryPlan plan(program);
  plan.collect();
  return plan.inArena();
}

} // namespace hewn::plan

// SPDX-License-Identifier: Apache-2.0
//
// Decides which ops become one kernel.
//
// A kernel costs a walk over its operands and results, so an op belongs into the kernel of the values that it reads, as
// long as one nest of loops computes both:
//
//     %0 = graph.matmul ...        {graph.in_group = 0}    contract: elementwise ops on its result are its epilogue
//     %1 = graph.add %0, %bias     {graph.in_group = 0}
//     %2 = graph.reduce_max %1     {graph.in_group = 1}    rows: reductions over the same dims and what surrounds them
//     %3 = graph.sub %1, %2        {graph.in_group = 1}
//     %4 = graph.slice %3          {graph.in_group = 2}    map: elementwise ops and moves over one space
//
// Refused: what would compute an element many times over (an expensive producer behind a broadcast or a window, or a cheap one behind moves
// that read several elements each, one behind the other: Recompute.h), what would
// need a value that a later op makes (a cycle), two contractions in one kernel, what a contraction reads, results of unlike
// shape in one kernel, what would read a reduction's or contraction's result at another index than where the kernel is (SpaceMap).
// Each refusal is a remark at the op that reads, with its reason.
// The pass is a single walk in program order; it does not undo a choice, but for what rows would compute more than once. FormGroups
// applies the decision.
#include "dialects/Graph/Analysis/Layout.h"
#include "dialects/Graph/Analysis/SpaceMap.h"
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Contract/Chain.h"
#include "dialects/Graph/Contract/CodedWeights.h"
#include "dialects/Graph/Contract/ContractRoles.h"
#include "dialects/Graph/Graph.h"
#include "lib/Schedule/PlacedSubviews.h"
#include "lib/Schedule/WinogradSchedule.h"
#include "lib/Support/Diagnostics.h"
#include "lib/Support/Remarks.h"
#include "lib/Transforms/Fuse/Passes.h"
#include "lib/Transforms/Fuse/Recompute.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using hewn::graph::Dims;

namespace hewn {
#define GEN_PASS_DEF_DECIDEGROUPSPASS
#include "lib/Transforms/Fuse/Passes.h.inc"

namespace {

enum class GroupKind { Map, Rows, Contract, Alone };

struct Group {
  GroupKind kind = GroupKind::Map;
  SmallVector<Operation *> ops;
  Dims space; // of a map: its result's; of rows: the reduced operand's; of a contraction: its result's
  std::optional<graph::SpaceMap> map; // of rows and contractions
  std::string why;
  bool isChain = false; // two contractions, with rows between them
};

/// Ops in a kernel: one more gains nothing there, and time to make code of them grows faster than their number.
constexpr size_t kMaxOps = 128;
/// Moves in a kernel: where the first of them reads is a sum with a term of each behind it, and LLVM's loop analyses take the cube of
/// a sum's length.
constexpr int64_t kMaxMoves = 32;
/// Operands of a move that is computed where one of them is.
constexpr unsigned kMaxFusedMoveOperands = 2;
constexpr llvm::StringLiteral kMovesInPlace = "a move reads its operand in place";
constexpr llvm::StringLiteral kPass = "hewn-decide-groups";

constexpr llvm::StringLiteral kPacksAlone =
    "groups of neighbours are put together from whole vectors, by a kernel that makes nothing else";

/// Whether the op puts neighbours of its result in groups, as instructions multiply them (Codegen/Loops/PackGroups.h).
bool packsGroups(Operation *op) {
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  auto layout = type ? dyn_cast_or_null<graph::LayoutAttr>(type.getEncoding()) : graph::LayoutAttr();
  return layout && layout.getGroup() > 1;
}

bool isKind(Operation *op) {
  return isa<graph::ElementwiseOpInterface, graph::ReduceOpInterface, graph::CumulateOpInterface,
             graph::ContractOpInterface, graph::MoveOpInterface>(op);
}

class Decider {
public:
  explicit Decider(Block &block) : block(block), remarks(wantsRemarks(block.getParentOp())) {
    unsigned next = 0;
    for (Operation &op : block)
      position[&op] = next++;
  }

  void run(bool fuse) {
    for (Operation &op : block) {
      if (!isKind(&op) || graph::isView(&op)) // a view costs nothing outside of kernels
        continue;
      auto move = dyn_cast<graph::MoveOpInterface>(op);
      bool placed = fuse && move && makesInPlace(move);
      bool joins = fuse && !placed && !isPaddingFoldedIntoReader(move);
      if (joins)
        joinProducers(&op);
      if (joins)
        splitMoves(&op);
      if (!groupOf.contains(&op))
        open(&op);
      if (placed) { // nothing will be left of it
        groups[groupOf[&op]].kind = GroupKind::Alone;
        groups[groupOf[&op]].why = "its operands are made in place";
      }
      if (auto contraction = dyn_cast<graph::ContractOpInterface>(op); fuse && contraction)
        if (!joinChain(contraction)) {
          joinBorder(contraction);
          joinDecoder(contraction);
          joinFiltering(contraction);
        }
    }
    for (unsigned i = 0; i < groups.size(); ++i) // more come behind
      computeOnce(i);
    emitRemarks();
    unsigned number = 0;
    for (Group &group : groups) {
      if (group.ops.empty())
        continue;
      Builder b(block.getParentOp()->getContext());
      for (Operation *op : group.ops) {
        op->setAttr(kGroupAttr, b.getI64IntegerAttr(number));
        if (!group.why.empty())
          op->setAttr(kWhyAttr, b.getStringAttr(group.why));
      }
      ++number;
    }
  }

private:
  Block &block;
  std::vector<Group> groups;
  llvm::DenseMap<Operation *, unsigned> position, groupOf;
  Recompute recompute;
  /// Whether somebody hears of refusals.
  bool remarks;
  struct Refusal {
    Operation *op;
    Value operand;
    StringRef name, why;
  };
  std::vector<Refusal> refusals;

  void refuse(Operation *op, Value operand, StringRef why, StringRef name = "NotFused") {
    if (remarks)
      refusals.push_back({op, operand, name, why});
  }

  /// Of those that no later choice has brought together.
  void emitRemarks() {
    for (const Refusal &refusal : refusals) {
      Operation *maker = throughViews(refusal.operand).getDefiningOp();
      auto own = groupOf.find(refusal.op), other = groupOf.find(maker);
      if (own != groupOf.end() && other != groupOf.end() && own->second != other->second)
        missed(refusal.op, kPass, refusal.name, refusal.why) << remark::metric("Producer", nodeName(maker->getLoc()));
    }
  }

  static Value throughViews(Value value) {
    while (Operation *maker = value.getDefiningOp()) {
      if (!graph::isView(maker))
        break;
      value = maker->getOperand(0);
    }
    return value;
  }

  /// Whether the move puts operands together that can be made where they belong, so that nothing is left of it.
  bool makesInPlace(graph::MoveOpInterface move) {
    if (!plan::isPutTogether(move))
      return false;
    Verdict placed = plan::placesSubviews(move, [&](Value operand) {
      Group *group = groupWith(operand);
      return group && (group->kind != GroupKind::Map || move->getNumOperands() > kMaxFusedMoveOperands);
    });
    for (Value operand : move->getOperands())
      if (!placed)
        refuse(move, operand, placed.why(), "CopiedTogether");
    return bool(placed);
  }

  bool isExpensive(Operation *op) { return recompute.isExpensive(op); }
  /// Whether `op` may compute what it reads of the group's `operand` at each of its elements.
  bool mayRecompute(const Group &group, Value operand, Operation *op) {
    SmallVector<Operation *> ops(group.ops);
    llvm::sort(ops, [&](Operation *x, Operation *y) { return position[x] < position[y]; });
    return recompute.isProfitable(ops, operand, op);
  }
  /// Whether the op, which may be null, is in the group.
  bool isIn(const Group &group, Operation *op) {
    auto found = groupOf.find(op);
    return found != groupOf.end() && &groups[found->second] == &group;
  }

  void open(Operation *op) {
    Group group;
    group.ops.push_back(op);
    group.space = graph::getDims(op->getResult(0));
    if (isa<graph::ContractOpInterface>(op)) {
      group.kind = GroupKind::Contract;
    } else if (isa<graph::ReduceOpInterface>(op)) {
      group.kind = GroupKind::Rows;
      group.space = graph::getDims(op->getOperand(0));
    } else if (isa<graph::CumulateOpInterface>(op)) {
      group.kind = GroupKind::Alone;
    }
    group.map = graph::SpaceMap::spaceOf(op);
    if (group.map)
      group.map->add(op);
    groupOf[op] = groups.size();
    groups.push_back(std::move(group));
  }

  Group *groupWith(Value value) {
    auto found = groupOf.find(value.getDefiningOp());
    return found == groupOf.end() ? nullptr : &groups[found->second];
  }

  /// The op in this block that holds `user`, or null where it is outside.
  Operation *inBlock(Operation *user) { return block.findAncestorOpInBlock(*user); }

  /// Whether every user of the group's values outside of it comes after `op`, so that the group may run where `op`
  /// stands.
  bool mayRunAt(const Group &group, Operation *op, const Group *joined = nullptr) {
    for (Operation *member : group.ops)
      for (Operation *user : member->getUsers()) {
        Operation *top = inBlock(user);
        if (!top || top == op || isIn(group, top) || (joined && isIn(*joined, top)))
          continue;
        if (position[top] < position[op])
          return false;
      }
    return true;
  }

  /// Whether `allowed` accepts all values of the group that others read once `op` is in it.
  bool resultsFit(const Group &group, Operation *op, llvm::function_ref<bool(Value)> allowed) {
    for (Operation *member : group.ops)
      for (Value result : member->getResults()) {
        bool outside =
            llvm::any_of(result.getUsers(), [&](Operation *user) { return user != op && !isIn(group, user); });
        if (outside && !allowed(result))
          return false;
      }
    return true;
  }

  /// Rows on a contraction's result that only this contraction reads: all three in one kernel, some rows at a time.
  bool joinChain(graph::ContractOpInterface op) {
    Group *rows = groupWith(op->getOperand(0));
    if (!rows || rows->kind != GroupKind::Rows)
      return false;
    llvm::SetVector<unsigned> parts;
    parts.insert(groupOf[op->getOperand(0).getDefiningOp()]);
    for (Operation *member : rows->ops)
      for (Value operand : member->getOperands())
        if (Group *other = groupWith(operand); other && other->kind == GroupKind::Contract)
          parts.insert(groupOf[operand.getDefiningOp()]);
    SmallVector<Operation *> ops = {op};
    for (unsigned part : parts)
      llvm::append_range(ops, groups[part].ops);
    llvm::sort(ops, [&](Operation *x, Operation *y) { return position[x] < position[y]; });
    auto refuseChain = [&](StringRef why) {
      if (parts.size() > 1)
        refuse(op, op->getOperand(0), why, "NotChained");
      return false;
    };
    Found<graph::Chain> chain = graph::findChain(ops, /*narrow=*/bool(plan::gridOf(op)));
    if (!chain)
      return refuseChain(chain.why());
    if (Verdict near = keepsRowsNear(*chain); !near)
      return refuseChain(near.why());
    for (unsigned part : parts)
      groups[part].ops.clear();
    Group &own = groups[groupOf[op]];
    own.ops = std::move(ops);
    own.isChain = true;
    own.why = "a row of the first product is used up by the second";
    for (Operation *member : own.ops)
      groupOf[member] = groupOf[op];
    return true;
  }

  /// Whether the group, if it is a chain, is one with these ops as well.
  Verdict staysChain(const Group &group, ArrayRef<Operation *> more) {
    if (!group.isChain)
      return Verdict::yes();
    SmallVector<Operation *> ops(group.ops);
    llvm::append_range(ops, more);
    llvm::sort(ops, [&](Operation *x, Operation *y) { return position[x] < position[y]; });
    Found<graph::Chain> chain = graph::findChain(ops, /*narrow=*/bool(plan::gridOf(ops.front())));
    return chain ? Verdict::yes() : Verdict::no(chain.why());
  }

  /// Whether all rows would not fit near the registers, or might not.
  Verdict keepsRowsNear(const graph::Chain &chain) {
    plan::TargetAttr target = plan::targetOf(chain.first);
    if (plan::gridOf(chain.first)) // where rows never leave the registers
      return plan::gridTakesChain(chain);
    Dims space = graph::getDims(chain.first->getResult(0));
    if (!graph::getElementType(chain.weights).isF32() && !fitsStack(chain)) // scratch memory is float32's
      return Verdict::no("a row of other elements than float32 is too long for the stack");
    int64_t all = graph::numElements(space).constant().value_or(INT64_MAX / 4) * 4;
    return target && all > target.getL2Bytes() / 4 ? Verdict::yes()
                                                   : Verdict::no("all rows of the first product fit the cache");
  }

  static bool fitsStack(const graph::Chain &chain) {
    std::optional<int64_t> columns = graph::getDims(chain.first->getResult(0)).back().constant();
    return columns && plan::chainRows(chain.first, *columns, chain.columnBytes()) > 0;
  }

  /// Whether the move is a border that its only reader leaves out.
  static bool isPaddingFoldedIntoReader(graph::MoveOpInterface move) {
    auto reader = move && move->hasOneUse() ? dyn_cast<graph::ContractOpInterface>(*move->user_begin())
                                            : graph::ContractOpInterface();
    return reader && reader->getOperand(0) == move->getResult(0) && plan::leavesOutBorder(reader, move);
  }

  /// A border of zeros that only this contraction reads is left out by it.
  void joinBorder(graph::ContractOpInterface op) {
    auto border = op->getOperand(0).getDefiningOp<graph::MoveOpInterface>();
    if (border && plan::leavesOutBorder(op, border))
      takeIn(border, op, "a border of zeros that is left out");
  }

  /// Weights that come as a code are decoded where they are multiplied.
  void joinDecoder(graph::ContractOpInterface op) {
    graph::CodedOpInterface decoder = plan::decoderOf(op);
    if (decoder)
      takeIn(decoder, op, graph::tableOf(decoder) ? "weights looked up in a table" : "weights in few bits");
  }

  /// A move that is alone, and that this contraction alone reads, becomes a part of its kernel.
  void takeIn(Operation *move, Operation *contraction, StringRef why) {
    Group *own = groupWith(move->getResult(0));
    if (!own || own->ops.size() != 1 || !move->hasOneUse())
      return;
    own->ops.clear();
    groupOf[move] = groupOf[contraction];
    Group &group = groups[groupOf[contraction]];
    group.ops.insert(group.ops.begin(), move);
    because(group, why);
  }

  static void because(Group &group, const Twine &why) { group.why += ((group.why.empty() ? "" : "; ") + why).str(); }

  /// Says so where weights are transformed.
  void joinFiltering(graph::ContractOpInterface op) {
    auto weights = cast<RankedTensorType>(op->getOperand(1).getType());
    int64_t tile = graph::winogradTile(weights);
    if (!tile || !graph::winogradDims(op))
      return;
    because(groups[groupOf[op]], "windows by minimal filtering, tiles of " + Twine(tile));
  }

  /// What several passes of rows need and is expensive is kept in the row of a result until that is written. Where no result can hold
  /// it, it becomes a group of its own, with what it is made from.
  void computeOnce(unsigned number) {
    if (groups[number].kind != GroupKind::Rows)
      return;
    llvm::sort(groups[number].ops, [&](Operation *x, Operation *y) { return position[x] < position[y]; });
    llvm::SetVector<Operation *> ops(groups[number].ops.begin(), groups[number].ops.end());
    llvm::DenseSet<Operation *> late; // behind a reduction
    for (Operation *op : ops)
      if (llvm::any_of(op->getOperands(), [&](Value v) {
            Operation *maker = v.getDefiningOp();
            return late.contains(maker) || (ops.contains(maker) && isa<graph::ReduceOpInterface>(maker));
          }))
        late.insert(op);
    for (Operation *op : ops) {
      if (late.contains(op) || !isa<graph::ElementwiseOpInterface>(op) || !isExpensive(op) ||
          graph::getDims(op->getResult(0)) != groups[number].space || !isNeededTwice(op, ops, late) ||
          hasRoomFor(op, ops))
        continue;
      llvm::SetVector<Operation *> made;
      made.insert(op);
      for (unsigned i = 0; i < made.size(); ++i)
        for (Value operand : made[i]->getOperands())
          if (ops.contains(operand.getDefiningOp()))
            made.insert(operand.getDefiningOp());
      bool alone = llvm::all_of(made, [&](Operation *member) {
        return graph::getDims(member->getResult(0)) == groups[number].space ||
               llvm::all_of(member->getUsers(), [&](Operation *user) { return made.contains(user); });
      });
      if (!alone)
        continue;
      Group own;
      own.ops = made.takeVector();
      own.space = groups[number].space;
      own.why = "expensive, and needed by several passes over a row";
      for (Operation *member : own.ops) {
        ops.remove(member);
        groupOf[member] = groups.size();
      }
      groups[number].ops = llvm::to_vector(ops);
      groups.push_back(std::move(own));
      return computeOnce(number);
    }
  }

  /// Whether a reduction reads what is made of the op's result, and so does something behind a reduction.
  static bool isNeededTwice(Operation *op, const llvm::SetVector<Operation *> &ops,
                            const llvm::DenseSet<Operation *> &late) {
    bool reduced = false, later = false;
    llvm::SetVector<Operation *> reached;
    reached.insert(op);
    for (unsigned i = 0; i < reached.size(); ++i)
      for (Operation *user : reached[i]->getUsers()) {
        if (!ops.contains(user))
          continue;
        if (late.contains(user))
          later = true;
        else if (isa<graph::ReduceOpInterface>(user))
          reduced = true;
        else
          reached.insert(user);
      }
    return reduced && later;
  }

  /// Whether one of the group's results can hold the op's.
  static bool hasRoomFor(Operation *op, const llvm::SetVector<Operation *> &ops) {
    return llvm::any_of(ops, [&](Operation *member) {
      return llvm::any_of(member->getUsers(), [&](Operation *user) { return !ops.contains(user); }) &&
             graph::getDims(member->getResult(0)) == graph::getDims(op->getResult(0)) &&
             graph::getElementType(member->getResult(0)) == graph::getElementType(op->getResult(0));
    });
  }

  /// Why an op of this kind reads what it reads out of memory; empty where it need not.
  static StringRef whyOutOfMemory(Operation *op) {
    if (isa<graph::ContractOpInterface>(op))
      return "a contraction reads an element of its operands many times";
    if (isa<graph::CumulateOpInterface>(op))
      return "running sums are a kernel of their own";
    return "";
  }

  void joinProducers(Operation *op) {
    if (StringRef why = whyOutOfMemory(op); !why.empty()) {
      for (Value operand : op->getOperands())
        refuse(op, operand, why);
      return;
    }
    // The contraction first: its result is hot in registers. Then rows, then maps.
    SmallVector<Value> operands(op->getOperands());
    auto rank = [&](Value v) {
      Group *group = groupWith(v);
      return !group ? 3 : group->kind == GroupKind::Contract ? 0 : group->kind == GroupKind::Rows ? 1 : 2;
    };
    llvm::stable_sort(operands, [&](Value x, Value y) { return rank(x) < rank(y); });
    for (Value operand : operands) {
      Group *group = groupWith(operand);
      if (!group) {
        refuse(op, operand, "a view is between: the two are computed over different dims");
        continue;
      }
      auto own = groupOf.find(op);
      if (own == groupOf.end()) {
        if (Verdict joins = accepts(*group, operand, op)) {
          groupOf[op] = groupOf[operand.getDefiningOp()];
          absorb(*group, op, joins.why());
        } else {
          refuse(op, operand, joins.why());
        }
      } else if (own->second != groupOf[operand.getDefiningOp()]) {
        if (Verdict joins = mayMerge(groups[own->second], *group, operand, op))
          merge(groups[own->second], *group, op);
        else
          refuse(op, operand, joins.why());
      }
    }
  }

  void absorb(Group &group, Operation *op, StringRef why) {
    group.ops.push_back(op);
    if (isa<graph::ReduceOpInterface>(op) && group.kind == GroupKind::Map) {
      group.kind = GroupKind::Rows;
      group.space = graph::getDims(op->getOperand(0));
      group.map = graph::SpaceMap::spaceOf(op); // nothing before it is made of its result
    } else if (group.kind == GroupKind::Map) {
      group.space = graph::getDims(op->getResult(0));
    }
    if (group.map)
      group.map->add(op);
    if (group.why.find(why.str()) == std::string::npos)
      because(group, why);
  }

  /// Whether neighbours in memory are no longer neighbours: lanes would be written one element at a time, where a kernel of its own
  /// turns them by vectors.
  static bool turns(Value from, Value to) {
    SmallVector<int64_t> before = graph::significantOrder(cast<RankedTensorType>(from.getType())),
                         after = graph::significantOrder(cast<RankedTensorType>(to.getType()));
    int64_t lead = graph::getRank(to) - graph::getRank(from); // dims meet from the last one on
    return !before.empty() && !after.empty() && before.back() + lead != after.back();
  }

  /// Whether ops of the group turn what they read: passes over a row would do so again and again, an element at a time. Threads of a
  /// grid read lines and columns alike.
  static bool turnsInside(const Group &group) {
    return !plan::gridOf(group.ops.front()) && llvm::any_of(group.ops, [](Operation *op) {
      return isa<graph::ElementwiseOpInterface>(op) && llvm::any_of(op->getOperands(), [&](Value operand) {
               return graph::getDims(operand) == graph::getDims(op->getResult(0)) && turns(operand, op->getResult(0));
             });
    });
  }

  static int64_t numMoves(const Group &group) {
    return llvm::count_if(group.ops, llvm::IsaPred<graph::MoveOpInterface>);
  }

  /// Whether `op`, which reads `operand` of `group`, belongs into it.
  Verdict accepts(Group &group, Value operand, Operation *op) {
    if (group.kind == GroupKind::Alone)
      return Verdict::no("the producer is a kernel of its own");
    if (group.ops.size() >= kMaxOps)
      return Verdict::no("the producer's kernel has as many ops as a kernel may have");
    if (numMoves(group) >= kMaxMoves && isa<graph::MoveOpInterface>(op))
      return Verdict::no("the producer's kernel has as many moves as a kernel may have");
    if (!mayRunAt(group, op))
      return Verdict::no("another op reads the producer's kernel before this one");
    if (llvm::any_of(group.ops, packsGroups) || (packsGroups(op) && !feedsAlone(group, op)))
      return Verdict::no(kPacksAlone);
    Dims result = graph::getDims(op->getResult(0)), from = graph::getDims(operand);
    bool elementwise = isa<graph::ElementwiseOpInterface>(op);
    // A map's own nest is turned, unless others read what it makes as it is.
    if (elementwise && turns(operand, op->getResult(0)) &&
        (group.kind == GroupKind::Contract || windowed(group) || !operand.hasOneUse()))
      return Verdict::no("its result lies in another order than the producer's");
    auto hasPlace = [&](Value value) { return group.map->placeOf(value).has_value(); };
    switch (group.kind) {
    case GroupKind::Contract:
      if (!elementwise)
        return Verdict::no("only elementwise ops join a contraction");
      if (from != group.space || !hasPlace(op->getResult(0)) || !resultsFit(group, op, hasPlace))
        return Verdict::no("its elements are not the contraction's, one for one");
      if (Verdict chain = staysChain(group, op); !chain)
        return chain;
      return Verdict::yes("elementwise ops on the accumulators of a contraction");
    case GroupKind::Rows:
      if (!hasPlace(op->getResult(0)) || !resultsFit(group, op, hasPlace))
        return Verdict::no("it reads a row's result at another index than the row's own");
      if ((elementwise || isa<graph::ReduceOpInterface>(op)) && !windowed(group))
        return Verdict::yes("passes over one row");
      if (elementwise && from == result)
        return Verdict::yes("elementwise ops on a reduction");
      return Verdict::no("rows are read through a move that would be evaluated again in every pass");
    case GroupKind::Map:
      return acceptsIntoMap(group, operand, op);
    case GroupKind::Alone:
      break;
    }
    return Verdict::no("the producer is a kernel of its own");
  }

  /// Whether nobody else reads what the group, a map, makes for the op.
  bool feedsAlone(const Group &group, Operation *op) {
    return group.kind == GroupKind::Map && resultsFit(group, op, [](Value) { return false; });
  }

  Verdict acceptsIntoMap(Group &group, Value operand, Operation *op) {
    Dims result = graph::getDims(op->getResult(0)), from = graph::getDims(operand);
    if (isa<graph::ElementwiseOpInterface>(op)) {
      if (result == from && resultsFit(group, op, [&](Value v) { return graph::getDims(v) == result; }))
        return Verdict::yes("elementwise ops over one space");
      // Behind a broadcast each element is computed again and again: only what is cheap, and needed nowhere else.
      if (!allCheap(group))
        return Verdict::no(result == from
                               ? "a result of the producer's kernel that others read has other dims"
                               : "the producer is expensive, and would be computed again behind the broadcast");
      if (!resultsFit(group, op, [](Value) { return false; }))
        return Verdict::no("others read what the producer's kernel makes, over other dims");
      if (!mayRecompute(group, operand, op))
        return Verdict::no("the producer would be evaluated too often");
      return Verdict::yes("a cheap operand that is broadcast");
    }
    bool inside = resultsFit(group, op, [](Value) { return false; });
    if (isa<graph::ReduceOpInterface>(op)) {
      if (!operand.hasOneUse() && turnsInside(group))
        return Verdict::no("the producer's kernel transposes what it reads, which passes over rows would do again");
      if (from != group.space || !resultsFit(group, op, [&](Value v) { return graph::getDims(v) == from; }))
        return Verdict::no("a result of the producer's kernel that others read has other dims");
      if (!inside && windowed(group))
        return Verdict::no("others read the producer, which is larger than what it is made of");
      return Verdict::yes("what a reduction reads");
    }
    // What is left is a move.
    if (!inside)
      return Verdict::no("others read what the producer's kernel makes");
    if (op->getNumOperands() > kMaxFusedMoveOperands)
      return Verdict::no("it assembles too many operands to compute one where it is read");
    std::optional<int64_t> reads = graph::numElements(result).constant(), there = graph::numElements(from).constant();
    bool once = reads && there && *reads <= *there + *there / 4;
    if (!allCheap(group) && !once)
      return Verdict::no("the producer is expensive, and elements of it are read more than once");
    if (!mayRecompute(group, operand, op))
      return Verdict::no("the producer would be evaluated too often");
    return Verdict::yes(kMovesInPlace);
  }

  /// Moves that follow each other, of which the first reads what is expensive to compute again for the last: they become one group
  /// without what comes before them.
  void splitMoves(Operation *op) {
    auto move = dyn_cast<graph::MoveOpInterface>(op);
    if (!move || groupOf.contains(op) || op->getNumOperands() == 0)
      return;
    Value operand = op->getOperand(0);
    Group *group = groupWith(operand);
    if (!group || group->kind != GroupKind::Map)
      return;
    SmallVector<Operation *> moves;
    for (Operation *maker = operand.getDefiningOp(); isIn(*group, maker) && isa<graph::MoveOpInterface>(maker) &&
                                                     maker->hasOneUse() && maker->getNumOperands() == 1;
         maker = maker->getOperand(0).getDefiningOp())
      moves.push_back(maker);
    if (moves.empty() || moves.size() == group->ops.size())
      return;
    std::reverse(moves.begin(), moves.end());
    if (!recompute.isProfitable(moves, operand, op))
      return;
    llvm::erase_if(group->ops, [&](Operation *member) { return llvm::is_contained(moves, member); });
    group->space = graph::getDims(moves.front()->getOperand(0));
    if (size_t at = group->why.find(kMovesInPlace); at != std::string::npos)
      group->why.resize(at < 2 ? 0 : at - 2); // with what is between two reasons
    Group own;
    own.ops = std::move(moves);
    own.ops.push_back(op);
    own.space = graph::getDims(op->getResult(0));
    own.why = kMovesInPlace;
    for (Operation *member : own.ops)
      groupOf[member] = groups.size();
    groups.push_back(std::move(own));
  }

  bool allCheap(const Group &group) {
    return llvm::none_of(group.ops, [&](Operation *op) { return isExpensive(op); });
  }

  /// Whether the reduced operand exists only element by element, larger than what it reads.
  static bool windowed(const Group &group) {
    for (Operation *op : group.ops)
      if (isa<graph::MoveOpInterface>(op) && op->getNumOperands() > 0) {
        std::optional<int64_t> all = graph::numElements(graph::getDims(op->getResult(0))).constant();
        std::optional<int64_t> there = graph::numElements(graph::getDims(op->getOperand(0))).constant();
        if (!all || !there || *all > *there)
          return true;
      }
    return false;
  }

  /// Whether the contraction of `group` reads what `other` makes: it reads each element many times, so out of memory.
  static bool feedsContraction(const Group &other, const Group &group) {
    return llvm::any_of(group.ops, [&](Operation *op) {
      return isa<graph::ContractOpInterface>(op) &&
             llvm::any_of(op->getOperands(), [&](Value v) { return llvm::is_contained(other.ops, v.getDefiningOp()); });
    });
  }

  /// The space of the rows of both; nullopt: they are rows of unlike spaces, or one reads what the other reduces at another index than the row's own.
  std::optional<graph::SpaceMap> mapOfBoth(const Group &group, const Group &other) {
    SmallVector<Operation *> ops(group.ops);
    llvm::append_range(ops, other.ops);
    llvm::sort(ops, [&](Operation *x, Operation *y) { return position[x] < position[y]; });
    std::optional<graph::SpaceMap> map = graph::SpaceMap::spaceOf(ops);
    return map && llvm::all_of(ops, [&](Operation *member) { return map->add(member); }) ? map : std::nullopt;
  }

  /// Whether passes over the rows of `group`, in which `op` reads what `other` makes of rows, may be passes over those of `other`, too.
  Verdict mayMergeRows(Group &group, Group &other, Operation *op) {
    if (group.ops.size() + other.ops.size() > kMaxOps || numMoves(group) + numMoves(other) > kMaxMoves)
      return Verdict::no("both kernels together have more ops than a kernel may have");
    // By what the two read, not by the readers of a value, which may be very many.
    llvm::DenseSet<Value> read;
    for (Operation *member : other.ops)
      read.insert(member->operand_begin(), member->operand_end());
    bool readSameRows = llvm::any_of(group.ops, [&](Operation *member) {
      return llvm::any_of(member->getOperands(),
                          [&](Value value) { return graph::getDims(value) == group.space && read.contains(value); });
    });
    if (group.space != other.space || !readSameRows)
      return Verdict::no("the two are passes over rows of different tensors");
    if (windowed(group) || windowed(other) || turnsInside(group) || turnsInside(other))
      return Verdict::no("rows are read through a move that would be evaluated again in every pass");
    if (!mayRunAt(other, op, &group) || !mayRunAt(group, op, &other))
      return Verdict::no("another op reads one of the two kernels before this one");
    std::optional<graph::SpaceMap> map = mapOfBoth(group, other);
    bool haveRoom = map && llvm::all_of(llvm::concat<Operation *>(group.ops, other.ops), [&](Operation *member) {
                      Value result = member->getResult(0);
                      return map->placeOf(result) || llvm::all_of(result.getUsers(), [&](Operation *user) {
                               return isIn(group, user) || isIn(other, user);
                             });
                    });
    return haveRoom ? Verdict::yes() : Verdict::no("it reads a row's result at another index than the row's own");
  }

  /// `op` is in `group` and reads `operand` of `other`: whether one nest computes both.
  Verdict mayMerge(Group &group, Group &other, Value operand, Operation *op) {
    if (llvm::any_of(llvm::concat<Operation *>(group.ops, other.ops), packsGroups))
      return Verdict::no(kPacksAlone);
    if (other.kind == GroupKind::Rows && group.kind == GroupKind::Rows)
      return mayMergeRows(group, other, op);
    if (other.kind != GroupKind::Map || group.kind == GroupKind::Alone)
      return Verdict::no("the two are loops of unlike form: a kernel has one contraction or one set of rows");
    if (group.ops.size() + other.ops.size() > kMaxOps)
      return Verdict::no("both kernels together have more ops than a kernel may have");
    if (numMoves(group) + numMoves(other) > kMaxMoves)
      return Verdict::no("both kernels together have more moves than a kernel may have");
    if (feedsContraction(other, group))
      return Verdict::no("the contraction reads the producer, many times an element");
    if (!mayRunAt(other, op, &group) || !mayRunAt(group, op, &other))
      return Verdict::no("another op reads one of the two kernels before this one");
    Dims from = graph::getDims(operand), result = graph::getDims(op->getResult(0));
    Dims wanted = group.kind == GroupKind::Rows ? group.space : result;
    auto usedByBoth = [&](const Group &g) {
      for (Operation *member : g.ops)
        for (Operation *user : member->getUsers())
          if (user != op && !isIn(group, user) && !isIn(other, user) && graph::getDims(member->getResult(0)) != wanted)
            return false;
      return true;
    };
    if (!usedByBoth(other))
      return Verdict::no("a result of the producer's kernel that others read has other dims");
    if (from != wanted && !allCheap(other))
      return Verdict::no("the producer is expensive, and would be computed again behind the broadcast");
    bool again = from != wanted || isa<graph::MoveOpInterface>(op);
    if (again && !mayRecompute(other, operand, op))
      return Verdict::no("the producer would be evaluated too often");
    if (group.kind != GroupKind::Map && windowed(other))
      return Verdict::no("the producer is larger than what it is made of, and read in several passes");
    if (group.kind != GroupKind::Map && !operand.hasOneUse() && turnsInside(other))
      return Verdict::no("the producer's kernel transposes what it reads, which passes over rows would do again");
    return staysChain(group, other.ops);
  }

  /// Makes one group of both, of which `op` is in `group`.
  void merge(Group &group, Group &other, Operation *op) {
    if (group.kind == GroupKind::Rows && other.kind == GroupKind::Rows)
      group.map = mapOfBoth(group, other);
    for (Operation *member : other.ops) {
      groupOf[member] = groupOf[op];
      group.ops.push_back(member);
    }
    other.ops.clear();
  }
};

struct DecideGroupsPass : impl::DecideGroupsPassBase<DecideGroupsPass> {
  using DecideGroupsPassBase::DecideGroupsPassBase;
  void runOnOperation() override {
    SmallVector<Block *> blocks;
    getOperation()->walk([&](Block *block) { blocks.push_back(block); });
    for (Block *block : blocks)
      Decider(*block).run(fuse);
  }
};

} // namespace
} // namespace hewn

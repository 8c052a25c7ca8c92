// SPDX-License-Identifier: Apache-2.0
//
// Decides which ops form one kernel (see Passes.td). FormFusionGroups applies the decision.
#include "dialects/Graph/Analysis/Layout.h"
#include "dialects/Graph/Analysis/SpaceMap.h"
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Contract/ContractRoles.h"
#include "dialects/Graph/Contract/FusedAttention.h"
#include "dialects/Graph/Contract/PackedWeights.h"
#include "dialects/Graph/Graph.h"
#include "lib/Schedule/PlacedSubviews.h"
#include "lib/Schedule/ScheduleModel.h"
#include "lib/Schedule/WinogradSchedule.h"
#include "lib/Support/Diagnostics.h"
#include "lib/Support/Remarks.h"
#include "lib/Transforms/Fuse/Passes.h"
#include "lib/Transforms/Fuse/Recompute.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using hewn::graph::Dims;

namespace hewn {
#define GEN_PASS_DEF_DECIDEFUSIONPASS
#include "lib/Transforms/Fuse/Passes.h.inc"

namespace {

enum class GroupKind { Map, Rows, Contract, Alone };

struct Group {
  GroupKind kind = GroupKind::Map;
  SmallVector<Operation *> ops;
  Dims space;                         // map: the result; rows: the reduced operand; contraction: its result
  std::optional<graph::SpaceMap> map; // index of each value, for groups of rows and contractions
  std::string why;
  bool isChain = false; // two contractions with row-wise ops between them
};

/// Limit of ops that are fused into one kernel. Larger kernels are no faster, and their compile
/// time grows faster than linearly.
constexpr size_t kMaxOps = 128;
/// Limit of indexing ops that are fused into one kernel. The first indexing op reads from an
/// address that is a sum with one term per later indexing op, and the time of LLVM's loop analyses
/// is cubic in the number of terms.
constexpr int64_t kMaxMoves = 32;
/// The maps that compute the operands of an indexing op with at most this many operands are fused
/// into its kernel. With more operands, they are rather kernels that write into its result.
constexpr unsigned kMaxFusedMoveOperands = 2;
/// The limit of operands of a concat whose operands cannot be written into its result. Each operand
/// gets a loop nest, and a kernel with more nests of dynamic size is not split into tasks
/// (`haveFunctions`).
constexpr unsigned kMaxFusedConcatOperands = 8;
constexpr llvm::StringLiteral kIndexingReason = "an indexing op reads its operand directly (no copy)";
constexpr llvm::StringLiteral kPass = "hewn-decide-fusion";

constexpr llvm::StringLiteral kPackingReason =
    "packing elements into groups for dot-product instructions needs a kernel of its own";

/// Returns true if the op packs elements of its result into groups, as dot-product instructions
/// read them (Codegen/Loops/PackGroups.h).
bool packsGroups(Operation *op) {
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  auto layout = type ? dyn_cast_or_null<graph::LayoutAttr>(type.getEncoding()) : graph::LayoutAttr();
  return layout && layout.getGroup() > 1;
}

bool isFusible(Operation *op) {
  return isa<graph::ElementwiseOpInterface, graph::ReduceOpInterface, graph::PrefixScanOpInterface,
             graph::ContractOpInterface, graph::IndexingOpInterface>(op);
}

class FusionPlanner {
public:
  explicit FusionPlanner(Block &block) : block(block), remarks(wantsRemarks(block.getParentOp())) {
    unsigned next = 0;
    for (Operation &op : block)
      position[&op] = next++;
  }

  void run(bool fuse) {
    for (Operation &op : block) {
      if (!isFusible(&op) || graph::isView(&op)) // a view outside of kernels costs nothing
        continue;
      auto move = dyn_cast<graph::IndexingOpInterface>(op);
      bool inPlace = fuse && move && writesOperandsInPlace(move);
      bool joins = fuse && !inPlace && !isPaddingFoldedIntoReader(move);
      if (joins)
        joinProducers(&op);
      if (joins)
        splitMoves(&op);
      if (!groupOf.contains(&op))
        openGroup(&op);
      if (inPlace) { // a concat whose operands are written in place does nothing
        groups[groupOf[&op]].kind = GroupKind::Alone;
        groups[groupOf[&op]].why = "its operands are written directly into its result";
      }
      if (auto contraction = dyn_cast<graph::ContractOpInterface>(op); fuse && contraction)
        if (!joinChain(contraction)) {
          joinPadding(contraction);
          joinDequantize(contraction);
          noteWinograd(contraction);
        }
    }
    for (unsigned i = 0; i < groups.size(); ++i) // computeOnce() appends to `groups`
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
  /// True if refused fusions are collected and emitted as remarks.
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

  /// Emits a remark for each refused fusion whose ops are still in different groups.
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

  /// Returns true if the operands of `move`, a concat, can be written directly into its result.
  bool writesOperandsInPlace(graph::IndexingOpInterface move) {
    if (!plan::isPutTogether(move))
      return false;
    Eligibility inPlace = plan::placesSubviews(move, [&](Value operand) {
      Group *group = groupWith(operand);
      return group && (group->kind != GroupKind::Map || move->getNumOperands() > kMaxFusedMoveOperands);
    });
    for (Value operand : move->getOperands())
      if (!inPlace)
        refuse(move, operand, inPlace.why(), "CopiedTogether");
    return bool(inPlace);
  }

  bool isExpensive(Operation *op) { return recompute.isExpensive(op); }
  /// Returns true if `op`, which reads the value `operand` of the fusion group, may recompute the
  /// value for each element that it reads.
  bool mayRecompute(const Group &group, Value operand, Operation *op) {
    SmallVector<Operation *> ops(group.ops);
    llvm::sort(ops, [&](Operation *x, Operation *y) { return position[x] < position[y]; });
    return recompute.isProfitable(ops, operand, op);
  }
  /// Returns true if `op`, which may be null, is in the group.
  bool isIn(const Group &group, Operation *op) {
    auto found = groupOf.find(op);
    return found != groupOf.end() && &groups[found->second] == &group;
  }

  void openGroup(Operation *op) {
    Group group;
    group.ops.push_back(op);
    group.space = graph::getDims(op->getResult(0));
    if (isa<graph::ContractOpInterface>(op)) {
      group.kind = GroupKind::Contract;
    } else if (isa<graph::ReduceOpInterface>(op)) {
      group.kind = GroupKind::Rows;
      group.space = graph::getDims(op->getOperand(0));
    } else if (isa<graph::PrefixScanOpInterface>(op)) {
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

  /// Returns the op in this block that contains `user`, or null.
  Operation *inBlock(Operation *user) { return block.findAncestorOpInBlock(*user); }

  /// Returns true if the group's kernel may run at the position of `op`: all users of the group's
  /// values outside of the group and outside of `joined` come after `op`.
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

  /// Returns true if `allowed` accepts every result that the group's kernel has after `op` joins
  /// the group. The results are the values of the group that have users outside of it.
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

  /// Fuses attention: adds `op`, the second contraction, to the group of the first contraction and
  /// the row-wise ops on its result (such as softmax), if `op` is the only user of the computed
  /// rows. The fused kernel processes some of the rows at a time.
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
    auto refuseAttention = [&](StringRef why) {
      if (parts.size() > 1)
        refuse(op, op->getOperand(0), why, "NotChained");
      return false;
    };
    OrReason<graph::FusedAttention> chain =
        graph::matchAttention(ops, /*narrow=*/plan::supports(op, plan::KernelFeature::NarrowAttention));
    if (!chain)
      return refuseAttention(chain.why());
    if (Eligibility pays = plan::ScheduleModel::of(op).fusesAttention(*chain); !pays)
      return refuseAttention(pays.why());
    for (unsigned part : parts)
      groups[part].ops.clear();
    Group &own = groups[groupOf[op]];
    own.ops = std::move(ops);
    own.isChain = true;
    own.why = "fused attention: the second GEMM consumes each row of the first";
    for (Operation *member : own.ops)
      groupOf[member] = groupOf[op];
    return true;
  }

  /// Returns whether a group that is fused attention still is after the ops `more` are added.
  Eligibility staysAttention(const Group &group, ArrayRef<Operation *> more) {
    if (!group.isChain)
      return Eligibility::yes();
    SmallVector<Operation *> ops(group.ops);
    llvm::append_range(ops, more);
    llvm::sort(ops, [&](Operation *x, Operation *y) { return position[x] < position[y]; });
    OrReason<graph::FusedAttention> chain =
        graph::matchAttention(ops, /*narrow=*/plan::supports(ops.front(), plan::KernelFeature::NarrowAttention));
    return chain ? Eligibility::yes() : Eligibility::no(chain.why());
  }

  /// Returns true if the op is padding that its only user, a contraction, folds.
  static bool isPaddingFoldedIntoReader(graph::IndexingOpInterface move) {
    auto reader = move && move->hasOneUse() ? dyn_cast<graph::ContractOpInterface>(*move->user_begin())
                                            : graph::ContractOpInterface();
    return reader && reader->getOperand(0) == move->getResult(0) && plan::leavesOutBorder(reader, move);
  }

  /// Adds a zero padding op to the group of its only user, a contraction that folds the padding.
  void joinPadding(graph::ContractOpInterface op) {
    auto padding = op->getOperand(0).getDefiningOp<graph::IndexingOpInterface>();
    if (padding && plan::leavesOutBorder(op, padding))
      absorbSingle(padding, op, "zero padding folded into the contraction");
  }

  /// Adds the op that dequantizes packed low-bit weights to the group of the contraction that reads
  /// them.
  void joinDequantize(graph::ContractOpInterface op) {
    graph::PackedWeightsOpInterface decoder = plan::decoderOf(op);
    if (decoder)
      absorbSingle(decoder, op,
                   graph::tableOf(decoder) ? "weights dequantized with a lookup table"
                                           : "low-bit weights dequantized in the kernel");
  }

  /// Adds an op that is alone in its group, and whose only user is a contraction, to the
  /// contraction's group.
  void absorbSingle(Operation *move, Operation *contraction, StringRef why) {
    Group *own = groupWith(move->getResult(0));
    if (!own || own->ops.size() != 1 || !move->hasOneUse())
      return;
    own->ops.clear();
    groupOf[move] = groupOf[contraction];
    Group &group = groups[groupOf[contraction]];
    group.ops.insert(group.ops.begin(), move);
    addReason(group, why);
  }

  static void addReason(Group &group, const Twine &why) { group.why += ((group.why.empty() ? "" : "; ") + why).str(); }

  /// Adds the Winograd tile size to the reason text of the contraction's group, if the contraction
  /// is a Winograd convolution.
  void noteWinograd(graph::ContractOpInterface op) {
    auto weights = cast<RankedTensorType>(op->getOperand(1).getType());
    int64_t tile = graph::winogradTile(weights);
    if (!tile || !graph::winogradDims(op))
      return;
    addReason(groups[groupOf[op]], "Winograd convolution, tile size " + Twine(tile));
  }

  /// Splits ops that compute an expensive value off a row-wise group, if several of the group's
  /// passes over a row need the value. Nothing is split if the group has a result of the same size
  /// and type: the value is then stored in the memory of that result until the result is written.
  /// Otherwise, the op and its producers form a group of their own.
  void computeOnce(unsigned number) {
    if (groups[number].kind != GroupKind::Rows)
      return;
    llvm::sort(groups[number].ops, [&](Operation *x, Operation *y) { return position[x] < position[y]; });
    llvm::SetVector<Operation *> ops(groups[number].ops.begin(), groups[number].ops.end());
    llvm::DenseSet<Operation *> late; // ops that depend on a reduction of the group
    for (Operation *op : ops)
      if (llvm::any_of(op->getOperands(), [&](Value v) {
            Operation *maker = v.getDefiningOp();
            return late.contains(maker) || (ops.contains(maker) && isa<graph::ReduceOpInterface>(maker));
          }))
        late.insert(op);
    for (Operation *op : ops) {
      if (late.contains(op) || !isa<graph::ElementwiseOpInterface>(op) || !isExpensive(op) ||
          graph::getDims(op->getResult(0)) != groups[number].space || !isNeededTwice(op, ops, late) ||
          hasResultFor(op, ops))
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
      own.why = "expensive, and several passes over a row read it";
      for (Operation *member : own.ops) {
        ops.remove(member);
        groupOf[member] = groups.size();
      }
      groups[number].ops = llvm::to_vector(ops);
      groups.push_back(std::move(own));
      return computeOnce(number);
    }
  }

  /// Returns true if two passes over a row need the result of `op`: a reduction reads it, and so
  /// does an op that depends on a reduction.
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

  /// Returns true if one of the group's results has the dims and type of the op's result, so that
  /// its memory can hold the op's value for a time.
  static bool hasResultFor(Operation *op, const llvm::SetVector<Operation *> &ops) {
    return llvm::any_of(ops, [&](Operation *member) {
      return llvm::any_of(member->getUsers(), [&](Operation *user) { return !ops.contains(user); }) &&
             graph::getDims(member->getResult(0)) == graph::getDims(op->getResult(0)) &&
             graph::getElementType(member->getResult(0)) == graph::getElementType(op->getResult(0));
    });
  }

  /// Returns the reason why the op's operands must be in memory, so that it is never fused with
  /// their producers. Returns an empty string if there is none.
  static StringRef whyFromMemory(Operation *op) {
    if (isa<graph::ContractOpInterface>(op))
      return "a contraction reads each element of its operands many times, so they are not recomputed in its kernel";
    if (isa<graph::PrefixScanOpInterface>(op))
      return "a prefix scan needs a kernel of its own";
    return "";
  }

  void joinProducers(Operation *op) {
    if (StringRef why = whyFromMemory(op); !why.empty()) {
      for (Value operand : op->getOperands())
        refuse(op, operand, why);
      return;
    }
    // Try to fuse the op with producers that are contractions first, because their results are in
    // registers; then with row-wise groups, then with maps.
    SmallVector<Value> operands(op->getOperands());
    auto rank = [&](Value v) {
      Group *group = groupWith(v);
      return !group ? 3 : group->kind == GroupKind::Contract ? 0 : group->kind == GroupKind::Rows ? 1 : 2;
    };
    llvm::stable_sort(operands, [&](Value x, Value y) { return rank(x) < rank(y); });
    for (Value operand : operands) {
      Group *group = groupWith(operand);
      if (!group) {
        refuse(op, operand, "a reshape or another view between the two ops changes the iteration space");
        continue;
      }
      auto own = groupOf.find(op);
      if (own == groupOf.end()) {
        if (Eligibility joins = accepts(*group, operand, op)) {
          groupOf[op] = groupOf[operand.getDefiningOp()];
          absorb(*group, op, joins.why());
        } else {
          refuse(op, operand, joins.why());
        }
      } else if (own->second != groupOf[operand.getDefiningOp()]) {
        if (Eligibility joins = mayMerge(groups[own->second], *group, operand, op))
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
      // The reduction starts a new SpaceMap, because no earlier op of the group depends on the
      // reduction.
      group.map = graph::SpaceMap::spaceOf(op);
    } else if (group.kind == GroupKind::Map) {
      group.space = graph::getDims(op->getResult(0));
    }
    if (group.map)
      group.map->add(op);
    if (group.why.find(why.str()) == std::string::npos)
      addReason(group, why);
  }

  /// Returns true if the two values have different innermost dims in memory. A fused kernel would
  /// store the lanes of each vector one element at a time; a separate kernel transposes entire
  /// vectors.
  static bool changesInnermostDim(Value from, Value to) {
    SmallVector<int64_t> before = graph::significantOrder(cast<RankedTensorType>(from.getType())),
                         after = graph::significantOrder(cast<RankedTensorType>(to.getType()));
    int64_t lead = graph::getRank(to) - graph::getRank(from); // dims are aligned at the last one
    return !before.empty() && !after.empty() && before.back() + lead != after.back();
  }

  /// Returns true if an op of a row-wise group transposes its operand, in kernels that are
  /// vectorized along the innermost dim. Every pass over a row would repeat the transpose, one
  /// element at a time.
  static bool transposesInside(const Group &group) {
    return plan::supports(group.ops.front(), plan::KernelFeature::InnermostVectors) &&
           llvm::any_of(group.ops, [](Operation *op) {
             return isa<graph::ElementwiseOpInterface>(op) && llvm::any_of(op->getOperands(), [&](Value operand) {
                      return graph::getDims(operand) == graph::getDims(op->getResult(0)) &&
                             changesInnermostDim(operand, op->getResult(0));
                    });
           });
  }

  static int64_t numMoves(const Group &group) {
    return llvm::count_if(group.ops, llvm::IsaPred<graph::IndexingOpInterface>);
  }

  /// Returns whether `op`, which uses the value `operand` of the fusion group `group`, may join the
  /// group.
  Eligibility accepts(Group &group, Value operand, Operation *op) {
    if (group.kind == GroupKind::Alone)
      return Eligibility::no("the producer needs a kernel of its own");
    if (group.ops.size() >= kMaxOps)
      return Eligibility::no("the producer's kernel has reached the limit of ops per kernel");
    if (numMoves(group) >= kMaxMoves && isa<graph::IndexingOpInterface>(op))
      return Eligibility::no("the producer's kernel has reached the limit of indexing ops per kernel");
    if (!mayRunAt(group, op))
      return Eligibility::no("another op uses a result of the producer's kernel before this op");
    if (llvm::any_of(group.ops, packsGroups) || (packsGroups(op) && !isOnlyUser(group, op)))
      return Eligibility::no(kPackingReason);
    Dims result = graph::getDims(op->getResult(0)), from = graph::getDims(operand);
    bool elementwise = isa<graph::ElementwiseOpInterface>(op);
    // A map kernel can iterate in the dim order of `op`'s result. The exception is a map whose
    // value has other users, because these need the value in its present layout.
    if (elementwise && changesInnermostDim(operand, op->getResult(0)) &&
        (group.kind == GroupKind::Contract || hasExpandingIndexing(group) || !operand.hasOneUse()))
      return Eligibility::no("its result has another layout than the producer's result, which would need a transpose");
    auto hasIndex = [&](Value value) { return group.map->placeOf(value).has_value(); };
    switch (group.kind) {
    case GroupKind::Contract:
      if (!elementwise)
        return Eligibility::no("only elementwise ops fuse into the epilogue of a contraction");
      if (from != group.space || !hasIndex(op->getResult(0)) || !resultsFit(group, op, hasIndex))
        return Eligibility::no("its elements do not correspond one-to-one to the contraction's result");
      if (Eligibility chain = staysAttention(group, op); !chain)
        return chain;
      return Eligibility::yes("elementwise ops on the accumulators of a contraction");
    case GroupKind::Rows:
      if (!hasIndex(op->getResult(0)) || !resultsFit(group, op, hasIndex))
        return Eligibility::no("it reads the reduction result of another row");
      if ((elementwise || isa<graph::ReduceOpInterface>(op)) && !hasExpandingIndexing(group))
        return Eligibility::yes("row-wise ops of one kernel");
      if (elementwise && from == result)
        return Eligibility::yes("elementwise ops on the result of a reduction");
      return Eligibility::no("a row-wise kernel would repeat the indexing op in every pass over a row");
    case GroupKind::Map:
      return acceptsIntoMap(group, operand, op);
    case GroupKind::Alone:
      break;
    }
    return Eligibility::no("the producer needs a kernel of its own");
  }

  /// Returns true if `op` is the only user of the group, a map.
  bool isOnlyUser(const Group &group, Operation *op) {
    return group.kind == GroupKind::Map && resultsFit(group, op, [](Value) { return false; });
  }

  Eligibility acceptsIntoMap(Group &group, Value operand, Operation *op) {
    Dims result = graph::getDims(op->getResult(0)), from = graph::getDims(operand);
    if (isa<graph::ElementwiseOpInterface>(op)) {
      if (result == from && resultsFit(group, op, [&](Value v) { return graph::getDims(v) == result; }))
        return Eligibility::yes("elementwise ops with the same dims");
      // An op that broadcasts its operand would recompute each operand element many times. That
      // pays only if the producer of the operand is cheap and has no other users.
      if (!allCheap(group))
        return Eligibility::no(result == from
                                   ? "a result of the producer's kernel that other kernels use has other dims"
                                   : "the producer is expensive, and a broadcast would recompute it");
      if (!resultsFit(group, op, [](Value) { return false; }))
        return Eligibility::no("other kernels use results of the producer's kernel with other dims");
      if (!mayRecompute(group, operand, op))
        return Eligibility::no("the producer would be recomputed too often");
      return Eligibility::yes("a cheap broadcast operand");
    }
    bool inside = resultsFit(group, op, [](Value) { return false; });
    if (isa<graph::ReduceOpInterface>(op)) {
      if (!operand.hasOneUse() && transposesInside(group))
        return Eligibility::no(
            "the producer transposes its input, and a row-wise kernel would repeat that in every pass over a row");
      if (from != group.space || !resultsFit(group, op, [&](Value v) { return graph::getDims(v) == from; }))
        return Eligibility::no("a result of the producer's kernel that other kernels use has other dims");
      if (!inside && hasExpandingIndexing(group))
        return Eligibility::no("other kernels use the producer's result, which is larger than its operands");
      return Eligibility::yes("elementwise producer of a reduction");
    }
    // `op` is an indexing op here; the other op categories are handled above.
    if (!inside)
      return Eligibility::no("other kernels use the results of the producer's kernel");
    if (op->getNumOperands() >
        (plan::supports(op, plan::KernelFeature::WideConcats) ? kMaxFusedConcatOperands : kMaxFusedMoveOperands))
      return Eligibility::no("a concat of this many operands does not compute them in its kernel");
    std::optional<int64_t> reads = graph::numElements(result).constant(), there = graph::numElements(from).constant();
    bool once = reads && there && *reads <= *there + *there / 4;
    if (!allCheap(group) && !once)
      return Eligibility::no("the producer is expensive, and its elements are read more than once");
    if (!mayRecompute(group, operand, op))
      return Eligibility::no("the producer would be recomputed too often");
    return Eligibility::yes(kIndexingReason);
  }

  /// Splits a sequence of indexing ops from the group of the ops before it, if those ops are too
  /// expensive to recompute for each element that is read. The sequence and `op`, a further
  /// indexing op, form a new group.
  void splitMoves(Operation *op) {
    auto move = dyn_cast<graph::IndexingOpInterface>(op);
    if (!move || groupOf.contains(op) || op->getNumOperands() == 0)
      return;
    Value operand = op->getOperand(0);
    Group *group = groupWith(operand);
    if (!group || group->kind != GroupKind::Map)
      return;
    SmallVector<Operation *> moves;
    for (Operation *maker = operand.getDefiningOp(); isIn(*group, maker) && isa<graph::IndexingOpInterface>(maker) &&
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
    if (size_t at = group->why.find(kIndexingReason); at != std::string::npos)
      group->why.resize(at < 2 ? 0 : at - 2); // the separator before the reason is removed too
    Group own;
    own.ops = std::move(moves);
    own.ops.push_back(op);
    own.space = graph::getDims(op->getResult(0));
    own.why = kIndexingReason;
    for (Operation *member : own.ops)
      groupOf[member] = groups.size();
    groups.push_back(std::move(own));
  }

  bool allCheap(const Group &group) {
    return llvm::none_of(group.ops, [&](Operation *op) { return isExpensive(op); });
  }

  /// Returns true if the group contains an indexing op whose result may have more elements than its
  /// operand, so that fusion would recompute the operand.
  static bool hasExpandingIndexing(const Group &group) {
    for (Operation *op : group.ops)
      if (isa<graph::IndexingOpInterface>(op) && op->getNumOperands() > 0) {
        std::optional<int64_t> all = graph::numElements(graph::getDims(op->getResult(0))).constant();
        std::optional<int64_t> there = graph::numElements(graph::getDims(op->getOperand(0))).constant();
        if (!all || !there || *all > *there)
          return true;
      }
    return false;
  }

  /// Returns true if the contraction of `group` reads a value of `other`. It reads each element
  /// many times, so the value has to be in memory.
  static bool feedsContraction(const Group &other, const Group &group) {
    return llvm::any_of(group.ops, [&](Operation *op) {
      return isa<graph::ContractOpInterface>(op) &&
             llvm::any_of(op->getOperands(), [&](Value v) { return llvm::is_contained(other.ops, v.getDefiningOp()); });
    });
  }

  /// Returns the common iteration space of two row-wise groups. Returns nothing if their spaces
  /// differ, or if one group reads the other's reduction at another index than that of the present
  /// row.
  std::optional<graph::SpaceMap> mapOfBoth(const Group &group, const Group &other) {
    SmallVector<Operation *> ops(group.ops);
    llvm::append_range(ops, other.ops);
    llvm::sort(ops, [&](Operation *x, Operation *y) { return position[x] < position[y]; });
    std::optional<graph::SpaceMap> map = graph::SpaceMap::spaceOf(ops);
    return map && llvm::all_of(ops, [&](Operation *member) { return map->add(member); }) ? map : std::nullopt;
  }

  /// Returns whether the row-wise groups `group` and `other` can be one kernel. `op` of `group`
  /// reads a value of `other`.
  Eligibility mayMergeRows(Group &group, Group &other, Operation *op) {
    if (group.ops.size() + other.ops.size() > kMaxOps || numMoves(group) + numMoves(other) > kMaxMoves)
      return Eligibility::no("the merged kernel would exceed the limit of ops per kernel");
    // Collects operands, not users: a value may have very many users.
    llvm::DenseSet<Value> read;
    for (Operation *member : other.ops)
      read.insert(member->operand_begin(), member->operand_end());
    bool readSameRows = llvm::any_of(group.ops, [&](Operation *member) {
      return llvm::any_of(member->getOperands(),
                          [&](Value value) { return graph::getDims(value) == group.space && read.contains(value); });
    });
    if (group.space != other.space || !readSameRows)
      return Eligibility::no("the two row-wise kernels read rows of different tensors");
    if (hasExpandingIndexing(group) || hasExpandingIndexing(other) || transposesInside(group) ||
        transposesInside(other))
      return Eligibility::no("a row-wise kernel would repeat the indexing op in every pass over a row");
    if (!mayRunAt(other, op, &group) || !mayRunAt(group, op, &other))
      return Eligibility::no("another op uses a result of one of the two kernels before this op");
    std::optional<graph::SpaceMap> map = mapOfBoth(group, other);
    bool resultsFitSpace = map && llvm::all_of(llvm::concat<Operation *>(group.ops, other.ops), [&](Operation *member) {
                             Value result = member->getResult(0);
                             return map->placeOf(result) || llvm::all_of(result.getUsers(), [&](Operation *user) {
                                      return isIn(group, user) || isIn(other, user);
                                    });
                           });
    return resultsFitSpace ? Eligibility::yes() : Eligibility::no("it reads the reduction result of another row");
  }

  /// Returns whether one loop nest can compute both groups. `op` of `group` reads `operand` of
  /// `other`.
  Eligibility mayMerge(Group &group, Group &other, Value operand, Operation *op) {
    if (llvm::any_of(llvm::concat<Operation *>(group.ops, other.ops), packsGroups))
      return Eligibility::no(kPackingReason);
    if (other.kind == GroupKind::Rows && group.kind == GroupKind::Rows)
      return mayMergeRows(group, other, op);
    if (other.kind != GroupKind::Map || group.kind == GroupKind::Alone)
      return Eligibility::no(
          "the two kernels have different loop structures: a kernel has one contraction or one set of rows");
    if (group.ops.size() + other.ops.size() > kMaxOps)
      return Eligibility::no("the merged kernel would exceed the limit of ops per kernel");
    if (numMoves(group) + numMoves(other) > kMaxMoves)
      return Eligibility::no("the merged kernel would exceed the limit of indexing ops per kernel");
    if (feedsContraction(other, group))
      return Eligibility::no("the contraction reads each element of the producer many times");
    if (!mayRunAt(other, op, &group) || !mayRunAt(group, op, &other))
      return Eligibility::no("another op uses a result of one of the two kernels before this op");
    Dims from = graph::getDims(operand), result = graph::getDims(op->getResult(0));
    Dims targetSpace = group.kind == GroupKind::Rows ? group.space : result;
    auto usedByBoth = [&](const Group &g) {
      for (Operation *member : g.ops)
        for (Operation *user : member->getUsers())
          if (user != op && !isIn(group, user) && !isIn(other, user) &&
              graph::getDims(member->getResult(0)) != targetSpace)
            return false;
      return true;
    };
    if (!usedByBoth(other))
      return Eligibility::no("a result of the producer's kernel that other kernels use has other dims");
    if (from != targetSpace && !allCheap(other))
      return Eligibility::no("the producer is expensive, and a broadcast would recompute it");
    bool recomputes = from != targetSpace || isa<graph::IndexingOpInterface>(op);
    if (recomputes && !mayRecompute(other, operand, op))
      return Eligibility::no("the producer would be recomputed too often");
    if (group.kind != GroupKind::Map && hasExpandingIndexing(other))
      return Eligibility::no(
          "the producer is larger than its operands, and a row-wise kernel would recompute it in several passes");
    if (group.kind != GroupKind::Map && !operand.hasOneUse() && transposesInside(other))
      return Eligibility::no(
          "the producer transposes its input, and a row-wise kernel would repeat that in every pass over a row");
    return staysAttention(group, other.ops);
  }

  /// Merges `other` into `group`, which contains `op`.
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

struct DecideFusionPass : impl::DecideFusionPassBase<DecideFusionPass> {
  using DecideFusionPassBase::DecideFusionPassBase;
  void runOnOperation() override {
    SmallVector<Block *> blocks;
    getOperation()->walk([&](Block *block) { blocks.push_back(block); });
    for (Block *block : blocks)
      FusionPlanner(*block).run(fuse);
  }
};

} // namespace
} // namespace hewn

// SPDX-License-Identifier: Apache-2.0
//
// Builds the program of one rank (see Passes.td). SpatialShards.h and Sharding.h choose the
// shardings for the full program, equally on all ranks; this pass applies them.
#include "dialects/Graph/Collective/Collective.h"
#include "dialects/Graph/Graph.h"
#include "lib/Transforms/Partition/Passes.h"
#include "lib/Transforms/Partition/Rows.h"
#include "lib/Transforms/Partition/Sharding.h"
#include "lib/Transforms/Partition/SpatialShards.h"
#include "lib/Transforms/Partition/Stages.h"
#include "lib/Transforms/Partition/Tables.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using hewn::graph::DimSharding;
using hewn::graph::ShardingRule;

namespace hewn {
#define GEN_PASS_DEF_PARTITIONPASS
#include "lib/Transforms/Partition/Passes.h.inc"

namespace {

using namespace partition;

/// Rewrites the program to that of one rank, by the shardings that were chosen for all ranks.
class Writer {
public:
  Writer(Block &block, const Plan &plan, graph::RankRange group, int64_t rank, bool orderedSums)
      : block(block), plan(plan), group(group), ranks(group.count), rank(rank - group.first), orderedSums(orderedSums),
        constant(findConstantOps(block)) {}

  LogicalResult run() {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      OpBuilder b(&op);
      auto found = plan.shardings.find(&op);
      auto banded = plan.bands.find(&op);
      if (banded != plan.bands.end()) {
        if (failed(shareLines(&op, banded->second, b)))
          return failure();
      } else if (found == plan.shardings.end()) {
        takeWhole(&op, b);
      } else if (failed(share(&op, found->second, b))) {
        return failure();
      }
    }
    for (Operation *op : llvm::reverse(replaced))
      op->erase();
    return success();
  }

private:
  struct Part {
    DimSharding cut;
    Value value;
  };

  /// Replaces the operands of an op that is not sharded, and of ops in its regions, by the full
  /// values, which are gathered if necessary.
  void takeWhole(Operation *op, OpBuilder &b) {
    op->walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands())
        if (parts.contains(operand.get()) || strips.contains(operand.get()))
          operand.set(wholeOf(operand.get(), b));
    });
  }

  LogicalResult share(Operation *op, const Sharding &sharding, OpBuilder &b) {
    ShardingRule form = formOf(op, sharding, ranks);
    SmallVector<Value> operands;
    for (auto [operand, cut] : llvm::zip(op->getOperands(), form.operands))
      operands.push_back(cut ? partOf(operand, *cut, b) : wholeOf(operand, b));
    Value result = op->getResult(0);
    if (auto *shared = std::get_if<Shared>(&sharding)) {
      Value made = graph::makeNamed(b, op->getLoc(), op->getName().getStringRef(), operands, form.attributes);
      if (!made)
        return failure();
      parts[result] = {shared->result, made};
      if (!constant.contains(op))
        replaced.push_back(op);
      return success();
    }
    Value made = graph::makeSummand(b, op, form, operands, rank);
    if (!made)
      return failure();
    const std::optional<DimSharding> &part = std::get<Summed>(sharding).part;
    Value sum = part          ? graph::makeReduceScatter(b, op->getLoc(), made, *part, group)
                : orderedSums ? graph::makeOrderedSum(b, op->getLoc(), made, group)
                              : graph::makeAllReduce(b, op->getLoc(), made, group);
    if (!sum)
      return op->emitOpError("has an element type that ranks cannot reduce: ") << graph::getElementType(result);
    if (part)
      parts[result] = {*part, sum};
    else
      result.replaceAllUsesWith(sum);
    replaced.push_back(op);
    return success();
  }

  LogicalResult shareLines(Operation *op, const Banded &banded, OpBuilder &b) {
    graph::Lines lines = banded.made()[rank];
    graph::HaloRule form = *graph::haloRule(op, {banded.dim, lines});
    SmallVector<Value> operands;
    for (auto [operand, band] : llvm::zip(op->getOperands(), form.operands))
      operands.push_back(band ? linesOf(operand, *band, b) : wholeOf(operand, b));
    Value made = graph::makeNamed(b, op->getLoc(), op->getName().getStringRef(), operands, form.attributes);
    made = made ? withoutNoPadding(made) : Value();
    made = made ? graph::makeLines(b, op->getLoc(), graph::Strip{form.made, made}, banded.dim, lines) : Value();
    if (!made)
      return failure();
    strips[op->getResult(0)] =
        banded.isHanded ? graph::makeExchange(b, op->getLoc(), made, banded.dim, banded.own, banded.wanted, group, rank)
                        : SmallVector<graph::Strip>{{lines, made}};
    replaced.push_back(op);
    return success();
  }

  /// Erases padding of width zero. It occurs if a rank's spatial shard does not touch the end of
  /// the tensor. Returns the padding's operand.
  static Value withoutNoPadding(Value made) {
    auto padding = made.getDefiningOp<graph::PaddingOpInterface>();
    if (!padding || !padding.getZeroPadding() || graph::getDims(made) != graph::getDims(padding->getOperand(0)))
      return made;
    Value operand = padding->getOperand(0);
    padding.getOperation()->erase();
    return operand;
  }

  /// Returns a range of rows of a value, which is spatially sharded or available in full.
  Value linesOf(Value value, const graph::HaloShard &band, OpBuilder &b) {
    auto found = strips.find(value);
    if (found != strips.end() && plan.bands.find(value.getDefiningOp())->second.dim == band.dim)
      return graph::makeLines(b, value.getLoc(), found->second, band.dim, band.lines);
    Value whole = wholeOf(value, b);
    return graph::makeLines(b, value.getLoc(), graph::Strip{*graph::linesOf(value, band.dim), whole}, band.dim,
                            band.lines);
  }

  Value wholeOf(Value value, OpBuilder &b) {
    if (auto found = strips.find(value); found != strips.end()) {
      const Banded &banded = plan.bands.find(value.getDefiningOp())->second;
      Value &whole = wholes[value];
      if (!whole)
        whole = graph::makeGatherOfLines(
            b, value.getLoc(), graph::makeLines(b, value.getLoc(), found->second, banded.dim, banded.own[rank]),
            banded.dim, banded.own, group);
      return whole;
    }
    auto part = parts.find(value);
    // A constant stays in full. It is erased at the end if it has no users left.
    if (part == parts.end() || constant.contains(value.getDefiningOp()))
      return value;
    Value &whole = wholes[value];
    if (!whole)
      whole = graph::makeAllGather(b, value.getLoc(), part->second.value, part->second.cut, group);
    return whole;
  }

  Value partOf(Value value, const DimSharding &cut, OpBuilder &b) {
    auto part = parts.find(value);
    if (part != parts.end() && part->second.cut == cut)
      return part->second.value;
    return graph::makePart(b, value.getLoc(), wholeOf(value, b), cut, ranks, rank);
  }

  Block &block;
  const Plan &plan;
  graph::RankRange group;
  /// The number of ranks, and the number of the rank whose program this is.
  int64_t ranks, rank;
  bool orderedSums;
  DenseSet<Operation *> constant;
  /// This rank's part of each value, by the value of the unpartitioned program.
  DenseMap<Value, Part> parts;
  DenseMap<Value, SmallVector<graph::Strip>> strips;
  DenseMap<Value, Value> wholes;
  SmallVector<Operation *> replaced;
};

struct PartitionPass : impl::PartitionPassBase<PartitionPass> {
  using PartitionPassBase::PartitionPassBase;
  PartitionPass(const PartitionPassOptions &options, std::shared_ptr<const RowCosts> costs)
      : PartitionPassBase(options), costs(std::move(costs)) {}
  std::shared_ptr<const RowCosts> costs;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || !function.getBody().hasOneBlock())
      return;
    Block &block = function.getBody().front();
    auto ofModule = function->getParentOfType<ModuleOp>()->getAttrOfType<IntegerAttr>(graph::kRankAttr);
    int64_t own = rank >= 0 ? int64_t(rank) : ofModule ? ofModule.getInt() : 0;
    if (stages > 1 && failed(takeStage(block, {stages, own / tensor, tensor, own, microBatches})))
      return signalPassFailure();
    if (tensor > 1 && failed(shareLayers(block, own)))
      return signalPassFailure();
    // Erase ops on constants, sizes and inputs whose results this rank does not use.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
      else
        op.removeAttr(kTwinAttr);
  }

  LogicalResult shareLayers(Block &block, int64_t own) {
    tieTables(block);
    padTables(block, tensor);
    Plan plan = choosePlan(block, tensor, lines);
    // With ordered sums, every rank gathers the full addends of all ranks and sums them, so no rank
    // computes only its own rows of a sum.
    if (!orderedSums)
      shareRows(block, tensor, costs ? *costs : plainRowCosts(tensor), plan.byLines(), plan.shardings);
    return Writer(block, plan, {own / tensor * tensor, tensor}, own, orderedSums).run();
  }
};

} // namespace

std::unique_ptr<Pass> createPartitionPass(const PartitionPassOptions &options,
                                          std::shared_ptr<const partition::RowCosts> costs) {
  return std::make_unique<PartitionPass>(options, std::move(costs));
}

} // namespace hewn

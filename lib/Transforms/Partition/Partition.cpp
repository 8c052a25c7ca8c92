// SPDX-License-Identifier: Apache-2.0
//
// The program of one rank of a model that is split over several.
//
//     %h = graph.matmul %x, %w1 : 8x512, 512x2048           %h = graph.matmul %x, %w1[:, a rank's half] : 8x512, 512x1024
//     %r = graph.relu %h                               →     %r = graph.relu %h : 8x1024
//     %y = graph.matmul %r, %w2 : 8x2048, 2048x512          %p = graph.matmul %r, %w2[a rank's half, :] : 8x1024, 1024x512
//                                                            %y = graph.all_reduce %p
//
// What is shared and how is decided first, on the whole program and alike for all ranks (Sharding.h); this pass writes it. A value is there in parts,
// as a whole, or both: the whole of parts is gathered once, before its first reader, and a part of a whole is a slice, of constants
// one that is folded. Programs of all ranks are the same but for what their constants hold, where no value that only a run knows
// is sliced.
//
// Padding: a constant whose dim is no multiple of the ranks (a vocabulary of 50257) gets zeros behind it, and what is made of these is cut off again.
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Collective/Collective.h"
#include "dialects/Graph/Graph.h"
#include "lib/Transforms/Partition/Passes.h"
#include "lib/Transforms/Partition/Sharding.h"
#include "lib/Transforms/Partition/Stages.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using hewn::graph::Cut;
using hewn::graph::CutForm;
using hewn::graph::DimExpr;
using hewn::graph::Dims;

namespace hewn {
#define GEN_PASS_DEF_PARTITIONPASS
#include "lib/Transforms/Partition/Passes.h.inc"

namespace {

using namespace partition;

/// From this size on a constant is worth zeros behind it.
constexpr int64_t kPaddedBytes = 1 << 20;

/// Where a contraction's constant has a large dim that ranks do not divide and that the result runs along: pads it, and cuts the
/// result off behind.
void padContraction(graph::ContractOpInterface op, int64_t ranks) {
  SmallVector<AffineMap> maps = op.getIndexingMaps();
  if (op->getNumOperands() != 2)
    return;
  for (OpOperand &operand : op->getOpOperands()) {
    auto constant = operand.get().getDefiningOp<graph::ConstantOp>();
    auto type = cast<RankedTensorType>(operand.get().getType());
    if (!constant || !type.hasStaticShape() ||
        type.getNumElements() * graph::elementBytes(operand.get()) < kPaddedBytes)
      continue;
    for (auto [result, expr] : llvm::enumerate(maps[2].getResults())) {
      auto place = dyn_cast<AffineDimExpr>(expr);
      if (!place)
        continue;
      auto found = llvm::find(maps[operand.getOperandNumber() % 2].getResults(), AffineExpr(place));
      bool alone = !llvm::any_of(maps[1 - operand.getOperandNumber() % 2].getResults(),
                                 [&](AffineExpr e) { return e.isFunctionOfDim(place.getPosition()); });
      if (found == maps[operand.getOperandNumber() % 2].getResults().end() || !alone)
        continue;
      int64_t dim = found - maps[operand.getOperandNumber() % 2].getResults().begin();
      int64_t size = type.getDimSize(dim), missing = (ranks - size % ranks) % ranks;
      if (missing == 0 || size < 64 * ranks)
        continue;
      OpBuilder b(op);
      graph::Composer c(b, op->getLoc());
      Dims none(type.getRank(), DimExpr(0)), behind = none;
      behind[dim] = DimExpr(missing);
      SmallVector<Value> operands(op->getOperands());
      operands[operand.getOperandNumber()] = c.pad(operand.get(), none, behind);
      Value padded =
          graph::makeNamed(b, op->getLoc(), op->getName().getStringRef(), operands, graph::ownAttributes(op));
      if (!padded)
        return;
      op->getResult(0).replaceAllUsesWith(c.slice(padded, int64_t(result), DimExpr(0), DimExpr(size)));
      op->erase();
      return;
    }
  }
}

/// Writes a rank's share of what was chosen.
class Writer {
public:
  Writer(Block &block, const Shardings &shardings, graph::RankRange group, int64_t rank)
      : block(block), shardings(shardings), group(group), ranks(group.count), rank(rank - group.first) {}

  LogicalResult run() {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      OpBuilder b(&op);
      auto found = shardings.find(&op);
      if (found == shardings.end())
        takeWhole(&op, b);
      else if (failed(share(&op, found->second, b)))
        return failure();
    }
    for (Operation *op : llvm::reverse(replaced))
      op->erase();
    return success();
  }

private:
  struct Part {
    Cut cut;
    Value value;
  };

  /// What the op and all that is in it read is there as a whole.
  void takeWhole(Operation *op, OpBuilder &b) {
    op->walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands())
        if (parts.contains(operand.get()))
          operand.set(wholeOf(operand.get(), b));
    });
  }

  LogicalResult share(Operation *op, const Sharding &sharding, OpBuilder &b) {
    CutForm form = formOf(op, sharding, ranks);
    SmallVector<Value> operands;
    for (auto [operand, cut] : llvm::zip(op->getOperands(), form.operands))
      operands.push_back(cut ? partOf(operand, *cut, b) : wholeOf(operand, b));
    Value made = graph::makeNamed(b, op->getLoc(), op->getName().getStringRef(), operands, form.attributes);
    if (!made)
      return failure();
    Value result = op->getResult(0);
    if (auto *shared = std::get_if<Shared>(&sharding)) {
      parts[result] = {shared->result, made};
      replaced.push_back(op);
      return success();
    }
    Value sum = graph::makeAllReduce(b, op->getLoc(), made, group);
    if (!sum)
      return op->emitOpError("has sums that ranks can't add up: ") << graph::getElementType(result);
    result.replaceAllUsesWith(sum);
    replaced.push_back(op);
    return success();
  }

  Value wholeOf(Value value, OpBuilder &b) {
    auto part = parts.find(value);
    if (part == parts.end())
      return value;
    Value &whole = wholes[value];
    if (!whole)
      whole = graph::makeAllGather(b, value.getLoc(), part->second.value, part->second.cut, group);
    return whole;
  }

  Value partOf(Value value, const Cut &cut, OpBuilder &b) {
    auto part = parts.find(value);
    if (part != parts.end() && part->second.cut == cut)
      return part->second.value;
    return graph::makePart(b, value.getLoc(), wholeOf(value, b), cut, ranks, rank);
  }

  Block &block;
  const Shardings &shardings;
  graph::RankRange group;
  /// How many, and which of them.
  int64_t ranks, rank;
  /// By the values of the program without ranks.
  DenseMap<Value, Part> parts;
  DenseMap<Value, Value> wholes;
  SmallVector<Operation *> replaced;
};

struct PartitionPass : impl::PartitionPassBase<PartitionPass> {
  using PartitionPassBase::PartitionPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || !function.getBody().hasOneBlock())
      return;
    Block &block = function.getBody().front();
    if (stages > 1 && failed(takeStage(block, {stages, rank / tensor, tensor, rank})))
      return signalPassFailure();
    if (tensor < 2)
      return;
    for (auto op : llvm::to_vector(block.getOps<graph::ContractOpInterface>()))
      padContraction(op, tensor);
    Shardings shardings = chooseShardings(block, tensor);
    if (failed(Writer(block, shardings, {rank / tensor * tensor, tensor}, rank).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace hewn

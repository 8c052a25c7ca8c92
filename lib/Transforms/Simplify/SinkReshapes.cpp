// SPDX-License-Identifier: Apache-2.0
//
// Moves reshapes of a contraction's result, and interleaved operands, behind the elementwise ops that follow.
//
//     %0 = graph.matmul %x, %w : tensor<128x3072xf32>           %0 = graph.matmul %x, %w : tensor<128x3072xf32>
//     %1 = graph.reshape %0 : tensor<1x128x3072xf32>        →   %1 = graph.add %0, %bias : tensor<128x3072xf32>
//     %2 = graph.add %1, %bias : tensor<1x128x3072xf32>         %2 = graph.reshape %1 : tensor<1x128x3072xf32>
//
// A reshape costs nothing, but a kernel has one space: behind a reshape, elementwise ops can't be evaluated on the
// accumulators of the contraction. Exporters put one between every matrix product and its activation, to flatten the batch.
//
// Other operands take the contraction's shape: full ones by a reshape of their own (free, or one that falls away with its
// opposite), broadcast ones where the dims that they have are the last ones of both shapes, or they are repeated along all or none of the dims
// that the reshape makes of one. Left alone: ops with an operand of another kind, reshapes of anything but a contraction and the elementwise ops on it.
//
// A contraction's result whose elements are moved (tiles that are put side by side, heads that become a batch) is treated alike, by reshapes and
// transpositions one after another, where the op makes no wider elements, so that not more bytes are moved, and what else it reads are
// scalars or constants that follow one dim of the contraction's result: those are repeated for it. Where all that is done is one transposition, other
// full operands are transposed back, which is a matter of their layouts.
//
// Of what is interleaved, the results of contractions or those and others, elementwise ops are done for each operand, if what they read
// beside it is the same for all.
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Move/Interleave.h"
#include "lib/Transforms/Simplify/Passes.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;

namespace hewn {
#define GEN_PASS_DEF_SINKRESHAPESPASS
#include "lib/Transforms/Simplify/Passes.h.inc"

namespace {

/// What a reshape shows under another shape; null where `value` is none.
Value reshaped(Value value) {
  auto move = value.getDefiningOp<graph::MoveOpInterface>();
  return move && move.getViewKind() == graph::ViewKind::Reshape ? move->getOperand(0) : Value();
}

/// Whether the value is a contraction's result or elementwise ops on one, all in one shape.
bool isOnContraction(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (isa<graph::ContractOpInterface>(op))
      return true;
    if (!isa<graph::ElementwiseOpInterface>(op))
      return false;
    Value next;
    for (Value operand : op->getOperands())
      if (!next && graph::getDims(operand) == graph::getDims(value))
        next = operand;
    if (!next)
      return false;
    value = next;
  }
  return false;
}

/// Where two shapes of the same elements end together: dims of `from` and of `to` up to there. Nothing where their elements' counts are
/// not the same by what is known of symbols.
SmallVector<std::pair<size_t, size_t>> commonEnds(const Dims &from, const Dims &to) {
  SmallVector<std::pair<size_t, size_t>> ends;
  size_t j = 0;
  for (size_t i = 0; i <= from.size(); ++i) {
    DimExpr count = graph::numElements(ArrayRef(from).take_front(i));
    for (size_t end = j; end <= to.size(); ++end)
      if (graph::numElements(ArrayRef(to).take_front(end)) == count) {
        ends.push_back({i, end});
        j = end;
        break;
      }
  }
  if (ends.empty() || ends.back().first != from.size())
    return {};
  ends.back().second = to.size();
  return ends;
}

/// How what is broadcast to a move's result is broadcast to its operand: repeated to these dims, then moved back, which gives those.
struct Before {
  Dims repeated, dims;
};

/// The same of a value of these dims, as many as a reshape's result has. Along dims that the reshape makes of one, it is repeated for all or
/// none of them. Nothing where the dims can't be told apart.
std::optional<Before> beforeReshape(const Dims &from, const Dims &to, const Dims &dims) {
  SmallVector<std::pair<size_t, size_t>> ends = commonEnds(from, to);
  if (ends.empty())
    return std::nullopt;
  Before before;
  std::pair<size_t, size_t> begin = {0, 0};
  for (auto end : ends) {
    bool follows = llvm::any_of(ArrayRef(dims).slice(begin.second, end.second - begin.second),
                                [](const DimExpr &dim) { return !dim.is(1); });
    for (size_t j = begin.second; j < end.second; ++j)
      before.repeated.push_back(follows ? to[j] : DimExpr(1));
    for (size_t i = begin.first; i < end.first; ++i)
      before.dims.push_back(follows ? from[i] : DimExpr(1));
    begin = end;
  }
  return before;
}

/// The same for a value of as many dims as a move's result has.
std::optional<Before> beforeMove(graph::MoveOpInterface move, const Dims &dims) {
  if (move.getViewKind() == graph::ViewKind::Transpose)
    return Before{dims, applyPermutation(dims, invertPermutationVector(move.getViewOrder()))};
  return beforeReshape(graph::getDims(move->getOperand(0)), graph::getDims(move->getResult(0)), dims);
}

/// The dims with ones in front, as many as `target` has.
Dims withOnesInFront(const Dims &dims, const Dims &target) {
  Dims all(target.size() - dims.size(), DimExpr(1));
  all.append(dims);
  return all;
}

/// What both patterns do with an elementwise op of one result.
struct Sinker : OpInterfaceRewritePattern<graph::ElementwiseOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  /// The first operand of the result's dims that is of the kind; null where none is.
  static OpOperand *findWhole(Operation *op, const Dims &target, llvm::function_ref<bool(Value)> isOfKind) {
    for (OpOperand &operand : op->getOpOperands())
      if (graph::getDims(operand.get()) == target && isOfKind(operand.get()))
        return &operand;
    return nullptr;
  }

  /// Makes `op`'s result one of these dims and of the element type of `like`'s.
  static void setShape(Operation *op, Operation *like, const Dims &dims) {
    Type element = graph::getElementType(like->getResult(0));
    op->getResult(0).setType(RankedTensorType::get(graph::staticShape(dims), element));
    graph::setResultDims(op, {dims});
  }
};

/// Makes the op work in the shape of a reshaped operand.
struct SinkReshape : Sinker {
  using Sinker::Sinker;

  LogicalResult matchAndRewrite(graph::ElementwiseOpInterface op, PatternRewriter &rewriter) const override {
    if (op->getNumResults() != 1)
      return rewriter.notifyMatchFailure(op, "has several results");
    Dims target = graph::getDims(op->getResult(0));
    Value source;
    for (Value operand : op->getOperands())
      if (Value inner = reshaped(operand);
          inner && !source && graph::getDims(operand) == target && isOnContraction(inner))
        source = inner;
    if (!source)
      return rewriter.notifyMatchFailure(op, "reads no reshape of a contraction's result");
    Dims shape = graph::getDims(source);
    SmallVector<Dims> dims;
    for (Value operand : op->getOperands()) {
      std::optional<Dims> own = inShape(graph::getDims(operand), target, shape);
      if (!own)
        return rewriter.notifyMatchFailure(op,
                                           "an operand is broadcast along some of the dims that the reshape makes one");
      dims.push_back(*own);
    }
    graph::Composer c(rewriter, op->getLoc());
    SmallVector<Value> operands;
    for (auto [operand, own] : llvm::zip_equal(op->getOperands(), dims)) {
      Value inner = reshaped(operand);
      operands.push_back(inner && graph::getDims(inner) == own ? inner : c.reshape(operand, own));
    }
    Operation *moved = rewriter.clone(*op);
    moved->setOperands(operands);
    setShape(moved, op, shape);
    rewriter.replaceOp(op, c.reshape(moved->getResult(0), target));
    return success();
  }

private:
  /// The dims of an operand of `dims` for results of `shape` instead of `target`; nothing where it can't be broadcast to these.
  static std::optional<Dims> inShape(const Dims &dims, const Dims &target, const Dims &shape) {
    if (dims == target)
      return shape;
    size_t common = 0; // dims in which both shapes end
    while (common < shape.size() && common < target.size() &&
           shape[shape.size() - 1 - common] == target[target.size() - 1 - common])
      ++common;
    common = std::min(common, dims.size());
    if (llvm::all_of(ArrayRef<DimExpr>(dims).drop_back(common), [](const DimExpr &dim) { return dim.is(1); }))
      return Dims(ArrayRef<DimExpr>(dims).take_back(common));
    Dims all = withOnesInFront(dims, target);
    std::optional<Before> before = beforeReshape(shape, target, all);
    return before && before->repeated == all ? std::optional(before->dims) : std::nullopt;
  }
};

/// Reshapes and transpositions, the last one first, between a contraction's result and a value that nothing else reads. All of one block: in a
/// loop's body they would be done at each step.
struct Rearrangement {
  SmallVector<graph::MoveOpInterface> moves;
  /// The contraction's result; null where there is none, or where it is reshaped alone.
  Value source;

  explicit Rearrangement(Value value, Block *block) {
    while (value.hasOneUse()) {
      auto move = value.getDefiningOp<graph::MoveOpInterface>();
      if (!move || move.getViewKind() == graph::ViewKind::None || move->getBlock() != block)
        break;
      moves.push_back(move);
      value = move->getOperand(0);
    }
    // Asked of few values: the answer takes a walk along all elementwise ops before them.
    bool isTransposed = llvm::any_of(
        moves, [](graph::MoveOpInterface move) { return move.getViewKind() == graph::ViewKind::Transpose; });
    if (isTransposed && value.hasOneUse() && isOnContraction(value))
      source = value;
  }

  /// Whether it is reshapes and then one transposition, which layouts can take in.
  bool isTransposedAtLast() {
    return !moves.empty() && moves.front().getViewKind() == graph::ViewKind::Transpose &&
           llvm::all_of(ArrayRef(moves).drop_front(),
                        [](graph::MoveOpInterface move) { return move.getViewKind() == graph::ViewKind::Reshape; });
  }
};

/// Makes the op work on a contraction's result instead of on what is rearranged of it.
struct SinkRearrangement : Sinker {
  using Sinker::Sinker;

  LogicalResult matchAndRewrite(graph::ElementwiseOpInterface op, PatternRewriter &rewriter) const override {
    if (op->getNumResults() != 1)
      return rewriter.notifyMatchFailure(op, "has several results");
    Dims target = graph::getDims(op->getResult(0));
    OpOperand *whole =
        findWhole(op, target, [&](Value operand) { return bool(Rearrangement(operand, op->getBlock()).source); });
    if (!whole)
      return rewriter.notifyMatchFailure(op, "reads no contraction's result whose elements are moved");
    Rearrangement rearranged(whole->get(), op->getBlock());
    if (graph::getElementType(op->getResult(0)).getIntOrFloatBitWidth() >
        graph::getElementType(rearranged.source).getIntOrFloatBitWidth())
      return rewriter.notifyMatchFailure(op, "makes wider elements, of which more bytes would be moved");
    for (OpOperand &operand : op->getOpOperands())
      if (&operand != whole && !isWhole(operand.get(), target, rearranged) &&
          !followsOneDim(operand.get(), target, rearranged))
        return rewriter.notifyMatchFailure(op, "an operand is no constant along one dim of the contraction's result");
    graph::Composer c(rewriter, op->getLoc());
    SmallVector<Value> operands;
    for (OpOperand &operand : op->getOpOperands())
      operands.push_back(&operand == whole ? rearranged.source : beforeAll(c, operand.get(), target, rearranged));
    Operation *moved = rewriter.clone(*op);
    moved->setOperands(operands);
    setShape(moved, op, graph::getDims(rearranged.source));
    Value result = moved->getResult(0);
    for (graph::MoveOpInterface move : llvm::reverse(rearranged.moves)) {
      graph::Composer own(rewriter, move->getLoc());
      result = move.getViewKind() == graph::ViewKind::Reshape ? own.reshape(result, graph::getDims(move->getResult(0)))
                                                              : own.transpose(result, move.getViewOrder());
    }
    rewriter.replaceOp(op, result);
    for (graph::MoveOpInterface move : rearranged.moves)
      rewriter.eraseOp(move);
    return success();
  }

private:
  static bool isScalar(const Dims &dims) {
    return llvm::all_of(dims, [](const DimExpr &dim) { return dim.is(1); });
  }
  /// Whether the operand has all elements, and lies as the contraction's result does where layouts see to it.
  static bool isWhole(Value operand, const Dims &target, Rearrangement &rearranged) {
    return graph::getDims(operand) == target && rearranged.isTransposedAtLast();
  }

  /// Whether the operand is a scalar, or a constant that changes along one dim of the contraction's result alone.
  static bool followsOneDim(Value operand, const Dims &target, const Rearrangement &rearranged) {
    Dims dims = withOnesInFront(graph::getDims(operand), target);
    if (isScalar(dims))
      return true;
    if (!isa_and_nonnull<graph::ConstantOp>(operand.getDefiningOp()))
      return false;
    for (graph::MoveOpInterface move : rearranged.moves) {
      std::optional<Before> before = beforeMove(move, dims);
      if (!before)
        return false;
      dims = before->dims;
    }
    return llvm::count_if(dims, [](const DimExpr &dim) { return !dim.is(1); }) == 1;
  }

  /// Either for results in the shape of the contraction's.
  static Value beforeAll(graph::Composer &c, Value operand, const Dims &target, const Rearrangement &rearranged) {
    Dims dims = withOnesInFront(graph::getDims(operand), target);
    if (isScalar(dims))
      return c.reshape(operand, {});
    Value value = c.reshape(operand, dims);
    for (graph::MoveOpInterface move : rearranged.moves) {
      Before before = *beforeMove(move, graph::getDims(value));
      value = moveBack(c, c.expand(value, before.repeated), move, before.dims);
    }
    return value;
  }

  /// What the move would make the value of; what it was made of, where that is so.
  static Value moveBack(graph::Composer &c, Value value, graph::MoveOpInterface move, const Dims &dims) {
    auto other = value.getDefiningOp<graph::MoveOpInterface>();
    bool same = other && other.getViewKind() == move.getViewKind() && graph::getDims(other->getOperand(0)) == dims;
    if (move.getViewKind() == graph::ViewKind::Reshape)
      return same ? other->getOperand(0) : c.reshape(value, dims);
    if (same && other.getViewOrder() == move.getViewOrder())
      return other->getOperand(0);
    return c.transpose(value, invertPermutationVector(move.getViewOrder()));
  }
};

/// Makes the op work on the interleaved operands of an operand.
struct SinkInterleave : Sinker {
  using Sinker::Sinker;

  LogicalResult matchAndRewrite(graph::ElementwiseOpInterface op, PatternRewriter &rewriter) const override {
    if (op->getNumResults() != 1)
      return rewriter.notifyMatchFailure(op, "has several results");
    Dims target = graph::getDims(op->getResult(0));
    OpOperand *whole =
        findWhole(op, target, [](Value operand) { return operand.hasOneUse() && isInterleaved(operand); });
    if (!whole)
      return rewriter.notifyMatchFailure(op, "reads no interleaved results of contractions");
    Operation *interleave = whole->get().getDefiningOp();
    SmallVector<int64_t> steps = graph::assemblyOf(interleave)->steps;
    for (OpOperand &operand : op->getOpOperands())
      if (&operand != whole && !isSameForAll(operand.get(), steps))
        return rewriter.notifyMatchFailure(op, "an operand is not the same for all that are interleaved");
    SmallVector<Value> operands;
    for (Value operand : interleave->getOperands()) {
      Operation *own = rewriter.clone(*op);
      own->setOperand(whole->getOperandNumber(), operand);
      setShape(own, op, graph::getDims(operand));
      operands.push_back(own->getResult(0));
    }
    Operation *moved = rewriter.clone(*interleave);
    moved->setOperands(operands);
    setShape(moved, op, target);
    rewriter.replaceOp(op, moved->getResult(0));
    rewriter.eraseOp(interleave);
    return success();
  }

private:
  /// Whether the value is interleaved of operands of which contractions make some.
  static bool isInterleaved(Value value) {
    Operation *maker = value.getDefiningOp();
    std::optional<graph::Assembly> assembly = maker ? graph::assemblyOf(maker) : std::nullopt;
    return assembly && assembly->isInterleaved() && llvm::any_of(maker->getOperands(), isOnContraction);
  }

  /// Whether the operand, broadcast to a whole that is interleaved by such steps, is the same for all interleaved operands.
  static bool isSameForAll(Value operand, ArrayRef<int64_t> steps) {
    Dims dims = graph::getDims(operand);
    for (auto [dim, step] : llvm::zip(llvm::reverse(dims), llvm::reverse(steps)))
      if (step != 1 && !dim.is(1))
        return false;
    return dims.size() <= steps.size();
  }
};

struct SinkReshapesPass : impl::SinkReshapesPassBase<SinkReshapesPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<SinkReshape>(&getContext(), /*benefit=*/3);
    patterns.add<SinkRearrangement>(&getContext(), /*benefit=*/2);
    patterns.add<SinkInterleave>(&getContext(), /*benefit=*/1);
    walkAndApplyPatterns(getOperation(), std::move(patterns)); // once each: what an op becomes is where it was to be
  }
};

} // namespace
} // namespace hewn

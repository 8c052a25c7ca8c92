// SPDX-License-Identifier: Apache-2.0
//
// Sinks reshapes, transposes and interleaving concats of a contraction's result below elementwise
// ops, so that these fuse into the contraction's epilogue (see Passes.td).
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Indexing/Interleave.h"
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

/// Returns the operand of the reshape that defines `value`, or null if no reshape defines it.
Value reshapeSource(Value value) {
  auto move = value.getDefiningOp<graph::IndexingOpInterface>();
  return move && move.getViewKind() == graph::ViewKind::Reshape ? move->getOperand(0) : Value();
}

/// Returns true if `value` is the result of a contraction, or of elementwise ops on one with the
/// same dims.
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

/// Returns pairs (i, j) such that the first i dims of `from` and the first j dims of `to` have
/// equally many elements. Returns an empty list if the symbolic element counts are not provably
/// equal.
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

/// How to broadcast an operand of an elementwise op after an indexing op is sunk below the op. The
/// operand was broadcast to the indexing op's result. Now it is expanded to `repeated`, and the
/// inverse of the indexing op is applied, which results in `dims`.
struct SourceBroadcast {
  Dims repeated, dims;
};

/// Returns how to broadcast a value to `from`, the operand of a reshape, if it was broadcast to the
/// reshape's result `to`. The value's dims `dims` are as many as `to` has. The value must be
/// broadcast along all or none of each set of dims that the reshape merges or splits. Returns
/// nothing if the dims cannot be matched.
std::optional<SourceBroadcast> broadcastBeforeReshape(const Dims &from, const Dims &to, const Dims &dims) {
  SmallVector<std::pair<size_t, size_t>> ends = commonEnds(from, to);
  if (ends.empty())
    return std::nullopt;
  SourceBroadcast before;
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

/// Returns how to broadcast an operand of an elementwise op to the operand of the indexing op
/// `move`, which is sunk below the elementwise op. `dims` are the operand's dims, as many as
/// `move`'s result has.
std::optional<SourceBroadcast> broadcastBeforeIndexing(graph::IndexingOpInterface move, const Dims &dims) {
  if (move.getViewKind() == graph::ViewKind::Transpose)
    return SourceBroadcast{dims, applyPermutation(dims, invertPermutationVector(move.getViewOrder()))};
  return broadcastBeforeReshape(graph::getDims(move->getOperand(0)), graph::getDims(move->getResult(0)), dims);
}

/// Returns `dims` with ones prepended, so that it has as many dims as `target`.
Dims withLeadingOnes(const Dims &dims, const Dims &target) {
  Dims all(target.size() - dims.size(), DimExpr(1));
  all.append(dims);
  return all;
}

/// Base class of the patterns that sink indexing ops below elementwise ops. It matches elementwise
/// ops with one result.
struct Sinker : OpInterfaceRewritePattern<graph::ElementwiseOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  /// Returns the elementwise op's first operand with dims `target` for which `isOfKind` returns
  /// true, or null.
  static OpOperand *findFullOperand(Operation *op, const Dims &target, llvm::function_ref<bool(Value)> isOfKind) {
    for (OpOperand &operand : op->getOpOperands())
      if (graph::getDims(operand.get()) == target && isOfKind(operand.get()))
        return &operand;
    return nullptr;
  }

  /// Sets the type of `op`'s result: dims `dims`, and the element type of `like`'s result.
  static void setShape(Operation *op, Operation *like, const Dims &dims) {
    Type element = graph::getElementType(like->getResult(0));
    op->getResult(0).setType(RankedTensorType::get(graph::staticShape(dims), element));
    graph::setResultDims(op, {dims});
  }
};

/// Sinks a reshape of a contraction's result below an elementwise op.
struct SinkReshape : Sinker {
  using Sinker::Sinker;

  LogicalResult matchAndRewrite(graph::ElementwiseOpInterface op, PatternRewriter &rewriter) const override {
    if (op->getNumResults() != 1)
      return rewriter.notifyMatchFailure(op, "has several results");
    Dims target = graph::getDims(op->getResult(0));
    Value source;
    for (Value operand : op->getOperands())
      if (Value inner = reshapeSource(operand);
          inner && !source && graph::getDims(operand) == target && isOnContraction(inner))
        source = inner;
    if (!source)
      return rewriter.notifyMatchFailure(op, "no operand is a reshaped result of a contraction");
    Dims shape = graph::getDims(source);
    SmallVector<Dims> dims;
    for (Value operand : op->getOperands()) {
      std::optional<Dims> own = inShape(graph::getDims(operand), target, shape);
      if (!own)
        return rewriter.notifyMatchFailure(
            op, "an operand is broadcast along only some of the dims that the reshape merges");
      dims.push_back(*own);
    }
    graph::Composer c(rewriter, op->getLoc());
    SmallVector<Value> operands;
    for (auto [operand, own] : llvm::zip_equal(op->getOperands(), dims)) {
      Value inner = reshapeSource(operand);
      operands.push_back(inner && graph::getDims(inner) == own ? inner : c.reshape(operand, own));
    }
    Operation *moved = rewriter.clone(*op);
    moved->setOperands(operands);
    setShape(moved, op, shape);
    rewriter.replaceOp(op, c.reshape(moved->getResult(0), target));
    return success();
  }

private:
  /// Returns the dims to which an operand with dims `dims` is reshaped when the op's dims change
  /// from `target` to `shape`. Returns nothing if the operand could not be broadcast to `shape`.
  static std::optional<Dims> inShape(const Dims &dims, const Dims &target, const Dims &shape) {
    if (dims == target)
      return shape;
    size_t common = 0; // common trailing dims of both shapes
    while (common < shape.size() && common < target.size() &&
           shape[shape.size() - 1 - common] == target[target.size() - 1 - common])
      ++common;
    common = std::min(common, dims.size());
    if (llvm::all_of(ArrayRef<DimExpr>(dims).drop_back(common), [](const DimExpr &dim) { return dim.is(1); }))
      return Dims(ArrayRef<DimExpr>(dims).take_back(common));
    Dims all = withLeadingOnes(dims, target);
    std::optional<SourceBroadcast> before = broadcastBeforeReshape(shape, target, all);
    return before && before->repeated == all ? std::optional(before->dims) : std::nullopt;
  }
};

/// The reshapes and transposes between a contraction's result and a value that an elementwise op
/// reads, starting with the last op. Each has one use, and all are in one block, because sinking an
/// op into a loop body would execute it at each step.
struct Rearrangement {
  SmallVector<graph::IndexingOpInterface> moves;
  /// The result of the contraction that the reshapes and transposes move. Null if no contraction
  /// produces the value, or if there are only reshapes and no transpose.
  Value source;

  explicit Rearrangement(Value value, Block *block) {
    while (value.hasOneUse()) {
      auto move = value.getDefiningOp<graph::IndexingOpInterface>();
      if (!move || move.getViewKind() == graph::ViewKind::None || move->getBlock() != block)
        break;
      moves.push_back(move);
      value = move->getOperand(0);
    }
    // isOnContraction is called last, because it is slow: it walks all elementwise ops before the
    // value.
    bool isTransposed = llvm::any_of(
        moves, [](graph::IndexingOpInterface move) { return move.getViewKind() == graph::ViewKind::Transpose; });
    if (isTransposed && value.hasOneUse() && isOnContraction(value))
      source = value;
  }

  /// Returns true if the sequence of indexing ops consists of reshapes followed by one transpose,
  /// which layout assignment can absorb.
  bool isReshapesThenTranspose() {
    return !moves.empty() && moves.front().getViewKind() == graph::ViewKind::Transpose &&
           llvm::all_of(ArrayRef(moves).drop_front(),
                        [](graph::IndexingOpInterface move) { return move.getViewKind() == graph::ViewKind::Reshape; });
  }
};

/// Sinks reshapes and transposes of a contraction's result below an elementwise op.
struct SinkRearrangement : Sinker {
  using Sinker::Sinker;

  LogicalResult matchAndRewrite(graph::ElementwiseOpInterface op, PatternRewriter &rewriter) const override {
    if (op->getNumResults() != 1)
      return rewriter.notifyMatchFailure(op, "has several results");
    Dims target = graph::getDims(op->getResult(0));
    OpOperand *fullOperand =
        findFullOperand(op, target, [&](Value operand) { return bool(Rearrangement(operand, op->getBlock()).source); });
    if (!fullOperand)
      return rewriter.notifyMatchFailure(op, "no operand is a rearranged result of a contraction");
    Rearrangement rearranged(fullOperand->get(), op->getBlock());
    if (graph::getElementType(op->getResult(0)).getIntOrFloatBitWidth() >
        graph::getElementType(rearranged.source).getIntOrFloatBitWidth())
      return rewriter.notifyMatchFailure(op, "the result type is wider, so that more bytes would be moved");
    for (OpOperand &operand : op->getOpOperands())
      if (&operand != fullOperand && !hasFullShape(operand.get(), target, rearranged) &&
          !variesAlongOneDim(operand.get(), target, rearranged))
        return rewriter.notifyMatchFailure(
            op, "an operand is neither a scalar nor a constant along one dim of the contraction's result");
    graph::Composer c(rewriter, op->getLoc());
    SmallVector<Value> operands;
    for (OpOperand &operand : op->getOpOperands())
      operands.push_back(&operand == fullOperand ? rearranged.source
                                                 : toContractionShape(c, operand.get(), target, rearranged));
    Operation *moved = rewriter.clone(*op);
    moved->setOperands(operands);
    setShape(moved, op, graph::getDims(rearranged.source));
    Value result = moved->getResult(0);
    for (graph::IndexingOpInterface move : llvm::reverse(rearranged.moves)) {
      graph::Composer own(rewriter, move->getLoc());
      result = move.getViewKind() == graph::ViewKind::Reshape ? own.reshape(result, graph::getDims(move->getResult(0)))
                                                              : own.transpose(result, move.getViewOrder());
    }
    rewriter.replaceOp(op, result);
    for (graph::IndexingOpInterface move : rearranged.moves)
      rewriter.eraseOp(move);
    return success();
  }

private:
  static bool isScalar(const Dims &dims) {
    return llvm::all_of(dims, [](const DimExpr &dim) { return dim.is(1); });
  }
  /// Returns true if the elementwise op's other operand has the full shape and layout assignment
  /// can absorb the transpose that it then needs.
  static bool hasFullShape(Value operand, const Dims &target, Rearrangement &rearranged) {
    return graph::getDims(operand) == target && rearranged.isReshapesThenTranspose();
  }

  /// Returns true if the elementwise op's other operand is a scalar, or a constant that varies
  /// along only one dim of the contraction's result.
  static bool variesAlongOneDim(Value operand, const Dims &target, const Rearrangement &rearranged) {
    Dims dims = withLeadingOnes(graph::getDims(operand), target);
    if (isScalar(dims))
      return true;
    if (!isa_and_nonnull<graph::ConstantOp>(operand.getDefiningOp()))
      return false;
    for (graph::IndexingOpInterface move : rearranged.moves) {
      std::optional<SourceBroadcast> before = broadcastBeforeIndexing(move, dims);
      if (!before)
        return false;
      dims = before->dims;
    }
    return llvm::count_if(dims, [](const DimExpr &dim) { return !dim.is(1); }) == 1;
  }

  /// Returns the elementwise op's operand `operand`, converted to the shape of the contraction's
  /// result.
  static Value toContractionShape(graph::Composer &c, Value operand, const Dims &target,
                                  const Rearrangement &rearranged) {
    Dims dims = withLeadingOnes(graph::getDims(operand), target);
    if (isScalar(dims))
      return c.reshape(operand, {});
    Value value = c.reshape(operand, dims);
    for (graph::IndexingOpInterface move : rearranged.moves) {
      SourceBroadcast before = *broadcastBeforeIndexing(move, graph::getDims(value));
      value = undoIndexing(c, c.expand(value, before.repeated), move, before.dims);
    }
    return value;
  }

  /// Applies the inverse of `move` to `value`, with result dims `dims`. If an indexing op equal to
  /// `move` defines `value`, returns that op's operand.
  static Value undoIndexing(graph::Composer &c, Value value, graph::IndexingOpInterface move, const Dims &dims) {
    auto other = value.getDefiningOp<graph::IndexingOpInterface>();
    bool same = other && other.getViewKind() == move.getViewKind() && graph::getDims(other->getOperand(0)) == dims;
    if (move.getViewKind() == graph::ViewKind::Reshape)
      return same ? other->getOperand(0) : c.reshape(value, dims);
    if (same && other.getViewOrder() == move.getViewOrder())
      return other->getOperand(0);
    return c.transpose(value, invertPermutationVector(move.getViewOrder()));
  }
};

/// Clones an elementwise op onto each operand of an interleaving concat.
struct SinkInterleave : Sinker {
  using Sinker::Sinker;

  LogicalResult matchAndRewrite(graph::ElementwiseOpInterface op, PatternRewriter &rewriter) const override {
    if (op->getNumResults() != 1)
      return rewriter.notifyMatchFailure(op, "has several results");
    Dims target = graph::getDims(op->getResult(0));
    OpOperand *fullOperand =
        findFullOperand(op, target, [](Value operand) { return operand.hasOneUse() && isInterleaved(operand); });
    if (!fullOperand)
      return rewriter.notifyMatchFailure(op, "no operand interleaves results of contractions");
    Operation *interleave = fullOperand->get().getDefiningOp();
    SmallVector<int64_t> steps = graph::assemblyOf(interleave)->steps;
    for (OpOperand &operand : op->getOpOperands())
      if (&operand != fullOperand && !isBroadcastAlongInterleaved(operand.get(), steps))
        return rewriter.notifyMatchFailure(op, "an operand differs between the interleaved operands");
    SmallVector<Value> operands;
    for (Value operand : interleave->getOperands()) {
      Operation *own = rewriter.clone(*op);
      own->setOperand(fullOperand->getOperandNumber(), operand);
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
  /// Returns true if an interleaving concat defines the value and a contraction computes at least
  /// one of its operands.
  static bool isInterleaved(Value value) {
    Operation *maker = value.getDefiningOp();
    std::optional<graph::Assembly> assembly = maker ? graph::assemblyOf(maker) : std::nullopt;
    return assembly && assembly->isInterleaved() && llvm::any_of(maker->getOperands(), isOnContraction);
  }

  /// Returns true if `operand` is broadcast along all dims that are interleaved, so that each
  /// interleaved operand reads the same elements. A dim is interleaved if its step is not 1.
  static bool isBroadcastAlongInterleaved(Value operand, ArrayRef<int64_t> steps) {
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
    // The pattern driver visits each op once. That suffices, because a rewritten op keeps its
    // position.
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
} // namespace hewn

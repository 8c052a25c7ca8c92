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
// opposite), broadcast ones where the dims that they have are the last ones of both shapes. Left alone: ops with an operand
// of another kind, reshapes of anything but a contraction and the elementwise ops on it.
//
// Of what is interleaved, the results of contractions or those and others, elementwise ops are done for each operand, if what they read
// beside it is the same for all.
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Move/Interleave.h"
#include "lib/Transforms/Simplify/Passes.h"

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

/// What both patterns do with an elementwise op of one result.
struct Sinker : OpInterfaceRewritePattern<graph::ElementwiseOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

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
    size_t common = 0; // dims in which both shapes end
    while (common < shape.size() && common < target.size() &&
           shape[shape.size() - 1 - common] == target[target.size() - 1 - common])
      ++common;
    for (Value operand : op->getOperands())
      if (Dims dims = graph::getDims(operand);
          dims != target && !llvm::all_of(ArrayRef<DimExpr>(dims).drop_back(std::min(common, dims.size())),
                                          [](const DimExpr &dim) { return dim.is(1); }))
        return rewriter.notifyMatchFailure(op, "an operand is broadcast along dims that the reshape changes");
    graph::Composer c(rewriter, op->getLoc());
    SmallVector<Value> operands = llvm::map_to_vector(
        op->getOperands(), [&](Value operand) { return inShape(c, operand, target, shape, common); });
    Operation *moved = rewriter.clone(*op);
    moved->setOperands(operands);
    setShape(moved, op, shape);
    rewriter.replaceOp(op, c.reshape(moved->getResult(0), target));
    return success();
  }

private:
  /// The operand for results of `shape` instead of `target`, whose last `common` dims are the same.
  static Value inShape(graph::Composer &c, Value operand, const Dims &target, const Dims &shape, size_t common) {
    Dims dims = graph::getDims(operand);
    if (dims == target) {
      Value inner = reshaped(operand);
      return inner && graph::getDims(inner) == shape ? inner : c.reshape(operand, shape);
    }
    if (dims.size() <= std::min(common, shape.size()))
      return operand;
    return c.reshape(operand, Dims(ArrayRef<DimExpr>(dims).take_back(std::min(common, dims.size()))));
  }
};

/// Makes the op work on the interleaved operands of an operand.
struct SinkInterleave : Sinker {
  using Sinker::Sinker;

  LogicalResult matchAndRewrite(graph::ElementwiseOpInterface op, PatternRewriter &rewriter) const override {
    if (op->getNumResults() != 1)
      return rewriter.notifyMatchFailure(op, "has several results");
    Dims target = graph::getDims(op->getResult(0));
    OpOperand *whole = nullptr;
    for (OpOperand &operand : op->getOpOperands())
      if (graph::getDims(operand.get()) == target && operand.get().hasOneUse() && isInterleaved(operand.get()))
        whole = &operand;
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
    patterns.add<SinkReshape>(&getContext(), /*benefit=*/2);
    patterns.add<SinkInterleave>(&getContext(), /*benefit=*/1);
    walkAndApplyPatterns(getOperation(), std::move(patterns)); // once each: what an op becomes is where it was to be
  }
};

} // namespace
} // namespace hewn

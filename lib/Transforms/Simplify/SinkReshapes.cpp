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

class Sinker {
public:
  explicit Sinker(Operation *op) : op(op), b(op), c(b, op->getLoc()) {}

  /// Makes the op work in the shape of a reshaped operand.
  bool run() {
    Dims target = graph::getDims(op->getResult(0));
    Value source;
    for (Value operand : op->getOperands())
      if (Value inner = reshaped(operand);
          inner && !source && graph::getDims(operand) == target && isOnContraction(inner))
        source = inner;
    if (!source)
      return false;
    Dims shape = graph::getDims(source);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(inShape(operand, target, shape));
    if (llvm::is_contained(operands, Value()))
      return false;
    Operation *moved = b.clone(*op);
    moved->setOperands(operands);
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    moved->getResult(0).setType(RankedTensorType::get(graph::staticShape(shape), type.getElementType()));
    graph::setResultDims(moved, {shape});
    Value back = c.reshape(moved->getResult(0), target);
    op->getResult(0).replaceAllUsesWith(back);
    op->erase();
    return true;
  }

  /// Makes the op work on the interleaved operands of an operand.
  bool runOnInterleaved() {
    Dims target = graph::getDims(op->getResult(0));
    OpOperand *whole = nullptr;
    for (OpOperand &operand : op->getOpOperands())
      if (graph::getDims(operand.get()) == target && operand.get().hasOneUse() && isInterleaved(operand.get()))
        whole = &operand;
    if (!whole)
      return false;
    Operation *interleave = whole->get().getDefiningOp();
    SmallVector<int64_t> steps = graph::assemblyOf(interleave)->steps;
    for (OpOperand &operand : op->getOpOperands())
      if (&operand != whole && !isSameForAll(operand.get(), steps))
        return false;
    SmallVector<Value> operands;
    for (Value operand : interleave->getOperands()) {
      Operation *own = b.clone(*op);
      own->setOperand(whole->getOperandNumber(), operand);
      setShape(own, graph::getDims(operand));
      operands.push_back(own->getResult(0));
    }
    Operation *moved = b.clone(*interleave);
    moved->setOperands(operands);
    setShape(moved, target);
    op->getResult(0).replaceAllUsesWith(moved->getResult(0));
    op->erase();
    interleave->erase();
    return true;
  }

private:
  Operation *op;
  OpBuilder b;
  graph::Composer c;

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

  /// Makes the op's result one of these dims and of the element type that `op` has.
  void setShape(Operation *of, const Dims &dims) {
    Type element = graph::getElementType(op->getResult(0));
    of->getResult(0).setType(RankedTensorType::get(graph::staticShape(dims), element));
    graph::setResultDims(of, {dims});
  }

  /// The operand for results of `shape` instead of `target`; null where it has no such form.
  Value inShape(Value operand, const Dims &target, const Dims &shape) {
    Dims dims = graph::getDims(operand);
    if (dims == target) {
      Value inner = reshaped(operand);
      return inner && graph::getDims(inner) == shape ? inner : c.reshape(operand, shape);
    }
    // Broadcast: only along dims that both shapes end in.
    size_t common = 0;
    while (common < shape.size() && common < target.size() &&
           shape[shape.size() - 1 - common] == target[target.size() - 1 - common])
      ++common;
    for (size_t i = 0; i + common < dims.size(); ++i)
      if (!dims[i].is(1))
        return {};
    if (dims.size() <= std::min(common, shape.size()))
      return operand;
    return c.reshape(operand, Dims(ArrayRef<DimExpr>(dims).take_back(std::min(common, dims.size()))));
  }
};

struct SinkReshapesPass : impl::SinkReshapesPassBase<SinkReshapesPass> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](graph::ElementwiseOpInterface op) {
      if (op->getNumResults() == 1)
        ops.push_back(op);
    });
    for (Operation *op : ops)
      if (Sinker sinker(op); !sinker.run())
        sinker.runOnInterleaved();
  }
};

} // namespace
} // namespace hewn

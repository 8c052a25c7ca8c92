// SPDX-License-Identifier: Apache-2.0
//
// Says what must be true of dims that are known only when the model runs.
//
//     func @main(%x {graph.dims = [2, "n"]}, %w {graph.dims = ["m", 3]}) {      func @main(...) attributes {
//       %0 = graph.matmul %x, %w                                           →        graph.requires = [["node", "equal", "m", "n"]]
//
// Code is made as if operands fit: one that does not is read beyond its end. What is not true of every value of the symbols becomes an
// entry here, and a run ends with a status where an entry does not hold: two dims that are summed over are equal, a dim is
// another one or 1 (`broadcast`), a number is at most another (`atMost`): parts of a dim lie within it, and no dim is
// negative. Of a model whose dims are all numbers there is no entry.
//
// What data decide is not known when a run begins, nor whether a branch or a loop's body runs: there a `graph.require` stands before
// the op. Steps over a sequence count as if they ran.
#include "dialects/Graph/Analysis/Bounds.h"
#include "dialects/Graph/Analysis/Requirements.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Graph.h"
#include "lib/Support/Diagnostics.h"
#include "lib/Transforms/Simplify/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::getDims;

namespace hewn {
#define GEN_PASS_DEF_REQUIREDIMSPASS
#include "lib/Transforms/Simplify/Passes.h.inc"

namespace {
struct RequireDimsPass : impl::RequireDimsPassBase<RequireDimsPass> {
  llvm::StringSet<> known;
  llvm::SetVector<Attribute> entries;

  DenseMap<Block *, llvm::StringSet<>> late;

  void add(Operation *op, StringRef kind, const DimExpr &a, const DimExpr &b) {
    if (a.constant() && b.constant())
      return;
    bool isKnown = true;
    for (const DimExpr &expr : {a, b})
      expr.walkSymbols([&](StringRef name) { isKnown &= known.contains(name); });
    for (Operation *outer = op->getParentOp(); !isa<func::FuncOp>(outer); outer = outer->getParentOp())
      isKnown &= isa<graph::ScanOp>(outer);
    if (!isKnown)
      return addLate(op, kind, a, b);
    Builder builder(op);
    entries.insert(builder.getArrayAttr({builder.getStringAttr(nodeName(op->getLoc())), builder.getStringAttr(kind),
                                         builder.getStringAttr(a.str()), builder.getStringAttr(b.str())}));
  }
  void addLate(Operation *op, StringRef kind, const DimExpr &a, const DimExpr &b) {
    if (!late[op->getBlock()].insert((Twine(kind) + "?" + a.str() + "?" + b.str()).str()).second)
      return;
    OpBuilder builder(op);
    graph::Composer c(builder, op->getLoc());
    Value left = c.number(a), right = c.number(b);
    Value holds = c.op(kind == "atMost" ? "graph.less_or_equal" : "graph.equal", {left, right});
    if (kind == "broadcast")
      holds = c.op("graph.or", {holds, c.op("graph.equal", {left, c.number(DimExpr(1))})});
    graph::RequireOp::create(builder, op->getLoc(), holds);
  }
  void equal(Operation *op, const DimExpr &a, const DimExpr &b) {
    if (a != b)
      add(op, "equal", a, b);
  }
  void broadcast(Operation *op, const DimExpr &a, const DimExpr &b) {
    if (a != b && !a.is(1))
      add(op, "broadcast", a, b);
  }
  void atMost(Operation *op, const DimExpr &a, const DimExpr &b) {
    if (!graph::isNeverAbove(a, b))
      add(op, "atMost", a, b);
  }

  void visitContraction(graph::ContractOpInterface op) {
    Dims extents = op.getIterationDims([](Value value) { return getDims(value); });
    SmallVector<bool> summed = op.getReductionDims();
    for (auto [operand, map] : llvm::zip(op->getOperands().take_front(2), op.getIndexingMaps()))
      for (auto [dim, expr] : llvm::zip(getDims(operand), map.getResults())) {
        auto own = dyn_cast<AffineDimExpr>(expr);
        if (own && summed[own.getPosition()])
          equal(op, dim, extents[own.getPosition()]);
        else if (own)
          broadcast(op, dim, extents[own.getPosition()]);
      }
  }

  void visitMove(graph::MoveOpInterface op) {
    if (op->getNumOperands() == 0)
      return;
    Dims from = getDims(op->getOperand(0)), to = getDims(op->getResult(0));
    if (op.getViewKind() == graph::ViewKind::Reshape)
      equal(op, graph::numElements(from), graph::numElements(to));
    for (auto [reach, dim] : llvm::zip(graph::leastDims(op), from))
      atMost(op, reach, dim);
    if (std::optional<int64_t> along = op.getPieceDim())
      for (Value piece : op->getOperands())
        for (auto [d, dim] : llvm::enumerate(getDims(piece)))
          if (int64_t(d) != *along)
            equal(op, dim, to[d]);
  }

  void visit(Operation *op) {
    if (auto contraction = dyn_cast<graph::ContractOpInterface>(op))
      visitContraction(contraction);
    if (auto move = dyn_cast<graph::MoveOpInterface>(op))
      visitMove(move);
    for (Value result : op->getResults()) {
      if (!isa<RankedTensorType>(result.getType()))
        continue;
      Dims dims = getDims(result);
      for (const DimExpr &dim : dims)
        atMost(op, DimExpr(0), dim);
      if (!isa<graph::ElementwiseOpInterface>(op) && !graph::broadcasts(op))
        continue;
      for (Value operand : op->getOperands()) {
        Dims own = getDims(operand);
        for (size_t i = 1; i <= std::min(own.size(), dims.size()); ++i)
          broadcast(op, own[own.size() - i], dims[dims.size() - i]);
      }
    }
  }

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    known.clear();
    entries.clear();
    late.clear();
    for (Value argument : function.getArguments())
      for (const DimExpr &dim : getDims(argument))
        dim.walkSymbols([&](StringRef name) { known.insert(name); });
    SmallVector<Operation *> ops; // those that are there before any is added
    function.front().walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops)
      visit(op);
    if (!entries.empty())
      function->setAttr(graph::kRequiresAttr, Builder(function).getArrayAttr(entries.getArrayRef()));
  }
};
} // namespace
} // namespace hewn

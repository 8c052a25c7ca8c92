// SPDX-License-Identifier: Apache-2.0
//
// Import of If, Loop and Scan as ops with regions.
#include "dialects/Graph/Analysis/Requirements/Requirements.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Control/Control.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/List/List.h"

#include "mlir/Support/DebugStringHelper.h"

using namespace mlir;

namespace hewn::graph {

namespace {

/// Symbol that replaces an open dim of a region's result, that is, a dim that is known only after
/// the op's regions are built. No symbol of a model has this name.
DimExpr openDim() { return DimExpr::symbol("?open"); }
bool hasOpen(ArrayRef<DimExpr> dims) { return llvm::is_contained(dims, openDim()); }

/// Emits a 1-D tensor with the sizes of those dims of `value` that are open in `pattern`.
Value holdOpen(OnnxNode &node, ArrayRef<DimExpr> pattern, Value value) {
  Dims open;
  for (auto [wanted, dim] : llvm::zip(pattern, getDims(value)))
    if (wanted == openDim())
      open.push_back(dim);
  return node.make<DimValueOp>({}, node.attr("values", ArrayRef<DimExpr>(open)));
}

TensorShape heldShape(OnnxNode &node, ArrayRef<DimExpr> pattern) {
  return {Dims{DimExpr(int64_t(llvm::count(pattern, openDim())))}, node.b.getI64Type()};
}

std::string text(ArrayRef<DimExpr> dims) {
  return "[" + llvm::join(llvm::map_range(dims, [](const DimExpr &d) { return d.str().str(); }), ", ") + "]";
}

bool areTensors(ValueRange values) {
  return llvm::all_of(values, [](Value v) { return v && isa<RankedTensorType>(v.getType()); });
}

/// Reshapes a one-element tensor to a scalar. Calls `refuse` and returns null if the tensor does
/// not have exactly one element.
Value asScalar(OnnxNode &node, StringRef what, Value value) {
  if (std::optional<int64_t> count = numElements(getDims(value)).constant(); count && *count != 1) {
    (void)node.refuse("has a " + what + " of " + Twine(*count) + " elements instead of one");
    return {};
  }
  return Composer(node).reshape(value, {});
}

Value scalar(OnnxNode &node, int64_t value) {
  auto type = RankedTensorType::get({}, node.b.getI64Type());
  return makeConstant(node.b, node.loc, DenseElementsAttr::get(type, value));
}

/// Replaces the open dims in `dims` by symbols, which are read from `held`, the tensor that holds
/// the sizes of these dims.
bool readOpen(OnnxNode &node, Value held, Dims &dims) {
  std::optional<Dims> read = node.contentsOrRead(held);
  if (!read)
    return false;
  unsigned next = 0;
  for (DimExpr &dim : dims)
    if (dim == openDim())
      dim = (*read)[next++];
  return true;
}

/// Converts sequences of known length to run-time lists, at the insertion point. Returns false
/// after a call of `refuse`.
bool takeHandles(OnnxNode &node, MutableArrayRef<Value> values) {
  for (Value &value : values) {
    if (!value || isa<RankedTensorType>(value.getType()))
      continue;
    value = asHandle(node.b, node.loc, value);
    if (value)
      continue;
    (void)node.refuse("has a sequence of tensors with different types, or an absent value without a type");
    return false;
  }
  return true;
}

/// Determines the common type of two values, such as the results of two branches. If at least one
/// of them is a list, sets `into` to a list type that can hold both. Returns false after a call of
/// `refuse`.
bool joinLists(OnnxNode &node, Value a, Value b, std::optional<handle::List> &into) {
  std::optional<handle::List> left = listOf(a), right = listOf(b);
  into = left ? left : right;
  if (left && right)
    into = handle::join(*left, *right);
  if (into || (!left && !right))
    return true;
  (void)node.refuse("lists have different types");
  return false;
}

bool isTrue(OnnxNode &node, Value value) {
  std::optional<Dims> known = node.contents(value);
  return known && known->size() == 1 && known->front().constant() && !known->front().is(0);
}

} // namespace

//===------------------------------------------------------------------------------------------===//
// If
//===------------------------------------------------------------------------------------------===//

/// Returns the common shape of the values that two branches of an If yield. Dims that differ become
/// open. Calls `refuse` and returns nullopt if the values have no common shape.
static std::optional<TensorShape> meet(OnnxNode &node, unsigned i, RegionOpBuilder &shell, Value a, Value b) {
  TensorShape left = shapeOf(a), right = shapeOf(b);
  if (left.elementType != right.elementType || left.dims.size() != right.dims.size()) {
    auto told = [](const TensorShape &shape) { return debugString(shape.elementType) + " " + text(shape.dims); };
    (void)node.refuse("output " + Twine(i) + " is " + told(left) + " in one branch and " + told(right) +
                      " in the other; the branch is not known at compile time");
    return std::nullopt;
  }
  for (auto [l, r] : llvm::zip(left.dims, right.dims))
    if (l != r || !shell.isKnownOutside(l))
      l = openDim();
  return left;
}

/// Checks the indices that are known at compile time. Sets `isComplete` to false if there are other
/// ones.
static LogicalResult checkKnown(OnnxNode &node, Value indices, ArrayRef<DimExpr> extents, IndexRange range,
                                bool &isComplete) {
  if (!indices || !isa<IntegerType>(getElementType(indices)))
    return node.refuse("indices and lengths must be integers");
  std::optional<Dims> known = node.contents(indices);
  isComplete = extents.empty() || known.has_value();
  for (size_t i = 0; known && !extents.empty() && i < known->size(); ++i) {
    std::optional<int64_t> index = (*known)[i].constant(), extent = extents[i % extents.size()].constant();
    if (!index || !extent) {
      isComplete = false;
      continue;
    }
    int64_t low = range == IndexRange::Index ? -*extent : 0;
    int64_t high = range == IndexRange::Length ? *extent : *extent - 1;
    if (*index >= low && *index <= high)
      continue;
    if (range == IndexRange::Index)
      return node.refuse("index " + Twine(*index) + " is outside of a dim of " + Twine(*extent));
    return node.refuse("value " + Twine(*index) + " is outside of [" + Twine(low) + ", " + Twine(high) + "]");
  }
  return success();
}

LogicalResult checkKnownIndices(OnnxNode &node, Value indices, ArrayRef<DimExpr> extents, IndexRange range) {
  bool isComplete = false;
  return checkKnown(node, indices, extents, range, isComplete);
}

LogicalResult checkIndices(OnnxNode &node, Value indices, ArrayRef<DimExpr> extents, IndexRange range) {
  bool isComplete = false;
  if (failed(checkKnown(node, indices, extents, range, isComplete)))
    return failure();
  if (isComplete)
    return success();
  // the runtime function reads 32- and 64-bit indices
  if (!getElementType(indices).isSignlessInteger(32))
    indices = Composer(node).cast(indices, node.b.getI64Type());
  if (!indices)
    return failure();
  Dims bounds(extents);
  if (range != IndexRange::Index)
    bounds = {DimExpr(0), range == IndexRange::Length ? extents[0] : extents[0] - DimExpr(1)};
  Value limits = node.make<DimValueOp>({}, node.attr("values", ArrayRef<DimExpr>(bounds)));
  if (range != IndexRange::Index)
    limits = Composer(node).reshape(limits, {DimExpr(1), DimExpr(2)});
  CheckIndicesOp::create(node.b, node.loc, indices, limits);
  return success();
}

/// Inlines branch `taken` in place of an If node, and emits a check that ends the run with an error
/// status if the condition selects the other branch. `why` says why the other branch cannot be
/// taken.
static LogicalResult assume(OnnxNode &node, RegionOpBuilder &shell, unsigned taken, Value condition, ValueRange values,
                            const Twine &why) {
  shell.standBefore();
  if (taken == 1)
    condition = node.make<NotOp>({condition});
  StringRef other = taken == 0 ? "else" : "then";
  RequireOp::create(node.b, node.loc, condition,
                    node.b.getStringAttr("these inputs take the " + other + " branch, which " + why),
                    node.b.getStringAttr(other));
  shell.inlineBlock(taken);
  node.discard(shell.take());
  for (auto [i, value] : llvm::enumerate(values))
    node.setOutput(i, value);
  return success();
}

bool isRankOpen(Value value) {
  Operation *op = value.getDefiningOp();
  auto open = op ? op->getAttrOfType<DenseI64ArrayAttr>(kOpenRankAttr) : DenseI64ArrayAttr();
  return open && llvm::is_contained(open.asArrayRef(), int64_t(cast<OpResult>(value).getResultNumber()));
}

static bool haveUnlikeRanks(Value a, Value b) { return getRank(a) != getRank(b); }

/// If the values of two branches only differ in leading dims of 1, adds the missing dims and
/// returns their number for each value. Otherwise, changes nothing and returns nullopt.
static std::optional<SmallVector<int64_t>> evenRanks(OnnxNode &node, RegionOpBuilder &shell,
                                                     SmallVector<Value> (&branches)[2]) {
  SmallVector<int64_t> open;
  for (unsigned i = 0; i < branches[0].size(); ++i) {
    Dims dims[2] = {getDims(branches[0][i]), getDims(branches[1][i])};
    const Dims &more = dims[0].size() < dims[1].size() ? dims[1] : dims[0];
    size_t lacking = more.size() - std::min(dims[0].size(), dims[1].size());
    if (!llvm::all_of(ArrayRef(more).take_front(lacking), [](const DimExpr &dim) { return dim.is(1); }))
      return std::nullopt;
    if (lacking > 0)
      open.push_back(i);
  }
  for (int64_t i : open) {
    unsigned r = getRank(branches[0][i]) < getRank(branches[1][i]) ? 0 : 1;
    Dims dims = getDims(branches[r][i]);
    dims.insert(dims.begin(), getRank(branches[1 - r][i]) - dims.size(), DimExpr(1));
    node.b.setInsertionPointToEnd(shell.block(r));
    branches[r][i] = Composer(node).reshape(branches[r][i], dims);
  }
  return open;
}

/// Imports each branch of an If node into its region of `shell`. If one branch cannot be imported
/// but may never be taken, sets `taken` to the other branch, and `reason` to the error in the first
/// one. Fails and keeps all diagnostics if neither branch can be used.
static LogicalResult importBranches(OnnxNode &node, RegionOpBuilder &shell, SmallVector<Value> (&branches)[2],
                                    std::optional<unsigned> &taken, std::string &reason) {
  size_t told = node.numDiagnostics();
  bool good[2] = {};
  for (unsigned r : {0, 1}) {
    shell.open(r, {});
    auto values = node.inlineSubgraph(r == 0 ? "then_branch" : "else_branch", {});
    good[r] = values.has_value();
    if (good[r])
      branches[r] = *values;
  }
  if (good[0] && good[1])
    return success();
  if (!good[0] && !good[1])
    return failure();
  std::optional<std::string> dropped = node.dropDiagnosticsAfter(told);
  if (!dropped)
    return failure();
  reason = *dropped;
  taken = good[0] ? 0 : 1;
  return success();
}

LogicalResult buildIf(OnnxNode &node) {
  Value condition = node.input(0);
  if (!condition || !getElementType(condition).isInteger(1))
    return node.refuse("needs a condition");
  if (std::optional<Dims> known = node.contents(condition); known && known->size() == 1 && known->front().constant()) {
    auto values = node.inlineBranch(known->front().is(0) ? "else_branch" : "then_branch");
    if (!values)
      return failure();
    for (auto [i, value] : llvm::enumerate(*values))
      node.setOutput(i, value);
    return success();
  }
  // If the condition of an If node depends on dims, each specialization of the program may replace
  // the node by the branch that it takes.
  Value asked = condition;
  auto isPerCase = [&] { return node.decide(asked) == Decision::PerCase; };
  OpBuilder::InsertionGuard guard(node.b);
  condition = asScalar(node, "condition", condition);
  if (!condition)
    return failure();
  RegionOpBuilder shell(node.b, node.loc, IfOp::getOperationName(), 2);
  SmallVector<Value> branches[2];
  std::optional<unsigned> taken;
  std::string reason;
  if (failed(importBranches(node, shell, branches, taken, reason))) {
    // requests specializations, in one of which the unsupported branch may never be taken
    (void)isPerCase();
    return failure();
  }
  if (taken)
    return isPerCase() ? failure()
                       : assume(node, shell, *taken, condition, branches[*taken], "is not supported: " + Twine(reason));
  for (unsigned r : {0, 1}) {
    node.b.setInsertionPointToEnd(shell.block(r));
    if (!takeHandles(node, branches[r]))
      return failure();
  }
  if (branches[0].size() != branches[1].size() || !areTensors(branches[0]) || !areTensors(branches[1]))
    return isPerCase() ? failure() : node.refuse("needs branches with the same tensors as outputs");
  for (auto [a, b] : llvm::zip(branches[0], branches[1])) {
    std::optional<handle::List> list;
    if (!joinLists(node, a, b, list))
      return failure();
    for (unsigned r = 0; list && r < 2; ++r) {
      Value &value = r == 0 ? a : b;
      node.b.setInsertionPointToEnd(shell.block(r));
      value = asHandle(node.b, node.loc, value, *list);
      if (!value)
        return node.refuse("one branch returns a list and the other one does not");
    }
  }

  // Exporters write a squeeze as `If(dim == 1, Squeeze, Identity)`, whose branches have different
  // ranks. If the condition is data-dependent, and if a later op would behave differently for the
  // two ranks, the If is replaced by its squeezing branch, because the exporter traced the rest of
  // the model with this branch.
  SmallVector<int64_t> openRanks;
  if (llvm::any_of(llvm::zip(branches[0], branches[1]), [](auto pair) { return std::apply(haveUnlikeRanks, pair); })) {
    if (isPerCase())
      return failure();
    auto evened = node.mayLeaveRankOpen() ? evenRanks(node, shell, branches) : std::nullopt;
    if (!evened)
      return assume(node, shell, 0, condition, branches[0],
                    "is not compiled: the ranks of its outputs differ from those of the then branch");
    openRanks = *evened;
  }

  // Open dims of an If's results are only known in its branches. Each branch therefore yields them
  // as an additional tensor, which is read as symbols after the If.
  SmallVector<TensorShape> results;
  unsigned count = branches[0].size();
  // for each result of the If, the number of the additional result that contains its open dims; -1
  // for none
  SmallVector<int> dimsAt(count, -1);
  for (unsigned i = 0; i < count; ++i) {
    std::optional<TensorShape> shape = meet(node, i, shell, branches[0][i], branches[1][i]);
    if (!shape)
      return failure();
    results.push_back(*shape);
  }
  for (unsigned i = 0; i < count; ++i) {
    if (!hasOpen(results[i].dims))
      continue;
    dimsAt[i] = results.size();
    results.push_back(heldShape(node, results[i].dims));
    for (unsigned r : {0, 1}) {
      node.b.setInsertionPointToEnd(shell.block(r));
      branches[r].push_back(holdOpen(node, results[i].dims, branches[r][i]));
    }
  }
  shell.close(0, branches[0]);
  shell.close(1, branches[1]);
  Operation *op = shell.finish(condition, results);
  for (unsigned i = 0; i < count; ++i) {
    if (dimsAt[i] >= 0 && !readOpen(node, op->getResult(dimsAt[i]), results[i].dims))
      return failure();
    node.setOutput(i, op->getResult(i));
  }
  setResultShapes(op, results);
  if (!openRanks.empty())
    op->setAttr(kOpenRankAttr, node.b.getDenseI64ArrayAttr(openRanks));
  return success();
}

//===------------------------------------------------------------------------------------------===//
// Loop
//===------------------------------------------------------------------------------------------===//

namespace {
class LoopBuilder {
public:
  explicit LoopBuilder(OnnxNode &node) : node(node) {}

  LogicalResult build() {
    SmallVector<Value> initial;
    for (unsigned i = 2; i < node.numInputs(); ++i)
      initial.push_back(node.input(i));
    if (llvm::is_contained(initial, Value()))
      return node.refuse("needs carried values");
    if (!takeTrips())
      return failure();
    if (steps && steps->is(1) && isTrue(node, condition))
      return once(initial);
    if (!takeHandles(node, initial))
      return failure();
    for (Value value : initial)
      carried.push_back(shapeOf(value));
    OpBuilder::InsertionGuard guard(node.b);
    // If the loop body changes a dim of a carried value, the dim becomes open and the body is
    // imported again. This ends, because each import of the body has more open dims than the one
    // before.
    while (true) {
      RegionOpBuilder shell(node.b, node.loc, LoopOp::getOperationName(), 1);
      bool changed = false;
      if (failed(import(shell, changed)))
        return failure();
      if (!changed)
        return finish(shell, initial);
      node.discard(shell.take());
    }
  }

private:
  /// Reads the trip count and condition of a Loop node. Sets `steps` if the trip count is constant.
  bool takeTrips() {
    trips = node.input(0) ? asScalar(node, "trip count", node.input(0)) : Value();
    condition = node.input(1) ? asScalar(node, "condition", node.input(1)) : Value();
    if ((node.input(0) && !trips) || (node.input(1) && !condition))
      return false;
    if (trips && !getElementType(trips).isSignlessInteger(64)) {
      (void)node.refuse("needs a trip count of type int64");
      return false;
    }
    if (trips)
      if (std::optional<Dims> known = node.contents(trips); known && known->size() == 1)
        steps = clampToZero(known->front());
    if (!trips)
      trips = scalar(node, std::numeric_limits<int64_t>::max());
    if (!condition)
      condition = makeSplat(node.b, node.loc, node.b.getI1Type(), 1);
    return trips && condition;
  }

  /// Inlines a loop body that runs exactly once in place of the Loop node.
  LogicalResult once(ArrayRef<Value> initial) {
    SmallVector<Value> arguments = {scalar(node, 0), condition};
    llvm::append_range(arguments, initial);
    auto values = node.inlineSubgraph("body", arguments);
    if (!values)
      return failure();
    if (values->size() < 1 + initial.size() || !areTensors(ArrayRef(*values).drop_front(1 + initial.size())))
      return node.refuse("the body has too few outputs");
    for (auto [i, value] : llvm::enumerate(ArrayRef(*values).drop_front())) {
      if (i < initial.size()) {
        node.setOutput(i, value);
        continue;
      }
      Dims dims = getDims(value);
      dims.insert(dims.begin(), DimExpr(1));
      node.setOutput(i, Composer(node).reshape(value, dims));
    }
    return success();
  }

  LogicalResult import(RegionOpBuilder &shell, bool &changed) {
    SmallVector<TensorShape> arguments = {{{}, node.b.getI64Type()}, {{}, node.b.getI1Type()}};
    llvm::append_range(arguments, carried);
    Block *block = shell.open(0, arguments);
    held.clear();
    for (auto [i, shape] : llvm::enumerate(carried)) {
      if (!hasOpen(shape.dims))
        continue;
      held.push_back(i);
      TensorShape known = shape;
      Value dims = shell.addArgument(0, heldShape(node, shape.dims));
      if (!readOpen(node, dims, known.dims))
        return failure();
      shell.setArgumentDims(0, 2 + i, known.dims);
    }
    node.b.setInsertionPointToEnd(block);
    auto values = node.inlineSubgraph("body", block->getArguments().take_front(arguments.size()));
    if (!values)
      return failure();
    yields = *values;
    if (!takeHandles(node, yields))
      return failure();
    if (yields.size() < 1 + carried.size() || !areTensors(yields))
      return node.refuse("the body has too few outputs");
    if (!getElementType(yields[0]).isInteger(1))
      return node.refuse("the first output of the body must be a bool");
    yields[0] = asScalar(node, "body with a condition", yields[0]);
    if (!yields[0])
      return failure();
    goesOn = yields[0] == block->getArgument(1) || isTrue(node, yields[0]);
    for (auto [i, shape] : llvm::enumerate(carried)) {
      if (!carryList(block->getArgument(2 + i), yields[1 + i], shape, changed))
        return failure();
      TensorShape next = shapeOf(yields[1 + i]);
      if (next.elementType != shape.elementType || next.dims.size() != shape.dims.size())
        return node.refuse("carried value " + Twine(i) + " has shape " + text(shape.dims) + ", but the body returns " +
                           text(next.dims));
      for (auto [before, after] : llvm::zip(shape.dims, next.dims))
        if (before != openDim() && before != after) {
          before = openDim();
          changed = true;
        }
    }
    return success();
  }

  /// Extends the type of a loop-carried list so that it can also hold the list that the body
  /// yields. Returns false after a call of `refuse`.
  bool carryList(Value before, Value &after, TensorShape &shape, bool &changed) {
    std::optional<handle::List> list;
    if (!joinLists(node, before, after, list))
      return false;
    if (!list)
      return true;
    changed |= list->type() != shape.elementType;
    shape = {{}, list->type()};
    after = asHandle(node.b, node.loc, after, *list);
    if (!after)
      (void)node.refuse("the body does not return a list for a carried list");
    return bool(after);
  }

  LogicalResult finish(RegionOpBuilder &shell, SmallVector<Value> initial) {
    size_t numCarried = initial.size();
    node.b.setInsertionPoint(shell.take());
    for (auto [value, shape] : llvm::zip(initial, carried))
      if (std::optional<handle::List> list = handle::asList(shape.elementType)) {
        value = asHandle(node.b, node.loc, value, *list);
        if (!value)
          return node.refuse("the body does not return a list for a carried list");
      }
    SmallVector<TensorShape> results(carried), appended;
    SmallVector<Attribute> defined;
    SmallVector<Value> nextHeld;
    node.b.setInsertionPoint(shell.take());
    for (unsigned i : held) {
      initial.push_back(holdOpen(node, carried[i].dims, initial[i]));
      results.push_back(heldShape(node, carried[i].dims));
      OpBuilder::InsertionGuard guard(node.b);
      node.b.setInsertionPointToEnd(shell.block(0));
      nextHeld.push_back(holdOpen(node, carried[i].dims, yields[1 + i]));
    }
    bool counts = yields.size() > 1 + numCarried && !(steps && goesOn && isTrue(node, condition));
    if (counts) {
      // The number of steps of the loop is known only after it has run, so an additional carried
      // value counts them.
      auto one = RankedTensorType::get({1}, node.b.getI64Type());
      initial.push_back(makeConstant(node.b, node.loc, DenseElementsAttr::get(one, int64_t(0))));
      results.push_back({Dims{DimExpr(1)}, node.b.getI64Type()});
      OpBuilder::InsertionGuard guard(node.b);
      Value count = shell.addArgument(0, results.back());
      node.b.setInsertionPointToEnd(shell.block(0));
      Value next = makeConstant(node.b, node.loc, DenseElementsAttr::get(one, int64_t(1)));
      nextHeld.push_back(Composer(node).op<AddOp>({count, next}));
    }
    for (Value value : ArrayRef(yields).drop_front(1 + numCarried)) {
      TensorShape shape = shapeOf(value);
      // A dim of a stacked loop output that is only known in the body becomes a symbol that the
      // loop defines. If two steps have different values for it, the run ends with an error status.
      for (DimExpr &dim : shape.dims)
        if (!shell.isKnownOutside(dim)) {
          dim = node.freshDim();
          defined.push_back(node.b.getStringAttr(dim.str()));
        }
      shape.dims.insert(shape.dims.begin(), counts ? openDim() : *steps);
      appended.push_back(shape);
    }
    size_t numKept = results.size();
    SmallVector<NamedAttribute> attributes;
    if (!defined.empty())
      attributes.push_back(node.attr("defines", node.b.getArrayAttr(defined)));
    llvm::append_range(results, appended);
    yields.insert(yields.begin() + 1 + numCarried, nextHeld.begin(), nextHeld.end());
    shell.close(0, yields);
    SmallVector<Value> operands = {trips, condition};
    llvm::append_range(operands, initial);
    Operation *op = shell.finish(operands, results, attributes);
    for (auto [k, i] : llvm::enumerate(held))
      if (!readOpen(node, op->getResult(numCarried + k), results[i].dims))
        return failure();
    for (size_t i = numKept; i < results.size() && counts; ++i) {
      Dims first(results[i].dims.begin(), results[i].dims.begin() + 1);
      if (!readOpen(node, op->getResult(numKept - 1), first))
        return failure();
      results[i].dims[0] = first[0];
    }
    setResultShapes(op, results);
    for (size_t i = 0; i < numCarried; ++i)
      node.setOutput(i, op->getResult(i));
    for (size_t i = numKept; i < results.size(); ++i)
      node.setOutput(numCarried + i - numKept, op->getResult(i));
    return success();
  }

  OnnxNode &node;
  Value trips, condition;
  std::optional<DimExpr> steps; // the number of steps of the loop, if it is known at compile time
  SmallVector<TensorShape> carried;
  // numbers of the carried values whose open dims are in an additional carried value
  SmallVector<unsigned> held;
  SmallVector<Value> yields;
  bool goesOn = false; // true if the condition that the body yields is always true
};
} // namespace

LogicalResult buildLoop(OnnxNode &node) { return LoopBuilder(node).build(); }

//===------------------------------------------------------------------------------------------===//
// Scan
//===------------------------------------------------------------------------------------------===//

namespace {
struct ScanForm {
  size_t numStates = 0;
  SmallVector<int64_t> inputAxes, outputAxes;
  // whether each sequence is processed from its end: inputs, then outputs
  SmallVector<bool> backward;
};
} // namespace

/// Returns attribute `name` of a Scan node, which has one entry for each sequence, or zeros if it
/// is absent.
static std::optional<SmallVector<int64_t>> perSequence(OnnxNode &node, StringRef name, size_t count) {
  SmallVector<int64_t> values = node.getInts(name).value_or(SmallVector<int64_t>(count, 0));
  if (values.size() == count)
    return values;
  (void)node.refuse(name + " must have " + Twine(count) + " entries, one per sequence");
  return std::nullopt;
}

/// Transposes x so that dim `from` becomes dim `to`. The other dims keep their order.
static Value moveDim(OnnxNode &node, Value x, int64_t from, int64_t to) {
  SmallVector<int64_t> order;
  for (int64_t d = 0; d < getRank(x); ++d)
    if (d != from)
      order.push_back(d);
  order.insert(order.begin() + to, from);
  return Composer(node).transpose(x, order);
}

/// Makes `value`, which the body of a Scan returns for a state of shape `before`, have this shape.
/// Dims that differ as expressions, such as a state's batch and that of a scanned input, are
/// required to be equal before the op runs. Returns false if the shapes can't be equal.
static bool keepsShape(OnnxNode &node, RegionOpBuilder &shell, const TensorShape &before, Value &value) {
  TensorShape after = shapeOf(value);
  if (after.elementType != before.elementType || after.dims.size() != before.dims.size())
    return false;
  for (auto [a, b] : llvm::zip(before.dims, after.dims))
    if (a != b && a.constant() && b.constant())
      return false;
  if (after.dims == before.dims)
    return true;
  OpBuilder::InsertionGuard guard(node.b);
  node.b.setInsertionPoint(shell.take());
  for (auto [a, b] : llvm::zip(before.dims, after.dims))
    require(node.b, node.loc, Relation::Equal, a, b);
  node.b.setInsertionPointToEnd(shell.block(0));
  value = Composer(node).reshape(value, before.dims);
  return bool(value);
}

/// Emits a graph.scan that runs `body`, for values without a batch dim.
static std::optional<SmallVector<Value>> scanOver(OnnxNode &node, SmallVector<Value> inputs, ScanForm form) {
  SmallVector<TensorShape> arguments;
  std::optional<DimExpr> steps;
  for (auto [i, value] : llvm::enumerate(inputs)) {
    TensorShape shape = shapeOf(value);
    if (i >= form.numStates) {
      std::optional<int64_t> axis = node.axis(form.inputAxes[i - form.numStates], shape.dims.size());
      if (!axis)
        return std::nullopt;
      value = moveDim(node, value, *axis, 0);
      DimExpr extent = shape.dims[*axis];
      shape.dims.erase(shape.dims.begin() + *axis);
      if (!steps || !steps->constant())
        steps = extent;
    }
    arguments.push_back(shape);
  }
  RegionOpBuilder shell(node.b, node.loc, ScanOp::getOperationName(), 1);
  Block *block = shell.open(0, arguments);
  auto values = node.inlineSubgraph("body", block->getArguments());
  if (!values)
    return std::nullopt;
  SmallVector<TensorShape> results;
  for (auto [i, value] : llvm::enumerate(*values)) {
    if (!areTensors(value) || !shell.isKnownOutside(getDims(value))) {
      (void)node.refuse("the shape of the body's output " + Twine(i) + " may change between steps");
      return std::nullopt;
    }
    TensorShape shape = shapeOf(value);
    if (i >= form.numStates) {
      shape.dims.insert(shape.dims.begin(), *steps);
    } else if (!keepsShape(node, shell, arguments[i], value)) {
      (void)node.refuse("state " + Twine(i) + " has shape " + text(arguments[i].dims) + ", but the body returns " +
                        text(shape.dims));
      return std::nullopt;
    } else {
      shape = arguments[i];
    }
    results.push_back(shape);
  }
  size_t numOutputs = values->size() - std::min(values->size(), form.numStates);
  if (form.outputAxes.empty())
    form.outputAxes.assign(numOutputs, 0);
  form.backward.resize(form.inputAxes.size() + numOutputs, false);
  if (values->size() < form.numStates || form.outputAxes.size() != numOutputs) {
    (void)node.refuse("the body has an unexpected number of outputs: " + Twine(values->size()));
    return std::nullopt;
  }
  shell.close(0, *values);
  Operation *op = shell.finish(inputs, results,
                               {node.attr("numStates", int64_t(form.numStates)),
                                node.attr("backward", node.b.getDenseBoolArrayAttr(form.backward))});
  SmallVector<Value> outputs(op->getResults());
  for (size_t i = form.numStates; i < outputs.size(); ++i) {
    std::optional<int64_t> axis = node.axis(form.outputAxes[i - form.numStates], getRank(outputs[i]));
    if (!axis)
      return std::nullopt;
    outputs[i] = moveDim(node, outputs[i], 0, *axis);
  }
  return outputs;
}

/// Imports a Scan node of opset 8, where all values have a leading batch dim: emits a scan over the
/// batch, and inside of this scan the scan over the sequences.
static std::optional<SmallVector<Value>> scanBatch(OnnxNode &node, SmallVector<Value> inputs, ScanForm form) {
  SmallVector<TensorShape> arguments;
  for (Value value : inputs) {
    arguments.push_back(shapeOf(value));
    if (arguments.back().dims.empty()) {
      (void)node.refuse("needs a batch dim");
      return std::nullopt;
    }
    arguments.back().dims.erase(arguments.back().dims.begin());
  }
  RegionOpBuilder shell(node.b, node.loc, ScanOp::getOperationName(), 1);
  Block *block = shell.open(0, arguments);
  auto values = scanOver(node, SmallVector<Value>(block->getArguments()), form);
  if (!values)
    return std::nullopt;
  SmallVector<TensorShape> results;
  for (Value value : *values) {
    results.push_back(shapeOf(value));
    results.back().dims.insert(results.back().dims.begin(), getDims(inputs[0])[0]);
  }
  shell.close(0, *values);
  SmallVector<bool> forward(inputs.size() + values->size(), false);
  Operation *op =
      shell.finish(inputs, results,
                   {node.attr("numStates", int64_t(0)), node.attr("backward", node.b.getDenseBoolArrayAttr(forward))});
  return SmallVector<Value>(op->getResults());
}

LogicalResult buildScan(OnnxNode &node) {
  bool batched = node.opset() < 9;
  if (batched && node.input(0))
    return node.refuse("sequence_lens is not supported");
  SmallVector<Value> inputs;
  for (unsigned i = batched; i < node.numInputs(); ++i)
    inputs.push_back(node.input(i));
  int64_t sequences = node.getInt("num_scan_inputs", 0);
  if (!areTensors(inputs) || sequences < 1 || sequences > int64_t(inputs.size()))
    return node.refuse("num_scan_inputs must be between 1 and the number of inputs");
  ScanForm form;
  form.numStates = inputs.size() - sequences;
  std::optional<SmallVector<int64_t>> axes = perSequence(node, "scan_input_axes", sequences);
  std::optional<SmallVector<int64_t>> directions =
      perSequence(node, batched ? "directions" : "scan_input_directions", sequences);
  if (!axes || !directions)
    return failure();
  form.inputAxes = *axes;
  form.outputAxes = node.getInts("scan_output_axes").value_or(SmallVector<int64_t>());
  for (int64_t direction : *directions)
    form.backward.push_back(direction == 1);
  for (int64_t direction : node.getInts("scan_output_directions").value_or(SmallVector<int64_t>()))
    form.backward.push_back(direction == 1);
  OpBuilder::InsertionGuard guard(node.b);
  auto outputs = batched ? scanBatch(node, inputs, form) : scanOver(node, inputs, form);
  if (!outputs)
    return failure();
  for (auto [i, value] : llvm::enumerate(*outputs))
    node.setOutput(i, value);
  return success();
}

} // namespace hewn::graph

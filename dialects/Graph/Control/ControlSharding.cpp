// SPDX-License-Identifier: Apache-2.0
//
// Shards control flow by propagating shards from results to operands, as
// lib/Transforms/Partition/MicroBatches.cpp does for the program: the requested shard of a result
// determines the shards of the yielded values, and these determine the shards of the operands of
// the ops that compute them. A loop-carried value has the same shard as initial value, in the body,
// after each step and as result. Propagation is repeated until no shard changes.
#include "dialects/Graph/Control/ControlSharding.h"
#include "dialects/Graph/Collective/Collective.h"
#include "dialects/Graph/Control/Control.h"
#include "dialects/Graph/Graph.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace hewn::graph {

namespace {

class RegionCutter {
public:
  RegionCutter(ControlOpInterface op, const ShardCount &parts) : op(op), parts(parts), made(new ControlSharding()) {}

  std::unique_ptr<ControlSharding> run(ArrayRef<std::optional<DimSharding>> results) {
    made->results.assign(results.begin(), results.end());
    // Values without a requested shard, and operands of ops that only check values, are handled in
    // a second round: they are sharded only if another use requests it.
    for (bool all : {false, true})
      do {
        hasChanged = false;
        askResults(all);
        askArguments(all);
        for (Region &region : op->getRegions())
          for (Operation &inner : llvm::reverse(region.front().without_terminator()))
            ask(&inner, all);
        if (isImpossible)
          return nullptr;
      } while (hasChanged);
    return std::move(made);
  }

private:
  void want(Value value, const std::optional<DimSharding> &cut) {
    auto [known, isNew] = made->values.insert({value, cut});
    hasChanged |= isNew;
    isImpossible |= known->second != cut;
    isImpossible |= cut && (!isa<RankedTensorType>(value.getType()) || cut->dim >= getRank(value) ||
                            !shardSize(getDims(value)[cut->dim], *cut, parts));
  }
  const std::optional<DimSharding> *find(Value value) const {
    auto known = made->values.find(value);
    return known == made->values.end() ? nullptr : &known->second;
  }

  /// Requests one common shard for values that must be sharded alike. If none of the values has a
  /// shard and `all` is set, requests the full values.
  void tie(ArrayRef<Value> values, bool all) {
    std::optional<std::optional<DimSharding>> wanted;
    for (Value value : values)
      if (const std::optional<DimSharding> *known = find(value); known && !wanted)
        wanted = *known;
    if (!wanted && all)
      wanted.emplace();
    for (Value value : values)
      if (wanted)
        want(value, *wanted);
  }

  /// Returns the sharding of a sequence from the sharding of its slice at one index of dim 0.
  static std::optional<DimSharding> behindFirst(const std::optional<DimSharding> &cut) {
    return cut ? std::optional(DimSharding{cut->dim + 1, cut->blocks}) : std::nullopt;
  }

  void askResults(bool all) {
    for (const CarriedValue &carried : op.getCarriedValues()) {
      std::optional<DimSharding> &result = made->results[carried.result.getResultNumber()];
      if (result)
        want(carried.next, result);
      tie({carried.next, carried.argument, carried.initial}, all);
      if (const std::optional<DimSharding> *known = find(carried.argument); known && !result)
        result = *known;
    }
    for (const StackedValue &stacked : op.getStackedValues()) {
      std::optional<DimSharding> &result = made->results[stacked.result.getResultNumber()];
      // dim 0 of a stacked result counts the steps, which cannot be sharded
      isImpossible |= result && result->dim == 0;
      if (result && result->dim > 0)
        want(stacked.slice, DimSharding{result->dim - 1, result->blocks});
      tie({stacked.slice}, all);
      if (const std::optional<DimSharding> *known = find(stacked.slice); known && !result)
        result = behindFirst(*known);
    }
    if (op.isLoop())
      return;
    for (auto [i, result] : llvm::enumerate(made->results)) {
      SmallVector<Value> yielded;
      for (Region &region : op->getRegions())
        yielded.push_back(region.front().getTerminator()->getOperand(i));
      for (Value value : yielded)
        if (result)
          want(value, result);
      tie(yielded, all);
      if (const std::optional<DimSharding> *known = find(yielded.front()); known && !result)
        result = *known;
    }
  }

  void askArguments(bool all) {
    for (const SlicedValue &sliced : op.getSlicedValues()) {
      const std::optional<DimSharding> *known = find(sliced.slice);
      if (known || all)
        want(sliced.sequence, behindFirst(known ? *known : std::nullopt));
    }
    ControlValues values = op.getControlValues();
    for (OpOperand *operand : {values.tripCount, values.condition, values.nextCondition})
      if (operand)
        want(operand->get(), std::nullopt);
  }

  /// Determines how an op in a region of the sharded op computes the requested shards of its
  /// results, and requests the operand shards that it needs.
  void ask(Operation *inner, bool all) {
    bool isCut = false, isWhole = inner->getNumResults() == 0;
    SmallVector<std::optional<DimSharding>> cuts;
    for (Value result : inner->getResults()) {
      const std::optional<DimSharding> *known = find(result);
      cuts.push_back(known ? *known : std::nullopt);
      isCut |= known && *known;
      isWhole |= known && !*known;
    }
    if (isWhole && inner->getNumResults() == 0)
      return all ? askCheck(inner) : void();
    isImpossible |= isCut && isWhole;
    if (isWhole)
      return wantWhole(inner);
    if (!isCut || isImpossible)
      return;
    if (inner->getNumRegions()) {
      std::unique_ptr<ControlSharding> form = controlSharding(inner, cuts, parts);
      isImpossible |= !form;
      if (!form)
        return;
      for (auto &[value, cut] : form->values)
        if (!isWithin(value, inner))
          want(value, cut);
      made->inner[inner] = std::move(form);
      return;
    }
    std::optional<ShardingRule> form =
        inner->getNumResults() == 1 ? shardingRule(inner, *cuts[0], parts) : std::nullopt;
    if (!form && inner->getNumResults() == 1 && parts.items.is(0) && parts.count.constant()) {
      made->wholes.insert(inner);
      return wantWhole(inner);
    }
    isImpossible |= !form;
    if (!form)
      return;
    for (auto [operand, cut] : llvm::zip(inner->getOperands(), form->operands))
      want(operand, cut);
    made->forms[inner] = std::move(*form);
  }

  /// Requests the operands of an op that only checks values. If an operand is sharded, each part
  /// checks its shard. All other operands are requested in full.
  void askCheck(Operation *inner) {
    for (Value operand : inner->getOperands())
      if (!find(operand))
        want(operand, std::nullopt);
  }

  void wantWhole(Operation *inner) {
    inner->walk([&](Operation *reader) {
      for (Value operand : reader->getOperands())
        if (!isWithin(operand, inner))
          want(operand, std::nullopt);
    });
  }

  /// Returns true if the value is defined in one of the regions of the op `inner`.
  static bool isWithin(Value value, Operation *inner) {
    return inner->isAncestor(value.getParentBlock()->getParentOp());
  }

  ControlOpInterface op;
  const ShardCount &parts;
  std::unique_ptr<ControlSharding> made;
  bool hasChanged = false, isImpossible = false;
};

class PartWriter {
public:
  PartWriter(OpBuilder &b, Operation *op, const ControlSharding &cut, const ShardCount &parts, int64_t number)
      : b(b), op(op), cut(cut), parts(parts), number(number) {}

  Operation *run(llvm::function_ref<Value(Value)> valueOf) {
    for (auto [value, form] : cut.values)
      if (!op->isAncestor(value.getParentBlock()->getParentOp())) {
        Value given = valueOf(value);
        if (!given)
          return nullptr;
        values.map(value, given);
      }
    RegionOpBuilder shell(b, op->getLoc(), op->getName().getStringRef(), op->getNumRegions());
    for (Region &region : op->getRegions())
      if (!writeRegion(shell, region))
        return shell.take()->erase(), nullptr;
    SmallVector<TensorShape> results;
    for (auto [result, form] : llvm::zip(op->getResults(), cut.results))
      results.push_back(shapeOfPart(result, form));
    SmallVector<NamedAttribute> attributes = llvm::filter_to_vector(
        ownAttributes(op), [](NamedAttribute attr) { return attr.getName() != kRegionDimsAttr; });
    SmallVector<Value> operands = llvm::map_to_vector(op->getOperands(), [&](Value v) { return values.lookup(v); });
    return shell.finish(operands, results, attributes);
  }

private:
  TensorShape shapeOfPart(Value value, const std::optional<DimSharding> &form) const {
    TensorShape shape = shapeOf(value);
    return {form ? shardDims(shape.dims, *form, parts) : shape.dims, shape.elementType};
  }

  bool writeRegion(RegionOpBuilder &shell, Region &region) {
    Block &block = region.front();
    SmallVector<TensorShape> arguments;
    for (Value argument : block.getArguments()) {
      auto known = cut.values.find(argument);
      arguments.push_back(shapeOfPart(argument, known == cut.values.end() ? std::nullopt : known->second));
    }
    values.map(block.getArguments(), shell.open(region.getRegionNumber(), arguments)->getArguments());
    for (Operation &inner : block.without_terminator())
      if (!write(&inner))
        return false;
    shell.close(region.getRegionNumber(),
                llvm::map_to_vector(block.getTerminator()->getOperands(), [&](Value v) { return values.lookup(v); }));
    return true;
  }

  bool write(Operation *inner) {
    if (auto nested = cut.inner.find(inner); nested != cut.inner.end()) {
      Operation *part =
          makeControlPart(b, inner, *nested->second, parts, number, [&](Value v) { return values.lookup(v); });
      if (part)
        values.map(inner->getResults(), part->getResults());
      return part;
    }
    if (auto form = cut.forms.find(inner); form != cut.forms.end()) {
      SmallVector<Value> operands =
          llvm::map_to_vector(inner->getOperands(), [&](Value v) { return values.lookup(v); });
      Value part = makeNamed(b, inner->getLoc(), inner->getName().getStringRef(), operands, form->second.attributes);
      if (part)
        values.map(inner->getResult(0), part);
      return bool(part);
    }
    bool isRead = inner->getNumResults() == 0 ||
                  llvm::any_of(inner->getResults(), [&](Value result) { return cut.values.contains(result); });
    if (!isRead)
      return true;
    Operation *whole = b.clone(*inner, values);
    if (cut.wholes.contains(inner)) {
      Value part = makePart(b, inner->getLoc(), whole->getResult(0), *cut.values.find(inner->getResult(0))->second,
                            *parts.count.constant(), number);
      values.map(inner->getResult(0), part);
      return bool(part);
    }
    return true;
  }

  OpBuilder &b;
  Operation *op;
  const ControlSharding &cut;
  const ShardCount &parts;
  int64_t number;
  IRMapping values;
};

} // namespace

std::unique_ptr<ControlSharding> controlSharding(Operation *op, ArrayRef<std::optional<DimSharding>> results,
                                                 const ShardCount &parts) {
  auto control = dyn_cast<ControlOpInterface>(op);
  bool hasTensors = llvm::all_of(op->getResultTypes(), [](Type type) { return isa<RankedTensorType>(type); });
  return control && hasTensors ? RegionCutter(control, parts).run(results) : nullptr;
}

Operation *makeControlPart(OpBuilder &b, Operation *op, const ControlSharding &cut, const ShardCount &parts,
                           int64_t number, llvm::function_ref<Value(Value)> valueOf) {
  return PartWriter(b, op, cut, parts, number).run(valueOf);
}

} // namespace hewn::graph

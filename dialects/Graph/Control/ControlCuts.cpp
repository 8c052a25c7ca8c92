// SPDX-License-Identifier: Apache-2.0
//
// From the results on, as through a block of a program (lib/Transforms/Partition/MicroBatches.cpp): what is asked of a result is asked of what
// regions yield, and of that of their ops. A value that a loop carries is the same on all its ways: before the first step, in the
// body, behind each step, as a result. So what is asked of one is asked of all, until nothing new is asked.
#include "dialects/Graph/Control/ControlCuts.h"
#include "dialects/Graph/Collective/Collective.h"
#include "dialects/Graph/Control/Control.h"
#include "dialects/Graph/Graph.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace hewn::graph {

namespace {

class RegionCutter {
public:
  RegionCutter(ControlOpInterface op, const Parts &parts) : op(op), parts(parts), made(new ControlCut()) {}

  std::unique_ptr<ControlCut> run(ArrayRef<std::optional<Cut>> results) {
    made->results.assign(results.begin(), results.end());
    // What nobody asks for, and what only looks at values, is looked at last: it is cut where others ask for that.
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
  void want(Value value, const std::optional<Cut> &cut) {
    auto [known, isNew] = made->values.insert({value, cut});
    hasChanged |= isNew;
    isImpossible |= known->second != cut;
    isImpossible |= cut && (!isa<RankedTensorType>(value.getType()) || cut->dim >= getRank(value) ||
                            !sizeOfPart(getDims(value)[cut->dim], *cut, parts));
  }
  const std::optional<Cut> *find(Value value) const {
    auto known = made->values.find(value);
    return known == made->values.end() ? nullptr : &known->second;
  }

  /// Values that are the same in other places; `all`: asked whole where nobody asks for a part.
  void tie(ArrayRef<Value> values, bool all) {
    std::optional<std::optional<Cut>> wanted;
    for (Value value : values)
      if (const std::optional<Cut> *known = find(value); known && !wanted)
        wanted = *known;
    if (!wanted && all)
      wanted.emplace();
    for (Value value : values)
      if (wanted)
        want(value, *wanted);
  }

  /// A value that lies at an index of the first dim of another one.
  static std::optional<Cut> behindFirst(const std::optional<Cut> &cut) {
    return cut ? std::optional(Cut{cut->dim + 1, cut->blocks}) : std::nullopt;
  }

  void askResults(bool all) {
    for (const CarriedValue &carried : op.getCarriedValues()) {
      std::optional<Cut> &result = made->results[carried.result.getResultNumber()];
      if (result)
        want(carried.next, result);
      tie({carried.next, carried.argument, carried.initial}, all);
      if (const std::optional<Cut> *known = find(carried.argument); known && !result)
        result = *known;
    }
    for (const StackedValue &stacked : op.getStackedValues()) {
      std::optional<Cut> &result = made->results[stacked.result.getResultNumber()];
      isImpossible |= result && result->dim == 0; // its steps
      if (result && result->dim > 0)
        want(stacked.slice, Cut{result->dim - 1, result->blocks});
      tie({stacked.slice}, all);
      if (const std::optional<Cut> *known = find(stacked.slice); known && !result)
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
      if (const std::optional<Cut> *known = find(yielded.front()); known && !result)
        result = *known;
    }
  }

  void askArguments(bool all) {
    for (const SlicedValue &sliced : op.getSlicedValues()) {
      const std::optional<Cut> *known = find(sliced.slice);
      if (known || all)
        want(sliced.sequence, behindFirst(known ? *known : std::nullopt));
    }
    ControlValues values = op.getControlValues();
    for (OpOperand *operand : {values.tripCount, values.condition, values.nextCondition})
      if (operand)
        want(operand->get(), std::nullopt);
  }

  /// How an op in a region makes what is asked of it.
  void ask(Operation *inner, bool all) {
    bool isCut = false, isWhole = inner->getNumResults() == 0;
    SmallVector<std::optional<Cut>> cuts;
    for (Value result : inner->getResults()) {
      const std::optional<Cut> *known = find(result);
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
      std::unique_ptr<ControlCut> form = controlCut(inner, cuts, parts);
      isImpossible |= !form;
      if (!form)
        return;
      for (auto &[value, cut] : form->values)
        if (!isWithin(value, inner))
          want(value, cut);
      made->inner[inner] = std::move(form);
      return;
    }
    std::optional<CutForm> form = inner->getNumResults() == 1 ? cutForm(inner, *cuts[0], parts) : std::nullopt;
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

  /// What ends a run where something is wrong looks at parts where there are some.
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

  /// Whether the value is made in a region of the op.
  static bool isWithin(Value value, Operation *inner) {
    return inner->isAncestor(value.getParentBlock()->getParentOp());
  }

  ControlOpInterface op;
  const Parts &parts;
  std::unique_ptr<ControlCut> made;
  bool hasChanged = false, isImpossible = false;
};

class PartWriter {
public:
  PartWriter(OpBuilder &b, Operation *op, const ControlCut &cut, const Parts &parts, int64_t number)
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
  TensorShape shapeOfPart(Value value, const std::optional<Cut> &form) const {
    TensorShape shape = shapeOf(value);
    return {form ? dimsOfPart(shape.dims, *form, parts) : shape.dims, shape.elementType};
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
  const ControlCut &cut;
  const Parts &parts;
  int64_t number;
  IRMapping values;
};

} // namespace

std::unique_ptr<ControlCut> controlCut(Operation *op, ArrayRef<std::optional<Cut>> results, const Parts &parts) {
  auto control = dyn_cast<ControlOpInterface>(op);
  bool hasTensors = llvm::all_of(op->getResultTypes(), [](Type type) { return isa<RankedTensorType>(type); });
  return control && hasTensors ? RegionCutter(control, parts).run(results) : nullptr;
}

Operation *makeControlPart(OpBuilder &b, Operation *op, const ControlCut &cut, const Parts &parts, int64_t number,
                           llvm::function_ref<Value(Value)> valueOf) {
  return PartWriter(b, op, cut, parts, number).run(valueOf);
}

} // namespace hewn::graph

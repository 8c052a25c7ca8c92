// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Loops/RowElements.h"
#include "lib/Codegen/StorageRounding.h"

using namespace mlir;
using hewn::graph::Index;
using hewn::graph::ReduceOpInterface;

namespace hewn::codegen {

static size_t stateSize(ElementEmitter &e, ReduceOpInterface reduce) { return reduce.identity(e.b, e.loc, 0).size(); }

SmallVector<Value> rowIdentities(ElementEmitter &e, ArrayRef<ReduceOpInterface> reductions) {
  SmallVector<Value> states;
  for (ReduceOpInterface reduce : reductions)
    llvm::append_range(states, reduce.identity(e.b, e.loc, e.lanes));
  return states;
}

/// Returns the linear index, within its row, of the element at `at`, counted in the order of the
/// logical dims.
static Value positionInRow(ElementEmitter &e, const RowProgram &rows, ArrayRef<Index> at) {
  Index linear = e.constant(0);
  for (int64_t d : rows.reduced)
    linear = e.add(e.mul(linear, e.expression(rows.space[d])), at[d]);
  return e.broadcast(e.toElement(linear, e.b.getI64Type()));
}

SmallVector<Value> appendElement(ElementEmitter &e, const RowProgram &rows, ArrayRef<ReduceOpInterface> reductions,
                                 ValueRange states, ArrayRef<Index> at) {
  SmallVector<Value> next;
  for (ReduceOpInterface reduce : reductions) {
    Value operand = reduce->getOperand(0), element = e.read(operand, at);
    // Round the element of a reduction that returns a position (such as argmax) to its storage
    // type: rounding determines which elements are equal, and so which of them is first.
    element = e.broadcast(reduce.usesPosition() ? roundToStorageType(e.b, e.loc, operand, element) : element);
    Value position = reduce.usesPosition() ? positionInRow(e, rows, at) : Value();
    ValueRange own = states.slice(next.size(), stateSize(e, reduce));
    llvm::append_range(next, reduce.append(e.b, e.loc, own, element, position));
  }
  return next;
}

SmallVector<Value> mergeStates(ElementEmitter &e, ArrayRef<ReduceOpInterface> reductions, ValueRange a, ValueRange c) {
  SmallVector<Value> merged;
  for (ReduceOpInterface reduce : reductions) {
    size_t offset = merged.size(), size = stateSize(e, reduce);
    llvm::append_range(merged, reduce.merge(e.b, e.loc, a.slice(offset, size), c.slice(offset, size)));
  }
  return merged;
}

BlockedSum blockedSum(ElementEmitter &e, ArrayRef<ReduceOpInterface> reductions, size_t count) {
  SmallVector<Value> one = rowIdentities(e, reductions), all;
  for (size_t i = 0; i < count; ++i)
    llvm::append_range(all, one);
  auto merge = [&e, reductions, each = one.size()](ValueRange a, ValueRange c) {
    SmallVector<Value> merged;
    for (size_t i = 0; i < a.size(); i += each)
      llvm::append_range(merged, mergeStates(e, reductions, a.slice(i, each), c.slice(i, each)));
    return merged;
  };
  return BlockedSum(e, std::move(all), merge);
}

void bindFinished(ElementEmitter &e, const RowProgram &rows, ArrayRef<ReduceOpInterface> reductions,
                  ValueRange states) {
  graph::Dims reduced = llvm::map_to_vector<4>(rows.reduced, [&](int64_t d) { return rows.space[d]; });
  Value count = e.toElement(e.expression(graph::numElements(reduced)), e.b.getI64Type());
  SmallVector<Value> finished;
  for (ReduceOpInterface reduce : reductions) {
    ValueRange state = states.take_front(stateSize(e, reduce));
    states = states.drop_front(state.size());
    bool vector = isa<VectorType>(state.front().getType());
    finished.push_back(reduce.finish(e.b, e.loc, state, vector ? e.broadcast(count) : count));
  }
  for (auto [op, value] : llvm::zip(reductions, finished)) {
    ReduceOpInterface reduce = op;
    e.bind(reduce->getResult(0), value);
  }
}

void unbindFinished(ElementEmitter &e, const RowProgram &rows) {
  for (const auto &reductions : rows.passes)
    for (ReduceOpInterface reduce : reductions)
      e.unbind(reduce->getResult(0));
}

void writeRowResults(KernelContext &k, ElementEmitter &e, const RowProgram &rows, ArrayRef<Index> at) {
  for (auto [r, result] : llvm::enumerate(k.results)) {
    const graph::SpaceMap::Place &place = rows.places[r];
    if (place.wholeSpace)
      continue;
    SmallVector<Index> where = llvm::map_to_vector(
        place.along, [&](int64_t d) { return d == graph::SpaceMap::kNone ? e.constant(0) : at[d]; });
    e.write(k.outputs[r], where, e.read(result, where));
  }
}

SmallVector<unsigned> resultsAlongRow(const RowProgram &rows) {
  SmallVector<unsigned> list;
  for (auto [r, place] : llvm::enumerate(rows.places))
    if (place.wholeSpace)
      list.push_back(r);
  return list;
}

void writeElements(KernelContext &k, ElementEmitter &e, ArrayRef<unsigned> results, ArrayRef<Index> at) {
  SmallVector<Value> values = llvm::map_to_vector(results, [&](unsigned r) { return e.read(k.results[r], at); });
  for (auto [r, value] : llvm::zip(results, values))
    e.write(k.outputs[r], at, value);
}

} // namespace hewn::codegen

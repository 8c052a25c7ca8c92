// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Loops/LoopEngine.h"
#include "dialects/Graph/Analysis/Layout.h"
#include "lib/Codegen/Loops/PackGroups.h"
#include "lib/Codegen/Loops/RegisterTranspose.h"
#include "lib/Codegen/Loops/RowProgram.h"
#include "lib/Codegen/Loops/Runs.h"
#include "lib/Codegen/Loops/Subviews.h"
#include "lib/Codegen/Tasks.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "hewn-decide-kernels"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn::codegen {

void vectorLoop(KernelElements &e, const DimExpr &extent, llvm::function_ref<void(Index)> body) {
  DimExpr whole = extent.floorDiv(e.lanes) * DimExpr(e.lanes);
  vectorLoop(e, e.constant(0), e.expression(whole), e.expression(extent), body);
}

void vectorLoop(KernelElements &e, Index from, Index whole, Index to, llvm::function_ref<void(Index)> body) {
  OpBuilder &b = e.b;
  std::optional<int64_t> first = getConstantIntValue(from.base), middle = getConstantIntValue(whole.base),
                         last = getConstantIntValue(to.base);
  Value step = e.constant(e.lanes).base;
  e.forget();
  if (!first || middle != first) {
    auto loop = scf::ForOp::create(b, e.loc, from.base, whole.base, step);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(loop.getBody()->getTerminator());
    body({loop.getInductionVar(), 1});
  }
  e.forget();
  if (whole.base == to.base || (middle && middle == last))
    return;
  // The rest, at most one vector: a loop of no or one trip where the extent is known only when run.
  auto rest = [&](Value base) {
    Value count = e.sub(to, {base}).base;
    e.setMask(vector::CreateMaskOp::create(b, e.loc, VectorType::get({e.lanes}, b.getI1Type()), count));
    body({base, 1});
    e.setMask({});
  };
  if (middle && last) {
    rest(whole.base);
  } else {
    auto loop = scf::ForOp::create(b, e.loc, whole.base, to.base, step);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(loop.getBody()->getTerminator());
    rest(loop.getInductionVar());
  }
  e.forget();
}

void vectorsLoop(KernelElements &e, const DimExpr &extent, int64_t most,
                 llvm::function_ref<void(ArrayRef<Index>)> body) {
  auto single = [&](Index one) { body(one); };
  int64_t vectors = extent.constant().value_or(most * e.lanes) / e.lanes;
  int64_t count = most > 0 && vectors > 0 ? vectors / llvm::divideCeil(vectors, most) : 1;
  if (count < 2)
    return vectorLoop(e, extent, single);
  Index step = e.constant(count * e.lanes), length = e.expression(extent), lanes = e.constant(e.lanes);
  Index together = e.mul(e.floorDiv(length, step), step);
  e.forEach(e.constant(0), together, count * e.lanes, [&](Index first) {
    SmallVector<Index> neighbours;
    for (int64_t v = 0; v < count; ++v)
      neighbours.push_back(e.add({first.base, 1}, e.constant(v * e.lanes)));
    body(neighbours);
  });
  vectorLoop(e, together, e.mul(e.floorDiv(length, lanes), lanes), length, single);
}

//===------------------------------------------------------------------------------------------------------------------===//
// Aligned: elementwise chains
//===------------------------------------------------------------------------------------------------------------------===//

namespace {

/// A buffer seen from the iteration space: the distance between neighbours along each of its dims, 0 where it is
/// broadcast.
struct Access {
  Value value;
  const Buffer *buffer;
  Dims strides;
};

struct AlignedNest {
  Dims extents; // outermost first
  SmallVector<Access> reads, writes;
};

/// The nest, where every op is elementwise and every buffer is a full or broadcast image of the results' space.
std::optional<AlignedNest> alignedNest(KernelFunction &k) {
  Block &body = k.kernel.getBody().front();
  for (Operation &op : body.without_terminator())
    if (!isa<graph::ElementwiseOpInterface, graph::ConstantOp>(op)) {
      LDBG() << k.kernel.getName() << " is no aligned nest: " << op.getName() << " is not elementwise";
      return std::nullopt;
    }
  Dims space = graph::getDims(k.results[0]);
  SmallVector<int64_t> order = memoryOrder(k.results[0]);
  AlignedNest nest;
  auto addAccess = [&](Value value, const Buffer &buffer, SmallVector<Access> &into) {
    if (buffer.blockDim >= 0 || buffer.dims.size() > space.size())
      return false;
    Access access{value, &buffer, {}};
    for (int64_t d : order) {
      int64_t own = d - int64_t(space.size() - buffer.dims.size());
      if (own < 0 || (buffer.dims[own].is(1) && !space[d].is(1)))
        access.strides.push_back(DimExpr(0));
      else if (buffer.dims[own] == space[d])
        access.strides.push_back(space[d].is(1) ? DimExpr(0) : buffer.strides[own]);
      else
        return false; // may be broadcast when run
    }
    into.push_back(std::move(access));
    return true;
  };
  for (Value input : body.getArguments())
    if (!addAccess(input, k.inputs.find(input)->second, nest.reads)) {
      LDBG() << k.kernel.getName() << " is no aligned nest: an input is no full or broadcast image of its results";
      return std::nullopt;
    }
  for (auto [result, buffer] : llvm::zip(k.results, k.outputs))
    if (graph::getDims(result) != space || !addAccess(result, buffer, nest.writes)) {
      LDBG() << k.kernel.getName() << " is no aligned nest: its results are not of one space";
      return std::nullopt;
    }
  for (int64_t d : order)
    nest.extents.push_back(space[d]);
  return nest;
}

/// Merges neighbouring dims that lie one after the other in every buffer.
void collapse(AlignedNest &nest) {
  auto all = [&](auto predicate) {
    return llvm::all_of(nest.reads, predicate) && llvm::all_of(nest.writes, predicate);
  };
  auto drop = [&](unsigned d) {
    nest.extents.erase(nest.extents.begin() + d);
    for (auto *list : {&nest.reads, &nest.writes})
      for (Access &access : *list)
        access.strides.erase(access.strides.begin() + d);
  };
  for (unsigned d = nest.extents.size(); d-- > 0;)
    if (nest.extents[d].is(1) && nest.extents.size() > 1)
      drop(d);
  for (unsigned d = nest.extents.size(); d-- > 1;) {
    bool joins = all([&](const Access &a) { return a.strides[d - 1] == a.strides[d] * nest.extents[d]; });
    if (!joins)
      continue;
    nest.extents[d] = nest.extents[d] * nest.extents[d - 1];
    drop(d - 1);
  }
}

/// The nest transposed, where that saves gathers: in vectors along the dim in which what is gathered lies innermost.
std::optional<RegisterTranspose> alignedTranspose(const AlignedNest &nest, int64_t lanes) {
  unsigned line = nest.extents.size() - 1;
  auto gathers = [&](unsigned d) {
    return llvm::count_if(nest.reads, [&](const Access &a) { return !a.strides[d].is(0) && !a.strides[d].is(1); });
  };
  for (unsigned d = 0; d < line; ++d) {
    if (gathers(d) >= gathers(line))
      continue;
    std::optional<RegisterTranspose> transpose = planTranspose(d, line, nest.extents, nest.writes[0].strides, lanes);
    if (transpose && llvm::all_of(nest.writes, [&](const Access &a) { return a.strides[line].is(1); }))
      return transpose;
  }
  return std::nullopt;
}

/// Elements in a task of a long run: some microseconds.
constexpr int64_t kChunk = 8192;

void emitAligned(KernelFunction &k, OpBuilder &b, AlignedNest nest) {
  collapse(nest);
  if (nest.extents.empty())
    nest.extents.push_back(DimExpr(1)), llvm::for_each(nest.reads, [](Access &a) { a.strides.push_back(DimExpr(0)); }),
        llvm::for_each(nest.writes, [](Access &a) { a.strides.push_back(DimExpr(0)); });
  bool scalar = nest.extents.back().is(1);
  KernelElements e(b, k.loc(), scalar ? 0 : vectorLanes(k.kernel), k.symbols, k.inputs);
  auto flat = [](const Access &access, Dims extents) { // the buffer over the collapsed dims
    Buffer buffer{access.buffer->memref, access.buffer->elementType, std::move(extents), access.strides};
    return buffer;
  };
  auto valuesAt = [&](ArrayRef<Index> at) {
    for (const Access &access : nest.reads)
      e.bind(access.value, e.load(flat(access, nest.extents), at));
    e.forget();
    return llvm::map_to_vector(nest.writes, [&](const Access &access) {
      SmallVector<Index> anywhere(graph::getRank(access.value), e.constant(0)); // leaves are bound: no index matters
      return e.read(access.value, anywhere);
    });
  };
  auto store = [&](unsigned i, ArrayRef<Index> at, Value value) {
    e.write(flat(nest.writes[i], nest.extents), at, value);
  };
  auto element = [&](ArrayRef<Index> at) {
    for (auto [i, value] : llvm::enumerate(valuesAt(at)))
      store(i, at, value);
  };
  DimExpr work =
      vectorWork(graph::numElements(nest.extents), e.lanes, 8 + 2 * llvm::range_size(k.kernel.getBody().front()));
  Dims counts(ArrayRef(nest.extents).drop_back());
  if (std::optional<RegisterTranspose> transpose = scalar ? std::nullopt : alignedTranspose(nest, e.lanes)) {
    counts[transpose->lane] = transposeTiles(*transpose, nest.extents);
    return overTasks(k, e, counts, work, [&](ArrayRef<Index> outer) {
      SmallVector<Index> at(outer);
      at.push_back({});
      transposedLoop(e, *transpose, nest.extents, at, outer[transpose->lane], valuesAt, store);
    });
  }
  // Long runs fall into chunks that are tasks: whole vectors, the rest with the last one.
  const DimExpr extent = nest.extents.back();
  bool cut = !scalar && extent.constant().value_or(2 * kChunk) >= 2 * kChunk;
  counts.push_back(cut ? extent.ceilDiv(kChunk) : DimExpr(1));
  overTasks(k, e, counts, work, [&](ArrayRef<Index> outer) {
    SmallVector<Index> at(outer);
    at.back() = e.constant(0);
    auto inner = [&](Index index) {
      at.back() = index;
      element(at);
    };
    if (scalar) {
      element(at);
    } else if (!cut) {
      vectorLoop(e, extent, inner);
    } else {
      Index from = e.mul(outer.back(), e.constant(kChunk)), length = e.expression(extent);
      Index to = e.min(e.add(from, e.constant(kChunk)), length);
      Index whole = e.min(to, e.mul(e.floorDiv(length, e.constant(e.lanes)), e.constant(e.lanes)));
      vectorLoop(e, from, whole, extent.mod(e.lanes).is(0) ? whole : to, inner);
    }
  });
}

//===------------------------------------------------------------------------------------------------------------------===//
// Map: any element where it is needed
//===------------------------------------------------------------------------------------------------------------------===//

/// The dim that is spread over lanes: the innermost in memory that is longer than 1, or a longer one outside of it
/// where it fills less than half a vector (a transposed image of three channels).
int64_t laneDim(ArrayRef<DimExpr> dims, ArrayRef<int64_t> order, int64_t lanes) {
  int64_t innermost = -1, longest = -1;
  for (int64_t d : llvm::reverse(order)) {
    if (dims[d].is(1))
      continue;
    if (innermost < 0)
      innermost = d;
    if (longest < 0 && dims[d].constant().value_or(lanes) >= lanes)
      longest = d;
  }
  if (innermost >= 0 && longest >= 0 && dims[innermost].constant().value_or(lanes) * 2 <= lanes)
    return longest;
  return innermost;
}

/// The dim in which most operands that have the results' rank lie innermost, or -1. What is the same along the results' lines is not
/// asked: it is a scalar there.
int64_t operandsLaneDim(KernelFunction &k, size_t rank, int64_t line) {
  SmallVector<int64_t> votes(rank);
  for (Value input : k.kernel.getBody().getArguments()) {
    SmallVector<int64_t> order = graph::significantOrder(cast<RankedTensorType>(input.getType()));
    if (graph::getRank(input) == int64_t(rank) && llvm::is_contained(order, line))
      ++votes[order.back()];
  }
  auto most = llvm::max_element(votes);
  return most == votes.end() || *most == 0 ? -1 : most - votes.begin();
}

/// The nest transposed, where the results' lines are shorter than vectors, so that these are along `lane`, or where operands lie along
/// another dim; not for code that is long.
std::optional<RegisterTranspose> mapTranspose(KernelFunction &k, ArrayRef<unsigned> results, const Subview *subview,
                                              const Dims &dims, int64_t lane, int64_t lanes) {
  constexpr int64_t mostOps = 64;
  const Buffer &output = k.outputs[results[0]];
  auto alike = [&](unsigned r) { return k.outputs[r].strides == output.strides; };
  if (lane < 0 || !llvm::all_of(results, alike)) {
    LDBG() << k.kernel.getName() << " is not transposed: it has no lanes, or its results lie otherwise";
    return std::nullopt;
  }
  Dims strides = output.strides;
  if (subview)
    for (auto [stride, step] : llvm::zip(strides, subview->assembly.steps))
      stride = stride * DimExpr(step);
  int64_t line = graph::significantOrder(cast<RankedTensorType>(k.results[results[0]].getType())).back();
  int64_t along = lane != line ? lane : operandsLaneDim(k, dims.size(), line);
  std::optional<RegisterTranspose> transpose =
      along < 0 ? std::nullopt : planTranspose(along, line, dims, strides, lanes);
  int64_t ops = llvm::range_size(k.kernel.getBody().front());
  if (!transpose || transpose->count * ops <= mostOps)
    return transpose;
  LDBG() << k.kernel.getName() << " is not transposed: " << transpose->count << " times its " << ops
         << " ops are too long";
  return std::nullopt;
}

/// How much arithmetic of their own lanes' places take where the loops are in `nest`'s order, as those of resampled lines and of borders
/// do: `values` is written down, looked at and taken back.
unsigned arithmeticOfPlaces(KernelElements &e, unsigned rank, int64_t lane,
                            llvm::function_ref<void(ArrayRef<Index>)> values) {
  Trial trial(e.b, e.loc);
  SmallVector<Index> at(rank, trial.anyIndex());
  at[lane].stride = 1;
  values(at);
  e.forget();
  unsigned found = 0;
  for (Operation &op : trial.ops())
    if (auto type = dyn_cast<VectorType>(op.getNumResults() ? op.getResult(0).getType() : Type()))
      found += type.getElementType().isIndex() && op.getNumOperands() > 1;
  return found;
}

/// How many ops on vectors depend on the index along each dim.
SmallVector<unsigned> opsAlong(KernelElements &e, unsigned rank, int64_t lane,
                               llvm::function_ref<void(ArrayRef<Index>)> values) {
  Trial trial(e.b, e.loc);
  SmallVector<Index> at;
  for (unsigned d = 0; d < rank; ++d)
    at.push_back(trial.anyIndex());
  at[lane].stride = 1;
  values(at);
  e.forget();
  SmallVector<unsigned> found;
  for (const Index &index : at) {
    llvm::DenseSet<Value> along = {index.base};
    unsigned &count = found.emplace_back();
    for (Operation &op : trial.ops()) {
      if (llvm::none_of(op.getOperands(), [&](Value operand) { return along.contains(operand); }))
        continue;
      along.insert(op.result_begin(), op.result_end());
      count += op.getNumResults() && isa<VectorType>(op.getResult(0).getType());
    }
  }
  return found;
}

/// The loop along lanes, its first and last step apart: code that knows where it is need not ask about borders.
void stripsOf(KernelElements &e, const DimExpr &extent, llvm::function_ref<void(Index)> body) {
  std::optional<int64_t> length = extent.constant();
  if (!length || *length < 3 * e.lanes)
    return vectorLoop(e, extent, body);
  e.forget();
  body({e.constant(0).base, 1});
  int64_t last = (*length - 1) / e.lanes * e.lanes;
  Index middle = e.constant(last);
  vectorLoop(e, e.constant(e.lanes), middle, middle, body);
  if (*length % e.lanes == 0)
    body({middle.base, 1});
  else
    vectorLoop(e, middle, middle, e.constant(*length), body);
  e.forget();
}

DimExpr mapWork(ArrayRef<DimExpr> dims, int64_t lanes) { return vectorWork(graph::numElements(dims), lanes, 32); }

/// Which indices of a dim a task has.
struct Share {
  int64_t dim;
  Index begin, end;
};

/// The nest over `extents`, of which dim number i is `dims[i]`, for a share of what is there: where the shared dim is not walked step by step, or not the
/// first one, all of it is of the task that has the beginning.
void nestOfShare(KernelElements &e, ArrayRef<DimExpr> extents, ArrayRef<int64_t> dims, const DimExpr &whole,
                 const Share &share, llvm::function_ref<void(ArrayRef<Index>)> body) {
  auto nest = [&](ArrayRef<Index> outer) {
    e.loopNest(extents.drop_front(outer.size()), {}, 1, [&](ArrayRef<Index> inner, ValueRange) {
      SmallVector<Index> at(outer);
      at.append(inner.begin(), inner.end());
      body(at);
      return SmallVector<Value>();
    });
  };
  size_t place = llvm::find(dims, share.dim) - dims.begin();
  bool isFirst = llvm::all_of(extents.take_front(place), [](const DimExpr &extent) { return extent.is(1); });
  if (place < dims.size() && isFirst && extents[place] == whole)
    return e.forEach(share.begin, share.end, 1, [&](Index line) {
      SmallVector<Index> outer(place, e.constant(0));
      outer.push_back(line);
      nest(outer);
    });
  e.branch(e.compare(arith::CmpIPredicate::eq, share.begin, e.constant(0)), [&] { nest({}); }, [] {});
}

/// A nest over results of the same dims, or over one subview of them, whose first index is `start`; `share`: of a task.
void emitMap(KernelFunction &k, OpBuilder &b, ArrayRef<unsigned> results, bool alone, const Subview *subview,
             Index start = {}, const Share *share = nullptr) {
  Value first = k.results[results[0]];
  Dims dims = graph::getDims(first);
  if (subview)
    dims = subview->dims;
  SmallVector<int64_t> order = memoryOrder(first);
  int64_t lanes = vectorLanes(k.kernel), lane = laneDim(dims, order, lanes);
  std::optional<RegisterTranspose> transpose = mapTranspose(k, results, subview, dims, lane, lanes);
  if (transpose)
    lane = transpose->lane;
  KernelElements e(b, k.loc(), lane < 0 ? 0 : lanes, k.symbols, k.inputs);
  if (subview) {
    graph::MoveOpInterface op = subview->op;
    e.setSubview(op, {subview->operand, start});
  }
  Dims outer;
  SmallVector<int64_t> outerDims;
  for (int64_t d : order)
    if (d != lane && !(transpose && d == transpose->line)) {
      outerDims.push_back(d);
      outer.push_back(dims[d]);
    }
  if (transpose)
    outer.push_back(transposeTiles(*transpose, dims));
  auto placeOf = [&](ArrayRef<Index> at) { return subview ? subview->placeOf(e, at, start) : SmallVector<Index>(at); };
  auto valuesAt = [&](ArrayRef<Index> at) {
    return llvm::map_to_vector(results, [&](unsigned r) { return e.read(k.results[r], placeOf(at)); });
  };
  auto store = [&](unsigned i, ArrayRef<Index> at, Value value) { e.write(k.outputs[results[i]], placeOf(at), value); };
  // Where lanes' places take arithmetic it is done for some lines at once: strips of vectors, down the lines.
  // Little of it is done for each line: memory is written faster from end to end.
  constexpr unsigned little = 4, much = 8;
  const unsigned places = transpose || lane < 0 || outerDims.empty()
                              ? 0
                              : arithmeticOfPlaces(e, dims.size(), lane, [&](ArrayRef<Index> at) { valuesAt(at); });
  bool strips = places >= little;
  int64_t linesOfStrip = places >= much ? 8 : 1;
  if (!transpose && lane >= 0 && outerDims.size() > 1) {
    // Down another dim, along which more stays as it is: samples of all channels are taken at one place.
    SmallVector<unsigned> ops = opsAlong(e, dims.size(), lane, [&](ArrayRef<Index> at) { valuesAt(at); });
    size_t best = outerDims.size() - 1;
    for (size_t i = 0; i < outerDims.size(); ++i)
      if (!outer[i].is(1) && ops[outerDims[i]] + much < ops[outerDims[best]])
        best = i;
    if (best + 1 < outerDims.size()) {
      outer.push_back(outer[best]);
      outer.erase(outer.begin() + best);
      outerDims.push_back(outerDims[best]);
      outerDims.erase(outerDims.begin() + best);
      strips = true;
      linesOfStrip = 16;
    }
  }
  if (strips)
    outer.back() = outer.back().ceilDiv(linesOfStrip);
  auto nest = [&](ArrayRef<Index> indices) {
    SmallVector<Index> at(dims.size());
    for (auto [d, index] : llvm::zip_first(outerDims, indices))
      at[d] = index;
    auto element = [&] {
      for (auto [i, value] : llvm::enumerate(valuesAt(at)))
        store(i, at, value);
    };
    if (strips) {
      int64_t down = outerDims.back();
      Index lines = e.expression(dims[down]), from = e.constant(0), to = lines;
      if (!outer.back().is(1)) {
        from = e.mul(at[down], e.constant(linesOfStrip));
        to = linesOfStrip == 1 ? to : e.min(e.add(from, e.constant(linesOfStrip)), lines);
      }
      return stripsOf(e, dims[lane], [&](Index inner) {
        at[lane] = inner;
        if (linesOfStrip == 1) {
          at[down] = from;
          return element();
        }
        e.forEach(from, to, 1, [&](Index line) {
          at[down] = line;
          element();
        });
      });
    }
    if (transpose)
      return transposedLoop(e, *transpose, dims, at, indices.back(), valuesAt, store);
    if (lane < 0)
      return element();
    vectorLoop(e, dims[lane], [&](Index inner) {
      at[lane] = inner;
      element();
    });
  };
  if (alone)
    return overTasks(k, e, outer, mapWork(dims, lane < 0 ? 1 : lanes), nest);
  if (share)
    return nestOfShare(e, outer, outerDims, dims[share->dim], *share, nest);
  e.loopNest(outer, {}, 1, [&](ArrayRef<Index> indices, ValueRange) -> SmallVector<Value> {
    nest(indices);
    return {};
  });
}

//===------------------------------------------------------------------------------------------------------------------===//
// Running sums
//===------------------------------------------------------------------------------------------------------------------===//

/// Running sums alone in their kernel: a sweep along their dim for each vector of neighbours, or each line where they run along lines.
void emitCumulate(KernelFunction &k, OpBuilder &b, graph::CumulateOpInterface op) {
  Value result = op->getResult(0), operand = op->getOperand(0);
  Dims dims = graph::getDims(result);
  int64_t dim = op.getCumulatedDim(), lane = -1;
  SmallVector<int64_t> outerDims;
  for (int64_t d : memoryOrder(result))
    if (!dims[d].is(1) || d == dim) {
      lane = d;
      outerDims.push_back(d);
    }
  lane = lane == dim ? -1 : lane;
  llvm::erase_if(outerDims, [&](int64_t d) { return d == dim || d == lane; });
  Dims outer = llvm::map_to_vector<8>(outerDims, [&](int64_t d) { return dims[d]; });
  KernelElements e(b, k.loc(), lane < 0 ? 0 : vectorLanes(k.kernel), k.symbols, k.inputs);
  SmallVector<Index> at(dims.size(), e.constant(0));
  // Some vectors of neighbours together, so that lines of the cache are used whole.
  auto sweep = [&](ArrayRef<Index> neighbours) {
    Index length = e.expression(dims[dim]);
    SmallVector<Value> one = op.initial(b, k.loc(), e.lanes), all;
    for (size_t v = 0; v < neighbours.size(); ++v)
      llvm::append_range(all, one);
    e.loopNest({dims[dim]}, all, 1, [&](ArrayRef<Index> inner, ValueRange carried) {
      SmallVector<Value> next;
      at[dim] = op.runsBackward() ? e.sub(e.sub(length, e.constant(1)), inner[0]) : inner[0];
      for (auto [v, index] : llvm::enumerate(neighbours)) {
        if (lane >= 0)
          at[lane] = index;
        SmallVector<Value> state(carried.slice(v * one.size(), one.size()));
        Value element = e.read(operand, at), out = op.step(b, k.loc(), state, e.lanes ? e.broadcast(element) : element);
        e.write(k.outputs[0], at, out);
        llvm::append_range(next, state);
      }
      return next;
    });
  };
  DimExpr work = vectorWork(graph::numElements(dims), std::max<int64_t>(e.lanes, 1), 8);
  overTasks(k, e, outer, work, [&](ArrayRef<Index> indices) {
    for (auto [d, index] : llvm::zip(outerDims, indices))
      at[d] = index;
    if (lane < 0)
      return sweep({e.constant(0)});
    vectorsLoop(e, dims[lane], 8, sweep);
  });
}

} // namespace

SmallVector<SmallVector<unsigned>> resultsOfEqualDims(const KernelFunction &k) {
  SmallVector<SmallVector<unsigned>> groups;
  for (auto [i, result] : llvm::enumerate(k.results)) {
    auto *group = llvm::find_if(
        groups, [&](ArrayRef<unsigned> g) { return graph::getDims(k.results[g[0]]) == graph::getDims(result); });
    if (group == groups.end())
      groups.push_back({unsigned(i)});
    else
      group->push_back(i);
  }
  return groups;
}

graph::CumulateOpInterface onlyCumulates(KernelFunction &k) {
  return k.results.size() == 1 ? k.results[0].getDefiningOp<graph::CumulateOpInterface>() : nullptr;
}

plan::LoopsAttr chooseLoops(KernelFunction &k) {
  auto of = [&](plan::LoopForm form) { return plan::LoopsAttr::get(k.kernel.getContext(), form); };
  if (alignedNest(k))
    return of(plan::LoopForm::Elements);
  Found<RowProgram> rows = planRows(k);
  if (rows)
    return of(plan::LoopForm::Rows);
  missedReductions(k, rows.why());
  return of(onlyCumulates(k) ? plan::LoopForm::Cumulate : plan::LoopForm::Map);
}

/// Whether each subview is one element along the result's innermost dim, and they are fewer than a vector has lanes: written one subview after the
/// other they would be strided stores, together they are transposed in registers.
static bool makeShortLines(KernelFunction &k, unsigned result, ArrayRef<Subview> subviews) {
  Value whole = k.results[result];
  Dims dims = graph::getDims(whole);
  int64_t lanes = vectorLanes(k.kernel), count = subviews.size();
  SmallVector<int64_t> order = graph::significantOrder(cast<RankedTensorType>(whole.getType()));
  auto isElement = [&](const Subview &subview) {
    return !subview.assembly.isInterleaved() && subview.dims[subview.assembly.dim].is(1);
  };
  return !order.empty() && count > 0 && count < lanes && llvm::all_of(subviews, isElement) &&
         subviews[0].assembly.dim == order.back() &&
         mapTranspose(k, {result}, nullptr, dims, laneDim(dims, memoryOrder(whole), lanes), lanes);
}

/// The first dim in memory's order that has neighbours, where all subviews have all of it; -1: there is none.
static int64_t sharedDim(Value result, ArrayRef<Subview> subviews) {
  Dims dims = graph::getDims(result);
  for (int64_t d : memoryOrder(result))
    if (!dims[d].is(1))
      return llvm::all_of(subviews, [&](const Subview &subview) { return subview.dims[d] == dims[d]; }) ? d : -1;
  return -1;
}

/// The result by a nest for each subview, of which tasks have lines.
static void emitSubviews(KernelFunction &k, OpBuilder &b, unsigned result, ArrayRef<Subview> subviews) {
  Value whole = k.results[result];
  bool inFunctions = haveFunctions(k, subviews);
  auto all = [&](const Share *share) {
    if (inFunctions) {
      SmallVector<Index> bounds;
      if (share)
        bounds = {share->begin, share->end};
      callEachSubview(k, b, subviews, bounds,
                      [&](KernelFunction &in, const Subview &subview, Index start, ArrayRef<Index> bounds) {
                        std::optional<Share> own;
                        if (share)
                          own = Share{share->dim, bounds[0], bounds[1]};
                        emitMap(in, b, {result}, /*alone=*/false, &subview, start, own ? &*own : nullptr);
                      });
      return;
    }
    forEachSubview(k, b, subviews, [&](const Subview &subview, Index start) {
      emitMap(k, b, {result}, /*alone=*/false, &subview, start, share);
    });
  };
  bool isKnown = llvm::all_of(subviews, [](const Subview &subview) {
    return subview.assembly.isInterleaved() || subview.dims[subview.assembly.dim].constant();
  });
  // Functions of sizes known only when run have no tasks.
  int64_t dim = k.results.size() == 1 && (isKnown || !inFunctions) ? sharedDim(whole, subviews) : -1;
  if (dim < 0)
    return all(nullptr);
  KernelElements e(b, k.loc(), /*lanes=*/0, k.symbols, k.inputs);
  Dims dims = graph::getDims(whole);
  overRanges(k, e, dims[dim], mapWork(dims, vectorLanes(k.kernel)), [&](Index begin, Index end) {
    Share share{dim, begin, end};
    all(&share);
  });
}

/// Each result, or each subview of it, by a nest of its own.
static void emitMaps(KernelFunction &k, OpBuilder &b) {
  for (const auto &together : resultsOfEqualDims(k)) {
    SmallVector<Subview> subviews;
    if (together.size() == 1) // in functions of their own there may be any number of them
      subviews = k.nested ? subviewsOf(k.results[together[0]]) : subviewsOf(k.results[together[0]], SIZE_MAX);
    if (makeShortLines(k, together[0], subviews))
      subviews.clear();
    if (!subviews.empty())
      emitSubviews(k, b, together[0], subviews);
    bool alone = together.size() == k.results.size();
    std::optional<Runs> runs;
    if (alone && together.size() == 1 && subviews.empty())
      runs = planRuns(k, b, together[0]);
    int64_t lanes = vectorLanes(k.kernel);
    if (runs) {
      emitRuns(k, b, together[0], *runs);
    } else if (subviews.empty()) {
      if (std::optional<GroupPacking> packing = planGroups(k, lanes))
        emitGroups(k, b, *packing, lanes);
      else
        emitMap(k, b, together, alone, nullptr);
    }
  }
}

LogicalResult emitLoops(KernelFunction &k, OpBuilder &b, plan::LoopsAttr schedule) {
  bool fits = true;
  StringRef why;
  if (schedule.getForm() == plan::LoopForm::Elements) {
    std::optional<AlignedNest> nest = alignedNest(k);
    fits = nest.has_value();
    if (nest)
      emitAligned(k, b, std::move(*nest));
  } else if (schedule.getForm() == plan::LoopForm::Rows) {
    Found<RowProgram> rows = planRows(k);
    fits = bool(rows);
    why = rows.why();
    if (rows)
      emitRows(k, b, *rows);
  } else if (schedule.getForm() == plan::LoopForm::Cumulate) {
    graph::CumulateOpInterface sums = onlyCumulates(k);
    fits = bool(sums);
    if (sums)
      emitCumulate(k, b, sums);
  } else {
    emitMaps(k, b);
  }
  if (!fits)
    return refuse(k, schedule) << ", and is no kernel of this form" << (why.empty() ? "" : ": ") << why;
  return success();
}

} // namespace hewn::codegen

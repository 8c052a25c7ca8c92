// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Loops/LoopEngine.h"
#include "dialects/Graph/Analysis/Layout.h"
#include "lib/Codegen/BlockedSum.h"
#include "lib/Codegen/Loops/ContiguousCopies.h"
#include "lib/Codegen/Loops/PackGroups.h"
#include "lib/Codegen/Loops/RegisterTranspose.h"
#include "lib/Codegen/Loops/RowProgram.h"
#include "lib/Codegen/Loops/Subviews.h"
#include "lib/Codegen/Tasks.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "hewn-assign-schedules"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn::codegen {

void vectorLoop(ElementEmitter &e, const DimExpr &extent, llvm::function_ref<void(Index)> body) {
  DimExpr whole = extent.floorDiv(e.lanes) * DimExpr(e.lanes);
  vectorLoop(e, e.constant(0), e.expression(whole), e.expression(extent), body);
}

void vectorLoop(ElementEmitter &e, Index from, Index whole, Index to, llvm::function_ref<void(Index)> body) {
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
  // The tail of a vector loop is at most one masked vector. For a dynamic extent, the tail is
  // emitted as a loop with at most one iteration.
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

void vectorsLoop(ElementEmitter &e, const DimExpr &extent, int64_t most,
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
// Elements: elementwise ops over equal or broadcast dims
//===------------------------------------------------------------------------------------------------------------------===//

namespace {

/// How a nest accesses a buffer: the stride along each dim of the nest, which is 0 for broadcast
/// dims.
struct Access {
  Value value;
  const Buffer *buffer;
  Dims strides;
};

struct AlignedNest {
  Dims extents; // outermost first
  SmallVector<Access> reads, writes;
};

/// Returns the kernel as a nest if all ops are elementwise, and if every buffer has the results'
/// dims or is broadcast to them. Returns nullopt otherwise.
std::optional<AlignedNest> alignedNest(KernelContext &k) {
  Block &body = k.kernel.getBody().front();
  for (Operation &op : body.without_terminator())
    if (!isa<graph::ElementwiseOpInterface, graph::ConstantOp>(op)) {
      LDBG() << k.kernel.getName() << " has no elementwise nest: " << op.getName() << " is not elementwise";
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
        return false; // sizes known at run time determine whether the buffer is broadcast
    }
    into.push_back(std::move(access));
    return true;
  };
  for (Value input : body.getArguments())
    if (!addAccess(input, k.inputs.find(input)->second, nest.reads)) {
      LDBG() << k.kernel.getName() << " has no elementwise nest: an input does not broadcast to the results' dims";
      return std::nullopt;
    }
  for (auto [result, buffer] : llvm::zip(k.results, k.outputs))
    if (graph::getDims(result) != space || !addAccess(result, buffer, nest.writes)) {
      LDBG() << k.kernel.getName() << " has no elementwise nest: its results have different dims";
      return std::nullopt;
    }
  for (int64_t d : order)
    nest.extents.push_back(space[d]);
  return nest;
}

/// Collapses adjacent dims of the nest that are contiguous in every buffer.
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

/// Returns an in-register transpose of the nest if this saves gathers. Vectors are then loaded
/// along the dim that is innermost in the operands that would be gathered.
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

/// Number of elements of a long row that a task computes, which takes some microseconds.
constexpr int64_t kChunk = 8192;

void emitAligned(KernelContext &k, OpBuilder &b, AlignedNest nest) {
  collapse(nest);
  if (nest.extents.empty())
    nest.extents.push_back(DimExpr(1)), llvm::for_each(nest.reads, [](Access &a) { a.strides.push_back(DimExpr(0)); }),
        llvm::for_each(nest.writes, [](Access &a) { a.strides.push_back(DimExpr(0)); });
  bool scalar = nest.extents.back().is(1);
  ElementEmitter e(b, k.loc(), scalar ? 0 : vectorLanes(k.kernel), k.symbols, k.inputs);
  // a view of the buffer with the collapsed dims
  auto flat = [](const Access &access, Dims extents) {
    Buffer buffer{access.buffer->memref, access.buffer->elementType, std::move(extents), access.strides};
    return buffer;
  };
  auto valuesAt = [&](ArrayRef<Index> at) {
    for (const Access &access : nest.reads)
      e.bind(access.value, e.load(flat(access, nest.extents), at));
    e.forget();
    return llvm::map_to_vector(nest.writes, [&](const Access &access) {
      // `read` does not use its index, because all inputs of the nest are bound
      SmallVector<Index> anywhere(graph::getRank(access.value), e.constant(0));
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
  // Long rows are split into tasks of full vectors. The last task also computes the masked tail.
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
// Map: each element of the result evaluated on its own
//===------------------------------------------------------------------------------------------------------------------===//

/// Returns the dim to vectorize: the innermost dim in memory that is longer than 1. If that dim
/// fills at most half a vector (as in a transposed image with three channels), returns an outer dim
/// that fills a vector. Returns -1 if all dims are 1.
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

/// Returns the dim that is innermost in most operands that have the results' rank, or -1. Operands
/// that are constant along `line`, the results' innermost dim, do not count, because they are
/// loaded as scalars.
int64_t innermostOperandDim(KernelContext &k, size_t rank, int64_t line) {
  SmallVector<int64_t> votes(rank);
  for (Value input : k.kernel.getBody().getArguments()) {
    SmallVector<int64_t> order = graph::significantOrder(cast<RankedTensorType>(input.getType()));
    if (graph::getRank(input) == int64_t(rank) && llvm::is_contained(order, line))
      ++votes[order.back()];
  }
  auto most = llvm::max_element(votes);
  return most == votes.end() || *most == 0 ? -1 : most - votes.begin();
}

/// Plans an in-register transpose for two cases: the results' contiguous rows are shorter than a
/// vector, so that the vectorized dim `lane` is another dim; or most operands have another
/// innermost dim than the results. Returns nullopt in other cases, or if the unrolled code would be
/// too long.
std::optional<RegisterTranspose> mapTranspose(KernelContext &k, ArrayRef<unsigned> results, const Subview *subview,
                                              const Dims &dims, int64_t lane, int64_t lanes) {
  constexpr int64_t mostOps = 64;
  const Buffer &output = k.outputs[results[0]];
  auto alike = [&](unsigned r) { return k.outputs[r].strides == output.strides; };
  if (lane < 0 || !llvm::all_of(results, alike)) {
    LDBG() << k.kernel.getName() << " is not transposed: no dim is vectorized, or its results have different layouts";
    return std::nullopt;
  }
  Dims strides = output.strides;
  if (subview)
    for (auto [stride, step] : llvm::zip(strides, subview->assembly.steps))
      stride = stride * DimExpr(step);
  int64_t line = graph::significantOrder(cast<RankedTensorType>(k.results[results[0]].getType())).back();
  int64_t along = lane != line ? lane : innermostOperandDim(k, dims.size(), line);
  std::optional<RegisterTranspose> transpose =
      along < 0 ? std::nullopt : planTranspose(along, line, dims, strides, lanes);
  int64_t ops = llvm::range_size(k.kernel.getBody().front());
  if (!transpose || transpose->count * ops <= mostOps)
    return transpose;
  LDBG() << k.kernel.getName() << " is not transposed: " << transpose->count << " copies of its " << ops
         << " ops exceed the limit";
  return std::nullopt;
}

/// Returns how many vector ops compute the indices for one vector of results, as in resampling and
/// padding. Emits `values` as scratch code to count the ops.
unsigned countIndexOps(ElementEmitter &e, unsigned rank, int64_t lane,
                       llvm::function_ref<void(ArrayRef<Index>)> values) {
  ScratchEmission scratch(e.b, e.loc);
  SmallVector<Index> at(rank, scratch.anyIndex());
  at[lane].stride = 1;
  values(at);
  e.forget();
  unsigned found = 0;
  for (Operation &op : scratch.ops())
    if (auto type = dyn_cast<VectorType>(op.getNumResults() ? op.getResult(0).getType() : Type()))
      found += type.getElementType().isIndex() && op.getNumOperands() > 1;
  return found;
}

/// Returns, for each dim of a map, the number of vector ops that depend on the index of that dim.
SmallVector<unsigned> countOpsPerDim(ElementEmitter &e, unsigned rank, int64_t lane,
                                     llvm::function_ref<void(ArrayRef<Index>)> values) {
  ScratchEmission scratch(e.b, e.loc);
  SmallVector<Index> at;
  for (unsigned d = 0; d < rank; ++d)
    at.push_back(scratch.anyIndex());
  at[lane].stride = 1;
  values(at);
  e.forget();
  SmallVector<unsigned> found;
  for (const Index &index : at) {
    llvm::DenseSet<Value> along = {index.base};
    unsigned &count = found.emplace_back();
    for (Operation &op : scratch.ops()) {
      if (llvm::none_of(op.getOperands(), [&](Value operand) { return along.contains(operand); }))
        continue;
      along.insert(op.result_begin(), op.result_end());
      count += op.getNumResults() && isa<VectorType>(op.getResult(0).getType());
    }
  }
  return found;
}

/// Emits the loop over the vectorized dim with its first and last iteration peeled. Bounds checks
/// then fold to constants in the peeled iterations and in the loop.
void stripLoop(ElementEmitter &e, const DimExpr &extent, llvm::function_ref<void(Index)> body) {
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

/// The range of indices of dim `dim` that a task computes.
struct Share {
  int64_t dim;
  Index begin, end;
};

/// Emits a nest with the trip counts `extents`, which correspond to the dims `dims`, restricted to
/// the share of a task. If the shared dim is the outermost loop and has one iteration per index,
/// that loop covers the share. Otherwise, the task whose share begins at 0 executes all of the
/// nest.
void nestOfShare(ElementEmitter &e, ArrayRef<DimExpr> extents, ArrayRef<int64_t> dims, const DimExpr &whole,
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

/// Returns the indexing ops of the kernel that are copies for some values of dynamic dims.
SmallVector<Operation *> possibleCopies(KernelContext &k) {
  auto isMultiple = [](const DimExpr &x, const DimExpr &y) {
    std::optional<DimExpr> factor = x.divideExactly(y);
    return factor && factor->constant();
  };
  auto neverEqual = [&](const DimExpr &x, const DimExpr &y) {
    return x != y && ((x.constant() && y.constant()) || isMultiple(x, y) || isMultiple(y, x));
  };
  SmallVector<Operation *> copies;
  for (Operation &op : k.kernel.getBody().front().without_terminator())
    if (auto move = dyn_cast<graph::IndexingOpInterface>(op); move && move.getCopiesEqualDims()) {
      Dims from = graph::getDims(op.getOperand(0)), to = graph::getDims(op.getResult(0));
      if (llvm::none_of(llvm::zip(from, to), [&](auto pair) { return std::apply(neverEqual, pair); }))
        copies.push_back(&op);
    }
  return copies;
}

/// Emits `body` twice if `copies` has ops: if these ops are copies for the sizes of a run, and for
/// other sizes.
void emitVersions(ElementEmitter &e, ArrayRef<Operation *> copies, llvm::function_ref<void()> body) {
  if (copies.empty())
    return body();
  Value areCopies;
  for (Operation *op : copies)
    for (auto [from, to] : llvm::zip(graph::getDims(op->getOperand(0)), graph::getDims(op->getResult(0))))
      if (from != to)
        areCopies = e.logicalAnd(areCopies, e.compare(arith::CmpIPredicate::eq, e.expression(from), e.expression(to)));
  if (!areCopies)
    return body();
  auto copy = [&] {
    e.assumeCopies(copies);
    body();
    e.assumeCopies({});
  };
  e.branch(areCopies, copy, body);
}

/// Emits a nest over results that have the same dims, or over one subview of a result that begins
/// at index `start`. If `alone` is true, the nest is the entire kernel and forms its tasks. If the
/// caller has formed tasks, `share` is the range of the current task.
void emitMap(KernelContext &k, OpBuilder &b, ArrayRef<unsigned> results, bool alone, const Subview *subview,
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
  ElementEmitter e(b, k.loc(), lane < 0 ? 0 : lanes, k.symbols, k.inputs);
  if (subview) {
    graph::IndexingOpInterface op = subview->op;
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
  // If the indices of a vector's lanes need many vector ops, hoist these ops out of a loop over
  // rows: the nest then consists of strips that are one vector wide, and iterates down the rows of
  // a strip. If they need few ops, a strip has a single row, since writing memory sequentially is
  // faster.
  constexpr unsigned little = 4, much = 8;
  const unsigned places = transpose || lane < 0 || outerDims.empty()
                              ? 0
                              : countIndexOps(e, dims.size(), lane, [&](ArrayRef<Index> at) { valuesAt(at); });
  bool strips = places >= little;
  int64_t linesOfStrip = places >= much ? 8 : 1;
  if (!transpose && lane >= 0 && outerDims.size() > 1) {
    // Iterate down the dim on whose index the fewest vector ops depend, so that the other ops are
    // hoisted. For example, resampling then computes its indices once for all channels.
    SmallVector<unsigned> ops = countOpsPerDim(e, dims.size(), lane, [&](ArrayRef<Index> at) { valuesAt(at); });
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
      return stripLoop(e, dims[lane], [&](Index inner) {
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
  // a copy pays where the indices of a vector's lanes need several vector ops
  SmallVector<Operation *> copies = strips ? possibleCopies(k) : SmallVector<Operation *>();
  auto versions = [&](ArrayRef<Index> indices) { emitVersions(e, copies, [&] { nest(indices); }); };
  if (alone)
    return overTasks(k, e, outer, mapWork(dims, lane < 0 ? 1 : lanes), versions);
  if (share)
    return nestOfShare(e, outer, outerDims, dims[share->dim], *share, versions);
  e.loopNest(outer, {}, 1, [&](ArrayRef<Index> indices, ValueRange) -> SmallVector<Value> {
    versions(indices);
    return {};
  });
}

//===------------------------------------------------------------------------------------------------------------------===//
// Prefix scans
//===------------------------------------------------------------------------------------------------------------------===//

/// Emits a step of a prefix scan in blocks: `before` is the state after the previous blocks, and
/// `state` that of the elements of this block, which is replaced. Returns the output element.
Value scanStep(ElementEmitter &e, graph::PrefixScanOpInterface op, std::optional<ValueRange> before,
               SmallVectorImpl<Value> &state, Value element) {
  if (!before)
    return op.step(e.b, e.loc, state, element);
  SmallVector<Value> whole = op.join(e.b, e.loc, *before, state);
  (void)op.step(e.b, e.loc, state, element);
  return op.step(e.b, e.loc, whole, element);
}

/// Emits a kernel that is a single prefix scan: one loop along the scanned dim for each vector of
/// the innermost dim. If the innermost dim is scanned, the loops are scalar, one for each row.
void emitCumulate(KernelContext &k, OpBuilder &b, graph::PrefixScanOpInterface op) {
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
  ElementEmitter e(b, k.loc(), lane < 0 ? 0 : vectorLanes(k.kernel), k.symbols, k.inputs);
  SmallVector<Index> at(dims.size(), e.constant(0));
  // Scan several adjacent vectors in one loop, so that all bytes of a cache line are used.
  auto sweep = [&](ArrayRef<Index> neighbours) {
    Index length = e.expression(dims[dim]);
    SmallVector<Value> one = op.initial(b, k.loc(), e.lanes), all;
    for (size_t v = 0; v < neighbours.size(); ++v)
      llvm::append_range(all, one);
    auto steps = [&](Index position, ValueRange before, ValueRange carried) {
      SmallVector<Value> next;
      at[dim] = op.runsBackward() ? e.sub(e.sub(length, e.constant(1)), position) : position;
      for (auto [v, index] : llvm::enumerate(neighbours)) {
        if (lane >= 0)
          at[lane] = index;
        auto own = [&](ValueRange states) { return states.slice(v * one.size(), one.size()); };
        SmallVector<Value> state(own(carried));
        Value element = e.read(operand, at);
        element = e.lanes ? e.broadcast(element) : element;
        std::optional<ValueRange> earlier;
        if (!before.empty())
          earlier = own(before);
        e.write(k.outputs[0], at, scanStep(e, op, earlier, state, element));
        llvm::append_range(next, state);
      }
      return next;
    };
    auto join = [&](ValueRange earlier, ValueRange later) {
      SmallVector<Value> joined;
      for (size_t i = 0; i < later.size(); i += one.size())
        llvm::append_range(joined, op.join(b, k.loc(), earlier.slice(i, one.size()), later.slice(i, one.size())));
      return joined;
    };
    BlockedSum(e, all, join).scan(dims[dim], all, steps);
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

SmallVector<SmallVector<unsigned>> resultsOfEqualDims(const KernelContext &k) {
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

graph::PrefixScanOpInterface onlyCumulates(KernelContext &k) {
  return k.results.size() == 1 ? k.results[0].getDefiningOp<graph::PrefixScanOpInterface>() : nullptr;
}

plan::LoopsAttr chooseLoops(KernelContext &k) {
  auto of = [&](plan::LoopForm form) { return plan::LoopsAttr::get(k.kernel.getContext(), form); };
  if (alignedNest(k))
    return of(plan::LoopForm::Elements);
  OrReason<RowProgram> rows = planRows(k);
  if (rows)
    return of(plan::LoopForm::Rows);
  missedReductions(k, rows.why());
  return of(onlyCumulates(k) ? plan::LoopForm::Cumulate : plan::LoopForm::Map);
}

/// Returns true if each subview is one index of the result's innermost dim and there are fewer
/// subviews than lanes. Separate nests for the subviews would have strided stores; a single nest
/// over the result can transpose in registers instead.
static bool areShortRows(KernelContext &k, unsigned result, ArrayRef<Subview> subviews) {
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

/// Returns the dim that tasks can split: the outermost dim in memory order that is longer than 1,
/// if every subview has the full extent of that dim. Returns -1 otherwise.
static int64_t sharedDim(Value result, ArrayRef<Subview> subviews) {
  Dims dims = graph::getDims(result);
  for (int64_t d : memoryOrder(result))
    if (!dims[d].is(1))
      return llvm::all_of(subviews, [&](const Subview &subview) { return subview.dims[d] == dims[d]; }) ? d : -1;
  return -1;
}

/// Emits a nest for each subview of the result. Tasks split a dim that all subviews have in full.
static void emitSubviews(KernelContext &k, OpBuilder &b, unsigned result, ArrayRef<Subview> subviews) {
  Value whole = k.results[result];
  bool inFunctions = haveFunctions(k, subviews);
  auto all = [&](const Share *share) {
    if (inFunctions) {
      SmallVector<Index> bounds;
      if (share)
        bounds = {share->begin, share->end};
      callEachSubview(k, b, subviews, bounds,
                      [&](KernelContext &in, const Subview &subview, Index start, ArrayRef<Index> bounds) {
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
  // If a result's subviews (operands of a concat) have dynamic sizes and each is computed by a
  // separate function, the kernel is not split into tasks: one call computes all subviews.
  int64_t dim = k.results.size() == 1 && (isKnown || !inFunctions) ? sharedDim(whole, subviews) : -1;
  if (dim < 0)
    return all(nullptr);
  ElementEmitter e(b, k.loc(), /*lanes=*/0, k.symbols, k.inputs);
  Dims dims = graph::getDims(whole);
  overRanges(k, e, dims[dim], mapWork(dims, vectorLanes(k.kernel)), [&](Index begin, Index end) {
    Share share{dim, begin, end};
    all(&share);
  });
}

/// Emits one nest for each group of results with equal dims, or for each subview of a result.
static void emitMaps(KernelContext &k, OpBuilder &b) {
  for (const auto &together : resultsOfEqualDims(k)) {
    SmallVector<Subview> subviews;
    if (together.size() == 1) // any number of subviews, as each may be a separate function
      subviews = k.nested ? subviewsOf(k.results[together[0]]) : subviewsOf(k.results[together[0]], SIZE_MAX);
    if (areShortRows(k, together[0], subviews))
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

LogicalResult emitLoops(KernelContext &k, OpBuilder &b, plan::LoopsAttr schedule) {
  bool fits = true;
  StringRef why;
  if (schedule.getForm() == plan::LoopForm::Elements) {
    std::optional<AlignedNest> nest = alignedNest(k);
    fits = nest.has_value();
    if (nest)
      emitAligned(k, b, std::move(*nest));
  } else if (schedule.getForm() == plan::LoopForm::Rows) {
    OrReason<RowProgram> rows = planRows(k);
    fits = bool(rows);
    why = rows.why();
    if (rows)
      emitRows(k, b, *rows);
  } else if (schedule.getForm() == plan::LoopForm::Cumulate) {
    graph::PrefixScanOpInterface sums = onlyCumulates(k);
    fits = bool(sums);
    if (sums)
      emitCumulate(k, b, sums);
  } else {
    emitMaps(k, b);
  }
  if (!fits)
    return refuse(k, schedule) << ", but the kernel does not have this form" << (why.empty() ? "" : ": ") << why;
  return success();
}

} // namespace hewn::codegen

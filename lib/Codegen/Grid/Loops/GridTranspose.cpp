// SPDX-License-Identifier: Apache-2.0
//
// Transpositions on a grid: maps that read a leaf along another dim than they write. A block takes a tile of both dims. Its threads
// bring the leaf's elements to shared memory as neighbours lie there, and take them as neighbours lie in the result; lines are one
// element longer than the tile, so that the elements of a column fall into different banks.
#include "lib/Codegen/Grid/Grid.h"
#include "lib/Codegen/Grid/GridEngine.h"
#include "lib/Codegen/Grid/Loops/GridLoops.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn::codegen {

namespace {

/// Notes at which places leaves are read.
class Reads : public KernelElements {
public:
  using KernelElements::KernelElements;
  llvm::DenseMap<Value, SmallVector<Index>> places;
  bool once = true; // each leaf at one place, whatever its elements are
  Value read(Value tensor, ArrayRef<Index> at) override {
    if (buffers.contains(tensor)) {
      auto [known, isNew] = places.try_emplace(tensor, at.begin(), at.end());
      for (auto [x, y] : llvm::zip(known->second, at))
        once &= x.base == y.base;
    }
    return KernelElements::read(tensor, at);
  }
  Value readIf(Value inside, Value tensor, ArrayRef<Index> at, Value fill) override {
    once = false;
    return KernelElements::readIf(inside, tensor, at, fill);
  }
};

/// A leaf whose neighbours are not the result's: which of the result's dims each of its dims is.
struct Turned {
  Value leaf;
  SmallVector<std::optional<unsigned>> dims; // nullopt: index 0
};

struct Transposition {
  GridTransposeDims dims;
  Turned turned;
};

/// What is read of `leaf` where the result is made at `at`, by dims; nullopt where that is something else.
std::optional<Turned> follow(Value leaf, ArrayRef<Index> places, ArrayRef<Index> at, const Buffer &buffer) {
  Turned turned{leaf, {}};
  for (auto [d, place] : llvm::enumerate(places)) {
    auto *found = llvm::find_if(at, [&](const Index &index) { return index.base == place.base; });
    if (found != at.end())
      turned.dims.push_back(unsigned(found - at.begin()));
    else if (buffer.dims[d].is(1))
      turned.dims.push_back(std::nullopt);
    else
      return std::nullopt;
  }
  return turned;
}

/// The dim in which a buffer's neighbours lie.
std::optional<unsigned> innermost(const Buffer &buffer) {
  for (auto [d, stride] : llvm::enumerate(buffer.strides))
    if (!buffer.dims[d].is(1) && stride.is(1))
      return unsigned(d);
  return std::nullopt;
}

/// The kernel as such a map of one leaf; what is tried out is erased.
Found<Transposition> findTransposition(KernelFunction &k, OpBuilder &b) {
  if (k.results.size() != 1 || k.outputs[0].blockDim >= 0 || k.outputs[0].groupDim >= 0)
    return Verdict::no("it has several results, or one that lies in blocks");
  for (Operation &op : k.kernel.getBody().front().without_terminator())
    if (!isa<graph::ElementwiseOpInterface, graph::MoveOpInterface, graph::ConstantOp>(op))
      return Verdict::no("it sums, or computes more than elements");
  Dims dims = graph::getDims(k.results[0]);
  std::optional<unsigned> along = innermost(k.outputs[0]);
  if (!along)
    return Verdict::no("its result has no neighbours in memory");
  Trial trial(b, k.loc());
  Reads reads(b, k.loc(), /*lanes=*/0, k.symbols, k.inputs);
  SmallVector<Index> at;
  for (size_t d = 0; d < dims.size(); ++d)
    at.push_back(trial.anyIndex());
  reads.read(k.results[0], at);
  std::optional<Transposition> found;
  unsigned turns = 0;
  for (auto &[leaf, places] : reads.places) {
    const Buffer &buffer = k.inputs.find(leaf)->second;
    std::optional<unsigned> inner = innermost(buffer);
    std::optional<Turned> turned = follow(leaf, places, at, buffer);
    // (One that is the same all along the result's neighbours is read once for them.)
    if (!turned || !inner || buffer.blockDim >= 0 || buffer.groupDim >= 0 || turned->dims[*inner] == along ||
        !llvm::is_contained(turned->dims, along))
      continue;
    ++turns;
    if (turned->dims[*inner])
      found = Transposition{{*along, *turned->dims[*inner]}, *turned};
  }
  if (turns == 0)
    return Verdict::no("neighbours of all that it reads are neighbours of its result");
  if (!found || turns > 1)
    return Verdict::no("it reads several tensors along another dim than it writes, or one at places that are computed");
  if (!reads.once)
    return Verdict::no("it reads a tensor at several places, or only where that is inside");
  return *found;
}

} // namespace

Found<GridTransposeDims> transposedDims(KernelFunction &k, OpBuilder &b) {
  Found<Transposition> found = findTransposition(k, b);
  return found ? Found(found->dims) : Verdict::no(found.why());
}

LogicalResult emitGridTranspose(KernelFunction &k, OpBuilder &b, plan::GridTransposeAttr schedule) {
  Found<Transposition> found = findTransposition(k, b);
  if (!found)
    return refuse(k, schedule) << ": " << found.why();
  const auto [along, across] = found->dims;
  const int64_t side = schedule.getTile(), lines = schedule.getThreads() / side;
  KernelElements e(b, k.loc(), /*lanes=*/0, k.symbols, k.inputs);
  Grid grid(k, e, schedule.getThreads());
  const Turned &turned = found->turned;
  const Buffer &from = k.inputs.find(turned.leaf)->second;
  Type type = graph::computeType(graph::getElementType(turned.leaf));
  Value tile = grid.shared(side * (side + 1), type);
  Dims dims = graph::getDims(k.results[0]);
  Index size = e.constant(side), line = e.constant(side + 1);
  Index fast = e.mod({grid.thread}, size), slow = e.floorDiv({grid.thread}, size);
  // Tiles of the two dims, in the order in which the others are.
  Dims counts(dims);
  for (unsigned d : {along, across})
    counts[d] = counts[d].ceilDiv(side);
  auto each = [&](ArrayRef<Index> first, bool brings, llvm::function_ref<void(ArrayRef<Index>, Index)> body) {
    for (int64_t step = 0; step < side; step += lines) {
      Index other = e.add(slow, e.constant(step));
      Index inAcross = brings ? fast : other, inAlong = brings ? other : fast;
      SmallVector<Index> at(first);
      at[across] = e.add(at[across], inAcross);
      at[along] = e.add(at[along], inAlong);
      Value inside = e.logicalAnd(e.compare(arith::CmpIPredicate::slt, at[across], e.expression(dims[across])),
                                  e.compare(arith::CmpIPredicate::slt, at[along], e.expression(dims[along])));
      e.forget();
      auto branch = scf::IfOp::create(b, k.loc(), inside, /*withElseRegion=*/false);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(branch.thenBlock()->getTerminator());
      body(at, e.add(e.mul(inAlong, line), inAcross));
      e.forget();
    }
  };
  grid.overBlocks(graph::numElements(counts), [&](Index item) {
    SmallVector<Index> first = e.unravel(item, counts);
    for (unsigned d : {along, across})
      first[d] = e.mul(first[d], size);
    each(first, /*brings=*/true, [&](ArrayRef<Index> at, Index place) {
      SmallVector<Index> own;
      for (std::optional<unsigned> d : turned.dims)
        own.push_back(d ? at[*d] : e.constant(0));
      grid.storeShared(e.load(from, own), tile, place.base);
    });
    grid.barrier();
    each(first, /*brings=*/false, [&](ArrayRef<Index> at, Index place) {
      e.bind(turned.leaf, grid.loadShared(type, tile, place.base));
      e.write(k.outputs[0], at, e.read(k.results[0], at));
      e.unbind(turned.leaf);
    });
    grid.barrier(); // before the next tile comes
  });
  return success();
}

} // namespace hewn::codegen

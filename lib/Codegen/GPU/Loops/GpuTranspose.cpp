// SPDX-License-Identifier: Apache-2.0
//
// GPU transposes: maps whose input and result are contiguous along different dims. A block
// processes a tile of these two dims. Its threads load the input into shared memory in the input's
// order and read it in the result's order. Rows of the tile are padded by one element, so that the
// elements of a column are in different banks.
#include "lib/Codegen/GPU/GpuBuilder.h"
#include "lib/Codegen/GPU/GpuEngine.h"
#include "lib/Codegen/GPU/Loops/GpuLoops.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn::codegen {

namespace {

/// An emitter that records the indices at which inputs are read.
class Reads : public ElementEmitter {
public:
  using ElementEmitter::ElementEmitter;
  llvm::DenseMap<Value, SmallVector<Index>> places;
  bool once = true; // true if each input is read at one index, unconditionally
  Value read(Value tensor, ArrayRef<Index> at) override {
    if (buffers.contains(tensor)) {
      auto [known, isNew] = places.try_emplace(tensor, at.begin(), at.end());
      for (auto [x, y] : llvm::zip(known->second, at))
        once &= x.base == y.base;
    }
    return ElementEmitter::read(tensor, at);
  }
  Value readIf(Value inside, Value tensor, ArrayRef<Index> at, Value fill) override {
    once = false;
    return ElementEmitter::readIf(inside, tensor, at, fill);
  }
};

/// A transposed input, and the dim of the result that indexes each of its dims.
struct Turned {
  Value leaf;
  SmallVector<std::optional<unsigned>> dims; // nullopt if the index is always 0
};

struct Transposition {
  GpuTransposeDims dims;
  Turned turned;
};

/// Finds the result dim that indexes each dim of `leaf`: compares the indices `places`, at which
/// `leaf` is read, with the result's indices `at`. Returns nullopt if an index of `leaf` is none of
/// these.
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

/// Returns the contiguous dim of a buffer.
std::optional<unsigned> innermost(const Buffer &buffer) {
  for (auto [d, stride] : llvm::enumerate(buffer.strides))
    if (!buffer.dims[d].is(1) && stride.is(1))
      return unsigned(d);
  return std::nullopt;
}

/// Returns the kernel as a transpose of one input, or the reason why it is none. The analysis emits
/// scratch code and erases it.
OrReason<Transposition> findTransposition(KernelContext &k, OpBuilder &b) {
  if (k.results.size() != 1 || k.outputs[0].blockDim >= 0 || k.outputs[0].groupDim >= 0)
    return Eligibility::no("it has several results, or one with a blocked layout");
  for (Operation &op : k.kernel.getBody().front().without_terminator())
    if (!isa<graph::ElementwiseOpInterface, graph::IndexingOpInterface, graph::ConstantOp>(op))
      return Eligibility::no("it has ops other than elementwise and indexing ops");
  Dims dims = graph::getDims(k.results[0]);
  std::optional<unsigned> along = innermost(k.outputs[0]);
  if (!along)
    return Eligibility::no("its result has no contiguous dim");
  ScratchEmission trial(b, k.loc());
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
    // An input that is not indexed by the result's contiguous dim needs no tile: one element is
    // read for all indices of that dim.
    if (!turned || !inner || buffer.blockDim >= 0 || buffer.groupDim >= 0 || turned->dims[*inner] == along ||
        !llvm::is_contained(turned->dims, along))
      continue;
    ++turns;
    if (turned->dims[*inner])
      found = Transposition{{*along, *turned->dims[*inner]}, *turned};
  }
  if (turns == 0)
    return Eligibility::no("no input is contiguous along another dim than the result");
  if (!found || turns > 1)
    return Eligibility::no("it transposes several inputs, or reads the transposed input at computed indices");
  if (!reads.once)
    return Eligibility::no("it reads an input at several indices or conditionally");
  return *found;
}

} // namespace

OrReason<GpuTransposeDims> transposedDims(KernelContext &k, OpBuilder &b) {
  OrReason<Transposition> found = findTransposition(k, b);
  return found ? OrReason(found->dims) : Eligibility::no(found.why());
}

LogicalResult emitGpuTranspose(KernelContext &k, OpBuilder &b, plan::GpuTransposeAttr schedule) {
  OrReason<Transposition> found = findTransposition(k, b);
  if (!found)
    return refuse(k, schedule) << ": " << found.why();
  const auto [along, across] = found->dims;
  const int64_t side = schedule.getTile(), lines = schedule.getThreads() / side;
  ElementEmitter e(b, k.loc(), /*lanes=*/0, k.symbols, k.inputs);
  GpuBuilder gpu(k, e, schedule.getThreads());
  const Turned &turned = found->turned;
  const Buffer &from = k.inputs.find(turned.leaf)->second;
  Type type = graph::computeType(graph::getElementType(turned.leaf));
  Value tile = gpu.shared(side * (side + 1), type);
  Dims dims = graph::getDims(k.results[0]);
  Index size = e.constant(side), line = e.constant(side + 1);
  Index fast = e.mod({gpu.thread}, size), slow = e.floorDiv({gpu.thread}, size);
  // Extents of the loops over tiles: the number of tiles along the two transposed dims, and the
  // full extent of the other dims.
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
  gpu.overBlocks(graph::numElements(counts), [&](Index item) {
    SmallVector<Index> first = e.unravel(item, counts);
    for (unsigned d : {along, across})
      first[d] = e.mul(first[d], size);
    each(first, /*brings=*/true, [&](ArrayRef<Index> at, Index place) {
      SmallVector<Index> own;
      for (std::optional<unsigned> d : turned.dims)
        own.push_back(d ? at[*d] : e.constant(0));
      gpu.storeShared(e.load(from, own), tile, place.base);
    });
    gpu.barrier();
    each(first, /*brings=*/false, [&](ArrayRef<Index> at, Index place) {
      e.bind(turned.leaf, gpu.loadShared(type, tile, place.base));
      e.write(k.outputs[0], at, e.read(k.results[0], at));
      e.unbind(turned.leaf);
    });
    gpu.barrier(); // all threads have read the tile before the next one overwrites it
  });
  return success();
}

} // namespace hewn::codegen

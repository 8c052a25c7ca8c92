// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Grid/Loops/GridVectors.h"
#include "dialects/Graph/Builders/Facts.h"
#include "lib/Codegen/Grid/Loops/GridWide.h"
#include "lib/Codegen/Loops/Subviews.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/MathExtras.h"

#define DEBUG_TYPE "hewn-decide-kernels"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn::codegen {

namespace {

/// Elements that are read in whole vectors, or one for all lanes: `whole` says whether all so far were.
class VectorElements : public KernelElements {
public:
  using KernelElements::KernelElements;
  bool whole = true;

  Value read(Value tensor, ArrayRef<Index> at) override {
    auto found = buffers.find(tensor);
    if (found == buffers.end() || tensor.getDefiningOp())
      return KernelElements::read(tensor, at);
    bool isOne = llvm::all_of(at, [](const Index &index) { return index.uniform(); });
    whole &= isOne || liesWhole(found->second, at);
    if (!whole) // of no use, and so nothing that costs time
      return broadcast(constantElement(found->second.elementType, 0));
    Value element = KernelElements::read(tensor, at);
    if (!isOne)
      alignLoad(b);
    return element;
  }
  Value readIf(Value inside, Value tensor, ArrayRef<Index> at, Value fill) override {
    whole &= !isa<VectorType>(inside.getType());
    return whole ? KernelElements::readIf(inside, tensor, at, fill) : broadcast(fill);
  }
  /// Whether lanes from `at` on lie side by side in the buffer, at a multiple of a vector's size of at most GridWide::kBytes.
  bool liesWhole(const Buffer &buffer, ArrayRef<Index> at) const {
    int64_t bytes = vectorBytes(buffer.elementType);
    bool lies = bytes > 0 && bytes * lanes <= GridWide::kBytes && isEven(buffer);
    unsigned along = 0;
    for (auto [d, index] : llvm::enumerate(at)) {
      if (buffer.dims[d].is(1))
        continue;
      if (index.uniform()) {
        lies &= buffer.strides[d].divideExactly(DimExpr(lanes)).has_value();
        continue;
      }
      ++along;
      lies &= !index.general && index.stride == 1 && buffer.strides[d].is(1);
      lies &= graph::factorOf(index.base) % lanes == 0;
    }
    return lies && along == 1;
  }
};

/// One of the subviews that a result is put together of, or all of it (null).
struct Part {
  const Subview *subview;
  Index start;
  Dims dims;
};

void forEachPart(KernelFunction &k, OpBuilder &b, ArrayRef<unsigned> together,
                 llvm::function_ref<void(const Part &)> body) {
  Value first = k.results[together[0]];
  SmallVector<Subview> subviews = together.size() == 1 ? subviewsOf(first) : SmallVector<Subview>();
  forEachSubview(k, b, subviews, [&](const Subview &subview, Index start) { body({&subview, start, subview.dims}); });
  if (subviews.empty())
    body({nullptr, {}, graph::getDims(first)});
}

/// Dims in memory's order up to the innermost one that has neighbours, along which vectors lie; empty: there is none.
SmallVector<int64_t> orderOf(KernelFunction &k, ArrayRef<unsigned> together) {
  Value first = k.results[together[0]];
  Dims dims = graph::getDims(first);
  SmallVector<int64_t> order = memoryOrder(first);
  while (!order.empty() && dims[order.back()].is(1))
    order.pop_back();
  return order;
}

/// The results' vectors at `at`, which is the part's own place; fails where something is not read or written in whole vectors.
LogicalResult emitVectors(KernelFunction &k, OpBuilder &b, ArrayRef<unsigned> together, const Part &part,
                          ArrayRef<Index> at, int64_t lanes) {
  VectorElements e(b, k.loc(), lanes, k.symbols, k.inputs);
  SmallVector<Index> place(at);
  if (part.subview) {
    graph::MoveOpInterface op = part.subview->op;
    e.setSubview(op, {part.subview->operand, part.start});
    place = part.subview->placeOf(e, at, part.start);
  }
  bool lie = llvm::all_of(together, [&](unsigned r) { return e.liesWhole(k.outputs[r], place); });
  SmallVector<Value> values;
  for (unsigned r : lie ? together : ArrayRef<unsigned>())
    values.push_back(e.read(k.results[r], place));
  for (auto [value, r] : llvm::zip(values, together)) { // none, or as many
    e.write(k.outputs[r], place, value);
    auto store = cast<vector::StoreOp>(*std::prev(b.getInsertionPoint()));
    store.setAlignment(lanes * store.getVectorType().getElementTypeBitWidth() / 8);
  }
  return success(lie && e.whole);
}

/// Whether vectors have the op on a grid.
bool isOfVectors(Operation *op) {
  return isa<vector::LoadOp, vector::StoreOp, vector::BroadcastOp, memref::LoadOp>(op) ||
         isa<arith::ArithDialect, scf::SCFDialect>(op->getDialect());
}

} // namespace

bool makesVectors(KernelFunction &k, OpBuilder &b, ArrayRef<unsigned> together, int64_t lanes) {
  StringRef obstacle; // for who debugs a schedule
  SmallVector<int64_t> order = orderOf(k, together);
  if (!llvm::isPowerOf2_64(uint64_t(lanes)) || lanes < 2 || order.empty())
    obstacle = "no vectors of several elements";
  for (Operation &op : k.kernel.getBody().front().without_terminator())
    if (!isa<graph::ElementwiseOpInterface, graph::MoveOpInterface, graph::ReduceOpInterface, graph::ConstantOp>(op))
      obstacle = "it sums products, or along a dim";
  Trial trial(b, k.loc());
  forEachPart(k, b, together, [&](const Part &part) {
    if (!obstacle.empty())
      return;
    if (!part.dims[order.back()].divideExactly(DimExpr(lanes))) {
      obstacle = "lines are no whole vectors";
      return;
    }
    KernelElements e(b, k.loc(), /*lanes=*/0, k.symbols, k.inputs);
    SmallVector<Index> at;
    for (const DimExpr &dim : part.dims)
      at.push_back(dim.is(1) ? e.constant(0) : trial.anyIndex());
    Index &along = at[order.back()];
    along = e.mul(along, e.constant(lanes));
    along.stride = 1;
    if (failed(emitVectors(k, b, together, part, at, lanes)))
      obstacle = "neighbours of a result are not made of neighbours that begin at multiples of a vector";
  });
  for (Operation &op : trial.ops())
    op.walk([&](Operation *inner) {
      if (obstacle.empty() && !isOfVectors(inner) && !isa<UnrealizedConversionCastOp>(inner))
        obstacle = "it computes what vectors have no instruction for";
    });
  LDBG() << k.kernel.getName() << ", " << lanes << " neighbours at once: " << (obstacle.empty() ? "yes" : obstacle);
  return obstacle.empty();
}

LogicalResult emitVectorMap(KernelFunction &k, Grid &grid, OpBuilder &b, ArrayRef<unsigned> together, int64_t lanes) {
  SmallVector<int64_t> order = orderOf(k, together);
  bool all = true;
  forEachPart(k, b, together, [&](const Part &part) {
    KernelElements e(b, k.loc(), /*lanes=*/0, k.symbols, k.inputs);
    Dims counts = llvm::map_to_vector<4>(order, [&](int64_t d) { return part.dims[d]; });
    counts.back() = counts.back().floorDiv(lanes);
    grid.overThreads(counts, [&](ArrayRef<Index> indices) {
      SmallVector<Index> at(part.dims.size(), e.constant(0));
      for (auto [d, index] : llvm::zip(order, indices))
        at[d] = index;
      Index &along = at[order.back()];
      along = e.mul(along, e.constant(lanes));
      along.stride = 1;
      all &= succeeded(emitVectors(k, b, together, part, at, lanes));
    });
  });
  return success(all);
}

} // namespace hewn::codegen

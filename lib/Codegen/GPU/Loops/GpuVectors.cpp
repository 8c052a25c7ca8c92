// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/GPU/Loops/GpuVectors.h"
#include "dialects/Graph/Builders/Facts.h"
#include "lib/Codegen/GPU/Loops/GpuWide.h"
#include "lib/Codegen/Loops/Subviews.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/MathExtras.h"

#define DEBUG_TYPE "hewn-assign-schedules"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn::codegen {

namespace {

/// An emitter of vectors that checks its accesses. Inputs must be read as full aligned vectors, or
/// as one element for all lanes; `whole` is true as long as all inputs have been.
class VectorElements : public ElementEmitter {
public:
  using ElementEmitter::ElementEmitter;
  bool whole = true;

  Value read(Value tensor, ArrayRef<Index> at) override {
    auto found = buffers.find(tensor);
    if (found == buffers.end() || tensor.getDefiningOp())
      return ElementEmitter::read(tensor, at);
    bool isOne = llvm::all_of(at, [](const Index &index) { return index.uniform(); });
    whole &= isOne || liesWhole(found->second, at);
    if (!whole) // the caller discards the code, so emit as little as possible
      return broadcast(constantElement(found->second.elementType, 0));
    Value element = ElementEmitter::read(tensor, at);
    if (!isOne)
      alignLoad(b);
    return element;
  }
  Value readIf(Value inside, Value tensor, ArrayRef<Index> at, Value fill) override {
    whole &= !isa<VectorType>(inside.getType());
    return whole ? ElementEmitter::readIf(inside, tensor, at, fill) : broadcast(fill);
  }
  /// Returns true if the lanes at index `at` are contiguous in the buffer and aligned to the size
  /// of the vector, which is at most GpuWide::kBytes.
  bool liesWhole(const Buffer &buffer, ArrayRef<Index> at) const {
    int64_t bytes = vectorBytes(buffer.elementType);
    bool lies = bytes > 0 && bytes * lanes <= GpuWide::kBytes && isEven(buffer);
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

/// A part of the results that one nest computes: a subview of a result, or all of the results if
/// `subview` is null.
struct Part {
  const Subview *subview;
  Index start;
  Dims dims;
};

void forEachPart(KernelContext &k, OpBuilder &b, ArrayRef<unsigned> together,
                 llvm::function_ref<void(const Part &)> body) {
  Value first = k.results[together[0]];
  SmallVector<Subview> subviews = together.size() == 1 ? subviewsOf(first) : SmallVector<Subview>();
  forEachSubview(k, b, subviews, [&](const Subview &subview, Index start) { body({&subview, start, subview.dims}); });
  if (subviews.empty())
    body({nullptr, {}, graph::getDims(first)});
}

/// Returns the results' dims in memory order, without innermost dims of size 1. Vectors are along
/// the last one of these. Returns an empty list if all dims are 1.
SmallVector<int64_t> orderOf(KernelContext &k, ArrayRef<unsigned> together) {
  Value first = k.results[together[0]];
  Dims dims = graph::getDims(first);
  SmallVector<int64_t> order = memoryOrder(first);
  while (!order.empty() && dims[order.back()].is(1))
    order.pop_back();
  return order;
}

/// Emits one vector of each result at `at`, an index in `part`. Fails if an input or result cannot
/// be accessed as full vectors.
LogicalResult emitVectors(KernelContext &k, OpBuilder &b, ArrayRef<unsigned> together, const Part &part,
                          ArrayRef<Index> at, int64_t lanes) {
  VectorElements e(b, k.loc(), lanes, k.symbols, k.inputs);
  SmallVector<Index> place(at);
  if (part.subview) {
    graph::IndexingOpInterface op = part.subview->op;
    e.setSubview(op, {part.subview->operand, part.start});
    place = part.subview->placeOf(e, at, part.start);
  }
  bool lie = llvm::all_of(together, [&](unsigned r) { return e.liesWhole(k.outputs[r], place); });
  SmallVector<Value> values;
  for (unsigned r : lie ? together : ArrayRef<unsigned>())
    values.push_back(e.read(k.results[r], place));
  // `values` is empty, or has one vector per result
  for (auto [value, r] : llvm::zip(values, together)) {
    e.write(k.outputs[r], place, value);
    auto store = cast<vector::StoreOp>(*std::prev(b.getInsertionPoint()));
    store.setAlignment(lanes * store.getVectorType().getElementTypeBitWidth() / 8);
  }
  return success(lie && e.whole);
}

/// Returns true if GPU code generation supports the op on vectors.
bool isOfVectors(Operation *op) {
  return isa<vector::LoadOp, vector::StoreOp, vector::BroadcastOp, memref::LoadOp>(op) ||
         isa<arith::ArithDialect, scf::SCFDialect>(op->getDialect());
}

} // namespace

bool makesVectors(KernelContext &k, OpBuilder &b, ArrayRef<unsigned> together, int64_t lanes) {
  StringRef obstacle; // reason, for debug output
  SmallVector<int64_t> order = orderOf(k, together);
  if (!llvm::isPowerOf2_64(uint64_t(lanes)) || lanes < 2 || order.empty())
    obstacle = "no vectors of several elements";
  for (Operation &op : k.kernel.getBody().front().without_terminator())
    if (!isa<graph::ElementwiseOpInterface, graph::IndexingOpInterface, graph::ReduceOpInterface, graph::ConstantOp>(
            op))
      obstacle = "it has a contraction or prefix scan";
  ScratchEmission trial(b, k.loc());
  forEachPart(k, b, together, [&](const Part &part) {
    if (!obstacle.empty())
      return;
    if (!part.dims[order.back()].divideExactly(DimExpr(lanes))) {
      obstacle = "rows are not a multiple of the vector size";
      return;
    }
    ElementEmitter e(b, k.loc(), /*lanes=*/0, k.symbols, k.inputs);
    SmallVector<Index> at;
    for (const DimExpr &dim : part.dims)
      at.push_back(dim.is(1) ? e.constant(0) : trial.anyIndex());
    Index &along = at[order.back()];
    along = e.mul(along, e.constant(lanes));
    along.stride = 1;
    if (failed(emitVectors(k, b, together, part, at, lanes)))
      obstacle = "an input or result is not contiguous and aligned in vectors";
  });
  for (Operation &op : trial.ops())
    op.walk([&](Operation *inner) {
      if (obstacle.empty() && !isOfVectors(inner) && !isa<UnrealizedConversionCastOp>(inner))
        obstacle = "it has an op without a vector form";
    });
  LDBG() << k.kernel.getName() << ", " << lanes << " elements per vector: " << (obstacle.empty() ? "yes" : obstacle);
  return obstacle.empty();
}

LogicalResult emitVectorMap(KernelContext &k, GpuBuilder &gpu, OpBuilder &b, ArrayRef<unsigned> together,
                            int64_t lanes) {
  SmallVector<int64_t> order = orderOf(k, together);
  bool all = true;
  forEachPart(k, b, together, [&](const Part &part) {
    ElementEmitter e(b, k.loc(), /*lanes=*/0, k.symbols, k.inputs);
    Dims counts = llvm::map_to_vector<4>(order, [&](int64_t d) { return part.dims[d]; });
    counts.back() = counts.back().floorDiv(lanes);
    gpu.overThreads(counts, [&](ArrayRef<Index> indices) {
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

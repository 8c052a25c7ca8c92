// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/GPU/Loops/GpuWide.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/MathExtras.h"

#define DEBUG_TYPE "hewn-assign-schedules"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn::codegen {

int64_t vectorBytes(Type type) {
  if (type.isInteger(1))
    return 1;
  if (!type.isF32() && !type.isF16() && !type.isBF16() && !type.isF64() && !type.isInteger(8) && !type.isInteger(16) &&
      !type.isInteger(32) && !type.isInteger(64))
    return 0;
  return type.getIntOrFloatBitWidth() / 8;
}

bool isEven(const Buffer &buffer) { return buffer.blockDim < 0 && buffer.groupDim < 0 && !buffer.start; }

bool linesBeginAt(const Buffer &buffer, int64_t own, int64_t count) {
  return !buffer.start && llvm::all_of(llvm::enumerate(buffer.strides), [&](auto each) {
    auto d = each.index();
    return int64_t(d) == own || buffer.dims[d].is(1) || each.value().divideExactly(DimExpr(count));
  });
}

/// Returns true if the buffer is contiguous along dim `dim` of `space`, and if each of its other
/// dims has the same extent as in `space`, or 1.
static bool liesAlong(const Buffer &buffer, const Dims &space, unsigned dim) {
  if (!isEven(buffer) || buffer.dims.size() > space.size())
    return false;
  size_t skipped = space.size() - buffer.dims.size();
  // Returns false for a dynamic dim that may turn out to be 1 at run time.
  for (auto [d, size] : llvm::enumerate(buffer.dims))
    if (!size.is(1) && size != space[skipped + d])
      return false;
  return dim >= skipped && buffer.dims[dim - skipped] == space[dim] && buffer.strides[dim - skipped].is(1);
}

/// Returns true if the extent of dim `dim` is a multiple of `lanes`, and vectors of `lanes`
/// elements along it are aligned to their size.
static bool divides(int64_t lanes, const Buffer &buffer, const Dims &space, unsigned dim) {
  return linesBeginAt(buffer, int64_t(dim) - int64_t(space.size() - buffer.dims.size()), lanes) &&
         space[dim].divideExactly(DimExpr(lanes));
}

std::optional<GpuWide> GpuWide::along(KernelContext &k, const Dims &space, unsigned dim, ArrayRef<unsigned> results,
                                      std::optional<int64_t> lanes) {
  Block &body = k.kernel.getBody().front();
  for (Operation &op : body.without_terminator())
    if (!isa<graph::ElementwiseOpInterface, graph::ReduceOpInterface, graph::ConstantOp>(op)) {
      LDBG() << k.kernel.getName() << ": " << op.getName() << " reads single elements";
      return std::nullopt;
    }
  int64_t largest = 1;
  auto see = [&](const Buffer &buffer) {
    int64_t bytes = liesAlong(buffer, space, dim) ? vectorBytes(buffer.elementType) : 0;
    largest = std::max(largest, bytes);
    return bytes > 0;
  };
  SmallVector<Value> found;
  for (unsigned r : results)
    if (!see(k.outputs[r])) {
      LDBG() << k.kernel.getName() << ": result " << r << " is not contiguous along dim " << dim
             << ", or its type has no vectors";
      return std::nullopt;
    }
  for (Value argument : body.getArguments())
    if (see(k.inputs.find(argument)->second))
      found.push_back(argument);
  int64_t most = std::min<int64_t>(kBytes / largest, 8);
  GpuWide wide;
  wide.k = &k;
  wide.dim = dim;
  wide.count = lanes.value_or(most);
  if (wide.count < 2 || wide.count > most || !llvm::isPowerOf2_64(uint64_t(wide.count))) {
    LDBG() << k.kernel.getName() << ": no vectors of " << wide.count << " elements of " << largest << " bytes";
    return std::nullopt;
  }
  for (unsigned r : results)
    if (!divides(wide.count, k.outputs[r], space, dim)) {
      LDBG() << k.kernel.getName() << ": rows of result " << r << " do not begin at multiples of " << wide.count;
      return std::nullopt;
    }
  for (Value leaf : found)
    if (divides(wide.count, k.inputs.find(leaf)->second, space, dim))
      wide.leaves.push_back(leaf);
  if (wide.leaves.empty() && results.empty()) {
    LDBG() << k.kernel.getName() << ": rows of no input begin at multiples of " << wide.count;
    return std::nullopt;
  }
  return wide;
}

SmallVector<Index> GpuWide::vectorAt(ArrayRef<Index> at, size_t rank) const {
  SmallVector<Index> list(at.take_back(rank));
  list[dim - (at.size() - rank)].stride = 1;
  return list;
}

void alignLoad(OpBuilder &b) {
  Block *block = b.getInsertionBlock();
  for (auto point = b.getInsertionPoint(); point != block->begin();)
    if (auto load = dyn_cast<vector::LoadOp>(*--point)) {
      load.setAlignment(load.getVectorType().getNumElements() * load.getVectorType().getElementTypeBitWidth() / 8);
      return;
    }
}

void GpuWide::overLanes(ElementEmitter &e, ArrayRef<Index> at, llvm::function_ref<void(ArrayRef<Index>)> body) const {
  ElementEmitter wide(e.b, e.loc, count, k->symbols, k->inputs);
  SmallVector<Value> vectors;
  for (Value leaf : leaves) {
    const Buffer &buffer = k->inputs.find(leaf)->second;
    SmallVector<Index> from = vectorAt(at, buffer.dims.size());
    for (auto [d, index] : llvm::enumerate(from))
      if (buffer.dims[d].is(1))
        index = e.constant(0);
    vectors.push_back(wide.load(buffer, from));
    alignLoad(e.b);
  }
  for (int64_t lane = 0; lane < count; ++lane) {
    for (auto [leaf, vector] : llvm::zip(leaves, vectors))
      e.bind(leaf, vector::ExtractOp::create(e.b, e.loc, vector, ArrayRef<int64_t>{lane}));
    SmallVector<Index> own(at);
    own[dim] = e.add(own[dim], e.constant(lane));
    body(own);
  }
  for (Value leaf : leaves)
    e.unbind(leaf);
}

void GpuWide::write(ElementEmitter &e, unsigned result, ArrayRef<Index> at, ArrayRef<Value> values) const {
  ElementEmitter wide(e.b, e.loc, count, k->symbols, k->inputs);
  Value vector = vector::FromElementsOp::create(e.b, e.loc, VectorType::get({count}, values[0].getType()), values);
  wide.write(k->outputs[result], vectorAt(at, at.size()), vector);
  auto store = cast<vector::StoreOp>(*std::prev(e.b.getInsertionPoint()));
  store.setAlignment(count * store.getVectorType().getElementTypeBitWidth() / 8);
}

} // namespace hewn::codegen

// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Loops/ContiguousCopies.h"
#include "lib/Codegen/Tasks.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn::codegen {

/// `kLongRun` and `kLargeResult` are the minimum bytes of a contiguous run and of a result for
/// which memmove is faster than a loop. `kTask` is the number of bytes that a task copies. Measured
/// on an AMD Zen 5 core with a result of 1.5 MB: runs of 256 bytes take 17 us by a loop and 25 us
/// by memmove, runs of 3 kB 24 us and 20 us, runs of 64 kB 24 us and 14 us.
constexpr int64_t kLongRun = 2048, kLargeResult = 1 << 16, kTask = 1 << 16;

/// Decomposes `position` * `factor` as a linear combination of the indices `at` plus a constant,
/// and adds the coefficients, and last the constant, to `steps`. Returns false if `position` is not
/// linear.
static bool addSteps(Value position, ArrayRef<Index> at, int64_t factor, SmallVectorImpl<int64_t> &steps) {
  if (std::optional<int64_t> number = getConstantIntValue(position)) {
    steps.back() += factor * *number;
    return true;
  }
  for (auto [i, index] : llvm::enumerate(at))
    if (index.base == position) {
      steps[i] += factor;
      return true;
    }
  Operation *op = position.getDefiningOp();
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op))
    return addSteps(op->getOperand(0), at, factor, steps) &&
           addSteps(op->getOperand(1), at, isa<arith::SubIOp>(op) ? -factor : factor, steps);
  std::optional<int64_t> times;
  unsigned other = 0;
  if (isa_and_nonnull<arith::MulIOp>(op)) {
    other = getConstantIntValue(op->getOperand(0)) ? 1 : 0;
    times = getConstantIntValue(op->getOperand(1 - other));
  }
  constexpr int64_t most = int64_t(1) << 30;
  return times && std::abs(*times) <= most && std::abs(factor) <= most &&
         addSteps(op->getOperand(other), at, factor * *times, steps);
}

/// Returns true if each element of the result is an unchanged element of an operand, at an offset
/// that is a linear combination of the result indices. Sets `steps` to the coefficients and
/// `runs.source` to the operand. The analysis emits scratch code and erases it.
static bool findSource(KernelContext &k, OpBuilder &b, unsigned result, Runs &runs, SmallVectorImpl<int64_t> &steps) {
  Value value = k.results[result];
  Dims dims = graph::getDims(value);
  steps.assign(dims.size() + 1, 0);
  ElementEmitter e(b, k.loc(), /*lanes=*/0, k.symbols, k.inputs);
  ScratchEmission scratch(b, k.loc());
  SmallVector<Index> at;
  for (const DimExpr &dim : dims)
    at.push_back(dim.is(1) ? e.constant(0) : scratch.anyIndex());
  auto load = e.read(value, at).getDefiningOp<memref::LoadOp>();
  e.forget();
  runs.source = load ? load.getMemRef() : Value();
  return load && isa<BlockArgument>(runs.source) && storageType(k.outputs[result].elementType) == load.getType() &&
         addSteps(load.getIndices().front(), at, 1, steps);
}

std::optional<Runs> planRuns(KernelContext &k, OpBuilder &b, unsigned result) {
  const Buffer &target = k.outputs[result];
  Dims dims = graph::getDims(k.results[result]);
  int64_t bytes = storageType(target.elementType).getIntOrFloatBitWidth() / 8;
  bool isKnown = llvm::all_of(target.strides, [](const DimExpr &stride) { return stride.constant().has_value(); });
  int64_t count = isKnown ? graph::numElements(dims).constant().value_or(0) : 0;
  Runs runs;
  SmallVector<int64_t> steps, order = memoryOrder(k.results[result]);
  if (k.nested || target.blockDim >= 0 || target.start || count * bytes < kLargeResult ||
      !findSource(k, b, result, runs, steps))
    return std::nullopt;
  runs.first = steps.pop_back_val();
  for (int64_t d : llvm::reverse(order)) {
    int64_t extent = *dims[d].constant(), targetStep = *target.strides[d].constant();
    if (extent == 1)
      continue;
    if (runs.extents.empty() && steps[d] == runs.length && targetStep == runs.length) {
      runs.length *= extent;
      continue;
    }
    runs.extents.insert(runs.extents.begin(), extent);
    runs.sourceSteps.insert(runs.sourceSteps.begin(), steps[d]);
    runs.targetSteps.insert(runs.targetSteps.begin(), targetStep);
  }
  return runs.length * bytes < kLongRun ? std::nullopt : std::optional(std::move(runs));
}

void emitRuns(KernelContext &k, OpBuilder &b, unsigned result, const Runs &runs) {
  const Buffer &target = k.outputs[result];
  Location loc = k.loc();
  ElementEmitter e(b, loc, /*lanes=*/0, k.symbols, k.inputs);
  int64_t bytes = storageType(target.elementType).getIntOrFloatBitWidth() / 8;
  int64_t most = kTask / bytes, chunks = llvm::divideCeil(runs.length, most);
  auto addressOf = [&](Value memref, Index offset) -> Value {
    Value start = memref::ExtractAlignedPointerAsIndexOp::create(b, loc, memref);
    Index place = e.add({start}, e.mul(offset, e.constant(bytes)));
    Value address = arith::IndexCastOp::create(b, loc, b.getI64Type(), place.base);
    return LLVM::IntToPtrOp::create(b, loc, LLVM::LLVMPointerType::get(b.getContext()), address);
  };
  Dims counts = llvm::map_to_vector<4>(runs.extents, [](int64_t extent) { return DimExpr(extent); });
  counts.push_back(DimExpr(chunks));
  DimExpr work = vectorWork(graph::numElements(graph::getDims(k.results[result])), vectorLanes(k.kernel), 8);
  overTasks(k, e, counts, work, [&](ArrayRef<Index> at) {
    Index all = e.constant(runs.length), to = e.mul(at.back(), e.constant(most)),
          from = e.add(e.constant(runs.first), to);
    Index length = chunks == 1 ? all : e.min(e.constant(most), e.sub(all, to));
    for (size_t i = 0; i < runs.extents.size(); ++i) {
      from = e.add(from, e.mul(at[i], e.constant(runs.sourceSteps[i])));
      to = e.add(to, e.mul(at[i], e.constant(runs.targetSteps[i])));
    }
    Value size = arith::IndexCastOp::create(b, loc, b.getI64Type(), e.mul(length, e.constant(bytes)).base);
    // Call memmove instead of memcpy: glibc has two versions of memcpy, and a library without
    // symbol versions is bound to the older one, which takes twice as long.
    LLVM::MemmoveOp::create(b, loc, addressOf(target.memref, to), addressOf(runs.source, from), size,
                            /*isVolatile=*/false);
  });
}

} // namespace hewn::codegen

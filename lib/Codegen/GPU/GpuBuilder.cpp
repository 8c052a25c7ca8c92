// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/GPU/GpuBuilder.h"
#include "dialects/Simt/Simt.h"
#include "lib/Schedule/ScheduleModel.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Index;

namespace hewn::codegen {

/// Limit of the number of blocks of a launch. If there is more work, a thread (or block) loops over
/// several elements (or tiles).
constexpr int64_t kMaxBlocks = 1 << 20;

/// Returns the number of bytes of `input` that the kernel reads. If only indexing ops use `input`,
/// this is at most the size of their results.
static DimExpr bytesRead(Value input) {
  auto bytes = [](Value value) {
    return graph::numElements(graph::getDims(value)) * DimExpr(graph::elementBytes(value));
  };
  DimExpr moved;
  for (Operation *user : input.getUsers()) {
    if (!isa<graph::IndexingOpInterface>(user))
      return bytes(input);
    for (Value result : user->getResults())
      moved = moved + bytes(result);
  }
  return DimExpr::min(bytes(input), moved);
}

GpuBuilder::GpuBuilder(KernelContext &k, ElementEmitter &e, int64_t threads)
    : threads(threads), warp(plan::gpuOf(k.kernel).getWarpSize()), k(k), e(e) {
  auto position = [&](Value number) -> Value {
    return arith::IndexCastUIOp::create(e.b, e.loc, e.b.getIndexType(), number);
  };
  thread = position(simt::ThreadIdOp::create(e.b, e.loc, e.b.getI32Type()));
  block = position(simt::BlockIdOp::create(e.b, e.loc, e.b.getI32Type()));
  blocks = position(simt::NumBlocksOp::create(e.b, e.loc, e.b.getI32Type()));
  DimExpr work, traffic;
  for (Operation &op : k.kernel.getBody().front())
    if (auto contraction = dyn_cast<graph::ContractOpInterface>(op))
      work = work + plan::ScheduleModel::of(&op).blockWork(contraction);
  for (Value input : k.kernel.getBody().getArguments())
    traffic = traffic + bytesRead(input);
  for (Value result : k.results)
    traffic = traffic + graph::numElements(graph::getDims(result)) * DimExpr(graph::elementBytes(result));
  plan::changeGpuLaunch(k.function, [&](plan::GpuLaunch &launch) {
    launch.threads = threads;
    launch.symbols = k.kernel.getSymbolsAttr();
    launch.work = work;
    launch.traffic = traffic;
  });
}

Value GpuBuilder::exp2(Value x) { return simt::Exp2Op::create(e.b, e.loc, e.b.getF32Type(), x); }

SmallVector<Value> GpuBuilder::product(Type leftFactors, Type rightFactors, ArrayRef<Value> left, ArrayRef<Value> right,
                                       ArrayRef<Value> sums) {
  return llvm::to_vector_of<Value>(
      simt::MmaOp::create(e.b, e.loc, ValueRange(sums).getTypes(), left, right, sums, leftFactors, rightFactors)
          .getResults());
}

SmallVector<Value> GpuBuilder::ldmatrix(Index from, bool turned, int64_t offset) {
  Type i32 = e.b.getI32Type();
  return llvm::to_vector_of<Value>(
      simt::LdmatrixOp::create(e.b, e.loc, i32, i32, i32, i32, wide(from), turned, uint64_t(offset))->getResults());
}

Value GpuBuilder::wide(Index index) { return arith::IndexCastOp::create(e.b, e.loc, e.b.getI64Type(), index.base); }

void GpuBuilder::copy(Index to, Index from, int64_t bytes, Value inside) {
  Value present = arith::SelectOp::create(e.b, e.loc, inside, number(int32_t(bytes)), number(0));
  simt::AsyncCopyOp::create(e.b, e.loc, wide(to), wide(from), present, uint32_t(bytes));
}

const MachineOps &GpuBuilder::ops() const {
  const MachineOps *ops = MachineOps::of(e.b.getContext(), plan::gpuOf(k.kernel));
  assert(ops && "no dialect has MachineOps for a schedule with warpgroup MMA");
  return *ops;
}

MachineOps::Matrix GpuBuilder::withAddress(const Matrix &matrix) {
  return {wide(matrix.address), matrix.alongSum, matrix.lineBytes, matrix.blockStride, matrix.panelStride};
}

void GpuBuilder::publishToGroups() { ops().showStores(e.b, e.loc); }
void GpuBuilder::beginGroup() {
  // Warpgroup MMA needs all threads of a block. A phase of a persistent kernel may have fewer, so
  // mark the kernel as not mergeable.
  plan::changeGpuLaunch(k.function, [](plan::GpuLaunch &launch) { launch.alone = true; });
  ops().beginProducts(e.b, e.loc);
}
void GpuBuilder::closeGroup() { ops().closeProducts(e.b, e.loc); }

SmallVector<Value> GpuBuilder::groupProduct(Type leftFactors, Type rightFactors, const Matrix &left,
                                            const Matrix &right, ArrayRef<Value> sums) {
  MachineOps::Matrix leftMatrix = withAddress(left), rightMatrix = withAddress(right);
  return ops().product(e.b, e.loc, leftFactors, rightFactors, leftMatrix, rightMatrix, sums);
}

SmallVector<Value> GpuBuilder::groupProduct(Type factors, ArrayRef<Value> left, const Matrix &right,
                                            ArrayRef<Value> sums) {
  return ops().product(e.b, e.loc, factors, left, withAddress(right), sums);
}

SmallVector<Value> GpuBuilder::waitForGroup(int64_t open, ArrayRef<Value> sums) {
  return ops().waitForProducts(e.b, e.loc, open, sums);
}

Value GpuBuilder::narrow(Index index) { return arith::IndexCastOp::create(e.b, e.loc, e.b.getI32Type(), index.base); }

void GpuBuilder::initMbarrier(Index mbarrier, int64_t arrivals) {
  simt::MbarrierInitOp::create(e.b, e.loc, wide(mbarrier), uint32_t(arrivals));
}
void GpuBuilder::fenceMbarrierInits() { simt::MbarrierInitFenceOp::create(e.b, e.loc); }
void GpuBuilder::arrive(Index mbarrier) { simt::MbarrierArriveOp::create(e.b, e.loc, wide(mbarrier)); }
void GpuBuilder::expect(Index mbarrier, int64_t bytes) {
  simt::MbarrierArriveExpectOp::create(e.b, e.loc, wide(mbarrier), uint32_t(bytes));
}
void GpuBuilder::waitForMbarrier(Index mbarrier, Index parity) {
  Value at = wide(mbarrier);
  simt::MbarrierWaitOp::create(e.b, e.loc, at, narrow(parity));
}

void GpuBuilder::fetch(Index to, Value tensor, ArrayRef<Index> at, Index mbarrier) {
  Value shared = wide(to);
  SmallVector<Value> place = llvm::map_to_vector(at, [&](Index index) { return narrow(index); });
  ops().copyBox(e.b, e.loc, shared, tensor, place, wide(mbarrier));
}

void GpuBuilder::keepRegisters(int64_t count) { ops().setRegisters(e.b, e.loc, count, /*more=*/false); }
void GpuBuilder::takeRegisters(int64_t count) { ops().setRegisters(e.b, e.loc, count, /*more=*/true); }

Value GpuBuilder::count(Index counter, Value more) {
  return simt::CounterAddOp::create(e.b, e.loc, e.b.getI32Type(), wide(counter), more);
}

void GpuBuilder::closeCopies() { simt::AsyncCommitOp::create(e.b, e.loc); }
void GpuBuilder::waitForCopies(int64_t open) { simt::AsyncWaitOp::create(e.b, e.loc, uint32_t(open)); }

Index GpuBuilder::address(Value memory) { return {memref::ExtractAlignedPointerAsIndexOp::create(e.b, e.loc, memory)}; }

Value GpuBuilder::number(int32_t value) { return arith::ConstantOp::create(e.b, e.loc, e.b.getI32IntegerAttr(value)); }

void GpuBuilder::wantRegisters(int64_t count) {
  int64_t most = plan::gpuOf(k.kernel).getLimits().getMaxThreadRegisters();
  plan::changeGpuLaunch(k.function, [&](plan::GpuLaunch &launch) { launch.registers = std::min(count, most); });
}

void GpuBuilder::limitRegisters(int64_t count) {
  wantRegisters(count);
  int64_t together = plan::gpuOf(k.kernel).getLimits().getRegisters() / (count * threads);
  if (together <= 1)
    return;
  OpBuilder &b = e.b;
  Attribute blocks = b.getStrArrayAttr({kTogetherAttr, std::to_string(together)});
  k.function->setAttr("passthrough", b.getArrayAttr(blocks));
}

void GpuBuilder::wantBlocks(const DimExpr &count) {
  DimExpr some = DimExpr::min(count, DimExpr(kMaxBlocks));
  wanted = wanted ? DimExpr::max(*wanted, some) : some;
  plan::changeGpuLaunch(k.function, [&](plan::GpuLaunch &launch) { launch.blocks = wanted; });
}

void GpuBuilder::stride(Index from, Index to, Index step, llvm::function_ref<void(Index)> body) {
  e.forget();
  auto loop = scf::ForOp::create(e.b, e.loc, from.base, to.base, step.base);
  OpBuilder::InsertionGuard guard(e.b);
  e.b.setInsertionPoint(loop.getBody()->getTerminator());
  body({loop.getInductionVar()});
  e.forget();
}

/// Converts a linear index to one index per dim, for dims with the extents `counts`. Divides in 32
/// bits if the number of elements is constant and fits 32 bits.
static SmallVector<Index> unravelThread(ElementEmitter &e, Index linear, ArrayRef<DimExpr> counts) {
  std::optional<int64_t> total = graph::numElements(counts).constant();
  if (!total || *total < 1 || *total > INT32_MAX)
    return e.unravel(linear, counts);
  OpBuilder &b = e.b;
  SmallVector<Index> at(counts.size(), e.constant(0));
  Value rest = arith::IndexCastOp::create(b, e.loc, b.getI32Type(), linear.base);
  auto wide = [&](Value number) -> Index { return {arith::IndexCastUIOp::create(b, e.loc, b.getIndexType(), number)}; };
  for (unsigned i = counts.size(), others = unsigned(*total); i-- > 0;) {
    auto count = int32_t(*counts[i].constant());
    if (count == 1)
      continue;
    others /= unsigned(count);
    if (others == 1) {
      at[i] = wide(rest);
      break;
    }
    Value size = arith::ConstantOp::create(b, e.loc, b.getI32IntegerAttr(count));
    at[i] = wide(arith::RemUIOp::create(b, e.loc, rest, size));
    rest = arith::DivUIOp::create(b, e.loc, rest, size);
  }
  return at;
}

void GpuBuilder::overThreads(ArrayRef<DimExpr> counts, llvm::function_ref<void(ArrayRef<Index>)> body) {
  DimExpr total = graph::numElements(counts);
  wantBlocks(total.ceilDiv(threads));
  Index size = e.constant(threads);
  Index first = e.add(e.mul({block}, size), {thread}), all = e.mul({blocks}, size);
  stride(first, e.expression(total), all, [&](Index linear) { body(unravelThread(e, linear, counts)); });
}

void GpuBuilder::overBlocks(const DimExpr &count, llvm::function_ref<void(Index)> body) {
  wantBlocks(count);
  stride({block}, e.expression(count), {blocks}, body);
}

SmallVector<Value> GpuBuilder::overBlocks(const DimExpr &count, int64_t most, ArrayRef<Value> start,
                                          llvm::function_ref<SmallVector<Value>(Index, ValueRange)> body) {
  wantBlocks(DimExpr::min(count, DimExpr(most)));
  e.forget();
  auto loop = scf::ForOp::create(e.b, e.loc, block, e.expression(count).base, blocks, start);
  OpBuilder::InsertionGuard guard(e.b);
  e.b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> carried = body({loop.getInductionVar()}, loop.getRegionIterArgs());
  scf::YieldOp::create(e.b, e.loc, carried);
  e.forget();
  return llvm::map_to_vector(loop.getResults(), [](OpResult r) { return Value(r); });
}

void GpuBuilder::barrier() { simt::BarrierOp::create(e.b, e.loc, IntegerAttr()); }
void GpuBuilder::warpBarrier() { simt::WarpBarrierOp::create(e.b, e.loc); }

Value GpuBuilder::shuffle(Value value, int64_t laneXor) {
  OpBuilder &b = e.b;
  Type type = value.getType();
  if (isa<IndexType>(type)) {
    Value wide = arith::IndexCastOp::create(b, e.loc, b.getI64Type(), value);
    return arith::IndexCastOp::create(b, e.loc, type, shuffle(wide, laneXor));
  }
  unsigned bits = type.getIntOrFloatBitWidth();
  if (isa<FloatType>(type)) {
    Type integer = b.getIntegerType(bits);
    Value word = arith::BitcastOp::create(b, e.loc, integer, value);
    return arith::BitcastOp::create(b, e.loc, type, shuffle(word, laneXor));
  }
  if (bits < 32) {
    Value word = arith::ExtUIOp::create(b, e.loc, b.getI32Type(), value);
    return arith::TruncIOp::create(b, e.loc, type, shuffle(word, laneXor));
  }
  if (bits == 64) {
    Value shift = arith::ConstantOp::create(b, e.loc, b.getI64IntegerAttr(32));
    Value low = arith::TruncIOp::create(b, e.loc, b.getI32Type(), value);
    Value high = arith::TruncIOp::create(b, e.loc, b.getI32Type(), arith::ShRUIOp::create(b, e.loc, value, shift));
    low = arith::ExtUIOp::create(b, e.loc, type, shuffle(low, laneXor));
    high = arith::ExtUIOp::create(b, e.loc, type, shuffle(high, laneXor));
    return arith::OrIOp::create(b, e.loc, low, arith::ShLIOp::create(b, e.loc, high, shift));
  }
  return simt::ShuffleXorOp::create(b, e.loc, b.getI32Type(), value, uint32_t(laneXor), uint32_t(warp));
}

void GpuBuilder::transposeQuads(MutableArrayRef<Value> four) {
  // Permutes the registers of each lane: in lane l of a quad, register i gets the value of register
  // i ^ l.
  auto permute = [&] {
    for (size_t step : {1, 2}) {
      Value bit = arith::AndIOp::create(e.b, e.loc, narrow({thread}), number(int32_t(step)));
      Value swaps = arith::CmpIOp::create(e.b, e.loc, arith::CmpIPredicate::ne, bit, number(0));
      for (size_t i = 0; i < 4; ++i) {
        if (i & step)
          continue;
        Value low = four[i], high = four[i | step];
        four[i] = arith::SelectOp::create(e.b, e.loc, swaps, high, low);
        four[i | step] = arith::SelectOp::create(e.b, e.loc, swaps, low, high);
      }
    }
  };
  permute();
  for (int64_t distance = 1; distance < 4; ++distance)
    four[size_t(distance)] = shuffle(four[size_t(distance)], distance);
  permute();
}

static Type sharedType(Type type) { return type.isInteger(1) ? Type(IntegerType::get(type.getContext(), 8)) : type; }

Value GpuBuilder::shared(int64_t elements, Type type, int64_t alignment) {
  auto memref =
      MemRefType::get({elements}, sharedType(type), MemRefLayoutAttrInterface(), e.b.getI64IntegerAttr(kSharedSpace));
  std::string name = (k.function.getName() + "_shared" + Twine(memories++)).str();
  OpBuilder top(k.function);
  memref::GlobalOp::create(top, e.loc, name, top.getStringAttr("private"), memref, top.getUnitAttr(),
                           /*constant=*/false, top.getI64IntegerAttr(alignment));
  return memref::GetGlobalOp::create(e.b, e.loc, memref, name);
}

int64_t gatherShared(KernelContext &k) {
  SmallVector<memref::GetGlobalOp> uses;
  k.function.walk([&](memref::GetGlobalOp use) { uses.push_back(use); });
  auto globalOf = [](memref::GetGlobalOp use) {
    return SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(use, use.getNameAttr());
  };
  // Place the shared-memory globals by decreasing alignment, so that no padding is needed between
  // them.
  llvm::stable_sort(uses, [&](memref::GetGlobalOp a, memref::GetGlobalOp b) {
    return globalOf(a).getAlignment().value_or(1) > globalOf(b).getAlignment().value_or(1);
  });
  int64_t bytes = 0, alignment = 1;
  SmallVector<int64_t> offsets;
  for (memref::GetGlobalOp use : uses) {
    int64_t own = int64_t(globalOf(use).getAlignment().value_or(1));
    alignment = std::max(alignment, own);
    offsets.push_back(int64_t(llvm::alignTo(uint64_t(bytes), uint64_t(own))));
    MemRefType type = use.getType();
    bytes = offsets.back() + type.getNumElements() * int64_t(type.getElementTypeBitWidth() / 8);
  }
  OpBuilder b(k.function);
  if (bytes > 0)
    plan::changeGpuLaunch(k.function, [&](plan::GpuLaunch &launch) { launch.blockBytes = bytes; });
  if (bytes <= plan::gpuOf(k.kernel).getLimits().getStaticSharedBytes())
    return bytes;
  auto type = MemRefType::get({bytes}, b.getI8Type(), MemRefLayoutAttrInterface(), b.getI64IntegerAttr(kSharedSpace));
  std::string name = (k.function.getName() + "_shared").str();
  memref::GlobalOp::create(b, k.loc(), name, b.getStringAttr("private"), type, b.getUnitAttr(), /*constant=*/false,
                           b.getI64IntegerAttr(alignment));
  for (auto [use, offset] : llvm::zip(uses, offsets)) {
    b.setInsertionPoint(use);
    Value all = memref::GetGlobalOp::create(b, k.loc(), type, name);
    Value at = arith::ConstantIndexOp::create(b, k.loc(), offset);
    Operation *global = globalOf(use);
    use.replaceAllUsesWith(Value(memref::ViewOp::create(b, k.loc(), use.getType(), all, at, ValueRange())));
    use.erase();
    global->erase();
  }
  plan::changeGpuLaunch(k.function, [&](plan::GpuLaunch &launch) { launch.sharedBytes = bytes; });
  return bytes;
}

void GpuBuilder::storeShared(Value value, Value memory, Value at) {
  if (value.getType().isInteger(1))
    value = arith::ExtUIOp::create(e.b, e.loc, e.b.getI8Type(), value);
  memref::StoreOp::create(e.b, e.loc, value, memory, at);
}

Value GpuBuilder::loadShared(Type type, Value memory, Value at) {
  Value value = memref::LoadOp::create(e.b, e.loc, memory, at);
  return type.isInteger(1) ? Value(arith::TruncIOp::create(e.b, e.loc, type, value)) : value;
}

} // namespace hewn::codegen

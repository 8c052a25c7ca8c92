// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Contract/ContractKernel.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using hewn::graph::Clip;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn::codegen {

VectorType ContractKernel::sumType() const {
  return VectorType::get({e.lanes}, graph::computeType(graph::getElementType(op->getResult(0))));
}

BlockedSum ContractKernel::blockedSum(size_t count) const {
  Value zero = arith::ConstantOp::create(b, loc(), b.getZeroAttr(sumType()));
  auto merge = [this](ValueRange left, ValueRange right) {
    return llvm::map_to_vector(llvm::zip(left, right),
                               [&](auto pair) { return e.addElements(std::get<0>(pair), std::get<1>(pair)); });
  };
  return BlockedSum(e, SmallVector<Value>(count, zero), merge);
}

Dims ContractKernel::extentsOf(ArrayRef<unsigned> dims) const {
  return llvm::map_to_vector<4>(dims, [&](unsigned d) { return form.extents[d]; });
}

Index ContractKernel::rightDistance(const Buffer &buffer, int64_t j) const {
  int64_t first = j * e.lanes, block = packed() ? form.rhs.block : tileColumns();
  if (first < block)
    return e.constant(first * form.group());
  Index stride = e.expression(buffer.strides[buffer.blockDim]);
  return e.add(e.mul(stride, e.constant(first / block)), e.constant(first % block * form.group()));
}

Index ContractKernel::offset(const Buffer &buffer, AffineMap map, ArrayRef<Index> at, ArrayRef<Clip> clips) const {
  Index sum = buffer.start ? Index{buffer.start} : e.constant(0);
  for (auto [i, expr] : llvm::enumerate(map.getResults())) {
    if (ContractForm::isBroadcast(buffer, i, clips))
      continue;
    Index index = e.affine(expr, at), stride = e.expression(buffer.strides[i]);
    for (const Clip &clip : clips)
      if (clip.operandDim == i)
        index = e.sub(index, e.constant(clip.low));
    if (int64_t(i) == buffer.blockDim) {
      // If a tile's columns are not full panels, the tile may begin inside of a panel.
      if (tileColumns() % buffer.block != 0)
        sum = e.add(sum, e.mul(e.mod(index, e.constant(buffer.block)), e.constant(buffer.group)));
      index = e.floorDiv(index, e.constant(buffer.block));
    }
    if (int64_t(i) == buffer.groupDim)
      index = e.floorDiv(index, e.constant(buffer.group));
    sum = e.add(sum, e.mul(index, stride));
  }
  return sum;
}

Value ContractKernel::from(const Buffer &buffer, Value memref, Index start) const {
  auto type = MemRefType::get({ShapedType::kDynamic}, cast<MemRefType>(memref.getType()).getElementType(),
                              StridedLayoutAttr::get(b.getContext(), ShapedType::kDynamic, {1}));
  // Give the view of an operand a dynamic size, although no code reads the size. From a static
  // size, MLIR would derive bounds of the accesses.
  OpFoldResult size = e.expression(graph::numElements(buffer.dims)).base;
  return memref::ReinterpretCastOp::create(b, loc(), type, memref, OpFoldResult(start.base),
                                           ArrayRef<OpFoldResult>{size}, ArrayRef<OpFoldResult>{b.getIndexAttr(1)});
}

SmallVector<SumLoop> ContractKernel::sumLoops(int64_t step) const {
  SmallVector<SumLoop> loops;
  SmallVector<unsigned> order;
  for (unsigned d : form.roles.summed)
    if (llvm::none_of(form.clips, [&](const Clip &c) { return c.summed == d; }))
      order.push_back(d);
  SmallVector<int64_t> memory = memoryOrder(op->getOperand(1));
  auto place = [&](unsigned d) {
    std::optional<unsigned> result = graph::resultWith(form.maps[1], d);
    return result ? llvm::find(memory, int64_t(*result)) - memory.begin() : 0;
  };
  llvm::stable_sort(order, [&](unsigned x, unsigned y) { return place(x) < place(y); });
  for (unsigned d : order) {
    if (form.extents[d].is(1))
      continue;
    SumLoop loop{form.extents[d], ContractForm::strideAlong(form.lhs, form.maps[0], d),
                 ContractForm::strideAlong(form.rhs, form.maps[1], d)};
    // The right operand's stride along the grouped dim already counts groups of elements.
    if (form.grouped == d)
      loop = {loop.extent.floorDiv(step), loop.left * DimExpr(step), loop.right * DimExpr(step / form.group())};
    if (!loops.empty() && loops.back().left == loop.left * loop.extent &&
        loops.back().right == loop.right * loop.extent) {
      loop.extent = loop.extent * loops.back().extent;
      loops.back() = loop;
    } else {
      loops.push_back(loop);
    }
  }
  return loops;
}

SmallVector<Index> ContractKernel::rowDistances(ArrayRef<Index> rows, int64_t base) const {
  return llvm::map_to_vector(
      rows, [&](const Index &row) { return e.mul(e.sub(row, rows[base]), e.expression(form.rowStride)); });
}

Value ContractKernel::splatScalar(Value left, Index position, VectorType type) const {
  if (!form.dot)
    return vector::BroadcastOp::create(b, loc(), type, memref::LoadOp::create(b, loc(), left, position.base));
  auto group = VectorType::get({form.group()}, cast<MemRefType>(left.getType()).getElementType());
  auto word = VectorType::get({1}, b.getI32Type());
  Value bits = vector::BitCastOp::create(b, loc(), word, vector::LoadOp::create(b, loc(), group, left, position.base));
  bits = vector::ExtractOp::create(b, loc(), bits, ArrayRef<int64_t>{0});
  bits = vector::BroadcastOp::create(b, loc(), VectorType::get({e.lanes}, b.getI32Type()), bits);
  return vector::BitCastOp::create(b, loc(), type, bits);
}

Value ContractKernel::product(Value x, Value y, Value sum) const {
  bool isFloat = isa<FloatType>(sumType().getElementType());
  if (!form.dot) {
    if (isFloat)
      return vector::FMAOp::create(b, loc(), x, y, sum);
    return arith::AddIOp::create(b, loc(), arith::MulIOp::create(b, loc(), x, y), sum);
  }
  plan::DotProductAttr dot = form.dot;
  SmallVector<Value> operands = {x, y};
  if (dot.getRightFirst())
    std::swap(operands[0], operands[1]);
  if (dot.getAccumulates())
    operands.insert(operands.begin(), sum);
  Value result = LLVM::CallIntrinsicOp::create(b, loc(), sum.getType(), dot.getIntrinsic(), operands).getResult(0);
  if (dot.getAccumulates())
    return result;
  return isFloat ? arith::AddFOp::create(b, loc(), result, sum).getResult()
                 : arith::AddIOp::create(b, loc(), result, sum).getResult();
}

void ContractKernel::prefetch(Value memref, Index place) const {
  memref::PrefetchOp::create(b, loc(), memref, ValueRange(place.base), /*isWrite=*/false, /*localityHint=*/2,
                             /*isDataCache=*/true);
}

Value ContractKernel::lineOfZeros() const {
  Type element = cast<MemRefType>(form.lhs.memref.getType()).getElementType();
  int64_t length = form.group();
  for (const SumLoop &loop : sumLoops(form.group()))
    length += (*loop.extent.constant() - 1) * *loop.left.constant();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&k.function.front());
  Value line = memref::AllocaOp::create(b, loc(), MemRefType::get({length}, element), b.getI64IntegerAttr(64));
  Value zero = arith::ConstantOp::create(b, loc(), b.getZeroAttr(element));
  e.forEach(e.constant(0), e.constant(length), 1,
            [&](Index at) { memref::StoreOp::create(b, loc(), zero, line, at.base); });
  return line;
}

Value ContractKernel::stackFor(int64_t count) const {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&k.function.front());
  return memref::AllocaOp::create(b, loc(), MemRefType::get({count}, sumType().getElementType()),
                                  b.getI64IntegerAttr(64));
}

} // namespace hewn::codegen

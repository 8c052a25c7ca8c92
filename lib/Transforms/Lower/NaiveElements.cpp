// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Lower/NaiveElements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn {

Type storageTypeOf(Type elementType) {
  if (auto integer = dyn_cast<IntegerType>(elementType))
    return IntegerType::get(integer.getContext(), std::max(8u, integer.getWidth()));
  if (graph::isHeldInByte(elementType))
    return IntegerType::get(elementType.getContext(), 8);
  return elementType;
}

/// Returns the stride of each dim of a tensor in elements, in the memory order that the encoding of
/// its type gives.
static Dims stridesOf(Value tensor) {
  Dims dims = graph::getDims(tensor), strides(dims.size(), DimExpr(1));
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, dims.size()));
  if (auto layout = dyn_cast_or_null<graph::LayoutAttr>(cast<RankedTensorType>(tensor.getType()).getEncoding()))
    order = llvm::to_vector(layout.getOrder());
  DimExpr stride(1);
  for (int64_t dim : llvm::reverse(order)) {
    strides[dim] = stride;
    stride = stride * dims[dim];
  }
  return strides;
}

Index NaiveElements::expression(const DimExpr &expr) {
  return {expr.materialize(b, loc, [&](StringRef name) { return memory.symbols.lookup(name); })};
}

Index NaiveElements::extent(Value tensor, unsigned dim) { return expression(graph::getDims(tensor)[dim]); }

Value NaiveElements::splat(Value tensor) {
  auto constantOp = tensor.getDefiningOp<graph::ConstantOp>();
  auto value = constantOp ? dyn_cast<SplatElementsAttr>(constantOp.getValue()) : SplatElementsAttr();
  if (!value)
    return {};
  Type compute = graph::computeType(value.getElementType());
  if (isa<FloatType>(compute))
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(compute, value.getSplatValue<APFloat>().convertToDouble()));
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(compute, value.getSplatValue<APInt>()));
}

Value NaiveElements::view(Value tensor, ArrayRef<DimExpr> dims) {
  Dims own = graph::getDims(tensor), ownStrides = stridesOf(tensor);
  SmallVector<OpFoldResult> sizes, strides;
  unsigned missing = dims.size() - own.size();
  for (auto [i, dim] : llvm::enumerate(dims)) {
    sizes.push_back(getAsOpFoldResult(expression(dim).base));
    if (i < missing || (own[i - missing].is(1) && !dim.is(1))) {
      strides.push_back(b.getIndexAttr(0));
      continue;
    }
    Index stride = expression(ownStrides[i - missing]);
    // A dynamic dim of the tensor may have size 1 at run time and is then broadcast.
    if (own[i - missing] != dim && !own[i - missing].constant())
      stride =
          select(compare(arith::CmpIPredicate::eq, expression(own[i - missing]), constant(1)), constant(0), stride);
    strides.push_back(getAsOpFoldResult(stride.base));
  }
  auto staticOf = [](ArrayRef<OpFoldResult> values) {
    return llvm::map_to_vector(values,
                               [](OpFoldResult v) { return getConstantIntValue(v).value_or(ShapedType::kDynamic); });
  };
  Value buffer = memory.buffers.lookup(tensor);
  auto layout = StridedLayoutAttr::get(b.getContext(), 0, staticOf(strides));
  auto type = MemRefType::get(staticOf(sizes), cast<MemRefType>(buffer.getType()).getElementType(), layout);
  return memref::ReinterpretCastOp::create(b, loc, type, buffer, OpFoldResult(b.getIndexAttr(0)), sizes, strides);
}

static Index offsetOf(NaiveElements &e, Value tensor, ArrayRef<Index> at) {
  Index sum = e.constant(0);
  for (auto [index, stride] : llvm::zip_equal(at, stridesOf(tensor)))
    sum = e.add(sum, e.mul(index, e.expression(stride)));
  return sum;
}

Value NaiveElements::read(Value tensor, ArrayRef<Index> at) {
  if (Value everywhere = splat(tensor))
    return everywhere;
  Value stored = memref::LoadOp::create(b, loc, memory.buffers.lookup(tensor), offsetOf(*this, tensor, at).base);
  return toCompute(stored, graph::getElementType(tensor));
}

void NaiveElements::write(Value tensor, ArrayRef<Index> at, Value element) {
  Value stored = toStorage(element, graph::getElementType(tensor));
  memref::StoreOp::create(b, loc, stored, memory.buffers.lookup(tensor), offsetOf(*this, tensor, at).base);
}

Value NaiveElements::readIf(Value inside, Value tensor, ArrayRef<Index> at, Value fill) {
  auto branch = scf::IfOp::create(b, loc, fill.getType(), inside, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, loc, read(tensor, at));
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, loc, fill);
  return branch.getResult(0);
}

Value NaiveElements::toCompute(Value stored, Type elementType) {
  Type compute = graph::computeType(elementType);
  if (elementType.isInteger(1))
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, stored,
                                 arith::ConstantOp::create(b, loc, b.getZeroAttr(stored.getType())));
  if (compute == stored.getType())
    return stored;
  if (graph::isHeldInByte(elementType))
    return graph::fromByte(b, loc, elementType, stored);
  if (isa<FloatType>(compute))
    return arith::ExtFOp::create(b, loc, compute, stored);
  return arith::TruncIOp::create(b, loc, compute, stored);
}

Value NaiveElements::toStorage(Value element, Type elementType) {
  Type storage = storageTypeOf(elementType);
  if (element.getType() == storage)
    return element;
  if (graph::isHeldInByte(elementType))
    return graph::toByte(b, loc, elementType, element);
  if (isa<FloatType>(storage))
    return arith::TruncFOp::create(b, loc, storage, element);
  if (elementType.isInteger(1) || elementType.isUnsignedInteger())
    return arith::ExtUIOp::create(b, loc, storage, element);
  return arith::ExtSIOp::create(b, loc, storage, element);
}

SmallVector<Value> NaiveElements::loops(ArrayRef<DimExpr> extents, ValueRange state,
                                        llvm::function_ref<SmallVector<Value>(ArrayRef<Index>, ValueRange)> body) {
  OpBuilder::InsertionGuard guard(b);
  Value zero = constant(0).base, one = constant(1).base;
  SmallVector<Value> ends = llvm::map_to_vector(extents, [&](const DimExpr &e) { return expression(e).base; });
  SmallVector<Value> zeros(extents.size(), zero), ones(extents.size(), one);
  scf::LoopNest nest = scf::buildLoopNest(
      b, loc, zeros, ends, ones, state, [&](OpBuilder &, Location, ValueRange ivs, ValueRange carried) {
        return body(llvm::map_to_vector(ivs, [](Value v) { return Index{v}; }), carried);
      });
  return nest.results;
}

} // namespace hewn

// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Contract/Sums/MatrixUnit.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using hewn::graph::Index;

namespace hewn::codegen {

bool MatrixUnit::fits(plan::MatrixUnitAttr unit, int64_t lanes) {
  // The right operand's tile is loaded with the row length of an accumulator tile, which must be
  // one vector.
  return unit.getColumns() == lanes && unit.getRows() <= unit.getRightGroups() &&
         unit.getLeftRowBytes() == unit.getSumRowBytes();
}

Value MatrixUnit::i16(int64_t value) { return arith::ConstantOp::create(b, loc, b.getI16IntegerAttr(int16_t(value))); }

Value MatrixUnit::bytes(Value memref, Index elements) {
  int64_t size = cast<MemRefType>(memref.getType()).getElementTypeBitWidth() / 8;
  Value scale = arith::ConstantIndexOp::create(b, loc, size);
  return b.createOrFold<arith::MulIOp>(loc, elements.base, scale);
}

Value MatrixUnit::address(Value memref, Index at) {
  Value base = memref::ExtractAlignedPointerAsIndexOp::create(b, loc, memref);
  Value sum = b.createOrFold<arith::AddIOp>(loc, base, bytes(memref, at));
  Value number = b.createOrFold<arith::IndexCastOp>(loc, b.getI64Type(), sum);
  return LLVM::IntToPtrOp::create(b, loc, LLVM::LLVMPointerType::get(b.getContext()), number);
}

Value MatrixUnit::zero(int64_t rows) {
  return LLVM::CallIntrinsicOp::create(b, loc, unit.getTile(), unit.getZero(),
                                       ValueRange{i16(rows), i16(unit.getSumRowBytes())})
      .getResult(0);
}

Value MatrixUnit::load(int64_t rows, Value memref, Index at, Index stride) {
  Value apart = b.createOrFold<arith::IndexCastOp>(loc, b.getI64Type(), bytes(memref, stride));
  return LLVM::CallIntrinsicOp::create(b, loc, unit.getTile(), unit.getLoad(),
                                       ValueRange{i16(rows), i16(unit.getSumRowBytes()), address(memref, at), apart})
      .getResult(0);
}

void MatrixUnit::store(Value tile, int64_t rows, Value memref, Index at, Index stride) {
  Value apart = b.createOrFold<arith::IndexCastOp>(loc, b.getI64Type(), bytes(memref, stride));
  LLVM::CallIntrinsicOp::create(b, loc, unit.getStore(),
                                ValueRange{i16(rows), i16(unit.getSumRowBytes()), address(memref, at), apart, tile});
}

Value MatrixUnit::product(int64_t rows, Value sums, Value left, Value right) {
  return LLVM::CallIntrinsicOp::create(
             b, loc, unit.getTile(), unit.getProduct(),
             ValueRange{i16(rows), i16(unit.getSumRowBytes()), i16(unit.getLeftRowBytes()), sums, left, right})
      .getResult(0);
}

} // namespace hewn::codegen

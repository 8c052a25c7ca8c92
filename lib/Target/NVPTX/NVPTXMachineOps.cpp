// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/NVPTX/NVPTXMachineOps.h"
#include "lib/Target/NVPTX/NVPTXDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace hewn::nvptx {

bool NVPTXMachineOps::areOf(plan::GpuAttr gpu) const { return gpu.getCosts().getWarpgroupProductsPerCycle() > 0; }

// Alignment of matrices in shared memory: the 128-byte swizzle has a period of 1024 bytes (PTX
// ISA).
int64_t NVPTXMachineOps::matrixAlignment() const { return 1024; }

void NVPTXMachineOps::showStores(OpBuilder &b, Location loc) const { FenceProxyAsyncOp::create(b, loc); }
void NVPTXMachineOps::beginProducts(OpBuilder &b, Location loc) const { WgmmaFenceOp::create(b, loc); }
void NVPTXMachineOps::closeProducts(OpBuilder &b, Location loc) const { WgmmaCommitGroupOp::create(b, loc); }

/// Returns the matrix descriptor of wgmma without its address, called a form (see nvptx.wgmma).
static Value formOf(OpBuilder &b, Location loc, const codegen::MachineOps::Matrix &matrix) {
  uint64_t lines = matrix.lineBytes == 128 ? 1 : matrix.lineBytes == 64 ? 2 : 3;
  uint64_t bits = uint64_t(matrix.panelStride / 16) << 16 | uint64_t(matrix.blockStride / 16) << 32 | lines << 62;
  return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(int64_t(bits)));
}

static FactorLayout layoutOf(const codegen::MachineOps::Matrix &matrix) {
  return matrix.alongSum ? FactorLayout::AlongSum : FactorLayout::AcrossSum;
}

SmallVector<Value> NVPTXMachineOps::product(OpBuilder &b, Location loc, Type leftFactors, Type rightFactors,
                                            const Matrix &left, const Matrix &right, ValueRange sums) const {
  Value leftForm = formOf(b, loc, left), rightForm = formOf(b, loc, right);
  return llvm::to_vector_of<Value>(WgmmaOp::create(b, loc, sums.getTypes(), left.address, leftForm, right.address,
                                                   rightForm, sums, leftFactors, rightFactors, layoutOf(left),
                                                   layoutOf(right))
                                       .getResults());
}

SmallVector<Value> NVPTXMachineOps::product(OpBuilder &b, Location loc, Type factors, ValueRange left,
                                            const Matrix &right, ValueRange sums) const {
  return llvm::to_vector_of<Value>(WgmmaOp::create(b, loc, sums.getTypes(), left, Value(), right.address,
                                                   formOf(b, loc, right), sums, factors, factors,
                                                   FactorLayout::Registers, layoutOf(right))
                                       .getResults());
}

SmallVector<Value> NVPTXMachineOps::waitForProducts(OpBuilder &b, Location loc, int64_t open, ValueRange sums) const {
  return llvm::to_vector_of<Value>(
      WgmmaWaitGroupOp::create(b, loc, sums.getTypes(), uint32_t(open), sums).getResults());
}

void NVPTXMachineOps::copyBox(OpBuilder &b, Location loc, Value to, Value tensor, ValueRange place,
                              Value barrier) const {
  TmaLoadOp::create(b, loc, tensor, place, to, barrier);
}

void NVPTXMachineOps::setRegisters(OpBuilder &b, Location loc, int64_t count, bool more) const {
  SetmaxnregOp::create(b, loc, uint32_t(count), /*grows=*/more);
}

//===------------------------------------------------------------------------------------------------------------------===//
// Calls of hewn-lower-simt
//===------------------------------------------------------------------------------------------------------------------===//

constexpr codegen::SimtEffects kOrders = codegen::SimtEffects::Orders, kTogether = codegen::SimtEffects::OrdersTogether;

static SmallVector<Value> callOf(WgmmaOp op, codegen::SimtCalls &calls) {
  auto letter = [](FactorLayout layout) {
    return layout == FactorLayout::Registers ? "r" : layout == FactorLayout::AlongSum ? "k" : "m";
  };
  std::string types = codegen::SimtCalls::factorName(op.getLeftType()).str();
  if (isa<IntegerType>(op.getLeftType()))
    types += codegen::SimtCalls::factorName(op.getRightType());
  SmallVector<Value> operands(op.getLeft());
  operands.push_back(op.getRight());
  if (op.getLeftForm())
    operands.push_back(op.getLeftForm());
  operands.push_back(op.getRightForm());
  llvm::append_range(operands, op.getSums());
  return calls.call("hewn.simt.group.product." + Twine(types) + "." + letter(op.getLeftLayout()) + "." +
                        letter(op.getRightLayout()) + "." + Twine(op.getSums().size() * 2),
                    operands, op.getResultTypes(), kTogether);
}

static SmallVector<Value> callOf(WgmmaWaitGroupOp op, codegen::SimtCalls &calls) {
  SmallVector<Value> operands = {calls.number(op.getOpen())};
  llvm::append_range(operands, op.getSums());
  StringRef types = op.getSums()[0].getType().isInteger() ? "i32." : "";
  return calls.call("hewn.simt.group.wait." + types + Twine(op.getSums().size() * 2), operands, op.getResultTypes(),
                    kTogether);
}

static SmallVector<Value> callOf(TmaLoadOp op, codegen::SimtCalls &calls) {
  SmallVector<Value> operands = {op.getTo(), op.getTensor()};
  llvm::append_range(operands, op.getPlace());
  operands.push_back(op.getBarrier());
  return calls.call("hewn.simt.fetch." + Twine(op.getPlace().size()), operands, {}, kOrders);
}

SmallVector<Value> NVPTXMachineOps::lowerToCall(Operation *op, codegen::SimtCalls &calls) const {
  return llvm::TypeSwitch<Operation *, SmallVector<Value>>(op)
      .Case([&](FenceProxyAsyncOp) { return calls.call("hewn.simt.group.publish", {}, {}, kOrders); })
      .Case([&](WgmmaFenceOp) { return calls.call("hewn.simt.group.begin", {}, {}, kTogether); })
      .Case([&](WgmmaCommitGroupOp) { return calls.call("hewn.simt.group.close", {}, {}, kTogether); })
      .Case<WgmmaOp, WgmmaWaitGroupOp, TmaLoadOp>([&](auto own) { return callOf(own, calls); })
      .Case([&](SetmaxnregOp set) {
        return calls.call(set.getGrows() ? "hewn.simt.registers.take" : "hewn.simt.registers.keep",
                          ValueRange{calls.number(set.getCount())}, {}, kTogether);
      });
}

} // namespace hewn::nvptx

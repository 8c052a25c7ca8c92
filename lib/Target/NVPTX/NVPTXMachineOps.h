// SPDX-License-Identifier: Apache-2.0
//
// Emits ops of the nvptx dialect for kernel generators, and lowers them to calls for the pass
// `hewn-lower-simt`, which prepares GPU kernels for the emulator on the CPU. Only tests define the
// called functions. For a GPU, `hewn-lower-to-nvvm` lowers the ops to instructions. In the list
// below, addresses are i64, counts are i32, and n is the number of columns of the right operand:
//
//     void hewn.simt.group.publish(), hewn.simt.group.begin(), hewn.simt.group.close()
//         fence_proxy_async, wgmma_fence, wgmma_commit_group
//     {f32 x n/2} hewn.simt.group.product.TYPE.LEFT.RIGHT.n(i64 left, i64 right, i64 leftForm,
//                                                           i64 rightForm, f32 x n/2)
//         wgmma with both operands in shared memory. TYPE is f16, bf16 or f32, or u8u8, u8s8, s8u8
//         or s8s8 (left and right) with i32 accumulators. LEFT and RIGHT: k for operands that are
//         contiguous along K, m for others
//     {f32 x n/2} hewn.simt.group.product.TYPE.r.RIGHT.n(i32 x 4, i64 right, i64 rightForm,
//                                                        f32 x n/2)
//         wgmma with the left operand in registers
//     {f32 x n/2} hewn.simt.group.wait.n, .i32.n(i32 open, f32 x n/2)     wgmma_wait_group
//     void hewn.simt.fetch.RANK(i64 to, ptr tensor, i32 x RANK, i64 mbarrier)     tma_load
//     void hewn.simt.registers.keep(i32 n), hewn.simt.registers.take(i32 n)
//         setmaxnreg with the new number of registers n: keep lowers it, take raises it
#ifndef HEWN_LIB_TARGET_NVPTX_NVPTXMACHINEOPS_H
#define HEWN_LIB_TARGET_NVPTX_NVPTXMACHINEOPS_H

#include "lib/Codegen/GPU/MachineOps.h"

namespace hewn::nvptx {

class NVPTXMachineOps : public codegen::MachineOps {
public:
  using MachineOps::MachineOps;

  bool areOf(plan::GpuAttr gpu) const override;
  int64_t matrixAlignment() const override;
  void showStores(mlir::OpBuilder &b, mlir::Location loc) const override;
  void beginProducts(mlir::OpBuilder &b, mlir::Location loc) const override;
  void closeProducts(mlir::OpBuilder &b, mlir::Location loc) const override;
  Values product(mlir::OpBuilder &b, mlir::Location loc, mlir::Type leftFactors, mlir::Type rightFactors,
                 const Matrix &left, const Matrix &right, mlir::ValueRange sums) const override;
  Values product(mlir::OpBuilder &b, mlir::Location loc, mlir::Type factors, mlir::ValueRange left, const Matrix &right,
                 mlir::ValueRange sums) const override;
  Values waitForProducts(mlir::OpBuilder &b, mlir::Location loc, int64_t open, mlir::ValueRange sums) const override;
  void copyBox(mlir::OpBuilder &b, mlir::Location loc, mlir::Value to, mlir::Value tensor, mlir::ValueRange place,
               mlir::Value barrier) const override;
  void setRegisters(mlir::OpBuilder &b, mlir::Location loc, int64_t count, bool more) const override;
  Values lowerToCall(mlir::Operation *op, codegen::SimtCalls &calls) const override;
};

} // namespace hewn::nvptx

#endif

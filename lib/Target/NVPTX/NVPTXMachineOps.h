// SPDX-License-Identifier: Apache-2.0
//
// How engines make ops of the dialect `nvptx`, and what `hewn-lower-grid` calls for them: functions that only tests define, since the target
// makes instructions of the ops. Addresses are i64, and what is counted is i32:
//
//     void hewn.grid.group.publish(), hewn.grid.group.begin(), hewn.grid.group.close()   fence_proxy_async, wgmma_fence, wgmma_commit_group
//     {f32 x n/2} hewn.grid.group.product.TYPE.LEFT.RIGHT.n(i64 left, i64 right, i64 leftForm, i64 rightForm, f32 x n/2)
//                                                                       wgmma; TYPE: f16, bf16, f32; u8u8, u8s8, s8u8, s8s8, left and right,
//                                                                       whose sums are i32. LEFT, RIGHT: k along the sum, m across it
//     {f32 x n/2} hewn.grid.group.product.TYPE.r.RIGHT.n(i32 x 4, i64 right, i64 rightForm, f32 x n/2)   ... in registers
//     {f32 x n/2} hewn.grid.group.wait.n, .i32.n(i32 open, f32 x n/2)   wgmma_wait_group
//     void hewn.grid.fetch.RANK(i64 to, ptr tensor, i32 x RANK, i64 mbarrier)   tma_load
//     void hewn.grid.registers.keep(i32 n), hewn.grid.registers.take(i32 n)   setmaxnreg, grows
#ifndef HEWN_LIB_TARGET_NVPTX_NVPTXMACHINEOPS_H
#define HEWN_LIB_TARGET_NVPTX_NVPTXMACHINEOPS_H

#include "lib/Codegen/Grid/MachineOps.h"

namespace hewn::nvptx {

class NVPTXMachineOps : public codegen::MachineOps {
public:
  using MachineOps::MachineOps;

  bool areOf(plan::GridAttr grid) const override;
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
  Values lowerToCall(mlir::Operation *op, codegen::GridCalls &calls) const override;
};

} // namespace hewn::nvptx

#endif

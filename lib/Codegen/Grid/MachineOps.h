// SPDX-License-Identifier: Apache-2.0
//
// What some machines' grids have beside the dialect `grid`: products of matrices in shared memory by groups of four warps, copies of
// boxes of tensors, registers that groups hand to each other.
//
// They are ops of the target's own dialect, which engines make without its name: schedules ask for them where the machine's model has a
// `warpgroupProductsPerCycle`, and the dialect of that target has this interface.
#ifndef HEWN_LIB_CODEGEN_GRID_MACHINEOPS_H
#define HEWN_LIB_CODEGEN_GRID_MACHINEOPS_H

#include "dialects/Plan/Plan.h"
#include "lib/Codegen/Grid/GridCalls.h"
#include "mlir/IR/DialectInterface.h"

namespace hewn::codegen {

class MachineOps : public mlir::DialectInterface::Base<MachineOps> {
public:
  MachineOps(mlir::Dialect *dialect) : Base(dialect) {}
  using Values = llvm::SmallVector<mlir::Value>;

  /// Those of the dialect in `context` that is of such machines; null: there is none.
  static const MachineOps *of(mlir::MLIRContext *context, plan::GridAttr grid);
  /// Whether machines with such a model have these ops.
  virtual bool areOf(plan::GridAttr grid) const = 0;

  /// A matrix in shared memory as a group's product reads it; strides and the length of a line in bytes.
  struct Matrix {
    mlir::Value address; // i64
    bool alongSum;
    int64_t lineBytes, blockStride, panelStride;
  };
  /// What shared memory must begin at a multiple of for matrices, in bytes.
  virtual int64_t matrixAlignment() const = 0;

  /// Before the barrier that lets groups read what this thread has stored.
  virtual void showStores(mlir::OpBuilder &b, mlir::Location loc) const = 0;
  /// Before products of sums that were not the group's, and behind the products that are to be waited for as one.
  virtual void beginProducts(mlir::OpBuilder &b, mlir::Location loc) const = 0;
  virtual void closeProducts(mlir::OpBuilder &b, mlir::Location loc) const = 0;
  /// `sums`, under way from now on, plus the product of the group's matrices. Factors are float32, float16, bfloat16, or each of
  /// them i8 or ui8, whose sums are i32.
  virtual Values product(mlir::OpBuilder &b, mlir::Location loc, mlir::Type leftFactors, mlir::Type rightFactors,
                         const Matrix &left, const Matrix &right, mlir::ValueRange sums) const = 0;
  /// The same of a left matrix in registers: this lane's four words.
  virtual Values product(mlir::OpBuilder &b, mlir::Location loc, mlir::Type factors, mlir::ValueRange left,
                         const Matrix &right, mlir::ValueRange sums) const = 0;
  /// The sums, when all closed products but the last `open` are done.
  virtual Values waitForProducts(mlir::OpBuilder &b, mlir::Location loc, int64_t open, mlir::ValueRange sums) const = 0;
  /// A box of the kernel's argument `tensor` from `place` (i32, the innermost dim first) to shared memory; its bytes count for the
  /// barrier in memory. Both addresses are i64.
  virtual void copyBox(mlir::OpBuilder &b, mlir::Location loc, mlir::Value to, mlir::Value tensor,
                       mlir::ValueRange place, mlir::Value barrier) const = 0;
  /// Of each thread of a group: fewer registers than the kernel began with, or more.
  virtual void setRegisters(mlir::OpBuilder &b, mlir::Location loc, int64_t count, bool more) const = 0;

  /// Calls the function that stands for one of these ops in `hewn-lower-grid`; its results.
  virtual Values lowerToCall(mlir::Operation *op, GridCalls &calls) const = 0;
};

} // namespace hewn::codegen

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Dialect interface for GPU instructions that only some targets have: warpgroup MMA on matrices in
// shared memory, TMA loads, register reallocation between warpgroups.
//
// The instructions are ops of the target's dialect. Kernel generators create them through this
// interface, so that they do not depend on the dialect. Schedules use the instructions if the
// target description has a `warpgroupProductsPerCycle`.
#ifndef HEWN_LIB_CODEGEN_GPU_MACHINEOPS_H
#define HEWN_LIB_CODEGEN_GPU_MACHINEOPS_H

#include "dialects/Plan/Plan.h"
#include "lib/Codegen/GPU/SimtCalls.h"
#include "mlir/IR/DialectInterface.h"

namespace hewn::codegen {

class MachineOps : public mlir::DialectInterface::Base<MachineOps> {
public:
  MachineOps(mlir::Dialect *dialect) : Base(dialect) {}
  using Values = llvm::SmallVector<mlir::Value>;

  /// Returns the interface of a dialect loaded in `context` that supports the GPU `gpu`, or null if
  /// there is none.
  static const MachineOps *of(mlir::MLIRContext *context, plan::GpuAttr gpu);
  /// Returns true if the dialect has ops for targets with the description `gpu`.
  virtual bool areOf(plan::GpuAttr gpu) const = 0;

  /// A matrix in shared memory, as an operand of warpgroup MMA. Strides and the line size are in
  /// bytes.
  struct Matrix {
    mlir::Value address; // i64
    bool alongSum;
    int64_t lineBytes, blockStride, panelStride;
  };
  /// Returns the alignment in bytes that shared memory needs for matrices of warpgroup MMA.
  virtual int64_t matrixAlignment() const = 0;

  /// Makes this thread's stores to shared memory visible to warpgroup MMA. The caller emits a
  /// barrier after it.
  virtual void showStores(mlir::OpBuilder &b, mlir::Location loc) const = 0;
  /// `beginProducts` must precede warpgroup MMAs on accumulators that other instructions have
  /// written. `closeProducts` forms a group, for `waitForProducts`, of the MMAs since its last
  /// call.
  virtual void beginProducts(mlir::OpBuilder &b, mlir::Location loc) const = 0;
  virtual void closeProducts(mlir::OpBuilder &b, mlir::Location loc) const = 0;
  /// Starts a warpgroup MMA on two matrices in shared memory and returns the accumulators, which
  /// must not be read before `waitForProducts`. Both operands are float32, float16 or bfloat16, of
  /// the same type; or each is i8 or ui8, with i32 accumulators.
  virtual Values product(mlir::OpBuilder &b, mlir::Location loc, mlir::Type leftFactors, mlir::Type rightFactors,
                         const Matrix &left, const Matrix &right, mlir::ValueRange sums) const = 0;
  /// Starts a warpgroup MMA whose left matrix is in four registers of each lane, and whose right
  /// matrix is in shared memory.
  virtual Values product(mlir::OpBuilder &b, mlir::Location loc, mlir::Type factors, mlir::ValueRange left,
                         const Matrix &right, mlir::ValueRange sums) const = 0;
  /// Waits until all closed groups of MMAs, except the last `open` ones, have completed. Returns
  /// the accumulators.
  virtual Values waitForProducts(mlir::OpBuilder &b, mlir::Location loc, int64_t open, mlir::ValueRange sums) const = 0;
  /// Starts a TMA load of a tile of the kernel argument `tensor` to shared memory. `place` is the
  /// index of the tile's first element (i32 values, the innermost dim first). `to` and `barrier`
  /// are i64 addresses: of the shared memory, and of the mbarrier that counts the loaded bytes.
  virtual void copyBox(mlir::OpBuilder &b, mlir::Location loc, mlir::Value to, mlir::Value tensor,
                       mlir::ValueRange place, mlir::Value barrier) const = 0;
  /// Sets the number of registers of each thread of a warpgroup to `count`. `more` must be true if
  /// this is more than before, and false if it is fewer.
  virtual void setRegisters(mlir::OpBuilder &b, mlir::Location loc, int64_t count, bool more) const = 0;

  /// Emits the call that replaces `op` in `hewn-lower-simt`, and returns its results.
  virtual Values lowerToCall(mlir::Operation *op, SimtCalls &calls) const = 0;
};

} // namespace hewn::codegen

#endif

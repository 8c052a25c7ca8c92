// SPDX-License-Identifier: Apache-2.0
//
// Emits the code of one GPU thread.
//
// Kernels for targets with `#plan.gpu` are launched on blocks of threads. The builder creates ops
// of the dialect `simt` (dialects/Simt/Simt.td) and, if the schedule uses them, ops of the target's
// own dialect (MachineOps.h).
#ifndef HEWN_LIB_CODEGEN_GPU_GPU_H
#define HEWN_LIB_CODEGEN_GPU_GPU_H

#include "lib/Codegen/GPU/MachineOps.h"
#include "lib/Codegen/Kernel/KernelContext.h"

namespace hewn::codegen {

/// Number of the memory space (address space) of shared memory.
inline constexpr int64_t kSharedSpace = 3;

/// Attribute of a kernel function: the number of blocks that must fit a multiprocessor at the same
/// time. The assembler limits the registers per thread accordingly.
inline constexpr char kTogetherAttr[] = "hewn-together";

/// Lays out the shared memory of a kernel: records its size in bytes (`blockBytes` of
/// #plan.gpu_launch) and returns it. If the size exceeds the target's static limit, merges all
/// shared globals into one global that is allocated at launch (`sharedBytes`).
int64_t gatherShared(KernelContext &k);

/// Emits the body of a GPU kernel as a sequence of loop nests. The iterations of each nest are
/// distributed over all threads of the launch.
class GpuBuilder {
public:
  /// `threads` is the number of threads of a block, a multiple of the warp size.
  GpuBuilder(KernelContext &k, ElementEmitter &e, int64_t threads);

  const int64_t threads, warp;
  /// Index of this thread in its block, index of its block, and number of blocks. All have index
  /// type.
  mlir::Value thread, block, blocks;

  /// Records the approximate number of registers that a thread needs.
  void wantRegisters(int64_t count);
  /// Records `count` as the number of registers that a thread needs. If several blocks with so many
  /// registers fit a multiprocessor, also limits the registers to `count`, so that the blocks do
  /// fit.
  void limitRegisters(int64_t count);
  /// Requests `count` blocks for the launch. The launch has the maximum over all loop nests.
  /// Results do not depend on the number of blocks.
  void wantBlocks(const graph::DimExpr &count);
  /// Emits `body` for each index in dims with the extents `counts`. One thread executes each index;
  /// consecutive threads execute consecutive indices of the last dim.
  void overThreads(llvm::ArrayRef<graph::DimExpr> counts, llvm::function_ref<void(llvm::ArrayRef<graph::Index>)> body);
  /// Emits `body` for each index of [0, count). All threads of one block execute each index
  /// together, so `body` may contain barriers.
  void overBlocks(const graph::DimExpr &count, llvm::function_ref<void(graph::Index)> body);
  /// Emits `body` for each index of [0, count), on at most `most` blocks. All threads of one block
  /// execute each index together. The values that `body` returns are passed to the block's next
  /// index; `start` is passed to its first one.
  llvm::SmallVector<mlir::Value>
  overBlocks(const graph::DimExpr &count, int64_t most, llvm::ArrayRef<mlir::Value> start,
             llvm::function_ref<llvm::SmallVector<mlir::Value>(graph::Index, mlir::ValueRange)> body);
  /// Emits a loop that runs `body` for `from`, `from` + `step`, and so on while less than `to`.
  void stride(graph::Index from, graph::Index to, graph::Index step, llvm::function_ref<void(graph::Index)> body);

  void barrier();
  /// Waits for all threads of the warp. After that, each thread sees the memory writes of the
  /// others.
  void warpBarrier();
  /// Returns the `value` that the lane with index `lane ^ laneXor` has. Supports all compute types.
  mlir::Value shuffle(mlir::Value value, int64_t laneXor);
  /// Transposes a 4x4 matrix that is distributed over the lanes of each quad. Before the call,
  /// `four` is this lane's row of the matrix; afterwards, this lane's column.
  void transposeQuads(llvm::MutableArrayRef<mlir::Value> four);
  /// Returns 2^x for a float32, with the accuracy of the hardware instruction.
  mlir::Value exp2(mlir::Value x);
  /// Emits a warp-level MMA (`simt.mma`) and returns `sums` + `left` * `right`. Both operands are
  /// float32, float16 or bfloat16, of the same type; or each is i8 or ui8, with i32 accumulators.
  llvm::SmallVector<mlir::Value> product(mlir::Type leftFactors, mlir::Type rightFactors,
                                         llvm::ArrayRef<mlir::Value> left, llvm::ArrayRef<mlir::Value> right,
                                         llvm::ArrayRef<mlir::Value> sums);
  /// Loads four 8x8 matrices from shared memory, one register of each per lane (`simt.ldmatrix`).
  /// `from` + `offset` is the address of the matrix row that this lane supplies.
  llvm::SmallVector<mlir::Value> ldmatrix(graph::Index from, bool transposed, int64_t offset = 0);
  /// Starts an asynchronous copy of 16, 8 or 4 bytes from global to shared memory. If `inside` is
  /// false, zeros are written instead.
  void copy(graph::Index to, graph::Index from, int64_t bytes, mlir::Value inside);
  /// A matrix in shared memory, as an operand of warpgroup MMA. Strides and the line size are in
  /// bytes.
  struct Matrix {
    graph::Index address;
    bool alongSum;
    int64_t lineBytes, blockStride, panelStride;
  };
  /// Returns the alignment in bytes that shared memory needs for matrices of warpgroup MMA.
  int64_t matrixAlignment() const { return ops().matrixAlignment(); }
  /// `publishToGroups` makes this thread's stores to shared memory visible to warpgroup MMA; the
  /// caller emits a barrier after it. `beginGroup` starts a sequence of warpgroup MMAs on new
  /// accumulators.
  void publishToGroups();
  void beginGroup();
  /// Starts a warpgroup MMA with both operands in shared memory. Returns this thread's
  /// accumulators, which are not valid before `waitForGroup`. Element types are those of `product`.
  llvm::SmallVector<mlir::Value> groupProduct(mlir::Type leftFactors, mlir::Type rightFactors, const Matrix &left,
                                              const Matrix &right, llvm::ArrayRef<mlir::Value> sums);
  /// Starts a warpgroup MMA whose left operand is in four registers of each lane, in the layout of
  /// `product`. The right operand is in shared memory.
  llvm::SmallVector<mlir::Value> groupProduct(mlir::Type factors, llvm::ArrayRef<mlir::Value> left, const Matrix &right,
                                              llvm::ArrayRef<mlir::Value> sums);
  void closeGroup();
  llvm::SmallVector<mlir::Value> waitForGroup(int64_t open, llvm::ArrayRef<mlir::Value> sums);
  /// Operations on an mbarrier: `mbarrier` is its address, 8 bytes in shared memory.
  void initMbarrier(graph::Index mbarrier, int64_t arrivals);
  void fenceMbarrierInits();
  void arrive(graph::Index mbarrier);
  void expect(graph::Index mbarrier, int64_t bytes);
  void waitForMbarrier(graph::Index mbarrier, graph::Index parity);
  /// Starts a TMA load of a tile of the kernel argument `tensor` into shared memory. `at` is the
  /// index of the tile's first element, with the innermost dim first. The loaded bytes count for
  /// `mbarrier`.
  void fetch(graph::Index to, mlir::Value tensor, llvm::ArrayRef<graph::Index> at, graph::Index mbarrier);
  /// Set the number of registers of each thread of a warpgroup to `count`: a lower number with
  /// `keepRegisters`, a higher one with `takeRegisters`.
  void keepRegisters(int64_t count);
  void takeRegisters(int64_t count);
  /// Adds `more` to the counter at address `counter` in global memory, atomically and with acquire
  /// and release semantics. Returns the counter's previous value.
  mlir::Value count(graph::Index counter, mlir::Value more);
  void closeCopies();
  void waitForCopies(int64_t open);
  /// Returns the byte address of the first element of a buffer in global or shared memory.
  graph::Index address(mlir::Value memory);
  /// Allocates shared memory for `elements` elements of `type`, aligned to `alignment` bytes.
  /// Returns a memref in the memory space of shared memory. i1 is stored as i8.
  mlir::Value shared(int64_t elements, mlir::Type type, int64_t alignment = 16);
  void storeShared(mlir::Value value, mlir::Value memory, mlir::Value at);
  mlir::Value loadShared(mlir::Type type, mlir::Value memory, mlir::Value at);

private:
  KernelContext &k;
  ElementEmitter &e;
  std::optional<graph::DimExpr> wanted;
  unsigned memories = 0;

  /// Returns the target's MachineOps, the interface to GPU instructions that only some targets
  /// have. MachineOps exist if the schedule uses such instructions.
  const MachineOps &ops() const;
  MachineOps::Matrix withAddress(const Matrix &matrix);
  mlir::Value number(int32_t value);
  mlir::Value wide(graph::Index index);
  mlir::Value narrow(graph::Index index);
};

} // namespace hewn::codegen

#endif

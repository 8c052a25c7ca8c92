// SPDX-License-Identifier: Apache-2.0
//
// Code for one thread of a grid.
//
// Kernels of a machine with `#plan.grid` are launched on blocks of threads. What such code needs beyond loops are the ops of the dialect
// `grid` (dialects/Grid/Grid.td), which say what each means, and where a schedule asks for them ops of the machine's own (MachineOps.h).
#ifndef HEWN_LIB_CODEGEN_GRID_GRID_H
#define HEWN_LIB_CODEGEN_GRID_GRID_H

#include "lib/Codegen/Grid/MachineOps.h"
#include "lib/Codegen/KernelFunction.h"

namespace hewn::codegen {

/// The memory space of a block's shared memory.
inline constexpr int64_t kSharedSpace = 3;

/// On a kernel: so many blocks a processor is to run at once, and their registers are shared out for that.
inline constexpr char kTogetherAttr[] = "hewn-together";

/// At the end of a kernel: says what shared memory its blocks have (`blockBytes` of #plan.grid_launch), and gives its bytes. Where that is
/// more than a block has without asking, all of it becomes one, which each block is given when launched (`sharedBytes`).
int64_t gatherShared(KernelFunction &k);

/// A kernel on its way to a grid: one nest after another, each spread over all of its threads.
class Grid {
public:
  /// `threads`: of a block, a multiple of the warp.
  Grid(KernelFunction &k, KernelElements &e, int64_t threads);

  const int64_t threads, warp;
  /// Positions of index type.
  mlir::Value thread, block, blocks;

  /// Says that a thread wants about so many registers, where these are more than few.
  void wantRegisters(int64_t count);
  /// The same, and that it is to have no more than those with which as many blocks run at once as with `count`.
  void limitRegisters(int64_t count);
  /// Says that the kernel wants so many blocks; of several nests the largest counts. Any number gives the same results.
  void wantBlocks(const graph::DimExpr &count);
  /// `body` at every index of `counts`, each by one thread; neighbours along the last dim by neighbouring threads.
  void overThreads(llvm::ArrayRef<graph::DimExpr> counts, llvm::function_ref<void(llvm::ArrayRef<graph::Index>)> body);
  /// `body` at every item of [0, count), each by all threads of one block: it may wait at barriers.
  void overBlocks(const graph::DimExpr &count, llvm::function_ref<void(graph::Index)> body);
  /// The same, carrying values from one item of the block to the next, on no more blocks than `most`.
  llvm::SmallVector<mlir::Value>
  overBlocks(const graph::DimExpr &count, int64_t most, llvm::ArrayRef<mlir::Value> start,
             llvm::function_ref<llvm::SmallVector<mlir::Value>(graph::Index, mlir::ValueRange)> body);
  /// The two loops' common form: from, from + step, ... below `to`.
  void stride(graph::Index from, graph::Index to, graph::Index step, llvm::function_ref<void(graph::Index)> body);

  void barrier();
  /// Waits for the warp's threads, which then see what each has done.
  void warpBarrier();
  /// The value of another lane of the warp; of any type that elements are computed in.
  mlir::Value shuffle(mlir::Value value, int64_t laneXor);
  /// Of each four neighbouring lanes, a matrix of which each has a row: afterwards each has a column.
  void transposeQuads(llvm::MutableArrayRef<mlir::Value> four);
  /// 2^x of a float32, as the machine's instruction has it.
  mlir::Value exp2(mlir::Value x);
  /// `sums` plus the product of the warp's two matrices of each lane's parts. `factors` of both: float32, float16, bfloat16, or
  /// each of them i8 or ui8, whose sums are i32.
  llvm::SmallVector<mlir::Value> product(mlir::Type leftFactors, mlir::Type rightFactors,
                                         llvm::ArrayRef<mlir::Value> left, llvm::ArrayRef<mlir::Value> right,
                                         llvm::ArrayRef<mlir::Value> sums);
  /// Four words of the warp's matrices in shared memory; `from` + `offset`: the address of this lane's line.
  llvm::SmallVector<mlir::Value> ldmatrix(graph::Index from, bool transposed, int64_t offset = 0);
  /// Sends `bytes` (16, 8, 4) on their way from memory to shared memory; zeros instead where `inside` does not hold.
  void copy(graph::Index to, graph::Index from, int64_t bytes, mlir::Value inside);
  /// A matrix in shared memory as a group's product reads it; strides and the length of a line in bytes.
  struct Matrix {
    graph::Index address;
    bool alongSum;
    int64_t lineBytes, blockStride, panelStride;
  };
  /// What shared memory must begin at a multiple of for such matrices, in bytes.
  int64_t matrixAlignment() const { return ops().matrixAlignment(); }
  /// Before the barrier that lets groups read what this thread has written, and before products of sums that were not theirs.
  void publishToGroups();
  void beginGroup();
  /// `sums` of this thread, under way from now on, plus the product of the group's matrices of factors as those of `product`.
  llvm::SmallVector<mlir::Value> groupProduct(mlir::Type leftFactors, mlir::Type rightFactors, const Matrix &left,
                                              const Matrix &right, llvm::ArrayRef<mlir::Value> sums);
  /// The same of a left matrix in registers: this lane's four words, as for `product`.
  llvm::SmallVector<mlir::Value> groupProduct(mlir::Type factors, llvm::ArrayRef<mlir::Value> left, const Matrix &right,
                                              llvm::ArrayRef<mlir::Value> sums);
  void closeGroup();
  llvm::SmallVector<mlir::Value> waitForGroup(int64_t open, llvm::ArrayRef<mlir::Value> sums);
  /// Mbarriers: an address of eight bytes in shared memory each.
  void initMbarrier(graph::Index mbarrier, int64_t arrivals);
  void fenceMbarrierInits();
  void arrive(graph::Index mbarrier);
  void expect(graph::Index mbarrier, int64_t bytes);
  void waitForMbarrier(graph::Index mbarrier, graph::Index parity);
  /// A box of the kernel's argument `tensor` from place `at` on, the innermost dim first.
  void fetch(graph::Index to, mlir::Value tensor, llvm::ArrayRef<graph::Index> at, graph::Index mbarrier);
  /// Of each thread of a group: fewer registers than the kernel began with, or more.
  void keepRegisters(int64_t count);
  void takeRegisters(int64_t count);
  /// Adds to a counter of all blocks, an address: behind what this thread has seen or written. What it was.
  mlir::Value count(graph::Index counter, mlir::Value more);
  void closeCopies();
  void waitForCopies(int64_t open);
  /// Where a buffer's or shared memory's first element is, in bytes.
  graph::Index address(mlir::Value memory);
  /// A block's memory for `elements` of `type`, as a memref in the shared space, at a multiple of `alignment` bytes; i1 is
  /// stored as i8.
  mlir::Value shared(int64_t elements, mlir::Type type, int64_t alignment = 16);
  void storeShared(mlir::Value value, mlir::Value memory, mlir::Value at);
  mlir::Value loadShared(mlir::Type type, mlir::Value memory, mlir::Value at);

private:
  KernelFunction &k;
  KernelElements &e;
  std::optional<graph::DimExpr> wanted;
  unsigned memories = 0;

  /// Those of the machine's own, which it has where a schedule asks for them.
  const MachineOps &ops() const;
  MachineOps::Matrix withAddress(const Matrix &matrix);
  mlir::Value number(int32_t value);
  mlir::Value wide(graph::Index index);
  mlir::Value narrow(graph::Index index);
};

} // namespace hewn::codegen

#endif

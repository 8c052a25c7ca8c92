// SPDX-License-Identifier: Apache-2.0
//
// Code for one thread of a grid.
//
// Kernels of a machine with `#plan.grid` are launched on blocks of threads. What such code needs beyond loops are a few
// functions, which stay calls until the target makes instructions of them: so the same LLVM IR also runs on a CPU, where
// a test defines them.
//
//     i32 hewn.grid.thread(), hewn.grid.block(), hewn.grid.blocks()     this thread in its block, its block, all blocks
//     void hewn.grid.barrier(i32 0)                                     waits for all threads of the block
//     i32 hewn.grid.shuffle(i32 mask, i32 value, i32 xor, i32 31)       the value of the lane `lane ^ xor` of the warp
//     {f32 x 4} hewn.grid.product(i32 x 4, i32 x 2, f32 x 4)            a warp's 16x8 matrix of sums += 16x8 times 8x8
//
// Of the product's factors, float32s as bits, the leading eleven significant bits count. With lane = 4 g + t, a lane has of the
// left one (g, t), (g+8, t), (g, t+4), (g+8, t+4), of the right one (t, g), (t+4, g), of the sums (g, 2t), (g, 2t+1), (g+8, 2t),
// (g+8, 2t+1).
#ifndef HEWN_LIB_CODEGEN_GRID_GRID_H
#define HEWN_LIB_CODEGEN_GRID_GRID_H

#include "lib/Codegen/KernelFunction.h"

namespace llvm {
class Function;
} // namespace llvm

namespace hewn::codegen {

inline constexpr llvm::StringLiteral kGridThread = "hewn.grid.thread";
inline constexpr llvm::StringLiteral kGridBlock = "hewn.grid.block";
inline constexpr llvm::StringLiteral kGridBlocks = "hewn.grid.blocks";
inline constexpr llvm::StringLiteral kGridBarrier = "hewn.grid.barrier";
inline constexpr llvm::StringLiteral kGridShuffle = "hewn.grid.shuffle";
inline constexpr llvm::StringLiteral kGridProduct = "hewn.grid.product";

/// Tells LLVM what it may do with a declared function of the grid; false: it is none.
bool describeGridFunction(llvm::Function &function);

/// The memory space of a block's shared memory.
inline constexpr int64_t kSharedSpace = 3;

/// A kernel on its way to a grid: one nest after another, each spread over all of its threads.
class Grid {
public:
  /// `threads`: of a block, a multiple of the warp.
  Grid(KernelFunction &k, KernelElements &e, int64_t threads);

  const int64_t threads, warp;
  /// Positions of index type.
  mlir::Value thread, block, blocks;

  /// Says that the kernel wants so many blocks; of several nests the largest counts. Any number gives the same results.
  void wantBlocks(const graph::DimExpr &count);
  /// `body` at every index of `counts`, each by one thread; neighbours along the last dim by neighbouring threads.
  void overThreads(llvm::ArrayRef<graph::DimExpr> counts, llvm::function_ref<void(llvm::ArrayRef<graph::Index>)> body);
  /// `body` at every item of [0, count), each by all threads of one block: it may wait at barriers.
  void overBlocks(const graph::DimExpr &count, llvm::function_ref<void(graph::Index)> body);
  /// A number as an index in dims of `counts`, the last one fastest.
  llvm::SmallVector<graph::Index> unravel(graph::Index linear, llvm::ArrayRef<graph::DimExpr> counts);
  /// The two loops' common form: from, from + step, ... below `to`.
  void stride(graph::Index from, graph::Index to, graph::Index step, llvm::function_ref<void(graph::Index)> body);

  void barrier();
  /// The value of another lane of the warp; of any type that elements are computed in.
  mlir::Value shuffle(mlir::Value value, int64_t laneXor);
  /// `sums` plus the product of the warp's two matrices, of each lane's parts.
  llvm::SmallVector<mlir::Value> product(llvm::ArrayRef<mlir::Value> left, llvm::ArrayRef<mlir::Value> right,
                                         llvm::ArrayRef<mlir::Value> sums);
  /// A block's memory for `elements` of `type`, as a memref in the shared space; i1 is stored as i8.
  mlir::Value shared(int64_t elements, mlir::Type type);
  void storeShared(mlir::Value value, mlir::Value memory, mlir::Value at);
  mlir::Value loadShared(mlir::Type type, mlir::Value memory, mlir::Value at);

private:
  KernelFunction &k;
  KernelElements &e;
  std::optional<graph::DimExpr> wanted;
  unsigned memories = 0;

  mlir::ValueRange call(llvm::StringRef name, mlir::ValueRange operands, mlir::TypeRange results);
  mlir::Value number(int32_t value);
};

} // namespace hewn::codegen

#endif

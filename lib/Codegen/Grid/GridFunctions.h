// SPDX-License-Identifier: Apache-2.0
//
// The functions that `hewn-lower-grid` calls for the ops of the dialect `grid`, in code that stays LLVM IR: it runs on a CPU, where a test
// defines them. Addresses are i64, and what is counted is i32:
//
//     i32 hewn.grid.thread(), hewn.grid.block(), hewn.grid.blocks()     thread_id, block_id, num_blocks
//     void hewn.grid.barrier(i32 0), hewn.grid.barrier.some(i32 1, i32 n)   barrier, of n
//     void hewn.grid.warp.barrier(i32 mask)                                warp_barrier
//     i32 hewn.grid.shuffle(i32 mask, i32 value, i32 xor, i32 31)       shuffle_xor
//     f32 hewn.grid.exp2(f32 x)                                         exp2
//     i32 hewn.grid.counter.add(i64 at, i32 more)                       counter_add
//     i32 hewn.grid.counter.read(i64 at), hewn.grid.counter.peek(i64 at)   counter_read, relaxed
//     {f32 x 4} hewn.grid.product[.TYPE](i32 x 4, i32 x 2, f32 x 4)     mma of f32, TYPE: f16, bf16
//     {i32 x 4} hewn.grid.product.LEFT.RIGHT(i32 x 4, i32 x 2, i32 x 4)   ... of integers u8 or s8
//     {i32 x 4} hewn.grid.ldmatrix[.turned](i64 from)                      ldmatrix
//     void hewn.grid.copy16, copy8, copy4(i64 to, i64 from, i32 present)  async_copy
//     void hewn.grid.copies.close(), hewn.grid.copies.wait(i32 open)    async_commit, async_wait
//     void hewn.grid.prefetch(i64 at)                                   prefetch
//     void hewn.grid.mbarrier.init(i64 mbarrier, i32 arrivals), hewn.grid.mbarriers.ready()   mbarrier_init, mbarrier_init_fence
//     void hewn.grid.mbarrier.arrive(i64 mbarrier), hewn.grid.mbarrier.expect(i64 mbarrier, i32 bytes), hewn.grid.mbarrier.wait(i64 mbarrier, i32 parity)
#ifndef HEWN_LIB_CODEGEN_GRID_GRIDFUNCTIONS_H
#define HEWN_LIB_CODEGEN_GRID_GRIDFUNCTIONS_H

#include "llvm/ADT/StringRef.h"

namespace hewn::codegen {

/// What the names of all of them begin with.
inline constexpr llvm::StringLiteral kGridFunctions = "hewn.grid.";
inline constexpr llvm::StringLiteral kGridThread = "hewn.grid.thread";
inline constexpr llvm::StringLiteral kGridBlock = "hewn.grid.block";
inline constexpr llvm::StringLiteral kGridBlocks = "hewn.grid.blocks";
inline constexpr llvm::StringLiteral kGridBarrier = "hewn.grid.barrier";
inline constexpr llvm::StringLiteral kGridBarrierSome = "hewn.grid.barrier.some";
inline constexpr llvm::StringLiteral kGridCounterAdd = "hewn.grid.counter.add";
inline constexpr llvm::StringLiteral kGridCounterRead = "hewn.grid.counter.read";
inline constexpr llvm::StringLiteral kGridCounterPeek = "hewn.grid.counter.peek";
inline constexpr llvm::StringLiteral kGridWarpBarrier = "hewn.grid.warp.barrier";
inline constexpr llvm::StringLiteral kGridShuffle = "hewn.grid.shuffle";
inline constexpr llvm::StringLiteral kGridExp2 = "hewn.grid.exp2";
inline constexpr llvm::StringLiteral kGridProduct = "hewn.grid.product"; // ... and, but for float32, its types
inline constexpr llvm::StringLiteral kGridLdmatrix = "hewn.grid.ldmatrix";
inline constexpr llvm::StringLiteral kGridLdmatrixTransposed = "hewn.grid.ldmatrix.transposed";
inline constexpr llvm::StringLiteral kGridCopy16 = "hewn.grid.copy16";
inline constexpr llvm::StringLiteral kGridCopy8 = "hewn.grid.copy8";
inline constexpr llvm::StringLiteral kGridCopy4 = "hewn.grid.copy4";
inline constexpr llvm::StringLiteral kGridCopiesClose = "hewn.grid.copies.close";
inline constexpr llvm::StringLiteral kGridCopiesWait = "hewn.grid.copies.wait";
inline constexpr llvm::StringLiteral kGridPrefetch = "hewn.grid.prefetch";
inline constexpr llvm::StringLiteral kGridMbarrierInit = "hewn.grid.mbarrier.init";
inline constexpr llvm::StringLiteral kGridMbarriersReady = "hewn.grid.mbarriers.ready";
inline constexpr llvm::StringLiteral kGridMbarrierArrive = "hewn.grid.mbarrier.arrive";
inline constexpr llvm::StringLiteral kGridMbarrierExpect = "hewn.grid.mbarrier.expect";
inline constexpr llvm::StringLiteral kGridMbarrierWait = "hewn.grid.mbarrier.wait";

} // namespace hewn::codegen

#endif

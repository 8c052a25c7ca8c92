// SPDX-License-Identifier: Apache-2.0
//
// Functions that `hewn-lower-simt` calls for the ops of the dialect `simt`. The code stays LLVM IR
// and runs on a CPU, where a test's emulator defines them. Addresses are i64, counts are i32.
//
// | function | op |
// | --- | --- |
// | i32 hewn.simt.thread(), block(), blocks() | thread_id, block_id, num_blocks |
// | void hewn.simt.barrier(i32 0) | barrier |
// | void hewn.simt.barrier.some(i32 1, i32 n) | barrier of n |
// | void hewn.simt.warp.barrier(i32 mask) | warp_barrier |
// | i32 hewn.simt.shuffle(i32 mask, i32 value, i32 xor, i32 width - 1) | shuffle_xor |
// | f32 hewn.simt.exp2(f32 x) | exp2 |
// | i32 hewn.simt.counter.add(i64 at, i32 more) | counter_add |
// | i32 hewn.simt.counter.read(i64 at), counter.peek(i64 at) | counter_read, relaxed |
// | {f32 x 4} hewn.simt.product[.TYPE](i32 x 4, i32 x 2, f32 x 4) | mma of f32, f16, bf16 |
// | {i32 x 4} hewn.simt.product.LEFT.RIGHT(i32 x 4, i32 x 2, i32 x 4) | mma of u8, s8 |
// | {i32 x 4} hewn.simt.ldmatrix[.transposed](i64 from) | ldmatrix |
// | void hewn.simt.copy16, copy8, copy4(i64 to, i64 from, i32 present) | async_copy |
// | void hewn.simt.copies.close() | async_commit |
// | void hewn.simt.copies.wait(i32 open) | async_wait |
// | void hewn.simt.prefetch(i64 at) | prefetch |
// | void hewn.simt.mbarrier.init(i64 mbarrier, i32 arrivals) | mbarrier_init |
// | void hewn.simt.mbarriers.ready() | mbarrier_init_fence |
// | void hewn.simt.mbarrier.arrive(i64 mbarrier) | mbarrier_arrive |
// | void hewn.simt.mbarrier.expect(i64 mbarrier, i32 bytes) | mbarrier_arrive_expect |
// | void hewn.simt.mbarrier.wait(i64 mbarrier, i32 parity) | mbarrier_wait |
#ifndef HEWN_LIB_CODEGEN_GPU_GPUFUNCTIONS_H
#define HEWN_LIB_CODEGEN_GPU_GPUFUNCTIONS_H

#include "llvm/ADT/StringRef.h"

namespace hewn::codegen {

/// Prefix of the names of all these functions.
inline constexpr llvm::StringLiteral kSimtFunctions = "hewn.simt.";
inline constexpr llvm::StringLiteral kSimtThread = "hewn.simt.thread";
inline constexpr llvm::StringLiteral kSimtBlock = "hewn.simt.block";
inline constexpr llvm::StringLiteral kSimtBlocks = "hewn.simt.blocks";
inline constexpr llvm::StringLiteral kSimtBarrier = "hewn.simt.barrier";
inline constexpr llvm::StringLiteral kSimtBarrierSome = "hewn.simt.barrier.some";
inline constexpr llvm::StringLiteral kSimtCounterAdd = "hewn.simt.counter.add";
inline constexpr llvm::StringLiteral kSimtCounterRead = "hewn.simt.counter.read";
inline constexpr llvm::StringLiteral kSimtCounterPeek = "hewn.simt.counter.peek";
inline constexpr llvm::StringLiteral kSimtWarpBarrier = "hewn.simt.warp.barrier";
inline constexpr llvm::StringLiteral kSimtShuffle = "hewn.simt.shuffle";
inline constexpr llvm::StringLiteral kSimtExp2 = "hewn.simt.exp2";
// The emitted calls append the MMA's operand types to this function name, except for float32.
inline constexpr llvm::StringLiteral kSimtProduct = "hewn.simt.product";
inline constexpr llvm::StringLiteral kSimtLdmatrix = "hewn.simt.ldmatrix";
inline constexpr llvm::StringLiteral kSimtLdmatrixTransposed = "hewn.simt.ldmatrix.transposed";
inline constexpr llvm::StringLiteral kSimtCopy16 = "hewn.simt.copy16";
inline constexpr llvm::StringLiteral kSimtCopy8 = "hewn.simt.copy8";
inline constexpr llvm::StringLiteral kSimtCopy4 = "hewn.simt.copy4";
inline constexpr llvm::StringLiteral kSimtCopiesClose = "hewn.simt.copies.close";
inline constexpr llvm::StringLiteral kSimtCopiesWait = "hewn.simt.copies.wait";
inline constexpr llvm::StringLiteral kSimtPrefetch = "hewn.simt.prefetch";
inline constexpr llvm::StringLiteral kSimtMbarrierInit = "hewn.simt.mbarrier.init";
inline constexpr llvm::StringLiteral kMbarrierPipelineReady = "hewn.simt.mbarriers.ready";
inline constexpr llvm::StringLiteral kSimtMbarrierArrive = "hewn.simt.mbarrier.arrive";
inline constexpr llvm::StringLiteral kSimtMbarrierExpect = "hewn.simt.mbarrier.expect";
inline constexpr llvm::StringLiteral kSimtMbarrierWait = "hewn.simt.mbarrier.wait";

} // namespace hewn::codegen

#endif

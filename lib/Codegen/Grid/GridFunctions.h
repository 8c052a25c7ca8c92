// SPDX-License-Identifier: Apache-2.0
//
// The functions that `hewn-lower-grid` calls for the ops of the dialect `grid`. They stay calls until the target makes instructions of
// them: so the same LLVM IR also runs on a CPU, where a test defines them. Addresses are i64, and what is counted is i32:
//
//     i32 hewn.grid.thread(), hewn.grid.block(), hewn.grid.blocks()     thread_id, block_id, num_blocks
//     void hewn.grid.barrier(i32 0), hewn.grid.barrier.some(i32 1, i32 n)   barrier, of n
//     void hewn.grid.warp.meet(i32 mask)                                warp_barrier
//     i32 hewn.grid.shuffle(i32 mask, i32 value, i32 xor, i32 31)       shuffle_xor
//     i32 hewn.grid.counter.add(i64 at, i32 more)                       counter_add
//     i32 hewn.grid.counter.read(i64 at)                                counter_read
//     {f32 x 4} hewn.grid.product[.TYPE](i32 x 4, i32 x 2, f32 x 4)     mma of f32, TYPE: f16, bf16
//     {i32 x 4} hewn.grid.product.LEFT.RIGHT(i32 x 4, i32 x 2, i32 x 4)   ... of integers u8 or s8
//     {i32 x 4} hewn.grid.lines[.turned](i64 from)                      ldmatrix
//     void hewn.grid.copy16, copy8, copy4(i64 to, i64 from, i32 present)  async_copy
//     void hewn.grid.copies.close(), hewn.grid.copies.wait(i32 open)    async_commit, async_wait
//     void hewn.grid.group.publish(), hewn.grid.group.begin(), hewn.grid.group.close()   group_publish, group_fence, group_commit
//     {f32 x n/2} hewn.grid.group.product.TYPE.LEFT.RIGHT.n(i64 left, i64 right, i64 leftForm, i64 rightForm, f32 x n/2)
//                                                                       group_mma; TYPE: f16, bf16, f32; u8u8, u8s8, s8u8, s8s8, left and right,
//                                                                       whose sums are i32. LEFT, RIGHT: k along the sum, m across it
//     {f32 x n/2} hewn.grid.group.product.TYPE.r.RIGHT.n(i32 x 4, i64 right, i64 rightForm, f32 x n/2)   ... in registers
//     {f32 x n/2} hewn.grid.group.wait.n, .i32.n(i32 open, f32 x n/2)   group_wait
//     void hewn.grid.gate.init(i64 gate, i32 arrivals), hewn.grid.gates.ready()   mbarrier_init, mbarrier_init_fence
//     void hewn.grid.gate.arrive(i64 gate), hewn.grid.gate.expect(i64 gate, i32 bytes), hewn.grid.gate.wait(i64 gate, i32 parity)
//     void hewn.grid.fetch.RANK(i64 to, ptr tensor, i32 x RANK, i64 gate)   tensor_copy
//     void hewn.grid.registers.keep(i32 n), hewn.grid.registers.take(i32 n)   set_registers, grows
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
inline constexpr llvm::StringLiteral kGridWarpMeet = "hewn.grid.warp.meet";
inline constexpr llvm::StringLiteral kGridShuffle = "hewn.grid.shuffle";
inline constexpr llvm::StringLiteral kGridProduct = "hewn.grid.product"; // ... and, but for float32, its types
inline constexpr llvm::StringLiteral kGridLines = "hewn.grid.lines";
inline constexpr llvm::StringLiteral kGridLinesTurned = "hewn.grid.lines.turned";
inline constexpr llvm::StringLiteral kGridCopy16 = "hewn.grid.copy16";
inline constexpr llvm::StringLiteral kGridCopy8 = "hewn.grid.copy8";
inline constexpr llvm::StringLiteral kGridCopy4 = "hewn.grid.copy4";
inline constexpr llvm::StringLiteral kGridCopiesClose = "hewn.grid.copies.close";
inline constexpr llvm::StringLiteral kGridCopiesWait = "hewn.grid.copies.wait";
inline constexpr llvm::StringLiteral kGridGroupPublish = "hewn.grid.group.publish";
inline constexpr llvm::StringLiteral kGridGroupBegin = "hewn.grid.group.begin";
inline constexpr llvm::StringLiteral kGridGroupProduct = "hewn.grid.group.product."; // ... and its types
inline constexpr llvm::StringLiteral kGridGroupClose = "hewn.grid.group.close";
inline constexpr llvm::StringLiteral kGridGroupWait = "hewn.grid.group.wait."; // ... and its columns
inline constexpr llvm::StringLiteral kGridGateInit = "hewn.grid.gate.init";
inline constexpr llvm::StringLiteral kGridGatesReady = "hewn.grid.gates.ready";
inline constexpr llvm::StringLiteral kGridGateArrive = "hewn.grid.gate.arrive";
inline constexpr llvm::StringLiteral kGridGateExpect = "hewn.grid.gate.expect";
inline constexpr llvm::StringLiteral kGridGateWait = "hewn.grid.gate.wait";
inline constexpr llvm::StringLiteral kGridFetch = "hewn.grid.fetch."; // ... and its rank
inline constexpr llvm::StringLiteral kGridRegistersKeep = "hewn.grid.registers.keep";
inline constexpr llvm::StringLiteral kGridRegistersTake = "hewn.grid.registers.take";

} // namespace hewn::codegen

#endif

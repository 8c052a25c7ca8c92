// SPDX-License-Identifier: Apache-2.0
//
// What code for one thread of a grid does beyond loops and arithmetic.
#ifndef HEWN_GRID
#define HEWN_GRID

include "dialects/Grid/GridBase.td"
include "mlir/IR/OpBase.td"

def GridDialect : Dialect {
  let name = "grid";
  let cppNamespace = "::hewn::grid";
  let summary = "Threads, warps and blocks of a machine with `#plan.grid`: positions, barriers, matrices, copies on their way.";
  let description = [{
    A kernel runs on blocks of threads, `warp` neighbours of which go in step. Addresses are integers: i64, of shared memory as of
    global memory. A target's pass makes instructions of the ops; `hewn-lower-grid` turns them into calls of functions
    (lib/Codegen/Grid/GridFunctions.h), which a test defines on a CPU. What one vendor's machines alone have are ops of that target's dialect
    (lib/Target), which engines make by the interface lib/Codegen/Grid/MachineOps.h.

    Ops that all threads of a warp or a block do at the same place (`Convergent`) write to a resource of their own: none of them is
    moved into or out of a branch, merged with another or dropped.
  }];
}

class GridOp<string mnemonic, list<Trait> traits = []> : Op<GridDialect, mnemonic, traits>;

//===------------------------------------------------------------------------------------------------------------------===//
// Positions
//===------------------------------------------------------------------------------------------------------------------===//

class GridPosition<string mnemonic> : GridOp<mnemonic, [Pure]> {
  let results = (outs I32:$position);
  let assemblyFormat = "attr-dict";
}
def Grid_ThreadIdOp : GridPosition<"thread_id"> { let summary = "This thread's number in its block."; }
def Grid_BlockIdOp : GridPosition<"block_id"> { let summary = "The number of this thread's block."; }
def Grid_NumBlocksOp : GridPosition<"num_blocks"> { let summary = "How many blocks the kernel was launched on."; }

//===------------------------------------------------------------------------------------------------------------------===//
// Threads that wait for each other
//===------------------------------------------------------------------------------------------------------------------===//

def Grid_BarrierOp : GridOp<"barrier", [Orders]> {
  let summary = "Waits for all threads of the block, or for its first `threads`, which then see what each has written.";
  let arguments = (ins OptionalAttr<ConfinedAttr<I32Attr, [IntPositive]>>:$threads);
  let assemblyFormat = "(`of` $threads^)? attr-dict";
}
def Grid_WarpBarrierOp : GridOp<"warp_barrier", [Orders]> {
  let summary = "Waits for the threads of the warp.";
  let assemblyFormat = "attr-dict";
}
def Grid_ShuffleXorOp : GridOp<"shuffle_xor", [Convergent]> {
  let summary = "The value of the lane `lane ^ mask` of the warp of `width` lanes.";
  let arguments = (ins I32:$value, ConfinedAttr<I32Attr, [IntPositive]>:$mask, ConfinedAttr<I32Attr, [IntPositive]>:$width);
  let results = (outs I32:$other);
  let assemblyFormat = "$value `,` $mask `of` $width attr-dict";
  let hasVerifier = 1;
}
def Grid_CounterAddOp : GridOp<"counter_add", [Orders]> {
  let summary = "Adds to a counter of all blocks, behind all that this thread has seen or written (acquire and release); what it was. Where nobody "
                "reads that, it is a release alone.";
  let arguments = (ins I64:$counter, I32:$more);
  let results = (outs I32:$before);
  let assemblyFormat = "$counter `,` $more attr-dict";
}
def Grid_CounterReadOp : GridOp<"counter_read", [Orders]> {
  let summary = "A counter of all blocks, before all that this thread does next (acquire), unless it is `relaxed`.";
  let arguments = (ins I64:$counter, UnitAttr:$relaxed);
  let results = (outs I32:$value);
  let assemblyFormat = "$counter attr-dict";
}

//===------------------------------------------------------------------------------------------------------------------===//
// Functions that a machine has an instruction for
//===------------------------------------------------------------------------------------------------------------------===//

def Grid_Exp2Op : GridOp<"exp2", [Pure]> {
  let summary = "2^x by the machine's instruction: within 2^-22 of it, relatively; denormal numbers are 0.";
  let arguments = (ins F32:$x);
  let results = (outs F32:$power);
  let assemblyFormat = "$x attr-dict";
}

//===------------------------------------------------------------------------------------------------------------------===//
// Matrices of a warp
//===------------------------------------------------------------------------------------------------------------------===//

def Grid_MmaOp : GridOp<"mma", [Convergent, AttrSizedOperandSegments]> {
  let summary = "A warp's 16x8 matrix of sums plus the product of a 16xK and a Kx8 matrix of factors.";
  let description = [{
    K is as many factors as 32 bytes have (float32, of which the leading eleven significant bits count; float16; bfloat16; i8 and ui8
    in any pairing, whose sums are i32). A lane holds words of 32 bits: with lane = 4 g + t of the left matrix
    the words (g, t), (g+8, t), (g, t+4), (g+8, t+4), of the right one (t, g), (t+4, g), of the sums (g, 2t), (g, 2t+1), (g+8, 2t),
    (g+8, 2t+1). Words of the right one go along the sum as those of the left one do.
  }];
  let arguments = (ins Variadic<I32>:$left, Variadic<I32>:$right, Variadic<AnyTypeOf<[F32, I32]>>:$sums,
                       TypeAttr:$leftType, TypeAttr:$rightType);
  let results = (outs Variadic<AnyTypeOf<[F32, I32]>>:$results);
  let assemblyFormat = [{
    `(` $left `)` `*` `(` $right `)` `+` `(` $sums `)` `of` $leftType `,` $rightType attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}
def Grid_LdmatrixOp : GridOp<"ldmatrix", [MemoryEffects<[MemRead, MemWrite<Convergence>]>]> {
  let summary = "Four matrices of eight lines of 16 bytes in shared memory, spread over a warp.";
  let description = [{
    Lane 8 m + r says where line r of matrix m is: at `line`, and `offset` bytes from there. Each lane gets of every matrix word t of line g; `transposed`, of elements of 16
    bits, (2t, g) and (2t+1, g).
  }];
  let arguments = (ins I64:$line, UnitAttr:$transposed, DefaultValuedAttr<I64Attr, "0">:$offset);
  let results = (outs I32:$first, I32:$second, I32:$third, I32:$fourth);
  let assemblyFormat = "(`transposed` $transposed^)? $line (`+` $offset^)? attr-dict";
}

//===------------------------------------------------------------------------------------------------------------------===//
// Copies on their way
//===------------------------------------------------------------------------------------------------------------------===//

def Grid_AsyncCopyOp : GridOp<"async_copy", [Orders]> {
  let summary = "Sends `bytes` from global to shared memory, both at a multiple of them: zeros behind the first `present`.";
  let description = [{
    It lands some time before a wait for its group ends, in any order; other threads see it behind a barrier after that.
  }];
  let arguments = (ins I64:$to, I64:$from, I32:$present, I32Attr:$bytes);
  let assemblyFormat = "$bytes `from` $from `to` $to `,` $present attr-dict";
  let hasVerifier = 1;
}
def Grid_AsyncCommitOp : GridOp<"async_commit", [Orders]> {
  let summary = "The thread's copies so far are a group.";
  let assemblyFormat = "attr-dict";
}
def Grid_AsyncWaitOp : GridOp<"async_wait", [Orders]> {
  let summary = "Waits until all of the thread's groups of copies but the last `open` have landed.";
  let arguments = (ins ConfinedAttr<I32Attr, [IntNonNegative]>:$open);
  let assemblyFormat = "$open attr-dict";
}

def Grid_PrefetchOp : GridOp<"prefetch", [Orders]> {
  let summary = "A hint: what lies around the address in global memory, which is there, is to come to the cache that all blocks share.";
  let arguments = (ins I64:$at);
  let assemblyFormat = "$at attr-dict";
}

//===------------------------------------------------------------------------------------------------------------------===//
// Barriers in memory
//===------------------------------------------------------------------------------------------------------------------===//

// Eight bytes of shared memory. Phases are numbered from 0. One ends when all arrivals and expected bytes have come, and the next one
// begins; what a thread did before it arrived, and what was fetched, others see when they have waited. Before phase 0 ends, that of
// parity 1 has.
def Grid_MbarrierInitOp : GridOp<"mbarrier_init", [Orders]> {
  let summary = "Eight bytes of shared memory are a barrier in memory from now on, of so many arrivals a phase.";
  let arguments = (ins I64:$barrier, ConfinedAttr<I32Attr, [IntPositive]>:$arrivals);
  let assemblyFormat = "$barrier `,` $arrivals attr-dict";
}
def Grid_MbarrierInitFenceOp : GridOp<"mbarrier_init_fence", [Orders]> {
  let summary = "This thread has made its barriers in memory: before a barrier of the block.";
  let assemblyFormat = "attr-dict";
}
def Grid_MbarrierArriveOp : GridOp<"mbarrier_arrive", [Orders]> {
  let summary = "An arrival.";
  let arguments = (ins I64:$barrier);
  let assemblyFormat = "$barrier attr-dict";
}
def Grid_MbarrierArriveExpectOp : GridOp<"mbarrier_arrive_expect", [Orders]> {
  let summary = "An arrival; and so many bytes are to come in this phase.";
  let arguments = (ins I64:$barrier, ConfinedAttr<I32Attr, [IntNonNegative]>:$bytes);
  let assemblyFormat = "$barrier `,` $bytes attr-dict";
}
def Grid_MbarrierWaitOp : GridOp<"mbarrier_wait", [Orders]> {
  let summary = "Waits until the last phase of this parity has ended.";
  let arguments = (ins I64:$barrier, I32:$parity);
  let assemblyFormat = "$barrier `,` $parity attr-dict";
}

#endif

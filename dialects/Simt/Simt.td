// SPDX-License-Identifier: Apache-2.0
//
// The ops of the dialect `simt`: GPU thread positions, barriers, warp-level matrix ops and
// asynchronous copies.
#ifndef HEWN_GRID
#define HEWN_GRID

include "dialects/Simt/SimtBase.td"
include "mlir/IR/OpBase.td"

def SimtDialect : Dialect {
  let name = "simt";
  let cppNamespace = "::hewn::simt";
  let summary = "GPU threads: positions, barriers, warp-level MMA, asynchronous copies.";
  let description = [{
    The operations of one GPU thread that are not loops, arithmetic or memory accesses, for targets
    with `#plan.gpu`. A kernel runs on blocks of threads; `warp_size` neighboring threads of a block
    form a warp. Addresses of global and of shared memory are i64.

    A pass of the target lowers the ops to instructions. For tests on a CPU, `hewn-lower-simt`
    lowers them to calls (lib/Codegen/GPU/SimtFunctions.h) that an emulator defines. Instructions of
    one vendor are ops of that target's dialect (lib/Target); kernel generators create them through
    the dialect interface `MachineOps` (lib/Codegen/GPU/MachineOps.h).

    Ops that all threads of a warp or block must execute together (`Convergent`) write to a
    side-effect resource of their own. MLIR therefore does not hoist or sink them across branches,
    merge them or erase them.
  }];
}

class SimtOp<string mnemonic, list<Trait> traits = []> : Op<SimtDialect, mnemonic, traits>;

//===----------------------------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------------------------===//

class GpuPosition<string mnemonic> : SimtOp<mnemonic, [Pure]> {
  let results = (outs I32:$position);
  let assemblyFormat = "attr-dict";
}
def Simt_ThreadIdOp : GpuPosition<"thread_id"> { let summary = "Returns the index of this thread in its block."; }
def Simt_BlockIdOp : GpuPosition<"block_id"> { let summary = "Returns the index of this thread's block."; }
def Simt_NumBlocksOp : GpuPosition<"num_blocks"> { let summary = "Returns the number of blocks of the launch."; }

//===----------------------------------------------------------------------------------------===//
// Synchronization between threads
//===----------------------------------------------------------------------------------------===//

def Simt_BarrierOp : SimtOp<"barrier", [Orders]> {
  let summary = "Waits for all threads of the block, or for its first `threads` threads.";
  let description = [{
    After the barrier, each thread that waited sees the writes of the others before the barrier.
  }];
  let arguments = (ins OptionalAttr<ConfinedAttr<I32Attr, [IntPositive]>>:$threads);
  let assemblyFormat = "(`of` $threads^)? attr-dict";
}
def Simt_WarpBarrierOp : SimtOp<"warp_barrier", [Orders]> {
  let summary = "Waits for all threads of the warp.";
  let assemblyFormat = "attr-dict";
}
def Simt_ShuffleXorOp : SimtOp<"shuffle_xor", [Convergent]> {
  let summary = "Returns `value` of lane `l ^ mask`, where l is this lane, in a warp of `width` lanes.";
  let arguments = (ins I32:$value, ConfinedAttr<I32Attr, [IntPositive]>:$mask, ConfinedAttr<I32Attr, [IntPositive]>:$width);
  let results = (outs I32:$other);
  let assemblyFormat = "$value `,` $mask `of` $width attr-dict";
  let hasVerifier = 1;
}
def Simt_CounterAddOp : SimtOp<"counter_add", [Orders]> {
  let summary = "Atomically adds to a counter in global memory and returns its previous value.";
  let description = [{
    The atomic addition has acquire and release semantics at the scope of the device. If the result
    of the op has no uses, the addition has release semantics only.
  }];
  let arguments = (ins I64:$counter, I32:$more);
  let results = (outs I32:$before);
  let assemblyFormat = "$counter `,` $more attr-dict";
}
def Simt_CounterReadOp : SimtOp<"counter_read", [Orders]> {
  let summary = "Atomically loads a counter in global memory. Acquires at device scope unless `relaxed`.";
  let arguments = (ins I64:$counter, UnitAttr:$relaxed);
  let results = (outs I32:$value);
  let assemblyFormat = "$counter attr-dict";
}

//===----------------------------------------------------------------------------------------===//
// Hardware math functions
//===----------------------------------------------------------------------------------------===//

def Simt_Exp2Op : SimtOp<"exp2", [Pure]> {
  let summary = "Returns 2^x by a hardware instruction: relative error at most 2^-22, subnormals flushed to zero.";
  let arguments = (ins F32:$x);
  let results = (outs F32:$power);
  let assemblyFormat = "$x attr-dict";
}

//===----------------------------------------------------------------------------------------===//
// Warp-level matrix operations
//===----------------------------------------------------------------------------------------===//

def Simt_MmaOp : SimtOp<"mma", [Convergent, AttrSizedOperandSegments]> {
  let summary = "Warp-level MMA: multiplies a 16xK by a Kx8 matrix and adds a 16x8 accumulator.";
  let description = [{
    K is the number of elements in 32 bytes. Element types are f32 (the instruction uses the leading
    eleven significant bits), f16 and bf16 with f32 accumulators, and any pair of i8 and ui8 with
    i32 accumulators.

    Both operands are in packed 32-bit registers, each with consecutive elements along K. Lane
    4 g + t holds these registers, by (row, column) in units of registers for the operands and of
    elements for the accumulator:

    | matrix | registers |
    | --- | --- |
    | left | (g, t), (g+8, t), (g, t+4), (g+8, t+4) |
    | right | (t, g), (t+4, g) |
    | accumulator, result | (g, 2t), (g, 2t+1), (g+8, 2t), (g+8, 2t+1) |
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
def Simt_LdmatrixOp : SimtOp<"ldmatrix", [MemoryEffects<[MemRead, MemWrite<Convergence>]>]> {
  let summary = "Loads four 8x16-byte matrices from shared memory into the registers of a warp.";
  let description = [{
    Lane 8 m + r passes the address of row r of matrix m: `line` plus `offset` bytes. Lane 4 g + t
    receives the 32-bit register t of row g of each matrix. With `transposed`, elements have 16 bits
    and the lane receives the elements (2t, g) and (2t+1, g).
  }];
  let arguments = (ins I64:$line, UnitAttr:$transposed, DefaultValuedAttr<I64Attr, "0">:$offset);
  let results = (outs I32:$first, I32:$second, I32:$third, I32:$fourth);
  let assemblyFormat = "(`transposed` $transposed^)? $line (`+` $offset^)? attr-dict";
}

//===----------------------------------------------------------------------------------------===//
// Asynchronous copies
//===----------------------------------------------------------------------------------------===//

def Simt_AsyncCopyOp : SimtOp<"async_copy", [Orders]> {
  let summary = "Starts an asynchronous copy of `bytes` bytes from global to shared memory.";
  let description = [{
    Copies the first `present` bytes and fills the rest with zeros. Both addresses are multiples of
    `bytes`. The copy completes before `simt.async_wait` for its group returns; copies complete in
    any order. Other threads see the data after a barrier that follows the wait.
  }];
  let arguments = (ins I64:$to, I64:$from, I32:$present, I32Attr:$bytes);
  let assemblyFormat = "$bytes `from` $from `to` $to `,` $present attr-dict";
  let hasVerifier = 1;
}
def Simt_AsyncCommitOp : SimtOp<"async_commit", [Orders]> {
  let summary = "Ends a copy group: the asynchronous copies of the thread since its last commit.";
  let assemblyFormat = "attr-dict";
}
def Simt_AsyncWaitOp : SimtOp<"async_wait", [Orders]> {
  let summary = "Waits until all copy groups of the thread except the last `open` ones have completed.";
  let arguments = (ins ConfinedAttr<I32Attr, [IntNonNegative]>:$open);
  let assemblyFormat = "$open attr-dict";
}

def Simt_PrefetchOp : SimtOp<"prefetch", [Orders]> {
  let summary = "Prefetches the cache line of a valid global address into the L2 cache (a hint).";
  let arguments = (ins I64:$at);
  let assemblyFormat = "$at attr-dict";
}

//===----------------------------------------------------------------------------------------===//
// Mbarriers
//===----------------------------------------------------------------------------------------===//

// An mbarrier is an 8-byte object in shared memory, whose phases are numbered from 0. A phase
// completes when all of its arrivals and expected bytes have arrived; then the next phase begins. A
// thread that has waited for a phase sees the writes that other threads made before they arrived,
// and the data that TMA loads have written. A wait on parity 1 returns at once if phase 0 is not
// complete.
def Simt_MbarrierInitOp : SimtOp<"mbarrier_init", [Orders]> {
  let summary = "Initializes an mbarrier that expects `arrivals` arrivals per phase.";
  let arguments = (ins I64:$barrier, ConfinedAttr<I32Attr, [IntPositive]>:$arrivals);
  let assemblyFormat = "$barrier `,` $arrivals attr-dict";
}
def Simt_MbarrierInitFenceOp : SimtOp<"mbarrier_init_fence", [Orders]> {
  let summary = "Makes this thread's mbarrier initializations visible to the block after the next barrier.";
  let assemblyFormat = "attr-dict";
}
def Simt_MbarrierArriveOp : SimtOp<"mbarrier_arrive", [Orders]> {
  let summary = "Arrives at an mbarrier.";
  let arguments = (ins I64:$barrier);
  let assemblyFormat = "$barrier attr-dict";
}
def Simt_MbarrierArriveExpectOp : SimtOp<"mbarrier_arrive_expect", [Orders]> {
  let summary = "Arrives at an mbarrier and adds `bytes` to the bytes that its phase expects.";
  let arguments = (ins I64:$barrier, ConfinedAttr<I32Attr, [IntNonNegative]>:$bytes);
  let assemblyFormat = "$barrier `,` $bytes attr-dict";
}
def Simt_MbarrierWaitOp : SimtOp<"mbarrier_wait", [Orders]> {
  let summary = "Waits until the latest phase of an mbarrier with this parity has completed.";
  let arguments = (ins I64:$barrier, I32:$parity);
  let assemblyFormat = "$barrier `,` $parity attr-dict";
}

#endif

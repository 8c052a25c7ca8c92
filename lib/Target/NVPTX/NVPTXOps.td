// SPDX-License-Identifier: Apache-2.0
//
// Ops of the nvptx dialect: TMA loads, warpgroup MMA, setmaxnreg.
#ifndef HEWN_NVPTX
#define HEWN_NVPTX

include "dialects/Simt/SimtBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def NVPTXDialect : Dialect {
  let name = "nvptx";
  let cppNamespace = "::hewn::nvptx";
  let useDefaultAttributePrinterParser = 1;
  let summary = "Instructions that only NVIDIA GPUs have: wgmma, TMA loads, setmaxnreg.";
  let description = [{
    Kernel generators emit these ops through `codegen::MachineOps`, if a schedule requires them.
    Schedules do so only for targets with a `warpgroupProductsPerCycle`. Addresses are i64, as in
    the simt dialect. A warpgroup consists of warps 4 i to 4 i + 3 of a block.
  }];
}

class NVPTXOp<string mnemonic, list<Trait> traits = []> : Op<NVPTXDialect, mnemonic, traits>;

//===------------------------------------------------------------------------------------------------------------------===//
// TMA loads
//===------------------------------------------------------------------------------------------------------------------===//

def NVPTX_TmaLoadOp : NVPTXOp<"tma_load", [Orders]> {
  let summary = "Loads a TMA tile to shared memory; its bytes complete the mbarrier's transaction.";
  let description = [{
    The PTX instruction is `cp.async.bulk.tensor`. The operand `tensor` (#plan.tma_tile) is an
    argument of the kernel: the descriptor that the driver encoded. `place` is the index of the
    tile's first element, the innermost dim first. Elements outside of the tensor are zero. Each row
    of the tile is one row of the swizzled layout that `wgmma` reads.
  }];
  let arguments = (ins AnyType:$tensor, Variadic<I32>:$place, I64:$to, I64:$barrier);
  let assemblyFormat = "$tensor `[` $place `]` `to` $to `,` $barrier attr-dict `:` type($tensor)";
  let hasVerifier = 1;
}

//===------------------------------------------------------------------------------------------------------------------===//
// Warpgroup MMA
//===------------------------------------------------------------------------------------------------------------------===//

def NVPTX_FactorLayout : I32EnumAttr<"FactorLayout", "layout of an operand of wgmma", [
    I32EnumAttrCase<"AlongSum", 0, "along_sum">, I32EnumAttrCase<"AcrossSum", 1, "across_sum">,
    I32EnumAttrCase<"Registers", 2, "registers">]> {
  let cppNamespace = "::hewn::nvptx";
  let genSpecializedAttr = 0;
}
def NVPTX_FactorLayoutAttr : EnumAttr<NVPTXDialect, NVPTX_FactorLayout, "layout">;

def NVPTX_FenceProxyAsyncOp : NVPTXOp<"fence_proxy_async", [Orders]> {
  let summary = "Makes this thread's stores to shared memory visible to wgmma, before the barrier that precedes it.";
  let assemblyFormat = "attr-dict";
}
def NVPTX_WgmmaFenceOp : NVPTXOp<"wgmma_fence", [Orders]> {
  let summary = "Orders the thread's accesses to accumulators before the wgmma ops that follow.";
  let assemblyFormat = "attr-dict";
}
def NVPTX_WgmmaOp : NVPTXOp<"wgmma", [Orders, AttrSizedOperandSegments]> {
  let summary = "Adds a 64xK by Kxn product to a warpgroup's 64xn accumulators. The right operand is in shared memory.";
  let description = [{
    The PTX instruction is `wgmma.mma_async`. Warp w of a warpgroup holds rows 16 w to 16 w + 15 of
    the accumulators. For each eight columns in order, a lane holds the accumulators that it holds
    in `simt.mma`. A row of K elements has 32 bytes. Operands of float32 and integers must be
    `along_sum`.

    The left operand is in shared memory, contiguous along K (`along_sum`) or along M
    (`across_sum`), or in `registers`. In registers, each warp holds its rows as the left operand of
    `simt.mma`, and the registers must not change until the wait. The instruction reads shared
    memory at some time before the wait for its group completes; it sees data for which
    `fence_proxy_async` was executed before the last barrier. Until then, accumulators may only be
    passed to another wgmma or to a wait.

    In shared memory, rows of L = 128, 64 or 32 bytes are stored in blocks of eight rows. In row r
    (counted from a multiple of 8 L bytes), the 16-byte chunk p is at position p ^ (r * L / 128) %
    (L / 16): the swizzle of matrix descriptors. With `along_sum`, a row holds K elements of one M
    or N index, starting at the address; the blocks follow at one stride. With `across_sum`, a row
    holds L/2 elements along M or N for one K index; the blocks follow along K, and the next L/2
    elements at a second stride.

    A form (operands `leftForm` and `rightForm`) is a matrix descriptor without its address: second
    stride / 16 << 16 | block stride / 16 << 32 | (1, 2, 3 for 128, 64, 32 bytes) << 62.
  }];
  let arguments = (ins Variadic<AnyTypeOf<[I32, I64]>>:$left, Optional<I64>:$leftForm, I64:$right, I64:$rightForm,
                       Variadic<AnyTypeOf<[F32, I32]>>:$sums, TypeAttr:$leftType, TypeAttr:$rightType,
                       NVPTX_FactorLayoutAttr:$leftLayout, NVPTX_FactorLayoutAttr:$rightLayout);
  let results = (outs Variadic<AnyTypeOf<[F32, I32]>>:$results);
  let assemblyFormat = [{
    $leftLayout `(` $left (`as` $leftForm^)? `)` `*` $rightLayout `(` $right `as` $rightForm `)` `+` `(` $sums `)`
    `of` $leftType `,` $rightType attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}
def NVPTX_WgmmaCommitGroupOp : NVPTXOp<"wgmma_commit_group", [Orders]> {
  let summary = "Commits the warp's preceding wgmma ops as a group.";
  let assemblyFormat = "attr-dict";
}
def NVPTX_WgmmaWaitGroupOp : NVPTXOp<"wgmma_wait_group", [Orders]> {
  let summary = "Returns the accumulators after all wgmma groups of the warp except the last `open` are complete.";
  let arguments = (ins ConfinedAttr<I32Attr, [IntNonNegative]>:$open, Variadic<AnyTypeOf<[F32, I32]>>:$sums);
  let results = (outs Variadic<AnyTypeOf<[F32, I32]>>:$results);
  let assemblyFormat = "$open `,` $sums attr-dict `:` functional-type($sums, results)";
  let hasVerifier = 1;
}
def NVPTX_SetmaxnregOp : NVPTXOp<"setmaxnreg", [Orders]> {
  let summary = "Sets the number of registers of a warpgroup's threads: fewer than before, or more (`grows`).";
  let arguments = (ins I32Attr:$count, UnitAttr:$grows);
  let assemblyFormat = "$count (`grows` $grows^)? attr-dict";
  let hasVerifier = 1;
}

#endif

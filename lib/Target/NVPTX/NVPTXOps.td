// SPDX-License-Identifier: Apache-2.0
//
// What code for one thread of NVIDIA's newer machines does beside the dialect `grid`: products of warpgroups, boxes of tensors.
#ifndef HEWN_NVPTX
#define HEWN_NVPTX

include "dialects/Grid/GridBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def NVPTXDialect : Dialect {
  let name = "nvptx";
  let cppNamespace = "::hewn::nvptx";
  let useDefaultAttributePrinterParser = 1;
  let summary = "Instructions of NVIDIA's machines that no other vendor's grid has: wgmma, tensor copies, setmaxnreg.";
  let description = [{
    Engines make these ops by `codegen::MachineOps`, where a schedule asks for them; schedules do where the machine's row has a
    `warpgroupProductsPerCycle`. Addresses are i64, as in the dialect `grid`. A warpgroup is warps 4 i to 4 i + 3 of a block.
  }];
}

class NVPTXOp<string mnemonic, list<Trait> traits = []> : Op<NVPTXDialect, mnemonic, traits>;

//===------------------------------------------------------------------------------------------------------------------===//
// Boxes of tensors
//===------------------------------------------------------------------------------------------------------------------===//

def NVPTX_TmaLoadOp : NVPTXOp<"tma_load", [Orders]> {
  let summary = "A box of the tensor, from a place on, comes to shared memory; its bytes count for the mbarrier.";
  let description = [{
    `cp.async.bulk.tensor`. The tensor (#plan.box) is an argument of the kernel: the descriptor that the driver made. A place begins at its
    innermost dim, may be outside of it, and is zeros there. The box lies in lines as `wgmma` reads them, one a line of the box.
  }];
  let arguments = (ins AnyType:$tensor, Variadic<I32>:$place, I64:$to, I64:$barrier);
  let assemblyFormat = "$tensor `[` $place `]` `to` $to `,` $barrier attr-dict `:` type($tensor)";
  let hasVerifier = 1;
}

//===------------------------------------------------------------------------------------------------------------------===//
// Matrices of a warpgroup
//===------------------------------------------------------------------------------------------------------------------===//

def NVPTX_FactorLayout : I32EnumAttr<"FactorLayout", "how a factor of wgmma lies", [
    I32EnumAttrCase<"AlongSum", 0, "along_sum">, I32EnumAttrCase<"AcrossSum", 1, "across_sum">,
    I32EnumAttrCase<"Registers", 2, "registers">]> {
  let cppNamespace = "::hewn::nvptx";
  let genSpecializedAttr = 0;
}
def NVPTX_FactorLayoutAttr : EnumAttr<NVPTXDialect, NVPTX_FactorLayout, "layout">;

def NVPTX_FenceProxyAsyncOp : NVPTXOp<"fence_proxy_async", [Orders]> {
  let summary = "Products of warpgroups see what this thread has stored in shared memory: before the barrier that lets them read.";
  let assemblyFormat = "attr-dict";
}
def NVPTX_WgmmaFenceOp : NVPTXOp<"wgmma_fence", [Orders]> {
  let summary = "Products of the warpgroup may change the thread's sums from now on.";
  let assemblyFormat = "attr-dict";
}
def NVPTX_WgmmaOp : NVPTXOp<"wgmma", [Orders, AttrSizedOperandSegments]> {
  let summary = "A warpgroup's 64xn matrix of sums plus a 64xK matrix times a Kxn one, of which the right one is in shared memory.";
  let description = [{
    `wgmma.mma_async`. Warp w of a warpgroup has rows 16 w to 16 w + 15 of the sums: a lane has for each eight columns, in turn, what it has
    of `grid.mma`'s. K is as many as 32 bytes have; float32s and integers lie along the sum.

    The left matrix is in shared memory as well (`along_sum`, or along its rows: `across_sum`), or in `registers`: each warp then has its
    rows as those of `grid.mma`'s left matrix, in words that stay as they are until the wait. It reads shared memory some time before a
    wait for its group ends: what `fence_proxy_async` showed it before the last barrier. Until then sums may only be passed to another
    product, or to a wait.

    Lines of L = 128, 64 or 32 bytes are in blocks of eight, of which line r (counted from a multiple of 8 L bytes of shared memory) has
    the 16 bytes number p at p ^ (r * L / 128) % (L / 16): the swizzle of matrix descriptors. Along the sum a line is a row, from the
    address on; blocks follow each other at one stride. Across the sum a line is a place along the sum, of L/2 rows; blocks again follow
    along the sum, and the next rows at another stride. Forms are descriptors without their address: that other stride / 16 << 16 |
    blocks' stride / 16 << 32 | (1, 2, 3 for 128, 64, 32 bytes) << 62.
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
  let summary = "The warp's products so far are a group.";
  let assemblyFormat = "attr-dict";
}
def NVPTX_WgmmaWaitGroupOp : NVPTXOp<"wgmma_wait_group", [Orders]> {
  let summary = "The sums, when all of the warp's groups of products but the last `open` are done.";
  let arguments = (ins ConfinedAttr<I32Attr, [IntNonNegative]>:$open, Variadic<AnyTypeOf<[F32, I32]>>:$sums);
  let results = (outs Variadic<AnyTypeOf<[F32, I32]>>:$results);
  let assemblyFormat = "$open `,` $sums attr-dict `:` functional-type($sums, results)";
  let hasVerifier = 1;
}
def NVPTX_SetmaxnregOp : NVPTXOp<"setmaxnreg", [Orders]> {
  let summary = "The threads of a warpgroup have so many registers from now on: fewer than before, or more (`grows`).";
  let arguments = (ins I32Attr:$count, UnitAttr:$grows);
  let assemblyFormat = "$count (`grows` $grows^)? attr-dict";
  let hasVerifier = 1;
}

#endif

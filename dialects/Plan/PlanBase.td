// SPDX-License-Identifier: Apache-2.0
//
// The plan dialect: targets, kernel schedules, kernel launches, and buffer assignments. The dialect
// does not depend on the ops of the graph dialect.
#ifndef HEWN_PLAN_BASE
#define HEWN_PLAN_BASE

include "dialects/Graph/Analysis/DimParameter.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def PlanDialect : Dialect {
  let name = "plan";
  let cppNamespace = "::hewn::plan";
  let summary = "Kernels, and the program that launches them on buffers in an arena.";
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
}

include "dialects/Plan/TargetAttrs.td"

//===------------------------------------------------------------------------------------------------------------------===//
// Schedules: how a kernel is computed. hewn-assign-schedules chooses the schedule of each kernel,
// and the kernel generators read it.
//===------------------------------------------------------------------------------------------------------------------===//

def Plan_Unit : I32Enum<"Unit", "Instructions that compute the multiply-adds", [
  I32EnumCase<"Vectors", 0, "vectors">,
  I32EnumCase<"Dots", 1, "dots">,
  I32EnumCase<"Matrix", 2, "matrix">]> {
  let cppNamespace = "::hewn::plan";
}

def Plan_LoopForm : I32Enum<"LoopForm", "Loop structure of a kernel", [
  I32EnumCase<"Elements", 0, "elements">,
  I32EnumCase<"Rows", 1, "rows">,
  I32EnumCase<"Cumulate", 2, "cumulate">,
  I32EnumCase<"Map", 3, "map">]> {
  let cppNamespace = "::hewn::plan";
}

def Plan_GpuForm : I32Enum<"GpuForm", "Method of a contraction on a GPU", [
  I32EnumCase<"Matrix", 0, "matrix">,
  I32EnumCase<"Tiles", 1, "tiles">,
  I32EnumCase<"FewRows", 2, "few_rows">,
  I32EnumCase<"FewColumns", 3, "few_columns">]> {
  let cppNamespace = "::hewn::plan";
}

def Plan_ContractAttr : AttrDef<PlanDialect, "Contract"> {
  let mnemonic = "contract";
  let summary = "A contraction with register tiles: m rows by n columns of accumulators, over the full K dimension.";
  let description = [{
    `lanes`: number of lanes of the vectors that hold a row of a register tile. `unit`: the
    instructions that compute the multiply-adds: `vectors` for FMAs of vectors of the accumulator
    type, `dots` for a `#plan.dot_product` of the target, `matrix` for a `#plan.matrix_unit` of the
    target.

    `vectorRows`: for `matrix` only, the number of rows of a vector tile. The kernel uses this tile
    if, at run time, the rows do not fill a tile of the matrix unit. `int8Slices`: number
    of int8 slices into which each element of the left operand is split, to be multiplied with
    packed low-bit weights; 0 if the weights are dequantized. `cycles`: expected time of the kernel,
    where one vector FMA takes one cycle; 0 if unknown.
  }];
  let parameters = (ins "int64_t":$m, "int64_t":$n, "int64_t":$lanes,
                        DefaultValuedParameter<"Unit", "Unit::Vectors">:$unit,
                        DefaultValuedParameter<"int64_t", "0">:$vectorRows, DefaultValuedParameter<"int64_t", "0">:$int8Slices,
                        DefaultValuedParameter<"int64_t", "0">:$cycles);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_WinogradAttr : AttrDef<PlanDialect, "Winograd"> {
  let mnemonic = "winograd";
  let summary = "A convolution with Winograd-transformed weights: computes `block` tiles of the result at a time.";
  let description = [{
    A block consists of `block` Winograd tiles. For each position within the tile, the kernel
    multiplies one row per tile of the block by the weights, with register tiles of `m` rows by `n`
    columns. `stride`: number of floats between the channels of neighboring tiles of a block. The
    transformed input and the accumulators of a block are stored in one of `slots` scratch buffers,
    one per task.

    The kernel multiplies `panels` panels of n columns at one position within the tile before it
    continues with the next position; `panels` divides the number of full panels. If there is only
    one block, several slots share its columns: each slot computes `panels` panels, and the last
    slot computes the rest.
  }];
  let parameters = (ins "int64_t":$block, "int64_t":$m, "int64_t":$n, "int64_t":$lanes, "int64_t":$stride, "int64_t":$slots,
                        DefaultValuedParameter<"int64_t", "1">:$panels);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_LoopsAttr : AttrDef<PlanDialect, "Loops"> {
  let mnemonic = "loops";
  let summary = "Loops of a kernel without contraction: `elements` of tensors with equal layout, `rows` with their "
                "reductions, a prefix scan (`cumulate`), or a `map` that computes each element from its index.";
  let parameters = (ins EnumParameter<Plan_LoopForm>:$form);
  let assemblyFormat = "`<` $form `>`";
}

def Plan_AttentionAttr : AttrDef<PlanDialect, "Attention"> {
  let mnemonic = "attention";
  let summary = "Fused attention (contraction, row-wise ops, contraction): computes `rows` rows at a time.";
  let description = [{
    `head`, `middle`, `tail`: schedules of the first contraction, of the row-wise ops and of the
    second contraction, for `rows` rows. `slots`: number of scratch buffers that hold the scores of
    these rows, one per task; 0 if the scores are on the stack.
  }];
  let parameters = (ins "int64_t":$rows, DefaultValuedParameter<"int64_t", "0">:$slots, "::mlir::Attribute":$head,
                        "::mlir::Attribute":$middle, "::mlir::Attribute":$tail);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_GpuTileAttr : AttrDef<PlanDialect, "GpuTile"> {
  let mnemonic = "gpu_tile";
  let summary = "Requested GPU tile of a contraction: m rows by n columns per block, with `splits` split-K partials.";
  let description = [{
    A pass chooses the tile before memory is planned, because split-K replaces one kernel by two.
    hewn-assign-schedules replaces this attribute by `#plan.gpu_contract`, or by another schedule if
    the kernel cannot use the tile.

    `buffers`: number of pipeline stages (K-slices of the operands in shared memory); 0 for as many
    as are useful and fit. `groups`: use warpgroup MMA if the target and the types allow it.
    `cycles`: expected time of the kernel in cycles; 0 if unknown.
  }];
  let parameters = (ins "int64_t":$m, "int64_t":$n, DefaultValuedParameter<"int64_t", "1">:$splits,
                        DefaultValuedParameter<"int64_t", "0">:$buffers, DefaultValuedParameter<"bool", "true">:$groups,
                        DefaultValuedParameter<"int64_t", "0">:$cycles);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_GpuContractAttr : AttrDef<PlanDialect, "GpuContract"> {
  let mnemonic = "gpu_contract";
  let summary = "A contraction on a GPU: a block computes an m by n tile of one of `splits` split-K partials.";
  let description = [{
    `form`: `matrix` uses warp or warpgroup MMA. `tiles` uses FMAs of threads on tiles in shared
    memory. `few_rows` and `few_columns` are skinny GEMMs, which read the larger operand once and
    multiply each of its elements by all rows or columns of the smaller operand.

    The other parameters apply to the form `matrix` only. `buffers`: number of pipeline stages
    (K-slices of the operands in shared memory). `warpsM`, `warpsN`: the tile is divided among
    `warpsM` by `warpsN` warps. `groups`: use warpgroup MMA (four warps). `fetches`: a producer
    warpgroup loads the K-slices with TMA. The kernel is then launched with at most `blocks` blocks,
    each of which computes several tiles, one after another. `cycles`: expected time of the kernel
    in cycles; 0 if unknown.
  }];
  let parameters = (ins "GpuForm":$form, "int64_t":$m, "int64_t":$n, DefaultValuedParameter<"int64_t", "1">:$splits,
                        DefaultValuedParameter<"int64_t", "0">:$buffers, DefaultValuedParameter<"int64_t", "0">:$warpsM,
                        DefaultValuedParameter<"int64_t", "0">:$warpsN, DefaultValuedParameter<"bool", "false">:$groups,
                        DefaultValuedParameter<"bool", "false">:$fetches, DefaultValuedParameter<"int64_t", "0">:$blocks,
                        DefaultValuedParameter<"int64_t", "0">:$cycles);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_GpuAttentionAttr : AttrDef<PlanDialect, "GpuAttention"> {
  let mnemonic = "gpu_attention";
  let summary = "Fused attention on a GPU: `warpsM` by `warpsN` warps divide the rows and columns of a block.";
  let description = [{
    A warp computes `columns` scores of each of its rows at a time. `online`: the kernel computes
    the rows in one pass (online softmax). Otherwise it makes one pass for each reduction that
    depends on an earlier reduction. `factors`: element type of the MMA operands.

    `splitTiles`: if the rows do not occupy all streaming multiprocessors, the columns of a row are
    divided among blocks, with at least `splitTiles` tiles per block and at most `blocks` blocks in
    total; 0 if columns are not divided. `rowTiles`: number of MMA row tiles per warp. With two row
    tiles, a warp uses each 16-bit operand that it has loaded for the columns twice.
  }];
  let parameters = (ins "int64_t":$warpsM, "int64_t":$warpsN, "int64_t":$columns, "::mlir::Type":$factors,
                        DefaultValuedParameter<"bool", "false">:$online, DefaultValuedParameter<"int64_t", "0">:$splitTiles,
                        DefaultValuedParameter<"int64_t", "0">:$blocks, DefaultValuedParameter<"int64_t", "1">:$rowTiles);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_GpuRowsAttr : AttrDef<PlanDialect, "GpuRows"> {
  let mnemonic = "gpu_rows";
  let summary = "Row-wise reductions on a GPU: `rowThreads` of `threads` share a row and load `width` elements each.";
  let parameters = (ins "int64_t":$rowThreads, "int64_t":$threads, DefaultValuedParameter<"int64_t", "1">:$width);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_GpuCumulateAttr : AttrDef<PlanDialect, "GpuCumulate"> {
  let mnemonic = "gpu_cumulate";
  let summary = "A prefix scan on a GPU: `lineThreads` of `threads` share a row, `elements` elements each at a time.";
  let parameters = (ins "int64_t":$lineThreads, "int64_t":$threads, DefaultValuedParameter<"int64_t", "1">:$elements);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_GpuTransposeAttr : AttrDef<PlanDialect, "GpuTranspose"> {
  let mnemonic = "gpu_transpose";
  let summary = "A transpose on a GPU, through shared memory tiles of `tile` by `tile` elements.";
  let parameters = (ins "int64_t":$tile, "int64_t":$threads);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_GpuMapAttr : AttrDef<PlanDialect, "GpuMap"> {
  let mnemonic = "gpu_map";
  let summary = "An elementwise GPU kernel: a thread computes `widths` adjacent elements; one width per shape of results.";
  let parameters = (ins "int64_t":$threads, "::mlir::DenseI64ArrayAttr":$widths);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_TmaTileAttr : AttrDef<PlanDialect, "TmaTile"> {
  let mnemonic = "tma_tile";
  let summary = "A TMA descriptor, which a kernel takes as an argument: a tensor and the tile that one load copies.";
  let description = [{
    The tensor is argument number `argument` of the kernel, and its elements have `bytes` bytes.
    `extents` lists its dims, the innermost first. `strides` lists the strides in bytes of all dims
    but the innermost. Extents and strides are integers or expressions over the kernel's symbols.
    `sizes` lists the dims of the tile in elements. The innermost dim of a tile is one row in shared
    memory, whose 16-byte chunks are swizzled (lib/Target/NVPTX/Kernels/MmaOperand.h). `rounds`: the
    load rounds float32 elements to TF32, that is, to 11 significant bits.
  }];
  let parameters = (ins "int64_t":$argument, "int64_t":$bytes, "::mlir::ArrayAttr":$extents, "::mlir::ArrayAttr":$strides,
                        "::mlir::DenseI64ArrayAttr":$sizes, DefaultValuedParameter<"bool", "false">:$rounds);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_TasksAttr : AttrDef<PlanDialect, "Tasks"> {
  let mnemonic = "tasks";
  let summary = "Launch of a CPU kernel, whose work is divided into `count` tasks (an expression over `symbols`).";
  let parameters = (ins DimParameter<>:$count, "::mlir::ArrayAttr":$symbols);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_GpuLaunchAttr : AttrDef<PlanDialect, "GpuLaunch"> {
  let mnemonic = "gpu_launch";
  let summary = "Launch configuration and resources of a GPU kernel: `blocks` blocks of `threads` threads.";
  let description = [{
    Launch sizes that depend on symbols are expressions over `symbols`, the symbols of the kernel in
    their order. An omitted parameter is 0 or false. `blocks` is omitted as long as the number of
    blocks is not determined.

    `sharedBytes`: bytes of dynamic shared memory per block that the launch requests. `blockBytes`:
    bytes of shared memory per block that the kernel uses. `registers`: approximate number of
    registers per thread; 0 for few. `work`: the computation of the kernel, as the number of
    multiply-adds by 32-bit MMA that would take as long (`mmaProductsPerCycle` of the target).
    `traffic`: bytes that the kernel reads and writes, where each byte counts once.

    `alone`: the kernel is never a phase of a persistent kernel. `meets`: the kernel has grid-wide
    barriers, so all of its blocks must be resident at once. The arena is then an additional
    argument after the symbols. `counters`: number of 32-bit counters in memory that the kernel
    uses. Their address is an additional argument after the arena. The first counter implements
    grid-wide barriers. All others are 0 before and after each launch.

    `boxes`: for each of the last arguments, which are TMA descriptors, its `#plan.tma_tile`. The
    descriptors are created at launch.

    `keeps`, `keptBytes`: argument number `keeps` is a constant (weights), of which each block may
    keep `keptBytes` bytes resident in shared memory, if a persistent kernel runs all iterations of
    a loop. The companion functions of the kernel function (kKeepSuffix) load and read these
    weights. `keptBytes` is 0 if the kernel keeps none.
  }];
  let parameters = (ins OptionalDimParameter<>:$blocks, "int64_t":$threads, "::mlir::ArrayAttr":$symbols,
                        DefaultValuedParameter<"int64_t", "0">:$sharedBytes, DefaultValuedParameter<"int64_t", "0">:$blockBytes,
                        DefaultValuedParameter<"int64_t", "0">:$registers, DefaultZeroDimParameter<>:$work,
                        DefaultZeroDimParameter<>:$traffic, DefaultValuedParameter<"bool", "false">:$alone,
                        DefaultValuedParameter<"bool", "false">:$meets, DefaultValuedParameter<"int64_t", "0">:$counters,
                        OptionalParameter<"::mlir::ArrayAttr">:$boxes, DefaultValuedParameter<"int64_t", "0">:$keeps,
                        DefaultValuedParameter<"int64_t", "0">:$keptBytes);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_BufferKind : I32Enum<"BufferKind", "Memory that a buffer belongs to", [
  I32EnumCase<"Arena", 0, "arena">,
  I32EnumCase<"Output", 1, "output">,
  I32EnumCase<"Slice", 2, "slice">,
  I32EnumCase<"Dynamic", 3, "dynamic">,
  I32EnumCase<"Subview", 4, "subview">,
  I32EnumCase<"Forward", 5, "forward">,
  I32EnumCase<"Alias", 6, "alias">]> {
  let cppNamespace = "::hewn::plan";
}

def Plan_BufferAttr : AttrDef<PlanDialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "Buffer assignment of an op's result.";
  let description = [{
    | kind | memory |
    | --- | --- |
    | `<arena, offset>` | the arena, at `offset` bytes |
    | `<output, offset>` | output number `offset` of the program |
    | `<slice, offset>` | current slice of sequence output number `offset` of the enclosing scan |
    | `<dynamic>` | allocated at run time, because the size is dynamic |
    | `<subview, offset>` | `offset` bytes after the start of the buffer of the enclosing tensor |
    | `<forward>` | the buffer of the value that the taken branch yields |
    | `<alias>` | the buffer of the op's operand |

    The offset of an arena buffer is an integer or an expression over the symbols of the inputs.
  }];
  let parameters = (ins EnumParameter<Plan_BufferKind>:$kind, OptionalDimParameter<>:$offset);
  let builders = [AttrBuilder<(ins "BufferKind":$kind), [{ return $_get($_ctxt, kind, std::nullopt); }]>];
  let assemblyFormat = "`<` $kind (`,` $offset^)? `>`";
  let genVerifyDecl = 1;
}

def Plan_CopyTo : I32Enum<"CopyTo", "Memory space of a target with a device", [
  I32EnumCase<"Host", 0, "host">,
  I32EnumCase<"Device", 1, "device">]> {
  let cppNamespace = "::hewn::plan";
}

def Plan_CopyToAttr : EnumAttr<PlanDialect, Plan_CopyTo, "copy_to">;

#endif

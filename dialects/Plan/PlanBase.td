// SPDX-License-Identifier: Apache-2.0
//
// The dialect `plan`: kernels, launches, places in memory. It knows no op of the dialect graph.
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
  let summary = "A program of kernels over buffers in an arena.";
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
}

include "dialects/Plan/Machine.td"

//===------------------------------------------------------------------------------------------------------------------===//
// Schedules: how a kernel is computed. A pass decides (hewn-decide-kernels), engines do.
//===------------------------------------------------------------------------------------------------------------------===//

def Plan_Unit : I32Enum<"Unit", "What multiplies", [
  I32EnumCase<"Vectors", 0, "vectors">,
  I32EnumCase<"Dots", 1, "dots">,
  I32EnumCase<"Matrix", 2, "matrix">]> {
  let cppNamespace = "::hewn::plan";
}

def Plan_LoopForm : I32Enum<"LoopForm", "How loops run over what a kernel makes", [
  I32EnumCase<"Elements", 0, "elements">,
  I32EnumCase<"Rows", 1, "rows">,
  I32EnumCase<"Cumulate", 2, "cumulate">,
  I32EnumCase<"Map", 3, "map">]> {
  let cppNamespace = "::hewn::plan";
}

def Plan_GridForm : I32Enum<"GridForm", "How a grid multiplies", [
  I32EnumCase<"Matrix", 0, "matrix">,
  I32EnumCase<"Tiles", 1, "tiles">,
  I32EnumCase<"FewRows", 2, "few_rows">,
  I32EnumCase<"FewColumns", 3, "few_columns">]> {
  let cppNamespace = "::hewn::plan";
}

def Plan_ContractAttr : AttrDef<PlanDialect, "Contract"> {
  let mnemonic = "contract";
  let summary = "A contraction by register tiles: m rows by n columns of accumulators over the whole sum.";
  let description = [{
    `lanes`: of the vectors that columns lie in. `unit`: what multiplies, vectors in the type of the sums, the target's `#plan.dot` or its
    `#plan.matrix`. `vectorRows`: of a matrix unit's kernel, rows of a tile of vectors, for runs whose rows fill no tile of the unit.
    `limbs`: the left operand's elements are split into so many of 8 bits, which are multiplied with weights of few bits; 0: weights are
    decoded. `cycles`: what the model expects the kernel to take, one product of a vector each; 0: it can't tell.
  }];
  let parameters = (ins "int64_t":$m, "int64_t":$n, "int64_t":$lanes,
                        DefaultValuedParameter<"Unit", "Unit::Vectors">:$unit,
                        DefaultValuedParameter<"int64_t", "0">:$vectorRows, DefaultValuedParameter<"int64_t", "0">:$limbs,
                        DefaultValuedParameter<"int64_t", "0">:$cycles);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_WinogradAttr : AttrDef<PlanDialect, "Winograd"> {
  let mnemonic = "winograd";
  let summary = "A contraction with weights transformed by Winograd's method: `block` tiles of results at a time.";
  let description = [{
    The products of a block are made by register tiles of `m` rows (tiles of results) by `n` columns. `stride`: floats between the channels
    of neighbouring tiles of a block. Transformed operands and sums lie in one of `slots` buffers of scratch memory, one a task. At each place of
    a tile so many `panels` of n columns are multiplied before those of the next place; their number divides that of whole panels. Where one block is
    all that there is, several slots share its columns, so many `panels` each, the last one the rest.
  }];
  let parameters = (ins "int64_t":$block, "int64_t":$m, "int64_t":$n, "int64_t":$lanes, "int64_t":$stride, "int64_t":$slots,
                        DefaultValuedParameter<"int64_t", "1">:$panels);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_LoopsAttr : AttrDef<PlanDialect, "Loops"> {
  let mnemonic = "loops";
  let summary = "Loops over what is made: `elements` of images that lie alike, `rows` and what is reduced of them, what is "
                "cumulated, or a `map` that evaluates each element where it is.";
  let parameters = (ins EnumParameter<Plan_LoopForm>:$form);
  let assemblyFormat = "`<` $form `>`";
}

def Plan_ChainAttr : AttrDef<PlanDialect, "Chain"> {
  let mnemonic = "chain";
  let summary = "Two contractions with rows between them (attention), `rows` of these at a time.";
  let description = [{
    `head`, `middle`, `tail`: the schedules of the steps, for so many rows. `slots`: buffers of scratch memory, one a task, in which the
    rows lie; 0: they are on the stack.
  }];
  let parameters = (ins "int64_t":$rows, DefaultValuedParameter<"int64_t", "0">:$slots, "::mlir::Attribute":$head,
                        "::mlir::Attribute":$middle, "::mlir::Attribute":$tail);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_GridTileAttr : AttrDef<PlanDialect, "GridTile"> {
  let mnemonic = "grid_tile";
  let summary = "The tile that a contraction on a grid is to have: m rows by n columns a block, over the whole sum or one of `splits` of it.";
  let description = [{
    Not a schedule yet: split-K makes two kernels of one, and must be known before memory is laid out. hewn-decide-kernels makes
    `#plan.grid_contract` of it, or another schedule where the kernel has no such form. `buffers`: slices of the operands in shared memory;
    0: as many as are of use and fit. `groups`: whether groups of warps multiply together, where they can. `cycles`: what the model expects.
  }];
  let parameters = (ins "int64_t":$m, "int64_t":$n, DefaultValuedParameter<"int64_t", "1">:$splits,
                        DefaultValuedParameter<"int64_t", "0">:$buffers, DefaultValuedParameter<"bool", "true">:$groups,
                        DefaultValuedParameter<"int64_t", "0">:$cycles);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_GridContractAttr : AttrDef<PlanDialect, "GridContract"> {
  let mnemonic = "grid_contract";
  let summary = "A contraction on a grid: a block makes m rows by n columns of the result, over the whole sum or one of `splits` of it.";
  let description = [{
    `form`: `matrix`, by the warps' matrix instructions; `tiles`, by threads from shared memory; `few_rows` and `few_columns`, where the
    other operand is read once, each of its elements for all of the few. Of `matrix` alone: `buffers`, slices of the operands in shared
    memory; `warpsM` by `warpsN`, how warps share the tile; `groups`, whether groups of four warps multiply together; `fetches`, whether one
    group more has the slices fetched, then by no more than `blocks` blocks that go from tile to tile. `cycles`: what the model expects;
    0: it can't tell.
  }];
  let parameters = (ins "GridForm":$form, "int64_t":$m, "int64_t":$n, DefaultValuedParameter<"int64_t", "1">:$splits,
                        DefaultValuedParameter<"int64_t", "0">:$buffers, DefaultValuedParameter<"int64_t", "0">:$warpsM,
                        DefaultValuedParameter<"int64_t", "0">:$warpsN, DefaultValuedParameter<"bool", "false">:$groups,
                        DefaultValuedParameter<"bool", "false">:$fetches, DefaultValuedParameter<"int64_t", "0">:$blocks,
                        DefaultValuedParameter<"int64_t", "0">:$cycles);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_GridChainAttr : AttrDef<PlanDialect, "GridChain"> {
  let mnemonic = "grid_chain";
  let summary = "Two contractions with rows between them (attention) on a grid: a block has `warpsM` warps of rows by `warpsN` of columns.";
  let description = [{
    A warp makes `columns` scores of each of its rows at a time. `online`: rows are made in one pass (a softmax), else one for each
    reduction that needs another's result. `factors`: the type that products are of. `splitTiles`: where rows are too few for all
    processors, their columns are split over blocks, so many tiles at least in each, and `blocks` blocks at most in all; 0: they are not.
    `rowTiles`: how often a warp has the matrix instruction's rows; two, where factors are narrow, share what it reads of columns.
  }];
  let parameters = (ins "int64_t":$warpsM, "int64_t":$warpsN, "int64_t":$columns, "::mlir::Type":$factors,
                        DefaultValuedParameter<"bool", "false">:$online, DefaultValuedParameter<"int64_t", "0">:$splitTiles,
                        DefaultValuedParameter<"int64_t", "0">:$blocks, DefaultValuedParameter<"int64_t", "1">:$rowTiles);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_GridRowsAttr : AttrDef<PlanDialect, "GridRows"> {
  let mnemonic = "grid_rows";
  let summary = "Reductions over rows on a grid: `rowThreads` of a block's `threads` share a row, `width` elements at once.";
  let parameters = (ins "int64_t":$rowThreads, "int64_t":$threads, DefaultValuedParameter<"int64_t", "1">:$width);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_GridCumulateAttr : AttrDef<PlanDialect, "GridCumulate"> {
  let mnemonic = "grid_cumulate";
  let summary = "What is cumulated, on a grid: `lineThreads` of a block's `threads` share a line, `elements` of each thread at a time.";
  let parameters = (ins "int64_t":$lineThreads, "int64_t":$threads, DefaultValuedParameter<"int64_t", "1">:$elements);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_GridTransposeAttr : AttrDef<PlanDialect, "GridTranspose"> {
  let mnemonic = "grid_transpose";
  let summary = "A map that reads along another dim than it writes, on a grid: square tiles of `tile` elements a side through shared memory.";
  let parameters = (ins "int64_t":$tile, "int64_t":$threads);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_GridMapAttr : AttrDef<PlanDialect, "GridMap"> {
  let mnemonic = "grid_map";
  let summary = "Elements where they are, on a grid: a thread makes `widths` neighbours at once, of the results of each dims.";
  let parameters = (ins "int64_t":$threads, "::mlir::DenseI64ArrayAttr":$widths);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_BoxAttr : AttrDef<PlanDialect, "Box"> {
  let mnemonic = "box";
  let summary = "A tensor from which a kernel's blocks fetch boxes, as an argument of the kernel says it.";
  let description = [{
    The memory is that of argument number `argument` of the kernel, elements of `bytes`, counted by `extents`, the innermost dim first;
    `strides` are the bytes from one to the next along the others. Extents and strides are integers or expressions over the
    kernel's symbols. A box has `sizes` elements along the dims; the bytes of its innermost one are a line, whose chunks of 16 bytes
    are swizzled as in lib/Codegen/Grid/Grid.h. `rounds`: float32s come with eleven significant bits.
  }];
  let parameters = (ins "int64_t":$argument, "int64_t":$bytes, "::mlir::ArrayAttr":$extents, "::mlir::ArrayAttr":$strides,
                        "::mlir::DenseI64ArrayAttr":$sizes, DefaultValuedParameter<"bool", "false">:$rounds);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_TasksAttr : AttrDef<PlanDialect, "Tasks"> {
  let mnemonic = "tasks";
  let summary = "How a function of vector code is launched: cut into `count` tasks, an expression over the kernel's `symbols`.";
  let parameters = (ins DimParameter<>:$count, "::mlir::ArrayAttr":$symbols);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_GridLaunchAttr : AttrDef<PlanDialect, "GridLaunch"> {
  let mnemonic = "grid_launch";
  let summary = "How a function for a grid is launched, and what it needs: `blocks` of `threads` each.";
  let description = [{
    Numbers that depend on sizes are expressions over `symbols`, the kernel's in their order. What is not said is 0 or not so; `blocks` are
    not said while nobody knows them.

    `sharedBytes`: shared memory that a block is given when launched; 0: it has what it needs. `blockBytes`: shared memory that it uses.
    `registers`: those that a thread wants, about; 0: few. `work`: products, as those of words at the machine's `mmaProductsPerCycle` that take as long;
    `traffic`: bytes that are read and written, each once. `alone`: it is never a part of another kernel. `meets`: blocks wait for each
    other, so that all must run at once; behind its symbols it takes the arena. `counters`: so many of 32 bits it takes behind that;
    they are 0 before and behind it, but for the first one, by which blocks wait.

    `boxes`: what its last arguments are, a `#plan.box` each, made when it is launched. `keeps`: the number of an argument, a constant, of
    which each block may keep `keptBytes` in shared memory where one kernel runs all steps of a loop, by functions beside this one
    (kKeepSuffix); `keptBytes` are 0 where it keeps none.
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

def Plan_PlaceKind : I32Enum<"PlaceKind", "Whose memory it is", [
  I32EnumCase<"Arena", 0, "arena">,
  I32EnumCase<"Output", 1, "output">,
  I32EnumCase<"Slice", 2, "slice">,
  I32EnumCase<"Dynamic", 3, "dynamic">,
  I32EnumCase<"Subview", 4, "subview">,
  I32EnumCase<"Forward", 5, "forward">,
  I32EnumCase<"Alias", 6, "alias">]> {
  let cppNamespace = "::hewn::plan";
}

def Plan_PlaceAttr : AttrDef<PlanDialect, "Place"> {
  let mnemonic = "place";
  let summary = "Where the memory of an op's result is.";
  let description = [{
    `<arena, offset>` in the arena, at a number of bytes or an expression over the inputs' symbols; `<output, i>` the memory
    of output i; `<slice, i>` the current slice of output sequence i of the scan around; `<dynamic>` allocated when run, for
    sizes known only then; `<subview, offset>` as many bytes behind the beginning of what it is a subview of; `<forward>` wherever the
    value is that a branch yields; `<alias>` the operand's memory. The first, second, third and fifth have an offset, the others none.
  }];
  let parameters = (ins EnumParameter<Plan_PlaceKind>:$kind, OptionalDimParameter<>:$offset);
  let builders = [AttrBuilder<(ins "PlaceKind":$kind), [{ return $_get($_ctxt, kind, std::nullopt); }]>];
  let assemblyFormat = "`<` $kind (`,` $offset^)? `>`";
  let genVerifyDecl = 1;
}

def Plan_CopyTo : I32Enum<"CopyTo", "Which of the two memories of a machine with a device", [
  I32EnumCase<"Host", 0, "host">,
  I32EnumCase<"Device", 1, "device">]> {
  let cppNamespace = "::hewn::plan";
}

def Plan_CopyToAttr : EnumAttr<PlanDialect, Plan_CopyTo, "copy_to">;

#endif

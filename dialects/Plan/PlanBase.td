// SPDX-License-Identifier: Apache-2.0
//
// The dialect `plan`: kernels, launches, places in memory. It knows no op of the dialect graph.
#ifndef HEWN_PLAN_BASE
#define HEWN_PLAN_BASE

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
}

def Plan_DotAttr : AttrDef<PlanDialect, "Dot"> {
  let mnemonic = "dot";
  let summary = "An instruction that sums products of neighbours: sum + left[0] * right[0] + ... in each lane of 32 bits.";
  let description = [{
    `left` and `right` are the elements, as many as fill a lane; `sum` the lane's type. `intrinsic` names LLVM's, with the
    accumulator as its first operand where it `accumulates`, else without one.
  }];
  let parameters = (ins "::mlir::Type":$left, "::mlir::Type":$right, "::mlir::Type":$sum, "::mlir::StringAttr":$intrinsic,
                        DefaultValuedParameter<"bool", "true">:$accumulates);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Elements of an operand in a lane.
    int64_t getGroup() { return 32 / getRight().getIntOrFloatBitWidth(); }
  }];
}

def Plan_MatrixAttr : AttrDef<PlanDialect, "Matrix"> {
  let mnemonic = "matrix";
  let summary = "A matrix unit: sum += left x right of whole tiles that lie in registers of their own.";
  let description = [{
    A tile of `left` is up to `rows` rows of `depth` elements, one of `right` is `depth` rows of `columns` elements in groups that
    fill 32 bits, one of sums is `rows` by `columns` lanes of 32 bits. `tile` is the type of a register; `zero`, `load`, `store`
    and `product` name LLVM's intrinsics, which take rows and bytes of a row as i16, then a pointer and the bytes between
    rows, then tiles; `product` takes rows, bytes of a row of sums, bytes of a row of `left`, sums, left, right. `rate`: products
    that it makes while vectors make one of float32.
  }];
  let parameters = (ins "::mlir::Type":$left, "::mlir::Type":$right, "::mlir::Type":$sum, "int64_t":$rows, "int64_t":$columns, "int64_t":$depth,
                        "::mlir::Type":$tile, "::mlir::StringAttr":$zero, "::mlir::StringAttr":$load,
                        "::mlir::StringAttr":$store, "::mlir::StringAttr":$product, DefaultValuedParameter<"int64_t", "12">:$rate);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_GridAttr : AttrDef<PlanDialect, "Grid"> {
  let mnemonic = "grid";
  let summary = "A machine of many threads, launched as a grid of blocks: code is written for one thread, which runs no vectors.";
  let parameters = (ins "int64_t":$processors, "int64_t":$warp, "int64_t":$sharedBytes, DefaultValuedParameter<"int64_t", "0">:$products,
                        DefaultValuedParameter<"int64_t", "512">:$rate, DefaultValuedParameter<"int64_t", "1000">:$memoryRate,
                        DefaultValuedParameter<"int64_t", "0">:$groupRate, DefaultValuedParameter<"int64_t", "0">:$blocksBytes,
                        DefaultValuedParameter<"int64_t", "1500">:$megahertz, DefaultValuedParameter<"int64_t", "0">:$launchCycles,
                        DefaultValuedParameter<"int64_t", "0">:$meetingCycles, DefaultValuedParameter<"int64_t", "65536">:$registers,
                        DefaultValuedParameter<"int64_t", "2048">:$threads);
  let description = [{
    `warp` threads run in step and see each other's registers; the threads of a block share up to `sharedBytes` of memory and can
    wait for each other. The blocks that a processor runs at once share `blocksBytes`, 0: as many. Such a machine has memory of its own. `products`: how many products of matrices of a warp make one of
    float32, for the precision that is wanted; 0: it has no such instruction. `rate`: products of words of 32 bits that the
    instructions of a processor's warps make in a cycle; `memoryRate`: bytes that come from memory in a cycle, for all processors.
    `groupRate`: the same as `rate` for products of 16-bit elements that groups of four warps make from shared memory while they do
    other things; 0: it has no such instruction. `megahertz`: cycles of a microsecond. `launchCycles`: from the end of one kernel to the
    beginning of one behind it, `meetingCycles`: until all blocks of a kernel have waited for each other; 0: they can't.
    `registers`, `threads`: of a processor, for all blocks that it runs at once.
  }];
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_TargetAttr : AttrDef<PlanDialect, "Target"> {
  let mnemonic = "target";
  let summary = "What passes may know of the machine: sizes, never names.";
  let parameters = (ins "int64_t":$vectorBytes, "int64_t":$vectorRegisters, "int64_t":$l1Bytes, "int64_t":$l1Ways, "int64_t":$l2Bytes, "int64_t":$l3Bytes,
                        OptionalParameter<"::mlir::ArrayAttr">:$dots, OptionalParameter<"::mlir::ArrayAttr">:$matrices,
                        OptionalParameter<"::hewn::plan::GridAttr">:$grid, DefaultValuedParameter<"bool", "false">:$fastHalves,
                        DefaultValuedParameter<"bool", "false">:$scalesVectors, OptionalParameter<"::mlir::StringAttr">:$permutation);
  let description = [{
    `dots` are the `#plan.dot`s that are not slower than products of the sums' type, `matrices` the `#plan.matrix`es, which are
    much faster. `grid`: kernels run on a grid of threads. `fastHalves`: vectors of half the bytes are issued twice as often, so
    that columns which fill half a vector more cost half a vector more. `scalesVectors`: an instruction multiplies lanes by powers of two, also
    where the result overflows or is denormal. `permutation`: the intrinsic that gives a vector of float32s at places in another vector
    that only a run tells (operands: the floats, the places as 32-bit integers).
  }];
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

//===------------------------------------------------------------------------------------------------------------------===//
// Schedules: how a kernel is computed. A pass decides (hewn-decide-kernels, hewn-choose-tiles for grids), engines do.
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
    of neighbouring tiles of a block. Transformed operands and sums lie in one of `slots` pieces of scratch memory, one a task.
  }];
  let parameters = (ins "int64_t":$block, "int64_t":$m, "int64_t":$n, "int64_t":$lanes, "int64_t":$stride, "int64_t":$slots);
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
    `head`, `middle`, `tail`: the schedules of the steps, for so many rows. `slots`: pieces of scratch memory, one a task, in which the
    rows lie; 0: they are on the stack.
  }];
  let parameters = (ins "int64_t":$rows, DefaultValuedParameter<"int64_t", "0">:$slots, "::mlir::Attribute":$head,
                        "::mlir::Attribute":$middle, "::mlir::Attribute":$tail);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_GridContractAttr : AttrDef<PlanDialect, "GridContract"> {
  let mnemonic = "grid_contract";
  let summary = "How a grid tiles a contraction: m rows by n columns a block, over the whole sum or over one of `parts` of it.";
  let description = [{
    `buffers`: slices of the operands in shared memory; 0: as many as are of use and fit. `groups`: whether groups of warps multiply
    together, where they can.
  }];
  let parameters = (ins "int64_t":$m, "int64_t":$n, DefaultValuedParameter<"int64_t", "1">:$parts,
                        DefaultValuedParameter<"int64_t", "0">:$buffers, DefaultValuedParameter<"bool", "true">:$groups);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_BoxAttr : AttrDef<PlanDialect, "Box"> {
  let mnemonic = "box";
  let summary = "A tensor from which a kernel's blocks fetch boxes, as an argument of the kernel says it.";
  let description = [{
    The memory is that of argument number `argument` of the kernel, elements of `bytes`, counted by `extents`, the innermost dim first;
    `strides` are the bytes from one to the next along the others. Extents and strides are integers or expressions over the
    kernel's symbols. A box has `sizes` elements along the dims; the bytes of its innermost one are a line, whose pieces of 16 bytes
    are swapped as in lib/Codegen/Grid/Grid.h. `rounds`: float32s come with eleven significant bits.
  }];
  let parameters = (ins "int64_t":$argument, "int64_t":$bytes, "::mlir::ArrayAttr":$extents, "::mlir::ArrayAttr":$strides,
                        "::mlir::DenseI64ArrayAttr":$sizes, DefaultValuedParameter<"bool", "false">:$rounds);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_PlaceAttr : AttrDef<PlanDialect, "Place"> {
  let mnemonic = "place";
  let summary = "Where the memory of an op's result is.";
  let description = [{
    `<"arena", offset>` in the arena, at a number of bytes or an expression over the inputs' symbols; `<"output", i>` the memory
    of output i; `<"slice", i>` the current slice of output sequence i of the scan around; `<"dynamic">` allocated when run, for
    sizes known only then; `<"piece", offset>` as many bytes behind the beginning of what it is a piece of; `<"forward">` wherever the
    value is that a branch yields; `<"alias">` the operand's memory.
  }];
  let parameters = (ins StringRefParameter<"kind">:$kind, OptionalParameter<"::mlir::Attribute">:$offset);
  let assemblyFormat = "`<` $kind (`,` $offset^)? `>`";
}

#endif

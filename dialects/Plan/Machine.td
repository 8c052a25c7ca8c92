// SPDX-License-Identifier: Apache-2.0
//
// What passes and engines may know of a machine: sizes, rates and instructions, never names. A row in lib/Target fills it; nothing
// here, and nothing that reads it, has a figure of a machine: what a parameter is without being said is that there is none.
#ifndef HEWN_PLAN_MACHINE
#define HEWN_PLAN_MACHINE

//===------------------------------------------------------------------------------------------------------------------===//
// Vectors
//===------------------------------------------------------------------------------------------------------------------===//

def Plan_DotAttr : AttrDef<PlanDialect, "Dot"> {
  let mnemonic = "dot";
  let summary = "An instruction that sums products of neighbours: sum + left[0] * right[0] + ... in each lane of 32 bits.";
  let description = [{
    `left` and `right` are the elements, as many as fill a lane; `sum` the lane's type. `intrinsic` names LLVM's, with the
    accumulator as its first operand where it `accumulates`, else without one; `rightFirst`: then comes the right operand, and the left one
    last.
  }];
  let parameters = (ins "::mlir::Type":$left, "::mlir::Type":$right, "::mlir::Type":$sum, "::mlir::StringAttr":$intrinsic,
                        DefaultValuedParameter<"bool", "true">:$accumulates, DefaultValuedParameter<"bool", "false">:$rightFirst);
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
    fill 32 bits, one of sums is `rows` by `columns` lanes of 32 bits. `registers`: tiles that the unit holds. `tile` is the type of a
    register; `zero`, `load`, `store` and `product` name LLVM's intrinsics, which take rows and bytes of a row as i16, then a pointer and
    the bytes between rows, then tiles; `product` takes rows, bytes of a row of sums, bytes of a row of `left`, sums, left, right.
    `rate`: products that it makes while vectors make one of float32. `fewestRows`: fewer are done by vectors in no more time.
  }];
  let parameters = (ins "::mlir::Type":$left, "::mlir::Type":$right, "::mlir::Type":$sum, "int64_t":$rows, "int64_t":$columns, "int64_t":$depth,
                        "int64_t":$registers, "::mlir::Type":$tile, "::mlir::StringAttr":$zero, "::mlir::StringAttr":$load,
                        "::mlir::StringAttr":$store, "::mlir::StringAttr":$product, "int64_t":$rate, "int64_t":$fewestRows);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Bytes of a row of a tile of the left operand, and of one of sums, which a group of rows of the right one is as long as.
    int64_t getLeftRowBytes() { return getDepth() * getLeft().getIntOrFloatBitWidth() / 8; }
    int64_t getSumRowBytes() { return getColumns() * getSum().getIntOrFloatBitWidth() / 8; }
    /// Such groups of rows in a tile of the right operand.
    int64_t getRightGroups() { return getDepth() * getRight().getIntOrFloatBitWidth() / getSum().getIntOrFloatBitWidth(); }
  }];
}

def Plan_VectorCostsAttr : AttrDef<PlanDialect, "VectorCosts"> {
  let mnemonic = "vector_costs";
  let summary = "What the models of vector code reckon with.";
  let description = [{
    Costs are hundredths of the time of one product of a vector, where products follow each other without a gap. Of register tiles:
    `panelCost` brings a vector of a panel of weights from the second cache, `farCost` one from behind it, `loadCost` and `spreadCost` are
    what a load of a vector and of a number for all lanes take beside products, `stepCost` what a step along the sum takes at least, since a
    sum waits for its last one. `chains`: sums of one vector each that are enough not to wait so; `chainRows`: rows of a tile that two
    contractions share.
    `products`: vectors of products in a cycle; `memoryRate`: bytes in a cycle that one core gets from memory. `lineBytes`: what caches
    move at once; `aheadBytes`: how far in front of their use constants are fetched that are read once.
    `taskWork`: vector instructions that one thread has done as soon as two have agreed on sharing them. `launchBytes`: bytes that come from
    memory while a kernel is started; `outerCost`: hundredths of the time of a byte of memory that one of the third cache takes.
  }];
  let parameters = (ins "int64_t":$panelCost, "int64_t":$farCost, "int64_t":$loadCost, "int64_t":$spreadCost, "int64_t":$stepCost, "int64_t":$chains,
                        "int64_t":$chainRows, "int64_t":$products, "int64_t":$memoryRate, "int64_t":$lineBytes, "int64_t":$aheadBytes,
                        "int64_t":$taskWork, "int64_t":$launchBytes, "int64_t":$outerCost);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

//===------------------------------------------------------------------------------------------------------------------===//
// Grids of threads
//===------------------------------------------------------------------------------------------------------------------===//

def Plan_GridLimitsAttr : AttrDef<PlanDialect, "GridLimits"> {
  let mnemonic = "grid_limits";
  let summary = "What a grid's threads, blocks and processors have room for.";
  let description = [{
    `registers`, `threads`: of a processor, for all blocks that it runs at once. `threadRegisters`: the most that a thread can have, in
    steps of `registerStep`; `blockThreads`: the most threads of a block. `blockBytes`: shared memory of each block that is not its own;
    `staticBytes`: shared memory that a block has without asking for it. `arguments`: pointers and numbers that a kernel can take.
  }];
  let parameters = (ins "int64_t":$registers, "int64_t":$threads, "int64_t":$threadRegisters, "int64_t":$registerStep, "int64_t":$blockThreads,
                        "int64_t":$blockBytes, "int64_t":$staticBytes, "int64_t":$arguments);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_GridCostsAttr : AttrDef<PlanDialect, "GridCosts"> {
  let mnemonic = "grid_costs";
  let summary = "What the models of a grid's code reckon with, in cycles of a processor.";
  let description = [{
    In a cycle: `rate`, products of words of 32 bits that the matrix instructions of a processor's warps make; `groupRate`, the same for
    products of 16-bit elements that groups of four warps make from shared memory while they do other things, 0: it has no such
    instruction; `threadRate`, products that its threads make by themselves; `issueRate`, instructions of threads that it begins;
    `memoryRate`, bytes from memory for all processors; `cacheRate`, bytes for each from the cache that all share; `sharedRate`, bytes of
    its shared memory. `sectorBytes`: of a line of memory what is brought at least. `megahertz`: cycles of a microsecond.

    `launchCycles`: from the end of one kernel to the beginning of one behind it, `meetingCycles`: until all blocks of a kernel have waited
    for each other, 0: they can't. `blockCycles`: before a block's first load and behind its last store. `sliceCycles` and, for each product
    of words, `termCycles`: of a slice of a contraction's operands what nothing hides; `fetchCycles`: until one that is fetched has come.
    `tileCycles`: of a tile of attention's columns what nothing hides; `partCycles`: of a part of the columns, until its first tile has come
    and until the last block has seen that all have. `memoryCycles`: until what is loaded from memory has come; `threadBytes`: that a
    thread has on its way meanwhile; `busyThreads`: of a processor, that hide the latency of each other's products.
  }];
  let parameters = (ins "int64_t":$rate, DefaultValuedParameter<"int64_t", "0">:$groupRate, "int64_t":$threadRate, "int64_t":$issueRate,
                        "int64_t":$memoryRate, "int64_t":$cacheRate, "int64_t":$sharedRate, "int64_t":$sectorBytes, "int64_t":$megahertz,
                        "int64_t":$launchCycles, DefaultValuedParameter<"int64_t", "0">:$meetingCycles, "int64_t":$blockCycles,
                        "int64_t":$sliceCycles, "int64_t":$termCycles, "int64_t":$fetchCycles, "int64_t":$tileCycles, "int64_t":$partCycles,
                        "int64_t":$memoryCycles, "int64_t":$threadBytes, "int64_t":$busyThreads);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_GridAttr : AttrDef<PlanDialect, "Grid"> {
  let mnemonic = "grid";
  let summary = "A machine of many threads, launched as a grid of blocks: code is written for one thread, which runs no vectors.";
  let parameters = (ins "int64_t":$processors, "int64_t":$warp, "int64_t":$sharedBytes, DefaultValuedParameter<"int64_t", "0">:$blocksBytes,
                        DefaultValuedParameter<"int64_t", "0">:$products, "::hewn::plan::GridLimitsAttr":$limits,
                        "::hewn::plan::GridCostsAttr":$costs);
  let description = [{
    `warp` threads run in step and see each other's registers; the threads of a block share up to `sharedBytes` of memory and can
    wait for each other. The blocks that a processor runs at once share `blocksBytes`, 0: as many. Such a machine has memory of its
    own. `products`: how many products of matrices of a warp make one of float32, for the precision that is wanted; 0: it has no such
    instruction.
  }];
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

//===------------------------------------------------------------------------------------------------------------------===//
// The machine
//===------------------------------------------------------------------------------------------------------------------===//

def Plan_TargetAttr : AttrDef<PlanDialect, "Target"> {
  let mnemonic = "target";
  let summary = "What passes may know of the machine: sizes, never names.";
  let parameters = (ins "int64_t":$vectorBytes, "int64_t":$vectorRegisters, "int64_t":$l1Bytes, "int64_t":$l1Ways, "int64_t":$l2Bytes, "int64_t":$l3Bytes,
                        OptionalParameter<"::hewn::plan::VectorCostsAttr">:$costs,
                        OptionalParameter<"::mlir::ArrayAttr">:$dots, OptionalParameter<"::mlir::ArrayAttr">:$matrices,
                        OptionalParameter<"::hewn::plan::GridAttr">:$grid, DefaultValuedParameter<"bool", "false">:$fastHalves,
                        DefaultValuedParameter<"bool", "false">:$scalesVectors, DefaultValuedParameter<"bool", "false">:$convertsHalf,
                        OptionalParameter<"::mlir::StringAttr">:$permutation,
                        DefaultValuedParameter<"bool", "false">:$lanesAsFactors);
  let description = [{
    `costs`: of the machine's vectors; a grid has its own. Absent: models reckon with round ones that are no machine's. `dots` are the `#plan.dot`s that are not slower than products of the sums' type,
    `matrices` the `#plan.matrix`es, which are much faster. `grid`: kernels run on a grid of threads. `fastHalves`: vectors of half the
    bytes are issued twice as often, so that columns which fill half a vector more cost half a vector more. `scalesVectors`: an
    instruction multiplies lanes by powers of two, also where the result overflows or is denormal. `convertsHalf`: one makes float32 of
    float16. `permutation`: the intrinsic that gives a vector of float32s at places in another vector that only a run tells (operands: the
    floats, the places as 32-bit integers). `lanesAsFactors`: instructions multiply by one lane of a register, for all lanes, so that factors
    are loaded a vector at a time instead of each for all lanes.
  }];
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif

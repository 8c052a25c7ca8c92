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
    last. A `sum` of 16 bits is one of two products of bytes, two in a lane, and ends at the type's bounds where it would pass them.
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
    `relativeRate`: products that it makes while vectors make one of float32. `minRows`: fewer are done by vectors in no more time.
  }];
  let parameters = (ins "::mlir::Type":$left, "::mlir::Type":$right, "::mlir::Type":$sum, "int64_t":$rows, "int64_t":$columns, "int64_t":$depth,
                        "int64_t":$registers, "::mlir::Type":$tile, "::mlir::StringAttr":$zero, "::mlir::StringAttr":$load,
                        "::mlir::StringAttr":$store, "::mlir::StringAttr":$product, "int64_t":$relativeRate, "int64_t":$minRows);
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
    A `...Cost` is in hundredths of the time of one FMA of a vector, where FMAs follow each other without a gap. Of register tiles:
    `l2LoadCost` loads a vector of a panel of weights from the L2 cache, `l2MissCost` one from behind it; `loadCost` and `broadcastCost` are
    what a load of a vector, and of a scalar for all lanes, take beside FMAs; `fmaLatencyCost` is an FMA's latency: what a step along
    the sum takes at least, since an accumulator waits for its last one. `minAccumulators`: vectors of sums that are enough to hide that
    latency; `chainRows`: rows of a tile that two contractions share.

    `fmasPerCycle`: FMAs of vectors; `memoryBytesPerCycle`: bytes that one core loads from memory. `cacheLineBytes`: what caches move at
    once; `prefetchDistanceBytes`: how far in front of their use constants are prefetched that are read once. `forkJoinInstructions`:
    vector instructions in the time that a fork and join of threads takes: less work is not shared. `launchOverheadBytes`: bytes that come
    from memory while a kernel is started; `l3ByteCost`: a byte of the L3 cache, in hundredths of the time of one of memory.
    `laneLoadCost`: a lane of a vector that is loaded from a place of its own, in the L1 cache. `widenCost`: what it takes beside FMAs to make a
    vector of float32 of 16 bits each that a panel has.
  }];
  let parameters = (ins "int64_t":$l2LoadCost, "int64_t":$l2MissCost, "int64_t":$loadCost, "int64_t":$broadcastCost, "int64_t":$fmaLatencyCost, "int64_t":$minAccumulators,
                        "int64_t":$chainRows, "int64_t":$fmasPerCycle, "int64_t":$memoryBytesPerCycle, "int64_t":$cacheLineBytes, "int64_t":$prefetchDistanceBytes,
                        "int64_t":$forkJoinInstructions, "int64_t":$launchOverheadBytes, "int64_t":$l3ByteCost, "int64_t":$laneLoadCost,
                        DefaultValuedParameter<"int64_t", "0">:$widenCost);
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
    `registers`, `threads`: of a processor, for all blocks that it runs at once. `maxThreadRegisters`: the most that a thread can have,
    allocated in steps of `registerGranularity`; `maxBlockThreads`: the most threads of a block. `reservedBlockBytes`: shared memory of each
    block that the system takes; `staticSharedBytes`: shared memory that a block has without asking for it. `maxArguments`: pointers and
    numbers that a kernel can take.
  }];
  let parameters = (ins "int64_t":$registers, "int64_t":$threads, "int64_t":$maxThreadRegisters, "int64_t":$registerGranularity, "int64_t":$maxBlockThreads,
                        "int64_t":$reservedBlockBytes, "int64_t":$staticSharedBytes, "int64_t":$maxArguments);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_GridCostsAttr : AttrDef<PlanDialect, "GridCosts"> {
  let mnemonic = "grid_costs";
  let summary = "What the models of a grid's code reckon with, in cycles of a processor.";
  let description = [{
    In a cycle, of one processor: `mmaProductsPerCycle`, products of words of 32 bits by the warps' matrix instructions;
    `warpgroupProductsPerCycle`, the same for products of 16-bit elements that groups of four warps make from shared memory, asynchronously,
    0: it has no such instruction; `threadProductsPerCycle`, FMAs of threads; `instructionsPerCycle`, instructions of threads that are
    issued; `l2BytesPerCycle`, bytes from the cache that all share; `sharedBytesPerCycle`, bytes of its shared memory. Of all processors:
    `memoryBytesPerCycle`, bytes from memory. `sectorBytes`: of a cache line what is loaded at least. `megahertz`: cycles of a microsecond.

    `launchCycles`: from the end of one kernel to the beginning of the next, `gridBarrierCycles`: until all blocks of a kernel have waited
    for each other, 0: they can't. `blockOverheadCycles`: before a block's first load and behind its last store. `sliceOverheadCycles` and,
    for each product of words, `termOverheadCycles`: of a slice of a contraction's operands what nothing hides; `fetchLatencyCycles`: until a
    slice that is fetched has come. `tileOverheadCycles`: of a tile of attention's columns what nothing hides; `splitOverheadCycles`: of a
    split of the columns, until its first tile has come and until the last block has seen that all have. `memoryLatencyCycles`: until what
    is loaded from memory has come; `threadBytesInFlight`: bytes that a thread has loads of meanwhile; `latencyHidingThreads`: threads of a
    processor that hide the latency of each other's products; `jointProductCycles`: what products of matrices take longer in a joint
    kernel, of which a processor runs few blocks, beside the meetings.
  }];
  let parameters = (ins "int64_t":$mmaProductsPerCycle, DefaultValuedParameter<"int64_t", "0">:$warpgroupProductsPerCycle, "int64_t":$threadProductsPerCycle, "int64_t":$instructionsPerCycle,
                        "int64_t":$memoryBytesPerCycle, "int64_t":$l2BytesPerCycle, "int64_t":$sharedBytesPerCycle, "int64_t":$sectorBytes, "int64_t":$megahertz,
                        "int64_t":$launchCycles, DefaultValuedParameter<"int64_t", "0">:$gridBarrierCycles, "int64_t":$blockOverheadCycles,
                        "int64_t":$sliceOverheadCycles, "int64_t":$termOverheadCycles, "int64_t":$fetchLatencyCycles, "int64_t":$tileOverheadCycles, "int64_t":$splitOverheadCycles,
                        "int64_t":$memoryLatencyCycles, "int64_t":$threadBytesInFlight, "int64_t":$latencyHidingThreads,
                        DefaultValuedParameter<"int64_t", "0">:$jointProductCycles);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_GridAttr : AttrDef<PlanDialect, "Grid"> {
  let mnemonic = "grid";
  let summary = "A machine of many threads, launched as a grid of blocks: code is written for one thread, which runs no vectors.";
  let parameters = (ins "int64_t":$processors, "int64_t":$warpSize, "int64_t":$sharedBytes, DefaultValuedParameter<"int64_t", "0">:$processorSharedBytes,
                        DefaultValuedParameter<"int64_t", "0">:$mmasPerProduct, "::hewn::plan::GridLimitsAttr":$limits,
                        "::hewn::plan::GridCostsAttr":$costs);
  let description = [{
    `warpSize` threads run in step and see each other's registers; the threads of a block share up to `sharedBytes` of memory and can
    wait for each other. The blocks that a processor runs at once share `processorSharedBytes`, 0: as many. Such a machine has memory of its
    own. `mmasPerProduct`: how many matrix instructions of a warp make one product of float32, for the precision that is wanted; 0: it has no such
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
                        OptionalParameter<"::hewn::plan::GridAttr">:$grid, DefaultValuedParameter<"bool", "false">:$doubleRateHalfVectors,
                        OptionalParameter<"::mlir::StringAttr">:$scaleIntrinsic, DefaultValuedParameter<"bool", "false">:$hasHalfConversions,
                        OptionalParameter<"::mlir::StringAttr">:$permuteIntrinsic, OptionalParameter<"::mlir::StringAttr">:$permuteBytesIntrinsic,
                        DefaultValuedParameter<"bool", "false">:$hasFmaByLane, DefaultValuedParameter<"bool", "false">:$hasFma);
  let description = [{
    `costs`: of the machine's vectors; a grid has its own. Absent: models reckon with round ones that are no machine's. `dots` are the `#plan.dot`s that are not slower than products of the sums' type,
    `matrices` the `#plan.matrix`es, which are much faster. `grid`: kernels run on a grid of threads. `doubleRateHalfVectors`: vectors of half the
    bytes are issued twice as often, so that columns which fill half a vector more cost half a vector more. `scaleIntrinsic`: the
    intrinsic that multiplies a vector of float32s by powers of two, rounded once, also where the result overflows or is denormal (operands: the floats, the
    exponents as floats, which it rounds down, and of lanes that are masked off the floats, the mask and the rounding mode). `hasHalfConversions`: one makes float32 of
    float16. `permuteIntrinsic`: the intrinsic that gives a vector of float32s at places in another vector that only a run tells (operands: the
    floats, the places as 32-bit integers); `permuteBytesIntrinsic`: the same of bytes, by their places from 0 to 15 in each sixteen of them.
    `hasFmaByLane`: instructions multiply by one lane of a register, for all lanes, so that factors
    are loaded a vector at a time instead of each for all lanes. `hasFma`: one instruction multiplies float32s and adds, and rounds once.
  }];
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif

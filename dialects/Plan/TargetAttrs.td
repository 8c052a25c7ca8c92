// SPDX-License-Identifier: Apache-2.0
//
// The attributes that describe a target to passes and kernel generators: sizes, rates and
// instructions, but no names of targets. A target description in lib/Target provides the values. No
// parameter has a default that is specific to a target: if an instruction or rate is omitted, the
// target has none.
#ifndef HEWN_PLAN_MACHINE
#define HEWN_PLAN_MACHINE

include "dialects/Plan/TargetInterfaces.td"

//===------------------------------------------------------------------------------------------------------------------===//
// Vectors
//===------------------------------------------------------------------------------------------------------------------===//

def Plan_DotProductAttr : AttrDef<PlanDialect, "DotProduct"> {
  let mnemonic = "dot_product";
  let summary = "A dot-product instruction: computes sum + left[0] * right[0] + ... in each 32-bit lane.";
  let description = [{
    `left` and `right` are the element types of the operands, of which a 32-bit lane holds as many
    elements as fit. `sum` is the type of an accumulator. If it has 16 bits, a lane holds two
    accumulators, each of which is the saturating sum of two 8-bit products.

    `intrinsic` names the LLVM intrinsic. `accumulates`: the first operand of the intrinsic is the
    accumulator; otherwise the intrinsic has no accumulator operand. `rightFirst`: the right operand
    precedes the left one. `issueRate`: number of instructions that the target issues in the time of
    100 float32 FMAs of equal vector width; 0 means the rate of FMAs. `leftBits`: number of bits
    that elements of `left` may have, beyond which the result is undefined; 0 means all bits.
  }];
  let parameters = (ins "::mlir::Type":$left, "::mlir::Type":$right, "::mlir::Type":$sum, "::mlir::StringAttr":$intrinsic,
                        DefaultValuedParameter<"bool", "true">:$accumulates, DefaultValuedParameter<"bool", "false">:$rightFirst,
                        DefaultValuedParameter<"int64_t", "0">:$issueRate, DefaultValuedParameter<"int64_t", "0">:$leftBits);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Returns the number of elements of an operand in a 32-bit lane.
    int64_t getGroup() { return 32 / getRight().getIntOrFloatBitWidth(); }
    /// Returns the number of multiply-adds that a lane computes in the time of one float32 FMA.
    double getRelativeRate() { return double(getGroup()) / getIssueTime(); }
    /// Returns the time of one dot-product instruction, in units of one float32 FMA.
    double getIssueTime() { return getIssueRate() ? 100.0 / double(getIssueRate()) : 1; }
  }];
}

def Plan_MatrixUnitAttr : AttrDef<PlanDialect, "MatrixUnit"> {
  let mnemonic = "matrix_unit";
  let summary = "A matrix unit: computes sum += left x right for tiles in dedicated tile registers.";
  let description = [{
    A tile of `left` has up to `rows` rows of `depth` elements. A tile of `right` has `depth` rows
    of `columns` elements, stored in groups along K that fill 32 bits. A tile of accumulators has
    `rows` by `columns` 32-bit lanes. `registers`: number of tile registers. `tile`: LLVM type of a
    tile register.

    `zero`, `load`, `store` and `product` name LLVM intrinsics. The operands of the first three are
    the number of rows and the bytes of a row as i16, then, for loads and stores, a pointer and the
    distance between rows in bytes, then the tile to store. The operands of `product` are the number
    of rows, the bytes of a row of accumulators, the bytes of a row of `left`, the accumulators, and
    the left and right tile.

    `relativeRate`: number of multiply-adds of the unit in the time of one float32 multiply-add of
    the vector unit. `minRows`: the smallest number of rows for which the unit is faster than
    vectors.
  }];
  let parameters = (ins "::mlir::Type":$left, "::mlir::Type":$right, "::mlir::Type":$sum, "int64_t":$rows, "int64_t":$columns, "int64_t":$depth,
                        "int64_t":$registers, "::mlir::Type":$tile, "::mlir::StringAttr":$zero, "::mlir::StringAttr":$load,
                        "::mlir::StringAttr":$store, "::mlir::StringAttr":$product, "int64_t":$relativeRate, "int64_t":$minRows);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Return the bytes of a row in a tile of the left operand, and of a row in a tile of
    /// accumulators. A tile of the right operand has rows of the latter size, each with one group
    /// along K for each column.
    int64_t getLeftRowBytes() { return getDepth() * getLeft().getIntOrFloatBitWidth() / 8; }
    int64_t getSumRowBytes() { return getColumns() * getSum().getIntOrFloatBitWidth() / 8; }
    /// Returns the number of groups along K in a tile of the right operand.
    int64_t getRightGroups() { return getDepth() * getRight().getIntOrFloatBitWidth() / getSum().getIntOrFloatBitWidth(); }
  }];
}

def Plan_VectorCostsAttr : AttrDef<PlanDialect, "VectorCosts"> {
  let mnemonic = "vector_costs";
  let summary = "Parameters of the cost models for vector code.";
  let description = [{
    The unit of each parameter named `...Cost` is a hundredth of the reciprocal throughput of a
    vector FMA.

    | register tiles | |
    | --- | --- |
    | `l2LoadCost` | loading a vector of packed weights from the L2 cache |
    | `l2MissCost` | loading a vector of packed weights that misses the L2 cache |
    | `loadCost` | loading a vector, in addition to the FMAs |
    | `broadcastCost` | broadcasting a scalar, in addition to the FMAs |
    | `fmaLatencyCost` | latency of an FMA, the minimum time of a step along K |
    | `minAccumulators` | number of vector accumulators that hide the latency of an addition |
    | `attentionRows` | rows of a register tile of fused attention |
    | `widenCost` | extending a vector of a packed panel from 16 bits to float32, in addition to the FMAs |

    | other | |
    | --- | --- |
    | `fmasPerCycle` | vector FMAs per cycle |
    | `memoryBytesPerCycle` | bytes that one core loads from memory per cycle |
    | `cacheLineBytes` | size of a cache line |
    | `prefetchDistanceBytes` | distance of the software prefetch of weights that are read once |
    | `forkJoinInstructions` | vector instructions in the time of a fork and join of threads |
    | `launchOverheadBytes` | bytes read from memory in the time of a kernel launch |
    | `l3ByteCost` | loading a byte from the L3 cache, in percent of the time from memory |
    | `laneLoadCost` | loading one lane of a gather from the L1 cache |

    Kernels that are smaller than `forkJoinInstructions` run on one thread.
  }];
  let parameters = (ins "int64_t":$l2LoadCost, "int64_t":$l2MissCost, "int64_t":$loadCost, "int64_t":$broadcastCost, "int64_t":$fmaLatencyCost, "int64_t":$minAccumulators,
                        "int64_t":$attentionRows, "int64_t":$fmasPerCycle, "int64_t":$memoryBytesPerCycle, "int64_t":$cacheLineBytes, "int64_t":$prefetchDistanceBytes,
                        "int64_t":$forkJoinInstructions, "int64_t":$launchOverheadBytes, "int64_t":$l3ByteCost, "int64_t":$laneLoadCost,
                        DefaultValuedParameter<"int64_t", "0">:$widenCost);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

//===------------------------------------------------------------------------------------------------------------------===//
// GPUs
//===------------------------------------------------------------------------------------------------------------------===//

def Plan_GpuLimitsAttr : AttrDef<PlanDialect, "GpuLimits"> {
  let mnemonic = "gpu_limits";
  let summary = "Resource limits of the threads, blocks and streaming multiprocessors of a GPU.";
  let description = [{
    `registers`, `threads`: number of registers and threads of a streaming multiprocessor, for all
    of its resident blocks. `maxThreadRegisters`: maximum number of registers per thread, which are
    allocated in steps of `registerGranularity`. `maxBlockThreads`: maximum number of threads per
    block. `reservedBlockBytes`: bytes of shared memory per block that the system reserves.
    `staticSharedBytes`: bytes of shared memory that a block may use without a request at launch.
    `maxArguments`: maximum number of arguments (pointers and integers) of a kernel.
  }];
  let parameters = (ins "int64_t":$registers, "int64_t":$threads, "int64_t":$maxThreadRegisters, "int64_t":$registerGranularity, "int64_t":$maxBlockThreads,
                        "int64_t":$reservedBlockBytes, "int64_t":$staticSharedBytes, "int64_t":$maxArguments);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_GpuCostsAttr : AttrDef<PlanDialect, "GpuCosts"> {
  let mnemonic = "gpu_costs";
  let summary = "Parameters of the cost models for GPU kernels, in cycles of a streaming multiprocessor.";
  let description = [{
    | rate per cycle | what is counted |
    | --- | --- |
    | `mmaProductsPerCycle` | multiply-adds by warp MMA, per multiprocessor (16-bit elements: pairs) |
    | `warpgroupProductsPerCycle` | pairs of multiply-adds by 16-bit warpgroup MMA; 0 if unsupported |
    | `threadProductsPerCycle` | FMAs of threads, per multiprocessor |
    | `instructionsPerCycle` | instructions of threads, per multiprocessor |
    | `l2BytesPerCycle` | bytes from the L2 cache, per multiprocessor |
    | `sharedBytesPerCycle` | bytes of shared memory, per multiprocessor |
    | `memoryBytesPerCycle` | bytes from GPU memory, for the whole GPU |

    `sectorBytes`: bytes of the smallest part of a cache line that a load transfers. `megahertz`:
    the clock rate, in cycles per microsecond.

    | time in cycles | what is measured |
    | --- | --- |
    | `launchCycles` | from the end of a kernel to the start of the next one |
    | `gridBarrierCycles` | one grid-wide barrier; 0 if the target has none |
    | `blockOverheadCycles` | a block, before its first load and after its last store |
    | `sliceOverheadCycles` | overhead per K-slice of a contraction that nothing overlaps |
    | `termOverheadCycles` | additional overhead per K-slice for each MMA of a float32 MMA |
    | `fetchLatencyCycles` | from the issue of the load of a K-slice to its arrival |
    | `tileOverheadCycles` | overhead per column tile of attention that nothing overlaps |
    | `splitOverheadCycles` | split columns: loading the first tile and waiting for all partials |
    | `memoryLatencyCycles` | from the issue of a load from memory to its arrival |
    | `persistentMmaCycles` | extra time of a GEMM that is a phase of a persistent kernel |

    A GEMM that is a phase of a persistent kernel is slower, because such a kernel has few blocks
    per multiprocessor.
    `threadBytesInFlight`: bytes that the outstanding loads of one thread may have.
    `latencyHidingThreads`: number of threads per multiprocessor that hides the latency of MMAs.
  }];
  let parameters = (ins "int64_t":$mmaProductsPerCycle, DefaultValuedParameter<"int64_t", "0">:$warpgroupProductsPerCycle, "int64_t":$threadProductsPerCycle, "int64_t":$instructionsPerCycle,
                        "int64_t":$memoryBytesPerCycle, "int64_t":$l2BytesPerCycle, "int64_t":$sharedBytesPerCycle, "int64_t":$sectorBytes, "int64_t":$megahertz,
                        "int64_t":$launchCycles, DefaultValuedParameter<"int64_t", "0">:$gridBarrierCycles, "int64_t":$blockOverheadCycles,
                        "int64_t":$sliceOverheadCycles, "int64_t":$termOverheadCycles, "int64_t":$fetchLatencyCycles, "int64_t":$tileOverheadCycles, "int64_t":$splitOverheadCycles,
                        "int64_t":$memoryLatencyCycles, "int64_t":$threadBytesInFlight, "int64_t":$latencyHidingThreads,
                        DefaultValuedParameter<"int64_t", "0">:$persistentMmaCycles);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_GpuAttr : AttrDef<PlanDialect, "Gpu", [DeclareAttrInterfaceMethods<Plan_TargetAttrInterface>]> {
  let mnemonic = "gpu";
  let summary = "Target description of a GPU: a kernel is launched with many blocks of threads, and its code is that of one thread (SIMT).";
  let parameters = (ins "int64_t":$vectorBytes, "int64_t":$l2Bytes, "int64_t":$processors, "int64_t":$warpSize, "int64_t":$sharedBytes,
                        DefaultValuedParameter<"int64_t", "0">:$processorSharedBytes, DefaultValuedParameter<"int64_t", "0">:$mmasPerProduct,
                        "::hewn::plan::GpuLimitsAttr":$limits, "::hewn::plan::GpuCostsAttr":$costs);
  let description = [{
    `vectorBytes`: bytes of the longest load or store of a thread. `l2Bytes`: bytes of the L2 cache.
    `processors`: number of streaming multiprocessors. `warpSize`: number of threads that execute in
    lockstep and can read each other's registers. `sharedBytes`: maximum bytes of shared memory of a
    block, whose threads also have a barrier. `processorSharedBytes`: bytes of shared memory of a
    multiprocessor, for all of its resident blocks; 0 if equal to `sharedBytes`. `mmasPerProduct`:
    number of warp MMAs that compute one float32 MMA at the required precision (1 for TF32, 3 for
    3xTF32); 0 if the target has no such instruction. The memory of a GPU is separate from the
    host's.
  }];
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    // Methods of TargetAttr that have another value than the default.
    bool getHasHalfConversions() const { return true; }
    bool getHasFma() const { return true; }
  }];
}

//===------------------------------------------------------------------------------------------------------------------===//
// CPUs
//===------------------------------------------------------------------------------------------------------------------===//

def Plan_CpuAttr : AttrDef<PlanDialect, "Cpu", [DeclareAttrInterfaceMethods<Plan_TargetAttrInterface>]> {
  let mnemonic = "cpu";
  let summary = "Target description of a CPU: kernels are loops of vector instructions.";
  let parameters = (ins "int64_t":$vectorBytes, "int64_t":$vectorRegisters, "int64_t":$l1Bytes, "int64_t":$l1Ways, "int64_t":$l2Bytes, "int64_t":$l3Bytes,
                        OptionalParameter<"::hewn::plan::VectorCostsAttr">:$costs,
                        OptionalParameter<"::mlir::ArrayAttr">:$dots, OptionalParameter<"::mlir::ArrayAttr">:$matrices,
                        DefaultValuedParameter<"bool", "false">:$doubleRateHalfVectors,
                        OptionalParameter<"::mlir::StringAttr">:$scaleIntrinsic, DefaultValuedParameter<"bool", "false">:$hasHalfConversions,
                        OptionalParameter<"::mlir::StringAttr">:$permuteIntrinsic, OptionalParameter<"::mlir::StringAttr">:$permuteBytesIntrinsic,
                        DefaultValuedParameter<"bool", "false">:$hasFmaByLane, DefaultValuedParameter<"bool", "false">:$hasFma);
  let description = [{
    `costs`: parameters of the cost models for vector code. If they are absent, the models use round
    numbers that describe no real target. `dots`: the `#plan.dot_product` instructions that are not
    slower than FMAs of the accumulator type. `matrices`: the `#plan.matrix_unit`s, which are much
    faster than vectors.

    `doubleRateHalfVectors`: instructions on vectors of half the width issue at twice the rate, so
    that columns that fill half a vector cost half as much as a vector. `hasHalfConversions`: the
    target has an instruction that converts float16 to float32. `hasFmaByLane`: an FMA can multiply
    a vector by one lane of another register. Kernels then load a vector of scalars at a time and do
    not broadcast each of them. `hasFma`: the target has an instruction that computes a float32
    multiply-add with one rounding.

    `scaleIntrinsic`: LLVM intrinsic that multiplies a vector of float32 by powers of two with one
    rounding, also if the result overflows or is denormal. Its operands are the vector, the
    exponents as float32 (rounded down), the values of masked lanes, the mask, and the rounding
    mode.

    `permuteIntrinsic`: LLVM intrinsic that permutes a vector of float32 by indices that are
    computed at run time. Its operands are the vector and the indices as 32-bit integers.
    `permuteBytesIntrinsic`: LLVM intrinsic that permutes the bytes within each 16-byte part of a
    vector, by indices from 0 to 15.
  }];
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    ::mlir::Attribute getVectorCosts() const { return getCosts(); }
  }];
}

#endif

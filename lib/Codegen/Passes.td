// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_CODEGEN_PASSES
#define HEWN_CODEGEN_PASSES

include "mlir/Pass/PassBase.td"

def ExpandMathPass : Pass<"hewn-expand-math"> {
  let summary = "Expand exp, tanh, log and other math ops to vector arithmetic or calls of libm";
  let description = [{
    Expands math ops for which no target has an instruction.

    | op | becomes |
    | --- | --- |
    | `math.exp` etc. on f32 | arith ops on the whole vector (`VectorMath.h`) |
    | `math.exp`, `math.log`, `math.sin` etc. on f64 | arith ops if the target has FMA instructions |
    | other ops on f64, `math.erfc`, `math.cbrt` | calls of libm, lane by lane |
    | `math.sin`, `math.cos`, `math.tan` | arith ops; a branch calls libm for angles above 2^49 (f64: 2^30) |
    | vector `arith.divsi`, `arith.divui`, `arith.remf` | float divisions, which have vector instructions |
    | trees of vector `arith.maximumf`, `arith.minimumf` | extrema without NaN propagation, and a NaN test |

    `math.sqrt`, `math.fma`, `math.floor` and other ops with an instruction are not changed.

    ```mlir
    %y = math.exp %x : vector<16xf32>   // becomes arith ops on vector<16xf32>
    %y = math.erf %x : f64              // becomes
    %y = func.call @erf(%x) : (f64) -> f64
    ```

    With `libm=true`, all of these math ops become calls of libm, and divisions and extrema are not
    expanded. -O0 uses this option, which makes its results an independent reference for those of the
    approximations.

    The pass runs on ops with a symbol table, which get the declarations of libm functions: a
    lowered plan.kernel or a module.
  }];
  let options = [Option<"libm", "libm", "bool", "false", "Call libm for all math ops, as an independent reference">];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect", "::mlir::LLVM::LLVMDialect"];
}

def ExpandFloat8Pass : Pass<"hewn-expand-float8"> {
  let summary = "Expand conversions between float8 or float4 and f32 to integer arithmetic";
  let description = [{
    Expands conversions for which no target has an instruction, on scalars and vectors.

    | op | becomes |
    | --- | --- |
    | `arith.extf %x : f8E4M3FN to f32` | a multiplication that rebases the exponent (exact) |
    | `arith.truncf %x : f32 to f8E5M2` | integer rounding to nearest even; overflow gives infinity or NaN |
    | `arith.truncf %x : f64 to bf16` | via f32 with round-to-odd, so that the result is rounded once |
    | `arith.extf %x : bf16 to f32` | a shift by 16 bits |

    The options `half` and `bfloat` are for targets without f16 or bf16 instructions. On these, LLVM
    would call library functions that artifacts do not contain. With an option, the pass expands
    conversions of the type and computes arithmetic on it in f32 (`graph::computeType`).
  }];
  let options = [
    Option<"half", "half", "bool", "false", "Also expand conversions and arithmetic of f16">,
    Option<"bfloat", "bfloat", "bool", "false", "Also expand conversions and arithmetic of bf16">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def AssignSchedulesPass : Pass<"hewn-assign-schedules", "::hewn::plan::KernelOp"> {
  let summary = "Choose the schedule of a plan.kernel";
  let description = [{
    Selects a kernel generator and its parameters, and records them in the attribute
    `schedule` (docs/decisions/recorded-schedules.md). The first row of this table that applies to
    a CPU kernel determines its schedule:

    | kernel | schedule |
    | --- | --- |
    | two contractions with row-wise ops between them | `#plan.attention` |
    | a contraction with Winograd-transformed weights | `#plan.winograd` |
    | a contraction that can be tiled | `#plan.contract` |
    | other | `#plan.loops` |

    GPU kernels get a `#plan.gpu_...` schedule (lib/Target/NVPTX/Kernels/ChooseSchedule.cpp). If an earlier pass
    has selected the tile of a contraction (`#plan.gpu_tile`), the schedule uses this tile.

    ```mlir
    plan.kernel @k(%x: tensor<4x64xf32>, %w: tensor<64x16xf32>) -> tensor<4x16xf32> {
      %0 = graph.matmul %x, %w
      graph.yield %0
    }
    // becomes
    plan.kernel ... attributes {schedule = #plan.contract<m = 4, n = 16, lanes = 8, cycles = 512>}
    ```

    A kernel that already has a complete schedule, written by hand or by a search, keeps it. The
    kernel generators make no choices; they emit an error for a schedule that does not apply.

    A tuning (`lib/Schedule/Tuning.h`) holds schedules measured by `hewn tune`. If it has a row for
    a CPU kernel, that schedule is used instead of the cost model's choice. If code cannot be
    generated for the row, the pass emits a warning and uses the cost model's choice.

    If a schedule needs scratch memory and the kernel has none of this size, the pass records the
    dims in the attribute `plan.scratch`; `hewn-insert-scratch` then adds the memory.
  }];
  let options = [Option<"tuning", "tuning", "std::string", "", "Measured schedules (docs/tutorials/tuning.md): a file or its text, which starts with a brace">,
                 Option<"machine", "machine", "std::string", "", 
                        "Name of the target in the tuning file; if empty, the attribute plan.tuning_target of the module">];
  // The analyses of some kernels emit their code, inspect it and erase it.
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect", "::mlir::memref::MemRefDialect", "::mlir::LLVM::LLVMDialect"];
}

def LowerKernelsPass : Pass<"hewn-lower-kernels", "::hewn::plan::KernelOp"> {
  let summary = "Lower a plan.kernel to vector loops or GPU threads";
  let description = [{
    Replaces the graph ops of the kernel by their code, which the kernel generator of the schedule
    emits.

    ```mlir
    plan.kernel @k(%x: tensor<4x8xf32>) -> tensor<4x8xf32>
        attributes {schedule = #plan.loops<elements>} {
      %y = graph.relu %x
      graph.yield %y
    }
    // becomes
    plan.kernel @k(tensor<4x8xf32>) -> tensor<4x8xf32> attributes {schedule = #plan.loops<elements>} {
      func.func @k(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) {
        scf.for ... { vector.load, arith, vector.store }
      }
    }
    ```

    All ops are supported: kernels without a special schedule are lowered to a loop nest over the
    result, which computes each element on its own. The pass emits an error if a kernel has no
    schedule, or one that does not apply.
  }];
  let dependentDialects = ["::hewn::simt::SimtDialect", "::mlir::func::FuncDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect", "::mlir::memref::MemRefDialect", "::mlir::LLVM::LLVMDialect"];
}

def LowerSimtPass : Pass<"hewn-lower-simt", "::mlir::ModuleOp"> {
  let summary = "Lower the dialect `simt` and the GPU dialects of targets to calls, for tests on a CPU";
  let description = [{
    Replaces each op of the dialect `simt` and of the targets' GPU dialects by a call of a function,
    whose declaration has the memory effects that LLVM must respect. The code stays LLVM IR and runs
    on a CPU, where the emulator of a test defines the functions (lib/Codegen/GPU/SimtFunctions.h).
    Ops of target dialects are lowered through the dialect interface `MachineOps`.

    ```mlir
    simt.barrier
    %v = simt.shuffle_xor %x, 16 of 32
    // becomes
    llvm.call @hewn.simt.barrier(%c0) : (i32) -> ()
    %v = llvm.call @hewn.simt.shuffle(%all, %x, %c16, %c31) : (i32, i32, i32, i32) -> i32
    ```

    GPU targets lower the ops to instructions instead (`Device::addLowering`).
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect"];
}

def FormPersistentKernelsPass : Pass<"hewn-form-persistent-kernels", "::mlir::ModuleOp"> {
  let summary = "Merge consecutive launches with equal `plan.persistent` into one persistent kernel";
  let description = [{
    Merges the launches that `hewn-decide-persistent-kernels` marked. The kernels become the phases
    of one kernel, with grid-wide barriers between phases that depend on each other.

    ```mlir
    %0 = plan.launch @a(%x) {plan.persistent = 0}
    %1 = plan.launch @b(%0) {plan.persistent = 0}
    // becomes
    func.func @joint0(%ctx, %x, %y, %arena, %counters) {
      call @joint0_a(%ctx, %x, %arena + ...)
      call @joint0_meet(%counters)               // grid-wide barrier
      call @joint0_b(%ctx, %arena + ..., %y)
    }
    %1 = plan.launch @joint0(%x)
    ```

    A GPU kernel computes the same results for any number of blocks, so that all blocks of the
    launch can execute each kernel's function as a phase. Only values that cross the boundary of the
    persistent kernel become arguments; other values are in the arena. `PersistentNeeds.h`
    determines where grid-wide barriers are needed. All other phases begin with a block-wide
    barrier, because the phases of a block share its shared memory.

    Loops of the program become loops inside of the kernel. Constants that the launches in a loop
    read in every step may stay in shared memory (resident weights). While blocks wait at a barrier,
    they prefetch constants that later phases read.
  }];
  let dependentDialects = ["::hewn::simt::SimtDialect", "::mlir::func::FuncDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::LLVM::LLVMDialect"];
}

#endif

// Lowered kernels: what their verifier refuses, and that passes on kernels leave them as they are.
// RUN: split-file %s %t
// RUN: not hewn compile %t/function.mlir --target=x86-64-v3 -o %t/function.o 2>&1 | FileCheck %s --check-prefix=FUNCTION
// RUN: hewn-opt %t/errors.mlir --split-input-file --verify-diagnostics
// RUN: hewn-opt %t/lowered.mlir --hewn-select-gpu-tiles --hewn-split-k --hewn-mark-resident-weights --hewn-concat-in-place --hewn-assign-schedules --hewn-insert-scratch --hewn-alternate-task-order --hewn-mark-in-place --hewn-verify-kernels --hewn-lower-kernels --hewn-lower-kernels-naive | FileCheck %s

// CHECK: plan.kernel @k(tensor<4xf32>) -> tensor<4xf32> attributes {symbols = []} {
// CHECK-NEXT: func.func @k(
// CHECK: %[[Y:.*]] = plan.launch @k(%{{.*}}) symbols [] : (tensor<4xf32>) -> tensor<4xf32>

// FUNCTION: error: 'plan.launch' op launches 'k', which is not a lowered plan.kernel

//--- function.mlir
module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  func.func @k(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) {
    return
  }
  func.func @main(%x: tensor<4xf32> {graph.dims = [4], graph.name = "x"}) -> (tensor<4xf32> {graph.name = "y"}) attributes {plan.arena_bytes = 0 : i64} {
    %0 = plan.launch @k(%x) symbols [] {plan.buffers = [#plan.buffer<output, 0>]} : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

//--- errors.mlir
// expected-error@+1 {{is lowered, but has no entry function @k}}
plan.kernel @k(tensor<4xf32>) -> tensor<4xf32> attributes {symbols = []} {
  func.func @other(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) {
    return
  }
}

// -----

// expected-error@+1 {{is lowered, but has no entry function @k}}
plan.kernel @k(tensor<4xf32>) -> tensor<4xf32> attributes {symbols = []} {
  func.func private @k(!llvm.ptr, memref<?xf32>, memref<?xf32>)
}

// -----

// expected-error@+1 {{has an entry function with fewer arguments than context, inputs, results and symbols}}
plan.kernel @k(tensor<4xf32>) -> tensor<4xf32> attributes {symbols = []} {
  func.func @k(%ctx: !llvm.ptr, %x: memref<?xf32>) {
    return
  }
}

// -----

// expected-error@+1 {{has an argument or result that is not a ranked tensor}}
plan.kernel @k(memref<4xf32>) -> tensor<4xf32> attributes {symbols = []} {
  func.func @k(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) {
    return
  }
}

// -----

// expected-error@+1 {{has a body with arguments of other types than its inputs}}
"plan.kernel"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "k", symbols = []}> ({
^bb0(%x: tensor<8xf32>):
  "graph.yield"(%x) : (tensor<8xf32>) -> ()
}) : () -> ()

// -----

plan.kernel @k(tensor<4xf32>) -> tensor<4xf32> attributes {symbols = []} {
  func.func @k(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) {
    return
  }
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{does not match the operands, results and symbols of 'k'}}
  %0 = plan.launch @k(%x) symbols [] : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- lowered.mlir
plan.kernel @k(tensor<4xf32>) -> tensor<4xf32> attributes {symbols = []} {
  func.func @k(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) {
    return
  }
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = plan.launch @k(%x) symbols [] : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// A program that is compiled from the plan stage on. Its kernels are hand-written.
// RUN: hewn compile %s -o %t.so --target=x86-64-v3 && %python %S/Inputs/run_program.py %t.so
// RUN: hewn compile %s --emit=header --name=scaled | FileCheck %s --check-prefix=HEADER
// RUN: mkdir -p %t && hewn compile %s -o %t/libprogram.a && clang -std=c99 -DMODEL=program -I %S/../../include %S/Inputs/memory.c %t/libprogram.a -lm -o %t/memory && %t/memory 1 7 1000
// HEADER: int64_t scaled_arena_bytes(int64_t n);
// HEADER: hewn_status scaled_run(hewn_context *context, const float *x, float *y, int64_t n);

plan.kernel @double(tensor<?xf32>) -> tensor<?xf32> attributes {symbols = ["s0"]} {
  func.func @double(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      %a = memref.load %x[%i] : memref<?xf32>
      %b = arith.addf %a, %a : f32
      memref.store %b, %y[%i] : memref<?xf32>
    }
    return
  }
}
plan.kernel @add3(tensor<?xf32>, tensor<1xf32>) -> tensor<?xf32> attributes {symbols = ["s0"]} {
  func.func @add3(%ctx: !llvm.ptr, %x: memref<?xf32>, %w: memref<?xf32>, %y: memref<?xf32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      %a = memref.load %x[%i] : memref<?xf32>
      %k = memref.load %w[%c0] : memref<?xf32>
      %b = arith.addf %a, %k : f32
      memref.store %b, %y[%i] : memref<?xf32>
    }
    return
  }
}
func.func @main(%x: tensor<?xf32> {graph.dims = [#graph.dim<"n">], graph.name = "x"}) -> (tensor<?xf32> {graph.name = "y"}) {
  %w = graph.constant {value = dense<3.0> : tensor<1xf32>} : tensor<1xf32>
  %0 = plan.launch @double(%x) symbols [#graph.dim<"n">] {graph.dims = [[#graph.dim<"n">]]} : (tensor<?xf32>) -> tensor<?xf32>
  %1 = plan.launch @double(%0) symbols [#graph.dim<"n">] {graph.dims = [[#graph.dim<"n">]]} : (tensor<?xf32>) -> tensor<?xf32>
  %2 = plan.launch @add3(%1, %w) symbols [#graph.dim<"n">] {graph.dims = [[#graph.dim<"n">]]} : (tensor<?xf32>, tensor<1xf32>) -> tensor<?xf32>
  return %2 : tensor<?xf32>
}

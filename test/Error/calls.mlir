// Calls that LLVM inserts: a 128-bit division is a function of the compiler's runtime library on
// every x86. The error names the kernel and the function.
// RUN: not hewn compile %s --target=x86-64-v3 -o %t.so 2>&1 | FileCheck %s
// RUN: not hewn compile %s --target=x86-64-v3 -O0 -o %t.o 2>&1 | FileCheck %s
// CHECK: error: internal error: the code of wide calls '__divti3', which is neither a hewn function nor in the C library
// CHECK-NOT: error

module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  plan.kernel @wide(tensor<1xi64>) -> tensor<1xi64> attributes {symbols = []} {
    func.func @wide(%arg0: !llvm.ptr, %arg1: memref<?xi64>, %arg2: memref<?xi64>) {
      %c0 = arith.constant 0 : index
      %x = memref.load %arg1[%c0] : memref<?xi64>
      %wide = arith.extsi %x : i64 to i128
      %some = arith.constant 12345 : i128
      %square = arith.muli %wide, %wide : i128
      %divisor = arith.addi %wide, %some : i128
      %quotient = arith.divsi %square, %divisor : i128
      %y = arith.trunci %quotient : i128 to i64
      memref.store %y, %arg2[%c0] : memref<?xi64>
      return
    }
  }
  func.func @main(%arg0: tensor<1xi64> {graph.dims = [1], graph.name = "x"}) -> (tensor<1xi64> {graph.name = "y"}) attributes {plan.arena_bytes = 0 : i64, plan.max_live = 0 : i64} {
    %0 = plan.launch @wide(%arg0) symbols [] {plan.may_overwrite = array<i64: 0>, plan.buffers = [#plan.buffer<output, 0>]} : (tensor<1xi64>) -> tensor<1xi64>
    return %0 : tensor<1xi64>
  }
}

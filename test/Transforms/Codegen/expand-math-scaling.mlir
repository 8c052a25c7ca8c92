// Where the machine multiplies by powers of two, hyperbolic functions are scaled in one step.
// RUN: hewn-opt %s --hewn-expand-math --cse | FileCheck %s

module attributes {plan.target = #plan.target<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, hasVectorLdexp = true>} {
// CHECK-LABEL: func.func @cosh_vector
// CHECK-NOT: arith.shrsi
// CHECK: llvm.call_intrinsic "llvm.ldexp"(%{{.*}}, %{{.*}}) : (vector<16xf32>, vector<16xi32>) -> vector<16xf32>
func.func @cosh_vector(%x: vector<16xf32>) -> vector<16xf32> {
  %0 = math.cosh %x : vector<16xf32>
  return %0 : vector<16xf32>
}

// A scalar is not: left in two steps.
// CHECK-LABEL: func.func @cosh_scalar
// CHECK-NOT: ldexp
func.func @cosh_scalar(%x: f32) -> f32 {
  %0 = math.cosh %x : f32
  return %0 : f32
}
}

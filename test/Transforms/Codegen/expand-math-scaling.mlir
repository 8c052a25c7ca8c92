// Where the machine multiplies by powers of two, exponentials are scaled in one step.
// RUN: hewn-opt %s --hewn-expand-math --cse | FileCheck %s

module attributes {plan.target = #plan.target<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, hasVectorLdexp = true>} {
// CHECK-LABEL: func.func @exp_vector
// CHECK-NOT: arith.shrsi
// CHECK: llvm.call_intrinsic "llvm.ldexp"(%{{.*}}, %{{.*}}) : (vector<16xf32>, vector<16xi32>) -> vector<16xf32>
func.func @exp_vector(%x: vector<16xf32>) -> vector<16xf32> {
  %0 = math.exp %x : vector<16xf32>
  return %0 : vector<16xf32>
}

// A scalar is not: left in two steps.
// CHECK-LABEL: func.func @exp_scalar
// CHECK-NOT: ldexp
func.func @exp_scalar(%x: f32) -> f32 {
  %0 = math.exp %x : f32
  return %0 : f32
}
}

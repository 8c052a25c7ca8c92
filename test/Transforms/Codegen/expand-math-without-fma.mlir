// On a target without an FMA instruction, polynomials are multiplications and additions, and only
// steps that need one rounding remain FMAs.
// RUN: hewn-opt %s --hewn-expand-math --cse | FileCheck %s

module attributes {plan.target = #plan.cpu<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 0>} {
// CHECK-LABEL: func.func @exp_vector
// the number of the power of two, and the two parts of ln 2
// CHECK-COUNT-3: math.fma
// CHECK-NOT: math.fma
// CHECK: arith.mulf {{.*}} fastmath<contract> : vector<4xf32>
// CHECK-NEXT: arith.addf {{.*}} fastmath<contract> : vector<4xf32>
// CHECK-NOT: math.fma
// CHECK: return
func.func @exp_vector(%x: vector<4xf32>) -> vector<4xf32> {
  %0 = math.exp %x : vector<4xf32>
  return %0 : vector<4xf32>
}
}

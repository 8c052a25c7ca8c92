// RUN: hewn-opt %s --hewn-expand-math --cse | FileCheck %s

// On a target with FMA instructions, float64 functions are arithmetic on the whole vector. The
// exponential is scaled by two powers of two, so that subnormal results are not lost.
module attributes {plan.target = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, hasFma = true>} {
// CHECK-NOT: private @exp
// CHECK-NOT: private @pow

// CHECK-LABEL: func.func @exp_lanes
// CHECK-NOT: call
// CHECK: arith.shli {{.*}} : vector<8xi64>
// CHECK: %[[ONCE:.*]] = arith.mulf %{{.*}} : vector<8xf64>
// CHECK: arith.shli {{.*}} : vector<8xi64>
// CHECK: %[[TWICE:.*]] = arith.mulf %[[ONCE]], %{{.*}} : vector<8xf64>
// CHECK: return %[[TWICE]]
func.func @exp_lanes(%x: vector<8xf64>) -> vector<8xf64> {
  %0 = math.exp %x : vector<8xf64>
  return %0 : vector<8xf64>
}

// CHECK-LABEL: func.func @pow_lanes
// CHECK-NOT: call
// CHECK: arith.divf {{.*}} : vector<8xf64>
func.func @pow_lanes(%x: vector<8xf64>, %y: vector<8xf64>) -> vector<8xf64> {
  %0 = math.powf %x, %y : vector<8xf64>
  return %0 : vector<8xf64>
}

// Angles above 2^30 are reduced by libm.
// CHECK-LABEL: func.func @sin_lanes
// CHECK: arith.constant dense<0x41D0000000000000> : vector<8xf64>
// CHECK: arith.cmpf ogt
// CHECK: scf.if
// CHECK: call @sin
func.func @sin_lanes(%x: vector<8xf64>) -> vector<8xf64> {
  %0 = math.sin %x : vector<8xf64>
  return %0 : vector<8xf64>
}

// CHECK-LABEL: func.func @erf_lanes
// CHECK: call @erf
func.func @erf_lanes(%x: vector<8xf64>) -> vector<8xf64> {
  %0 = math.erf %x : vector<8xf64>
  return %0 : vector<8xf64>
}
}

// With a scaling instruction, hyperbolic functions are scaled in one step; with a permutation
// instruction, exponentials use a table of sixteenths.
// RUN: hewn-opt %s --hewn-expand-math --cse | FileCheck %s

module attributes {plan.target = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, scaleIntrinsic = "llvm.some.scaling", permuteIntrinsic = "llvm.some.permutation", hasFma = true>} {
// CHECK-LABEL: func.func @cosh_vector
// CHECK-NOT: arith.shrsi
// CHECK: %[[N:.*]] = arith.sitofp %{{.*}} : vector<16xi32> to vector<16xf32>
// CHECK: llvm.call_intrinsic "llvm.some.scaling"(%[[S:.*]], %[[N]], %[[S]], %{{.*}}, %{{.*}}) : (vector<16xf32>, vector<16xf32>, vector<16xf32>, i16, i32) -> vector<16xf32>
func.func @cosh_vector(%x: vector<16xf32>) -> vector<16xf32> {
  %0 = math.cosh %x : vector<16xf32>
  return %0 : vector<16xf32>
}

// The expansion scales a scalar in two steps, without the scaling instruction.
// CHECK-LABEL: func.func @cosh_scalar
// CHECK-NOT: llvm.call_intrinsic
func.func @cosh_scalar(%x: f32) -> f32 {
  %0 = math.cosh %x : f32
  return %0 : f32
}

// An exponential is a power of two from the table, times a correction beyond the table's
// resolution. Below the smallest exponential, both factors are 0.
// CHECK-LABEL: func.func @exp_vector
// CHECK: %[[X:.*]] = arith.select %{{.*}}, %{{.*}}, %arg0
// CHECK: %[[SUM:.*]] = math.fma %[[X]]
// CHECK: %[[I:.*]] = arith.bitcast %[[SUM]]
// CHECK: %[[P:.*]] = llvm.call_intrinsic "llvm.some.permutation"(%{{.*}}, %[[I]]) : (vector<16xf32>, vector<16xi32>) -> vector<16xf32>
// CHECK: %[[E:.*]] = llvm.call_intrinsic "llvm.some.permutation"(%{{.*}}, %[[I]])
// CHECK: %[[Q:.*]] = math.fma %{{.*}}, %{{.*}}, %[[E]]
// CHECK: %[[R:.*]] = math.fma %[[Q]], %[[P]], %[[P]]
// CHECK: %[[S:.*]] = llvm.call_intrinsic "llvm.some.scaling"(%[[R]],
// CHECK: arith.select %{{.*}}, %{{.*}}, %[[S]]
func.func @exp_vector(%x: vector<16xf32>) -> vector<16xf32> {
  %0 = math.exp %x : vector<16xf32>
  return %0 : vector<16xf32>
}

// If the bounds of an exponential's argument are known, the expansion does not clamp it. It folds a
// constant factor of the result into the table.
// CHECK-LABEL: func.func @exp_within
// CHECK: arith.negf
// CHECK-NOT: arith.select
// CHECK: arith.constant dense<[4.000000e+00, 4.17709
// CHECK-NOT: arith.select
// CHECK-NOT: arith.mulf
// CHECK: return
func.func @exp_within(%x: vector<16xf32>) -> vector<16xf32> {
  %low = arith.constant dense<-88.0> : vector<16xf32>
  %high = arith.constant dense<86.0> : vector<16xf32>
  %four = arith.constant dense<4.0> : vector<16xf32>
  %0 = arith.minimumf %x, %high : vector<16xf32>
  %1 = arith.maximumf %0, %low : vector<16xf32>
  %2 = arith.negf %1 : vector<16xf32>
  %3 = math.exp %2 : vector<16xf32>
  %4 = arith.mulf %3, %four : vector<16xf32>
  return %4 : vector<16xf32>
}

// An exponential looks up its table for parts of a vector, or for several vectors at once, as the
// permutation instruction requires. Other vector lengths use a longer polynomial instead of the
// table.
// CHECK-LABEL: func.func @widths
// CHECK: vector.shuffle %{{.*}} : vector<8xi32>, vector<8xi32>
// CHECK: llvm.call_intrinsic "llvm.some.permutation"
// CHECK: vector.insert_strided_slice %{{.*}} {offsets = [16], strides = [1]} : vector<16xf32> into vector<32xf32>
// CHECK: math.fma {{.*}} : vector<24xf32>
// CHECK-NOT: llvm.call_intrinsic
// CHECK: return
func.func @widths(%x: vector<8xf32>, %y: vector<32xf32>, %z: vector<24xf32>) -> (vector<8xf32>, vector<32xf32>, vector<24xf32>) {
  %0 = math.exp %x : vector<8xf32>
  %1 = math.exp %y : vector<32xf32>
  %2 = math.exp %z : vector<24xf32>
  return %0, %1, %2 : vector<8xf32>, vector<32xf32>, vector<24xf32>
}
}

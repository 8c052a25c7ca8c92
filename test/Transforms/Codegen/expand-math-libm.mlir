// The -O0 reference shares no formula with the vector code: every function is a call of libm, lane
// by lane for vectors.
// RUN: hewn-opt %s --hewn-expand-math=libm=true | FileCheck %s

// CHECK-DAG: func.func private @expf(f32) -> f32
// CHECK-DAG: func.func private @erff(f32) -> f32
// CHECK-DAG: func.func private @powf(f32, f32) -> f32
// CHECK-DAG: func.func private @sinf(f32) -> f32
// CHECK-DAG: func.func private @tanh(f64) -> f64

// CHECK-LABEL: func.func @scalars
// CHECK-SAME: (%[[X:.*]]: f32, %[[Y:.*]]: f32)
// CHECK: %[[E:.*]] = call @expf(%[[X]]) : (f32) -> f32
// CHECK: %[[F:.*]] = call @erff(%[[E]])
// CHECK: %[[P:.*]] = call @powf(%[[F]], %[[Y]])
// CHECK-NOT: scf.if
// CHECK: %[[S:.*]] = call @sinf(%[[P]])
// CHECK: return %[[S]]
func.func @scalars(%x: f32, %y: f32) -> f32 {
  %0 = math.exp %x : f32
  %1 = math.erf %0 : f32
  %2 = math.powf %1, %y : f32
  %3 = math.sin %2 : f32
  return %3 : f32
}

// CHECK-LABEL: func.func @half
// CHECK: %[[WIDE:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK: %[[R:.*]] = call @expf(%[[WIDE]])
// CHECK: arith.truncf %[[R]] : f32 to f16
func.func @half(%x: f16) -> f16 {
  %0 = math.exp %x : f16
  return %0 : f16
}

// CHECK-LABEL: func.func @double
// CHECK: call @tanh(%{{.*}}) : (f64) -> f64
func.func @double(%x: f64) -> f64 {
  %0 = math.tanh %x : f64
  return %0 : f64
}

// CHECK-LABEL: func.func @vector
// CHECK: scf.for
// CHECK: vector.extract
// CHECK: call @expf
// CHECK: vector.insert
func.func @vector(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.exp %x : vector<8xf32>
  return %0 : vector<8xf32>
}

// The pass keeps math ops that are exact or a single instruction, instead of calling libm.
// CHECK-LABEL: func.func @instructions_stay
// CHECK: math.sqrt
// CHECK: math.floor
// CHECK: math.copysign
// CHECK: math.absf
// CHECK-NOT: call
func.func @instructions_stay(%x: f32, %y: f32) -> f32 {
  %0 = math.sqrt %x : f32
  %1 = math.floor %0 : f32
  %2 = math.copysign %1, %y : f32
  %3 = math.absf %2 : f32
  return %3 : f32
}

// RUN: hewn-opt %s --hewn-expand-float8 | FileCheck %s
// RUN: hewn-opt %s --hewn-expand-float8="half=true bfloat=true" | FileCheck %s --check-prefix=OLD

// Float8 conversions become integer arithmetic, for vectors and scalars; conversions of other types
// are kept.

// CHECK-LABEL: @widen
// CHECK-NOT: arith.extf
// CHECK: arith.bitcast %{{.*}} : vector<16xf8E4M3FN> to vector<16xi8>
// CHECK: %[[FLOAT:.*]] = arith.bitcast %{{.*}} : vector<16xi32> to vector<16xf32>
// CHECK: return
func.func @widen(%x: vector<16xf8E4M3FN>) -> vector<16xf32> {
  %0 = arith.extf %x : vector<16xf8E4M3FN> to vector<16xf32>
  return %0 : vector<16xf32>
}

// CHECK-LABEL: @narrow
// CHECK-NOT: arith.truncf
// CHECK: %[[CODE:.*]] = arith.bitcast %{{.*}} : i8 to f8E5M2
// CHECK: return %[[CODE]]
func.func @narrow(%x: f32) -> f8E5M2 {
  %0 = arith.truncf %x : f32 to f8E5M2
  return %0 : f8E5M2
}

// CHECK-LABEL: @half
// CHECK: arith.extf
// OLD-LABEL: @half
// OLD: arith.bitcast %{{.*}} : f16 to i16
// OLD-NOT: arith.extf
// OLD: return
func.func @half(%x: f16) -> f32 {
  %0 = arith.extf %x : f16 to f32
  return %0 : f32
}

// For a target without a bfloat16 conversion instruction, the pass removes all bfloat16 values,
// which LLVM would convert by library calls: the extension to float32 becomes a shift.
// CHECK-LABEL: @bfloat
// CHECK: arith.truncf
// OLD-LABEL: @bfloat
// OLD-NOT: arith.truncf
// OLD: %[[CODE:.*]] = arith.extui %{{.*}} : vector<8xi16> to vector<8xi32>
// OLD: %[[BITS:.*]] = arith.shli %[[CODE]],
// OLD: arith.bitcast %[[BITS]] : vector<8xi32> to vector<8xf32>
// OLD-NOT: arith.extf
// OLD: return
func.func @bfloat(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = arith.truncf %x : vector<8xf32> to vector<8xbf16>
  %1 = arith.extf %0 : vector<8xbf16> to vector<8xf32>
  return %1 : vector<8xf32>
}

// CHECK-LABEL: @half_to_float8
// CHECK: arith.extf %{{.*}} : f16 to f32
// CHECK-NOT: arith.truncf
// CHECK: return
func.func @half_to_float8(%x: f16) -> f8E4M3FNUZ {
  %0 = arith.truncf %x : f16 to f8E4M3FNUZ
  return %0 : f8E4M3FNUZ
}

// Conversions of float4, a type of 4 bits without infinity and NaN.
// CHECK-LABEL: @float4
// CHECK: arith.bitcast %{{.*}} : f4E2M1FN to i4
// CHECK-NOT: arith.extf
// CHECK: return
func.func @float4(%x: f4E2M1FN) -> f32 {
  %0 = arith.extf %x : f4E2M1FN to f32
  return %0 : f32
}

// A float8e8m0 has the eight exponent bits of an f32, so that its conversion is a shift.
// CHECK-LABEL: @powers
// CHECK: arith.shrui
// CHECK: arith.trunci %{{.*}} : vector<8xi32> to vector<8xi8>
// CHECK-NOT: arith.truncf
// CHECK: return
func.func @powers(%x: vector<8xf32>) -> vector<8xf8E8M0FNU> {
  %0 = arith.truncf %x : vector<8xf32> to vector<8xf8E8M0FNU>
  return %0 : vector<8xf8E8M0FNU>
}

// No supported target rounds float64 directly to fewer bits than float32: the pass first rounds the
// float64 to the odd one of the two neighboring f32 values, and then rounds this f32 to the small
// type.
// CHECK-LABEL: @double
// CHECK-SAME: %[[X:.*]]: f64
// CHECK: %[[NEAR:.*]] = arith.truncf %[[X]] : f64 to f32
// CHECK: %[[BACK:.*]] = arith.extf %[[NEAR]] : f32 to f64
// CHECK: arith.cmpf one, %[[BACK]], %[[X]]
// CHECK: %[[ODD:.*]] = arith.bitcast %{{.*}} : i32 to f32
// CHECK: arith.truncf %[[ODD]] : f32 to bf16
// OLD-LABEL: @double
// OLD-NOT: to bf16
// OLD: arith.bitcast %{{.*}} : i16 to bf16
func.func @double(%x: f64) -> bf16 {
  %0 = arith.truncf %x : f64 to bf16
  return %0 : bf16
}

// The pass computes arithmetic on bfloat16 values in float32, if the target has no bfloat16
// conversion.
// CHECK-LABEL: @larger
// CHECK: arith.maximumf %{{.*}} : bf16
// OLD-LABEL: @larger
// OLD: %[[MAX:.*]] = arith.maximumf %{{.*}} : f32
// OLD: arith.bitcast %[[MAX]] : f32 to i32
// OLD: %[[RESULT:.*]] = arith.bitcast %{{.*}} : i16 to bf16
// OLD: return %[[RESULT]]
func.func @larger(%x: bf16, %y: bf16) -> bf16 {
  %0 = arith.maximumf %x, %y : bf16
  return %0 : bf16
}

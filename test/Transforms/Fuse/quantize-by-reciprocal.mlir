// RUN: hewn-opt %s --split-input-file --hewn-quantize-by-reciprocal | FileCheck %s

#fma = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608, hasFma = true>

// The pass computes the reciprocal of the scale as two floats, and the clamping bounds: -10 and 245
// times the scale.
// CHECK-LABEL: func.func @known
// CHECK-DAG: %[[F:.*]] = graph.constant {value = dense<1.000000e+01>
// CHECK-DAG: %[[R:.*]] = graph.constant {value = dense<-1.49011612E-7>
// CHECK-DAG: %[[L:.*]] = graph.constant {value = dense<-1.000000e+00>
// CHECK-DAG: %[[G:.*]] = graph.constant {value = dense<2.450000e+01>
// CHECK: graph.quantize_by_reciprocal %arg0, %[[F]], %[[R]], %[[L]], %[[G]], %{{.*}} {to = ui8}
module attributes {plan.target = #fma} {
  func.func @known(%x: tensor<4x8xf32>) -> tensor<4x8xui8> {
    %s = graph.constant {value = dense<0.1> : tensor<f32>} : tensor<f32>
    %z = graph.constant {value = dense<10> : tensor<ui8>} : tensor<ui8>
    %0 = graph.quantize %x, %s, %z {to = ui8} : (tensor<4x8xf32>, tensor<f32>, tensor<ui8>) -> tensor<4x8xui8>
    return %0 : tensor<4x8xui8>
  }
}

// -----

#fma = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608, hasFma = true>

// Not rewritten: a dynamic scale, per-column scales, 16-bit integers, and a scale at the end of
// float32's range.
// CHECK-LABEL: func.func @unknown
// CHECK-COUNT-4: graph.quantize %
// CHECK-NOT: reciprocal
module attributes {plan.target = #fma} {
  func.func @unknown(%x: tensor<4x2xf32>, %s: tensor<f32>) -> (tensor<4x2xui8>, tensor<4x2xui8>, tensor<4x2xi16>, tensor<4x2xi8>) {
    %each = graph.constant {value = dense<[0.1, 0.2]> : tensor<2xf32>} : tensor<2xf32>
    %one = graph.constant {value = dense<0.1> : tensor<f32>} : tensor<f32>
    %tiny = graph.constant {value = dense<1.0e-38> : tensor<f32>} : tensor<f32>
    %0 = graph.quantize %x, %s {to = ui8} : (tensor<4x2xf32>, tensor<f32>) -> tensor<4x2xui8>
    %1 = graph.quantize %x, %each {to = ui8} : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xui8>
    %2 = graph.quantize %x, %one {to = i16} : (tensor<4x2xf32>, tensor<f32>) -> tensor<4x2xi16>
    %3 = graph.quantize %x, %tiny {to = i8} : (tensor<4x2xf32>, tensor<f32>) -> tensor<4x2xi8>
    return %0, %1, %2, %3 : tensor<4x2xui8>, tensor<4x2xui8>, tensor<4x2xi16>, tensor<4x2xi8>
  }
}

// -----

// On a target without FMA, the pass keeps the division by the scale.
// CHECK-LABEL: func.func @unfused
// CHECK: graph.quantize %
module attributes {plan.target = #plan.cpu<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  func.func @unfused(%x: tensor<4x8xf32>) -> tensor<4x8xi8> {
    %s = graph.constant {value = dense<0.1> : tensor<f32>} : tensor<f32>
    %0 = graph.quantize %x, %s {to = i8} : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xi8>
    return %0 : tensor<4x8xi8>
  }
}

// -----

#fma = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608, hasFma = true>

// If the kernel that quantizes a value also dequantizes it, it uses the rounded float and computes
// no integer for it. Another kernel reads the quantized bytes.
// CHECK-LABEL: func.func @back
// CHECK: %[[N:.*]] = graph.quantize_by_reciprocal {{.*}} {graph.fusion_group = 0 : i64, graph.why = "because", to = f32} {{.*}} -> tensor<4x8xf32, #graph.layout<[1, 0]>>
// CHECK: %[[Q:.*]] = graph.quantize_by_reciprocal {{.*}} to = ui8}
// CHECK: %[[M:.*]] = graph.mul %[[N]], %{{.*}} {graph.fusion_group = 0 : i64{{.*}} -> tensor<4x8xf32, #graph.layout<[1, 0]>>
// CHECK: graph.relu %[[M]]
// CHECK: graph.dequantize %[[Q]], {{.*}}graph.fusion_group = 1
// If the DequantizeLinear has another zero point than the QuantizeLinear, its values differ from
// the rounded floats, so that the kernel computes the integers.
// CHECK-LABEL: func.func @moved
// CHECK: %[[Q:.*]] = graph.quantize_by_reciprocal {{.*}} {to = ui8}
// CHECK: graph.dequantize %[[Q]]
module attributes {plan.target = #fma} {
  func.func @back(%x: tensor<4x8xf32, #graph.layout<[1, 0]>>) -> (tensor<4x8xf32, #graph.layout<[1, 0]>>, tensor<4x8xf32, #graph.layout<[1, 0]>>) {
    %s = graph.constant {value = dense<0.1> : tensor<f32>} : tensor<f32>
    %z = graph.constant {value = dense<10> : tensor<ui8>} : tensor<ui8>
    %q = graph.quantize %x, %s, %z {to = ui8, graph.fusion_group = 0 : i64, graph.why = "because"} : (tensor<4x8xf32, #graph.layout<[1, 0]>>, tensor<f32>, tensor<ui8>) -> tensor<4x8xui8, #graph.layout<[1, 0]>>
    %f = graph.dequantize %q, %s, %z {to = f32, graph.fusion_group = 0 : i64} : (tensor<4x8xui8, #graph.layout<[1, 0]>>, tensor<f32>, tensor<ui8>) -> tensor<4x8xf32, #graph.layout<[1, 0]>>
    %0 = graph.relu %f {graph.fusion_group = 0 : i64} : (tensor<4x8xf32, #graph.layout<[1, 0]>>) -> tensor<4x8xf32, #graph.layout<[1, 0]>>
    %g = graph.dequantize %q, %s, %z {to = f32, graph.fusion_group = 1 : i64} : (tensor<4x8xui8, #graph.layout<[1, 0]>>, tensor<f32>, tensor<ui8>) -> tensor<4x8xf32, #graph.layout<[1, 0]>>
    return %0, %g : tensor<4x8xf32, #graph.layout<[1, 0]>>, tensor<4x8xf32, #graph.layout<[1, 0]>>
  }
  func.func @moved(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %s = graph.constant {value = dense<0.1> : tensor<f32>} : tensor<f32>
    %z = graph.constant {value = dense<10> : tensor<ui8>} : tensor<ui8>
    %q = graph.quantize %x, %s, %z {to = ui8} : (tensor<4x8xf32>, tensor<f32>, tensor<ui8>) -> tensor<4x8xui8>
    %f = graph.dequantize %q, %s {to = f32} : (tensor<4x8xui8>, tensor<f32>) -> tensor<4x8xf32>
    return %f : tensor<4x8xf32>
  }
}

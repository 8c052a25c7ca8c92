// RUN: hewn-opt %s --split-input-file --hewn-quantize-by-reciprocal | FileCheck %s

#fma = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608, hasFma = true>

// The reciprocal in two floats, and what is clamped: -10 and 245 times the scale.
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

#fma = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608, hasFma = true>

// A scale that only a run tells, one for each column, integers of 16 bits, a scale at the end of float32's range.
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

// Without fused products the division stays.
// CHECK-LABEL: func.func @unfused
// CHECK: graph.quantize %
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  func.func @unfused(%x: tensor<4x8xf32>) -> tensor<4x8xi8> {
    %s = graph.constant {value = dense<0.1> : tensor<f32>} : tensor<f32>
    %0 = graph.quantize %x, %s {to = i8} : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xi8>
    return %0 : tensor<4x8xi8>
  }
}

// -----

#fma = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608, hasFma = true>

// What is made a float again in the kernel that rounds it never is an integer; another kernel reads bytes.
// CHECK-LABEL: func.func @back
// CHECK: %[[N:.*]] = graph.quantize_by_reciprocal {{.*}} {graph.in_group = 0 : i64, graph.why = "because", to = f32} {{.*}} -> tensor<4x8xf32, #graph.layout<[1, 0]>>
// CHECK: %[[Q:.*]] = graph.quantize_by_reciprocal {{.*}} to = ui8}
// CHECK: %[[M:.*]] = graph.mul %[[N]], %{{.*}} {graph.in_group = 0 : i64{{.*}} -> tensor<4x8xf32, #graph.layout<[1, 0]>>
// CHECK: graph.relu %[[M]]
// CHECK: graph.dequantize %[[Q]], {{.*}}graph.in_group = 1
// With another zero point they are other numbers.
// CHECK-LABEL: func.func @moved
// CHECK: %[[Q:.*]] = graph.quantize_by_reciprocal {{.*}} {to = ui8}
// CHECK: graph.dequantize %[[Q]]
module attributes {plan.target = #fma} {
  func.func @back(%x: tensor<4x8xf32, #graph.layout<[1, 0]>>) -> (tensor<4x8xf32, #graph.layout<[1, 0]>>, tensor<4x8xf32, #graph.layout<[1, 0]>>) {
    %s = graph.constant {value = dense<0.1> : tensor<f32>} : tensor<f32>
    %z = graph.constant {value = dense<10> : tensor<ui8>} : tensor<ui8>
    %q = graph.quantize %x, %s, %z {to = ui8, graph.in_group = 0 : i64, graph.why = "because"} : (tensor<4x8xf32, #graph.layout<[1, 0]>>, tensor<f32>, tensor<ui8>) -> tensor<4x8xui8, #graph.layout<[1, 0]>>
    %f = graph.dequantize %q, %s, %z {to = f32, graph.in_group = 0 : i64} : (tensor<4x8xui8, #graph.layout<[1, 0]>>, tensor<f32>, tensor<ui8>) -> tensor<4x8xf32, #graph.layout<[1, 0]>>
    %0 = graph.relu %f {graph.in_group = 0 : i64} : (tensor<4x8xf32, #graph.layout<[1, 0]>>) -> tensor<4x8xf32, #graph.layout<[1, 0]>>
    %g = graph.dequantize %q, %s, %z {to = f32, graph.in_group = 1 : i64} : (tensor<4x8xui8, #graph.layout<[1, 0]>>, tensor<f32>, tensor<ui8>) -> tensor<4x8xf32, #graph.layout<[1, 0]>>
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

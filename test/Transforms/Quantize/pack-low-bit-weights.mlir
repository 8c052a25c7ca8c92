// RUN: hewn-opt %s --split-input-file --hewn-pack-low-bit-weights | FileCheck %s
// RUN: hewn-opt %s --split-input-file --hewn-pack-low-bit-weights=precision=medium | FileCheck %s

// Low-bit weights with one scale per column, which all rows share. The pass converts signed
// integers to unsigned ones with the midpoint as zero point.
// CHECK-LABEL: func.func @columns
// CHECK-SAME: (%[[X:.*]]: tensor<1x128xf32>
// CHECK: %[[W:.*]] = graph.encode %{{.*}} : (tensor<128x256xi8>) -> tensor<32x256xui32>
// CHECK: %[[D:.*]] = graph.decode %[[W]], %{{[0-9]+}} {bits = 8 : i64, block = 128 : i64} : (tensor<32x256xui32>, tensor<1x256xf32>) -> tensor<128x256xf32>
// CHECK: graph.matmul %[[X]], %[[D]]
func.func @columns(%x: tensor<1x128xf32>) -> tensor<1x256xf32> {
  %s = graph.constant {value = dense<0.5> : tensor<256xf32>} : tensor<256xf32>
  %q = graph.constant {value = dense<1> : tensor<128x256xi8>} : tensor<128x256xi8>
  %w = graph.dequantize %q, %s {to = f32} : (tensor<128x256xi8>, tensor<256xf32>) -> tensor<128x256xf32>
  %0 = graph.matmul %x, %w : (tensor<1x128xf32>, tensor<128x256xf32>) -> tensor<1x256xf32>
  return %0 : tensor<1x256xf32>
}

// -----

// One scale and zero point per block of 32, through a reshape and a transpose; float16 activations
// are extended to float32.
// CHECK-LABEL: func.func @blocks
// CHECK: %[[X:.*]] = graph.cast %arg0 {{.*}}to = f32}
// CHECK: %[[W:.*]] = graph.encode %{{.*}} : (tensor<128x256xui4>) -> tensor<16x256xui32>
// CHECK: %[[O:.*]] = graph.neg
// CHECK: %[[D:.*]] = graph.decode %[[W]], %{{[0-9]+}}, %[[O]] {bits = 4 : i64, block = 32 : i64} : (tensor<16x256xui32>, tensor<4x256xf32>, tensor<4x256xf32>) -> tensor<128x256xf32>
// CHECK: %[[Y:.*]] = graph.matmul %[[X]], %[[D]] {{.*}}to = f32}
// CHECK: graph.cast %[[Y]] {{.*}}to = f16}
func.func @blocks(%x: tensor<?x128xf16> {graph.dims = [#graph.dim<"n">, 128]}) -> tensor<?x256xf16> {
  %s = graph.constant {value = dense<0.5> : tensor<256x4x1xf16>} : tensor<256x4x1xf16>
  %z = graph.constant {value = dense<7> : tensor<256x4x1xui4>} : tensor<256x4x1xui4>
  %q = graph.constant {value = dense<1> : tensor<256x4x32xui4>} : tensor<256x4x32xui4>
  %w = graph.dequantize %q, %s, %z {to = f16} : (tensor<256x4x32xui4>, tensor<256x4x1xf16>, tensor<256x4x1xui4>) -> tensor<256x4x32xf16>
  %m = graph.reshape %w {shape = [256, 128]} : (tensor<256x4x32xf16>) -> tensor<256x128xf16>
  %t = graph.transpose %m {order = array<i64: 1, 0>} : (tensor<256x128xf16>) -> tensor<128x256xf16>
  %0 = graph.matmul %x, %t : (tensor<?x128xf16>, tensor<128x256xf16>) -> tensor<?x256xf16>
  return %0 : tensor<?x256xf16>
}

// -----

// Weights are indices into a table, and the full matrix has one table.
// CHECK-LABEL: func.func @codebook
// CHECK: %[[T:.*]] = graph.constant {{.*}} tensor<16xf32>
// CHECK: %[[W:.*]] = graph.encode %{{.*}} : (tensor<128x256xui4>) -> tensor<16x256xui32>
// CHECK: %[[D:.*]] = graph.decode_by_table %[[W]], %{{[0-9]+}}, %[[T]] {bits = 4 : i64, block = 32 : i64} : (tensor<16x256xui32>, tensor<4x256xf32>, tensor<16xf32>) -> tensor<128x256xf32>
// CHECK: graph.matmul %arg0, %[[D]]
func.func @codebook(%x: tensor<1x128xf32>) -> tensor<1x256xf32> {
  %t = graph.constant {value = dense<2.0> : tensor<16xf32>} : tensor<16xf32>
  %s = graph.constant {value = dense<0.5> : tensor<4x1x256xf32>} : tensor<4x1x256xf32>
  %q = graph.constant {value = dense<1> : tensor<4x32x256xui4>} : tensor<4x32x256xui4>
  %w = graph.look_up %q, %t, %s : (tensor<4x32x256xui4>, tensor<16xf32>, tensor<4x1x256xf32>) -> tensor<4x32x256xf32>
  %m = graph.reshape %w {shape = [128, 256]} : (tensor<4x32x256xf32>) -> tensor<128x256xf32>
  %0 = graph.matmul %x, %m : (tensor<1x128xf32>, tensor<128x256xf32>) -> tensor<1x256xf32>
  return %0 : tensor<1x256xf32>
}

// -----

// Weights with a lookup table all entries of which int8 can represent, so that int8 dot products
// can use them.
// CHECK-LABEL: func.func @bytes
// CHECK: graph.decode_by_table {{.*}}inBytes = true
func.func @bytes(%x: tensor<1x128xf32>) -> tensor<1x256xf32> {
  %t = graph.constant {value = dense<[-0.96875, -0.75, -0.5, -0.4375, -0.25, -0.125, -0.0625, 0.0, 0.03125, 0.0625, 0.125, 0.25, 0.375, 0.5, 0.75, 1.0]> : tensor<16xf32>} : tensor<16xf32>
  %s = graph.constant {value = dense<0.5> : tensor<4x1x256xf32>} : tensor<4x1x256xf32>
  %q = graph.constant {value = dense<1> : tensor<4x32x256xui4>} : tensor<4x32x256xui4>
  %w = graph.look_up %q, %t, %s : (tensor<4x32x256xui4>, tensor<16xf32>, tensor<4x1x256xf32>) -> tensor<4x32x256xf32>
  %m = graph.reshape %w {shape = [128, 256]} : (tensor<4x32x256xf32>) -> tensor<128x256xf32>
  %0 = graph.matmul %x, %m : (tensor<1x128xf32>, tensor<128x256xf32>) -> tensor<1x256xf32>
  return %0 : tensor<1x256xf32>
}

// -----

// For GEMMs with many rows, the pass converts the weights to panels of floats, except for weights
// that are to stay packed.
// CHECK-LABEL: func.func @kept
// CHECK: graph.decode_by_table
// CHECK-NOT: graph.decode_by_table
func.func @kept(%x: tensor<64x128xf32>) -> (tensor<64x256xf32>, tensor<64x256xf32>) {
  %t = graph.constant {value = dense<2.0> : tensor<256xf32>} : tensor<256xf32>
  %s = graph.constant {value = dense<0.5> : tensor<256xf32>} : tensor<256xf32>
  %q = graph.constant {value = dense<1> : tensor<128x256xui8>} : tensor<128x256xui8>
  %w = graph.look_up %q, %t, %s : (tensor<128x256xui8>, tensor<256xf32>, tensor<256xf32>) -> tensor<128x256xf32>
  %0 = graph.matmul %x, %w {graph.keeps_weights} : (tensor<64x128xf32>, tensor<128x256xf32>) -> tensor<64x256xf32>
  %1 = graph.matmul %x, %w : (tensor<64x128xf32>, tensor<128x256xf32>) -> tensor<64x256xf32>
  return %0, %1 : tensor<64x256xf32>, tensor<64x256xf32>
}

// -----

// A scalar scale, and K that does not fill 32-bit words. A zero point at the midpoint of unsigned
// integers costs nothing.
// CHECK-LABEL: func.func @padded
// CHECK: %[[X:.*]] = graph.pad
// CHECK: %[[ROWS:.*]] = graph.pad %{{.*}} {high = [1, 0], low = [0, 0]} : (tensor<127x256xui8>) -> tensor<128x256xui8>
// CHECK: %[[W:.*]] = graph.encode %[[ROWS]] : (tensor<128x256xui8>) -> tensor<32x256xui32>
// CHECK: graph.decode %[[W]], %{{[0-9]+}} {bits = 8 : i64, block = 128 : i64}
// CHECK: graph.matmul %[[X]]
func.func @padded(%x: tensor<3x127xf32>) -> tensor<3x256xf32> {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %z = graph.constant {value = dense<128> : tensor<ui8>} : tensor<ui8>
  %q = graph.constant {value = dense<1> : tensor<127x256xui8>} : tensor<127x256xui8>
  %w = graph.dequantize %q, %s, %z {to = f32} : (tensor<127x256xui8>, tensor<f32>, tensor<ui8>) -> tensor<127x256xf32>
  %0 = graph.matmul %x, %w : (tensor<3x127xf32>, tensor<127x256xf32>) -> tensor<3x256xf32>
  return %0 : tensor<3x256xf32>
}

// -----

// Not packed: scales along K, small weights, weights of a GEMM with many rows, computed integers.
// CHECK-LABEL: func.func @others
// CHECK-NOT: graph.decode
// CHECK: return
func.func @others(%x: tensor<1x128xf32>, %r: tensor<64x128xf32>, %a: tensor<128x256xi8>) -> (tensor<1x256xf32>, tensor<1x64xf32>, tensor<64x256xf32>, tensor<1x256xf32>) {
  %one = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %along = graph.constant {value = dense<0.5> : tensor<128x1xf32>} : tensor<128x1xf32>
  %q = graph.constant {value = dense<1> : tensor<128x256xi8>} : tensor<128x256xi8>
  %few = graph.constant {value = dense<1> : tensor<128x64xi8>} : tensor<128x64xi8>
  %w0 = graph.dequantize %q, %along {to = f32} : (tensor<128x256xi8>, tensor<128x1xf32>) -> tensor<128x256xf32>
  %0 = graph.matmul %x, %w0 : (tensor<1x128xf32>, tensor<128x256xf32>) -> tensor<1x256xf32>
  %w1 = graph.dequantize %few, %one {to = f32} : (tensor<128x64xi8>, tensor<f32>) -> tensor<128x64xf32>
  %1 = graph.matmul %x, %w1 : (tensor<1x128xf32>, tensor<128x64xf32>) -> tensor<1x64xf32>
  %w2 = graph.dequantize %q, %one {to = f32} : (tensor<128x256xi8>, tensor<f32>) -> tensor<128x256xf32>
  %2 = graph.matmul %r, %w2 : (tensor<64x128xf32>, tensor<128x256xf32>) -> tensor<64x256xf32>
  %w3 = graph.dequantize %a, %one {to = f32} : (tensor<128x256xi8>, tensor<f32>) -> tensor<128x256xf32>
  %3 = graph.matmul %x, %w3 : (tensor<1x128xf32>, tensor<128x256xf32>) -> tensor<1x256xf32>
  return %0, %1, %2, %3 : tensor<1x256xf32>, tensor<1x64xf32>, tensor<64x256xf32>, tensor<1x256xf32>
}

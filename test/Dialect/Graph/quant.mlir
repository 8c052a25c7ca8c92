// RUN: hewn-opt %s --split-input-file --verify-diagnostics | hewn-opt | FileCheck %s

// CHECK-LABEL: @quant
func.func @quant(%x: tensor<2x3xf32>, %scale: tensor<3xf32>, %zero: tensor<3xui8>) {
  // CHECK: %[[Q:.*]] = graph.quantize %{{.*}}, %{{.*}}, %{{.*}} {to = ui8} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xui8>) -> tensor<2x3xui8>
  %0 = graph.quantize %x, %scale, %zero {to = ui8} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xui8>) -> tensor<2x3xui8>
  // CHECK: graph.dequantize %[[Q]], %{{.*}} {to = f16} : (tensor<2x3xui8>, tensor<3xf32>) -> tensor<2x3xf16>
  %1 = graph.dequantize %0, %scale {to = f16} : (tensor<2x3xui8>, tensor<3xf32>) -> tensor<2x3xf16>
  return
}

// -----

func.func @zero(%x: tensor<2xf32>, %scale: tensor<f32>, %zero: tensor<i8>) {
  // expected-error @below {{zero point is 'i8', not 'ui8'}}
  %0 = graph.quantize %x, %scale, %zero {to = ui8} : (tensor<2xf32>, tensor<f32>, tensor<i8>) -> tensor<2xui8>
  return
}

// -----

func.func @wide(%x: tensor<2xf32>, %scale: tensor<f32>) {
  // expected-error @below {{quantizes to integers of 16 bits or less and to float8 and float4, not to 'i32'}}
  %0 = graph.quantize %x, %scale {to = i32} : (tensor<2xf32>, tensor<f32>) -> tensor<2xi32>
  return
}

// -----

func.func @scale(%x: tensor<2xi8>, %scale: tensor<i32>) {
  // expected-error @below {{the scale must be a float type, not 'i32'}}
  %0 = graph.dequantize %x, %scale {to = f32} : (tensor<2xi8>, tensor<i32>) -> tensor<2xf32>
  return
}

// -----

// CHECK-LABEL: @encode
func.func @encode(%x: tensor<9x6xi4>) {
  // CHECK: graph.encode %{{.*}} : (tensor<9x6xi4>) -> tensor<2x6xui32>
  %0 = graph.encode %x : (tensor<9x6xi4>) -> tensor<2x6xui32>
  return
}

// -----

func.func @wideCodes(%x: tensor<9x6xi16>) {
  // expected-error @below {{needs a matrix of integers of 2, 4 or 8 bits}}
  %0 = graph.encode %x : (tensor<9x6xi16>) -> tensor<5x6xui32>
  return
}

// -----

// CHECK-LABEL: @decode
func.func @decode(%codes: tensor<4x6xui32>, %scale: tensor<2x6xf32>, %offset: tensor<2x6xf32>) {
  // CHECK: graph.decode %{{.*}}, %{{.*}}, %{{.*}} {bits = 4 : i64, block = 16 : i64} : (tensor<4x6xui32>, tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<32x6xf32>
  %0 = graph.decode %codes, %scale, %offset {bits = 4, block = 16} : (tensor<4x6xui32>, tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<32x6xf32>
  // CHECK: graph.decode %{{.*}}, %{{.*}} {bits = 8 : i64, block = 8 : i64, roundsData = true} : (tensor<4x6xui32>, tensor<2x6xf32>) -> tensor<16x6xf32>
  %1 = graph.decode %codes, %scale {bits = 8, block = 8, roundsData = true} : (tensor<4x6xui32>, tensor<2x6xf32>) -> tensor<16x6xf32>
  return
}

// -----

func.func @odd(%codes: tensor<4x6xui32>, %scale: tensor<2x6xf32>) {
  // expected-error @below {{requires 2, 4 or 8 bits, and blocks of complete words}}
  %0 = graph.decode %codes, %scale {bits = 4, block = 12} : (tensor<4x6xui32>, tensor<2x6xf32>) -> tensor<32x6xf32>
  return
}

// -----

func.func @types(%codes: tensor<4x6xi32>, %scale: tensor<2x6xf32>) {
  // expected-error @below {{requires codes packed in ui32, and scales and offsets of f32}}
  %0 = graph.decode %codes, %scale {bits = 4, block = 16} : (tensor<4x6xi32>, tensor<2x6xf32>) -> tensor<32x6xf32>
  return
}

// -----

func.func @blocks(%codes: tensor<4x6xui32>, %scale: tensor<3x6xf32>) {
  // expected-error @below {{requires a scale and an offset for each block of each column}}
  %0 = graph.decode %codes, %scale {bits = 4, block = 16} : (tensor<4x6xui32>, tensor<3x6xf32>) -> tensor<32x6xf32>
  return
}

// -----

// CHECK-LABEL: @decode_by_table
func.func @decode_by_table(%codes: tensor<4x6xui32>, %scale: tensor<2x6xf32>, %table: tensor<16xf32>) {
  // CHECK: graph.decode_by_table %{{.*}}, %{{.*}}, %{{.*}} {bits = 4 : i64, block = 16 : i64} : (tensor<4x6xui32>, tensor<2x6xf32>, tensor<16xf32>) -> tensor<32x6xf32>
  %0 = graph.decode_by_table %codes, %scale, %table {bits = 4, block = 16} : (tensor<4x6xui32>, tensor<2x6xf32>, tensor<16xf32>) -> tensor<32x6xf32>
  return
}

// -----

func.func @bits(%codes: tensor<4x6xui32>, %scale: tensor<2x6xf32>, %table: tensor<4xf32>) {
  // expected-error @below {{requires 4 or 8 bits, and blocks of complete words}}
  %0 = graph.decode_by_table %codes, %scale, %table {bits = 2, block = 32} : (tensor<4x6xui32>, tensor<2x6xf32>, tensor<4xf32>) -> tensor<64x6xf32>
  return
}

// -----

func.func @table_types(%codes: tensor<4x6xui32>, %scale: tensor<2x6xf32>, %table: tensor<16xf16>) {
  // expected-error @below {{requires codes packed in ui32, and scales and a table of f32}}
  %0 = graph.decode_by_table %codes, %scale, %table {bits = 4, block = 16} : (tensor<4x6xui32>, tensor<2x6xf32>, tensor<16xf16>) -> tensor<32x6xf32>
  return
}

// -----

func.func @short_table(%codes: tensor<4x6xui32>, %scale: tensor<2x6xf32>, %table: tensor<15xf32>) {
  // expected-error @below {{needs a table of 16 entries, one per code}}
  %0 = graph.decode_by_table %codes, %scale, %table {bits = 4, block = 16} : (tensor<4x6xui32>, tensor<2x6xf32>, tensor<15xf32>) -> tensor<32x6xf32>
  return
}

// -----

func.func @table_blocks(%codes: tensor<4x6xui32>, %scale: tensor<3x6xf32>, %table: tensor<16xf32>) {
  // expected-error @below {{needs a scale for each block of each column}}
  %0 = graph.decode_by_table %codes, %scale, %table {bits = 4, block = 16} : (tensor<4x6xui32>, tensor<3x6xf32>, tensor<16xf32>) -> tensor<32x6xf32>
  return
}

// -----

// CHECK-LABEL: @look_up
func.func @look_up(%codes: tensor<2x3xui4>, %table: tensor<16xf32>, %scale: tensor<3xf32>) {
  // CHECK: graph.look_up %{{.*}}, %{{.*}}, %{{.*}} : (tensor<2x3xui4>, tensor<16xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %0 = graph.look_up %codes, %table, %scale : (tensor<2x3xui4>, tensor<16xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @signed(%codes: tensor<2x3xi4>, %table: tensor<16xf32>, %scale: tensor<f32>) {
  // expected-error @below {{requires unsigned integers of at most 8 bits, not 'i4'}}
  %0 = graph.look_up %codes, %table, %scale : (tensor<2x3xi4>, tensor<16xf32>, tensor<f32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @half_table(%codes: tensor<2x3xui4>, %table: tensor<16xf16>, %scale: tensor<f32>) {
  // expected-error @below {{needs a table and scales of f32}}
  %0 = graph.look_up %codes, %table, %scale : (tensor<2x3xui4>, tensor<16xf16>, tensor<f32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @long_table(%codes: tensor<2x3xui4>, %table: tensor<17xf32>, %scale: tensor<f32>) {
  // expected-error @below {{needs a table of 16 entries, one per code}}
  %0 = graph.look_up %codes, %table, %scale : (tensor<2x3xui4>, tensor<17xf32>, tensor<f32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @wide_scale(%codes: tensor<2x3xui4>, %table: tensor<16xf32>, %scale: tensor<4x2x3xf32>) {
  // expected-error @below {{needs scales that broadcast to the codes}}
  %0 = graph.look_up %codes, %table, %scale : (tensor<2x3xui4>, tensor<16xf32>, tensor<4x2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// CHECK-LABEL: func.func @center
func.func @center(%x: tensor<2x3xui8>, %zero: tensor<ui8>) {
  // CHECK: graph.center %{{.*}}, %{{.*}} : (tensor<2x3xui8>, tensor<ui8>) -> tensor<2x3xi32>
  %0 = graph.center %x, %zero : (tensor<2x3xui8>, tensor<ui8>) -> tensor<2x3xi32>
  return
}

// -----

func.func @integers(%x: tensor<2xi64>, %scale: tensor<f32>) {
  // expected-error @below {{unquantized values must be floats or i32, not 'i64'}}
  %0 = graph.quantize %x, %scale {to = ui8} : (tensor<2xi64>, tensor<f32>) -> tensor<2xui8>
  return
}

// -----

func.func @wide_integers(%x: tensor<2xi64>, %scale: tensor<f32>) {
  // expected-error @below {{dequantizes integers of 32 bits or less, not 'i64'}}
  %0 = graph.dequantize %x, %scale {to = f32} : (tensor<2xi64>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

func.func @no_floats(%x: tensor<2xi8>, %scale: tensor<f32>) {
  // expected-error @below {{gives floats, not 'i32'}}
  %0 = graph.dequantize %x, %scale {to = i32} : (tensor<2xi8>, tensor<f32>) -> tensor<2xi32>
  return
}

// -----

func.func @mapped_words(%x: tensor<2xi16>) {
  // expected-error @below {{takes integers of 8 bits, not 'i16'}}
  %0 = graph.map_codes %x {table = dense<1.0> : tensor<256xf32>} : (tensor<2xi16>) -> tensor<2xf32>
  return
}

// -----

func.func @mapped_by_few(%x: tensor<2xui8>) {
  // expected-error @below {{requires a 1-D table of 256 entries}}
  %0 = graph.map_codes %x {table = dense<1.0> : tensor<255xf32>} : (tensor<2xui8>) -> tensor<2xf32>
  return
}

// -----

func.func @mapped_to_doubles(%x: tensor<2xui8>) {
  // expected-error @below {{table entries must be float32 or integers of 8 or 16 bits, not 'f64'}}
  %0 = graph.map_codes %x {table = dense<1.0> : tensor<256xf64>} : (tensor<2xui8>) -> tensor<2xf64>
  return
}

// -----

func.func @centered_floats(%x: tensor<2xf32>) {
  // expected-error @below {{takes integers of 16 bits or less, not 'f32'}}
  %0 = graph.center %x : (tensor<2xf32>) -> tensor<2xi32>
  return
}

// -----

func.func @centered_zero(%x: tensor<2xui8>, %zero: tensor<i8>) {
  // expected-error @below {{zero point is 'i8', not 'ui8'}}
  %0 = graph.center %x, %zero : (tensor<2xui8>, tensor<i8>) -> tensor<2xi32>
  return
}

// -----

// CHECK-LABEL: func.func @by_reciprocal
func.func @by_reciprocal(%x: tensor<2x3xf32>, %f: tensor<f32>, %zero: tensor<ui8>) -> tensor<2x3xui8> {
  // CHECK: graph.quantize_by_reciprocal %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {to = ui8}
  %0 = graph.quantize_by_reciprocal %x, %f, %f, %f, %f, %zero {to = ui8} : (tensor<2x3xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<ui8>) -> tensor<2x3xui8>
  return %0 : tensor<2x3xui8>
}

// -----

func.func @wide_by_reciprocal(%x: tensor<2xf32>, %f: tensor<f32>) -> tensor<2xi16> {
  // expected-error @below {{quantizes to integers of 8 bits or to float32, not to 'i16'}}
  %0 = graph.quantize_by_reciprocal %x, %f, %f, %f, %f {to = i16} : (tensor<2xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<2xi16>
  return %0 : tensor<2xi16>
}

// -----

func.func @half_by_reciprocal(%x: tensor<2xf16>, %f: tensor<f32>) -> tensor<2xi8> {
  // expected-error @below {{multiplies float32, not 'f16'}}
  %0 = graph.quantize_by_reciprocal %x, %f, %f, %f, %f {to = i8} : (tensor<2xf16>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<2xi8>
  return %0 : tensor<2xi8>
}

// -----

func.func @zero_by_reciprocal(%x: tensor<2xf32>, %f: tensor<f32>, %zero: tensor<ui8>) -> tensor<2xi8> {
  // expected-error @below {{zero point is 'ui8', not 'i8'}}
  %0 = graph.quantize_by_reciprocal %x, %f, %f, %f, %f, %zero {to = i8} : (tensor<2xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<ui8>) -> tensor<2xi8>
  return %0 : tensor<2xi8>
}

// -----

func.func @floats_with_zero(%x: tensor<2xf32>, %f: tensor<f32>) -> tensor<2xf32> {
  // expected-error @below {{a zero point requires an integer result}}
  %0 = graph.quantize_by_reciprocal %x, %f, %f, %f, %f, %f {to = f32} : (tensor<2xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// RUN: hewn-opt %s --split-input-file --verify-diagnostics | FileCheck %s
// Strings: operand and result types of their ops; indexing ops treat them as any element.

// CHECK-LABEL: func.func @moves
// CHECK: graph.transpose {{.*}} : (tensor<2x3x!handle.string>) -> tensor<3x2x!handle.string>
func.func @moves(%x: tensor<2x3x!handle.string>) -> tensor<3x2x!handle.string> {
  %0 = graph.transpose %x {order = array<i64: 1, 0>} : (tensor<2x3x!handle.string>) -> tensor<3x2x!handle.string>
  return %0 : tensor<3x2x!handle.string>
}

// -----

// CHECK-LABEL: func.func @parts
// CHECK: graph.text {{.*}} -> tensor<2x!handle.string>
// CHECK: graph.text_equal {{.*}} -> tensor<2xi1>
// CHECK: graph.lookup {{.*}} -> tensor<2xi64>
func.func @parts(%x: tensor<2x!handle.string>, %bytes: tensor<5xui8>, %starts: tensor<2xi64>, %slots: tensor<4xi32>) -> (tensor<2xi1>, tensor<2xi64>) {
  %0 = graph.text %bytes, %starts : (tensor<5xui8>, tensor<2xi64>) -> tensor<2x!handle.string>
  %1 = graph.text_equal %x, %0 : (tensor<2x!handle.string>, tensor<2x!handle.string>) -> tensor<2xi1>
  %2 = graph.lookup %x, %0, %slots {text = true} : (tensor<2x!handle.string>, tensor<2x!handle.string>, tensor<4xi32>) -> tensor<2xi64>
  return %1, %2 : tensor<2xi1>, tensor<2xi64>
}

// -----

func.func @numbers(%x: tensor<2xf32>) {
  // expected-error @below {{takes strings}}
  %0 = graph.text_concat %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @shapes(%x: tensor<2x!handle.string>, %y: tensor<3x!handle.string>) {
  // expected-error @below {{requires strings of equal shape}}
  %0 = graph.text_equal %x, %y : (tensor<2x!handle.string>, tensor<3x!handle.string>) -> tensor<2xi1>
  return
}

// -----

func.func @weighed(%x: tensor<2x!handle.string>) {
  // expected-error @below {{does not support strings}}
  %0 = graph.resize %x {dim = 0 : i64, size = [4], scale = 2.0 : f64, mode = "linear", coordinates = "half_pixel", nearest = "floor", cubicCoeff = -0.75 : f64, excludeOutside = false, extrapolate = 0.0 : f64} : (tensor<2x!handle.string>) -> tensor<4x!handle.string>
  return
}

// -----

// expected-error @below {{-5 is not a valid rank}}
func.func @rank(%x: tensor<!handle.sequence<f32, -5>>) {
  return
}

// -----

// CHECK-LABEL: func.func @more
func.func @more(%x: tensor<2x!handle.string>, %bytes: tensor<5xui8>, %stop: tensor<3x!handle.string>) {
  // CHECK: graph.text_concat %{{.*}}, %{{.*}} : (tensor<2x!handle.string>, tensor<2x!handle.string>) -> tensor<2x!handle.string>
  %0 = graph.text_concat %x, %x : (tensor<2x!handle.string>, tensor<2x!handle.string>) -> tensor<2x!handle.string>
  // CHECK: graph.text_match %{{.*}}, %{{.*}} : (tensor<2x!handle.string>, tensor<5xui8>) -> tensor<2xi1>
  %1 = graph.text_match %x, %bytes : (tensor<2x!handle.string>, tensor<5xui8>) -> tensor<2xi1>
  // CHECK: graph.text_fields %{{.*}}, %{{.*}} {maxSplits = 2 : i64} : (tensor<2x!handle.string>, tensor<5xui8>) -> tensor<2xi64>
  %2 = graph.text_fields %x, %bytes {maxSplits = 2} : (tensor<2x!handle.string>, tensor<5xui8>) -> tensor<2xi64>
  // CHECK: graph.text_split %{{.*}}, %{{.*}} {maxSplits = 2 : i64, width = [3]} : (tensor<2x!handle.string>, tensor<5xui8>) -> tensor<2x3x!handle.string>
  %3 = graph.text_split %x, %bytes {maxSplits = 2, width = [3]} : (tensor<2x!handle.string>, tensor<5xui8>) -> tensor<2x3x!handle.string>
  // CHECK: graph.text_normalize %{{.*}}, %{{.*}} {caseSensitive = true, change = 1 : i64, count = "n0", graph.dims = {{\[\[}}#graph.dim<"n0">{{\]\]}}} : (tensor<2x!handle.string>, tensor<3x!handle.string>) -> tensor<?x!handle.string>
  %4 = graph.text_normalize %x, %stop {change = 1, caseSensitive = true, count = "n0", graph.dims = [[#graph.dim<"n0">]]} : (tensor<2x!handle.string>, tensor<3x!handle.string>) -> tensor<?x!handle.string>
  return
}

// -----

func.func @starts(%bytes: tensor<5xui8>, %starts: tensor<2xi32>) {
  // expected-error @below {{requires bytes, and the start of each string as i64}}
  %0 = graph.text %bytes, %starts : (tensor<5xui8>, tensor<2xi32>) -> tensor<2x!handle.string>
  return
}

// -----

func.func @pattern(%x: tensor<2x!handle.string>, %bytes: tensor<5xi8>) {
  // expected-error @below {{takes strings, and a pattern as bytes}}
  %0 = graph.text_match %x, %bytes : (tensor<2x!handle.string>, tensor<5xi8>) -> tensor<2xi1>
  return
}

// -----

func.func @fields(%x: tensor<2xf32>, %bytes: tensor<5xui8>) {
  // expected-error @below {{takes strings, and a delimiter as bytes}}
  %0 = graph.text_fields %x, %bytes {maxSplits = 2} : (tensor<2xf32>, tensor<5xui8>) -> tensor<2xi64>
  return
}

// -----

func.func @width(%x: tensor<2x!handle.string>, %bytes: tensor<5xui8>) {
  // expected-error @below {{takes strings, a delimiter as bytes and one width}}
  %0 = graph.text_split %x, %bytes {maxSplits = 2, width = [3, 4]} : (tensor<2x!handle.string>, tensor<5xui8>) -> tensor<2x3x!handle.string>
  return
}

// -----

func.func @lists(%x: tensor<2x2x!handle.string>, %stop: tensor<3x!handle.string>) {
  // expected-error @below {{requires two 1-D tensors of strings}}
  %0 = graph.text_normalize %x, %stop {change = 1, caseSensitive = true, count = "n0", graph.dims = [[#graph.dim<"n0">]]} : (tensor<2x2x!handle.string>, tensor<3x!handle.string>) -> tensor<?x!handle.string>
  return
}

// -----

func.func @case(%x: tensor<2x!handle.string>, %stop: tensor<3x!handle.string>) {
  // expected-error @below {{change must be 0 (none), 1 (lower case) or 2 (upper case)}}
  %0 = graph.text_normalize %x, %stop {change = 3, caseSensitive = true, count = "n0", graph.dims = [[#graph.dim<"n0">]]} : (tensor<2x!handle.string>, tensor<3x!handle.string>) -> tensor<?x!handle.string>
  return
}

// -----

func.func @keys(%x: tensor<2xi64>, %keys: tensor<2xi32>, %slots: tensor<4xi32>) {
  // expected-error @below {{requires a 1-D tensor of keys with the operand's element type}}
  %0 = graph.lookup %x, %keys, %slots {text = false} : (tensor<2xi64>, tensor<2xi32>, tensor<4xi32>) -> tensor<2xi64>
  return
}

// -----

func.func @key_text(%x: tensor<2xf32>, %keys: tensor<2xf32>, %slots: tensor<4xi32>) {
  // expected-error @below {{can't compare elements of type 'f32'}}
  %0 = graph.lookup %x, %keys, %slots {text = true} : (tensor<2xf32>, tensor<2xf32>, tensor<4xi32>) -> tensor<2xi64>
  return
}

// -----

func.func @full_table(%x: tensor<2xf32>, %keys: tensor<4xf32>, %slots: tensor<4xi32>) {
  // expected-error @below {{requires a hash table of i32, whose size is a power of two and more than the number of keys}}
  %0 = graph.lookup %x, %keys, %slots {text = false} : (tensor<2xf32>, tensor<4xf32>, tensor<4xi32>) -> tensor<2xi64>
  return
}

// -----

// CHECK-LABEL: func.func @numbers_as_text
// CHECK: graph.text_parse %{{.*}} {to = f32} : (tensor<2x!handle.string>) -> tensor<2xf32>
// CHECK: graph.text_format %{{.*}} : (tensor<2xf32>) -> tensor<2x!handle.string>
func.func @numbers_as_text(%x: tensor<2x!handle.string>) -> tensor<2x!handle.string> {
  %0 = graph.text_parse %x {to = f32} : (tensor<2x!handle.string>) -> tensor<2xf32>
  %1 = graph.text_format %0 : (tensor<2xf32>) -> tensor<2x!handle.string>
  return %1 : tensor<2x!handle.string>
}

// -----

func.func @parsed(%x: tensor<2x!handle.string>) {
  // expected-error @below {{requires strings, and a result type of f32, f64, i64 or ui64}}
  %0 = graph.text_parse %x {to = i8} : (tensor<2x!handle.string>) -> tensor<2xi8>
  return
}

// -----

func.func @formatted(%x: tensor<2xf16>) {
  // expected-error @below {{takes f32, f64, i64 or ui64}}
  %0 = graph.text_format %x : (tensor<2xf16>) -> tensor<2x!handle.string>
  return
}

// RUN: hewn-opt %s --split-input-file --verify-diagnostics | hewn-opt --split-input-file | FileCheck %s
// Element types that stand for objects of the runtime.

// CHECK-LABEL: func.func @types
// CHECK-SAME: tensor<2x!handle.string>
// CHECK-SAME: tensor<!handle.sequence<f32, 2>>
// CHECK-SAME: tensor<!handle.optional<i64, -1>>
// CHECK-SAME: tensor<!handle.optional_sequence<!handle.string, -2>>
func.func @types(%a: tensor<2x!handle.string>, %b: tensor<!handle.sequence<f32, 2>>, %c: tensor<!handle.optional<i64, -1>>,
                 %d: tensor<!handle.optional_sequence<!handle.string, -2>>) {
  return
}

// -----

// expected-error @below {{holds tensors of numbers or strings}}
func.func @element(%x: tensor<!handle.sequence<tensor<2xf32>, 1>>) {
  return
}

// -----

// expected-error @below {{65 is no rank}}
func.func @rank(%x: tensor<!handle.optional<f32, 65>>) {
  return
}

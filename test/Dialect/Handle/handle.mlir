// RUN: hewn-opt %s --split-input-file --verify-diagnostics | hewn-opt --split-input-file | FileCheck %s
// Element types that represent runtime objects.

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

// expected-error @below {{the elements of a list must be tensors of numbers or strings}}
func.func @element(%x: tensor<!handle.sequence<tensor<2xf32>, 1>>) {
  return
}

// -----

// expected-error @below {{65 is not a valid rank}}
func.func @rank(%x: tensor<!handle.optional<f32, 65>>) {
  return
}

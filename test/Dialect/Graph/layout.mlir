// RUN: hewn-opt %s --split-input-file --verify-diagnostics | hewn-opt --split-input-file | FileCheck %s
// The memory layout of a tensor: the encoding of its type.

// CHECK-LABEL: func.func @layouts
// CHECK-SAME: tensor<1x8x4x4xf32, #graph.layout<[0, 2, 3, 1]>>
// CHECK-SAME: tensor<128x8x3x3xbf16, #graph.layout<[0, 2, 3, 1], blockDim = 0, block = 64, groupDim = 1, group = 2>>
// CHECK-SAME: tensor<16x8x3x3xf32, #graph.layout<[0, 2, 3, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>
// CHECK-SAME: tensor<4x3xf32, #graph.layout<[0, 1] subview of 6 along 1>>
func.func @layouts(%a: tensor<1x8x4x4xf32, #graph.layout<[0, 2, 3, 1]>>,
                   %b: tensor<128x8x3x3xbf16, #graph.layout<[0, 2, 3, 1], blockDim = 0, block = 64, groupDim = 1, group = 2>>,
                   %c: tensor<16x8x3x3xf32, #graph.layout<[0, 2, 3, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>,
                   %d: tensor<4x3xf32, #graph.layout<[0, 1] subview of 6 along 1>>) {
  return
}

// -----

// expected-error @below {{a layout must name each dim once}}
#twice = #graph.layout<[0, 0]>

// -----

// expected-error @below {{blockDim must name a dim and block be positive}}
#block = #graph.layout<[0, 1], blockDim = 2, block = 8>

// -----

// expected-error @below {{groupDim must be a dim other than blockDim, and group must be positive}}
#group = #graph.layout<[0, 1], blockDim = 1, block = 8, groupDim = 1, group = 2>

// -----

// expected-error @below {{tile must be 2 or 4, with two window dims other than blockDim and no groupDim}}
#tile = #graph.layout<[0, 1, 2, 3], blockDim = 0, block = 16 tile = 3, windows = [2, 3]>

// -----

// expected-error @below {{a subview needs a valid dim, a positive size of the enclosing tensor, and no blockDim}}
#subview = #graph.layout<[0, 1] subview of 6 along 2>

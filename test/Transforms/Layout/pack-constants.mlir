// Layout conversions of constants are executed at compile time.
// RUN: rm -rf %t && split-file %s %t
// RUN: hewn-opt %t/alone.mlir --hewn-pack-constants --mlir-print-local-scope | FileCheck %s
// RUN: hewn-opt %t/alone.mlir --hewn-pack-constants --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// If the compiler has the weights' bytes, the pass packs the constant.
// RUN: hewn compile %t/whole.mlir --target=x86-64-v3 --emit=kernels | FileCheck %s --check-prefix=PACKED
// RUN: hewn compile %t/whole.mlir --target=x86-64-v3 -o %t/packed.so && od -A d -t f4 -w32 -v %t/packed.so.weights | FileCheck %s --check-prefix=BYTES

//--- alone.mlir
// A splat constant is the same in any layout: only its type changes.
// CHECK-LABEL: func.func @splat
// CHECK-NOT: graph.relayout
// CHECK: %[[C:.*]] = graph.constant {value = dense<2.0{{.*}}> : tensor<3x4xf32>} : tensor<3x4xf32, #graph.layout<[1, 0]>>
// CHECK: return %[[C]]
func.func @splat() -> tensor<3x4xf32, #graph.layout<[1, 0]>> {
  %0 = graph.constant {value = dense<2.0> : tensor<3x4xf32>} : tensor<3x4xf32>
  %1 = graph.relayout %0 : (tensor<3x4xf32>) -> tensor<3x4xf32, #graph.layout<[1, 0]>>
  return %1 : tensor<3x4xf32, #graph.layout<[1, 0]>>
}

// Values that are no constants, and weights whose bytes are not available, are kept.
// REMARK-COUNT-2: NotPacked | {{.*}}Reason="constant not packed at compile time: its bytes are not available, or its type can only be packed at run time"
// REMARK-NOT: NotPacked
// CHECK-LABEL: func.func @left_alone
// CHECK-COUNT-2: graph.relayout
func.func @left_alone(%x: tensor<3x4xf32>) -> (tensor<3x4xf32, #graph.layout<[1, 0]>>, tensor<3x4xf32, #graph.layout<[1, 0]>>) {
  %0 = graph.relayout %x : (tensor<3x4xf32>) -> tensor<3x4xf32, #graph.layout<[1, 0]>>
  %1 = graph.constant {value = #graph.weight<"elsewhere", 0 : 48>} : tensor<3x4xf32>
  %2 = graph.relayout %1 : (tensor<3x4xf32>) -> tensor<3x4xf32, #graph.layout<[1, 0]>>
  return %0, %2 : tensor<3x4xf32, #graph.layout<[1, 0]>>, tensor<3x4xf32, #graph.layout<[1, 0]>>
}

// If one panel contains all columns of a weight matrix, the packed matrix has the same bytes as the
// original: the pass uses the same weight, even if its bytes are not available. With two panels,
// the bytes differ.
// CHECK-LABEL: func.func @one_panel
// CHECK-NOT: graph.relayout
// CHECK: %[[W:.*]] = graph.constant {value = #graph.weight<"elsewhere", 16 : 512>} : tensor<2x64xf32, #graph.layout<[1, 0], blockDim = 1, block = 64>>
// CHECK: return %[[W]]
func.func @one_panel() -> tensor<2x64xf32, #graph.layout<[1, 0], blockDim = 1, block = 64>> {
  %0 = graph.constant {value = #graph.weight<"elsewhere", 16 : 512>} : tensor<2x64xf32>
  %1 = graph.relayout %0 : (tensor<2x64xf32>) -> tensor<2x64xf32, #graph.layout<[1, 0], blockDim = 1, block = 64>>
  return %1 : tensor<2x64xf32, #graph.layout<[1, 0], blockDim = 1, block = 64>>
}

// CHECK-LABEL: func.func @two_panels
// CHECK: graph.relayout
func.func @two_panels() -> tensor<2x64xf32, #graph.layout<[1, 0], blockDim = 1, block = 32>> {
  %0 = graph.constant {value = #graph.weight<"elsewhere", 16 : 512>} : tensor<2x64xf32>
  %1 = graph.relayout %0 : (tensor<2x64xf32>) -> tensor<2x64xf32, #graph.layout<[1, 0], blockDim = 1, block = 32>>
  return %1 : tensor<2x64xf32, #graph.layout<[1, 0], blockDim = 1, block = 32>>
}

//--- whole.mlir
// Nine rows of three columns are padded with zeros to full blocks.
// PACKED-LABEL: func.func @main
// PACKED: graph.constant {value = #graph.weight<"{{.*}}.packed.{{[0-9a-f]+}}", 0 : 288>} : tensor<9x3xf32, #graph.layout<{{.*}}blockDim = 1, block = 8>>
// PACKED-NOT: graph.relayout
// BYTES: {{ +1 +2 +3 +0 +0 +0 +0 +0$}}
// BYTES-NEXT: {{ +4 +5 +6 +0 +0 +0 +0 +0$}}
// BYTES: {{ +25 +26 +27 +0 +0 +0 +0 +0$}}
func.func @main(%x: tensor<2x9xf32> {graph.name = "x"}) -> (tensor<2x3xf32> {graph.name = "y"}) {
  %w = graph.constant {value = dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0], [10.0, 11.0, 12.0], [13.0, 14.0, 15.0], [16.0, 17.0, 18.0], [19.0, 20.0, 21.0], [22.0, 23.0, 24.0], [25.0, 26.0, 27.0]]> : tensor<9x3xf32>} : tensor<9x3xf32>
  %0 = graph.matmul %x, %w : (tensor<2x9xf32>, tensor<9x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// Spatial sharding: each rank computes its own rows of a feature map, with the neighbors' halos
// before windows, and zero padding only at the ends.
// RUN: hewn-opt %s --split-input-file --hewn-partition='tensor=3 lines=100 rank=0' | FileCheck %s --check-prefixes=ALL,FIRST
// RUN: hewn-opt %s --split-input-file --hewn-partition='tensor=3 lines=100 rank=1' | FileCheck %s --check-prefixes=ALL,MIDDLE
// RUN: hewn-opt %s --split-input-file --hewn-partition='tensor=3 lines=100 rank=2' | FileCheck %s --check-prefixes=ALL,LAST
// RUN: hewn-opt %s --split-input-file --hewn-partition='tensor=3 lines=0 rank=1' | FileCheck %s --check-prefix=NONE
// NONE-NOT: graph.send

// Each rank slices the inputs that it needs; a halo row of a computed value is sent; a window with
// stride two needs one halo row above.
// ALL-LABEL: func.func @layers
// FIRST: %[[X:.*]] = graph.slice %arg0 {offsets = [0, 0, 0, 0], sizes = [1, 3, 5, 8]
// FIRST: graph.pad %[[X]] {high = [0, 0, 0, 1], low = [0, 0, 1, 1]}
// FIRST: %[[R:.*]] = graph.relu {{.*}} : (tensor<1x8x4x8xf32>)
// FIRST: %[[S:.*]] = graph.slice %[[R]] {offsets = [0, 0, 3, 0], sizes = [1, 8, 1, 8]
// FIRST: graph.send %[[S]] {to = 1 : i64}
// FIRST-NOT: graph.receive
// FIRST: graph.pad %[[R]] {high = [0, 0, 0, 1], low = [0, 0, 1, 1]}
// MIDDLE: %[[X:.*]] = graph.slice %arg0 {offsets = [0, 0, 3, 0], sizes = [1, 3, 6, 8]
// MIDDLE: graph.pad %[[X]] {high = [0, 0, 0, 1], low = [0, 0, 0, 1]}
// MIDDLE: %[[R:.*]] = graph.relu {{.*}} : (tensor<1x8x4x8xf32>)
// MIDDLE: %[[A:.*]] = graph.receive {elementType = f32, from = 0 : i64, shape = [1, 8, 1, 8]}
// MIDDLE: %[[S:.*]] = graph.slice %[[R]] {offsets = [0, 0, 3, 0]
// MIDDLE: graph.send %[[S]] {to = 2 : i64}
// MIDDLE: %[[H:.*]] = graph.concat %[[A]], %[[R]] {axis = 2 : i64}
// MIDDLE: graph.pad %[[H]] {high = [0, 0, 0, 1], low = [0, 0, 0, 1]}
// LAST: %[[X:.*]] = graph.slice %arg0 {offsets = [0, 0, 7, 0], sizes = [1, 3, 5, 8]
// LAST: graph.pad %[[X]] {high = [0, 0, 1, 1], low = [0, 0, 0, 1]}
// LAST: graph.receive {elementType = f32, from = 1 : i64
// LAST-NOT: graph.send
// ALL: %[[Y:.*]] = graph.conv {{.*}} -> tensor<1x8x2x8xf32>
// ALL: graph.all_gather %[[Y]] {first = 0 : i64, ranks = 3 : i64}
func.func @layers(%x: tensor<1x3x12x8xf32>) -> tensor<1x8x6x8xf32> {
  %w = graph.constant {value = #graph.weight<"w", 0 : 864>} : tensor<8x3x3x3xf32>
  %v = graph.constant {value = #graph.weight<"v", 0 : 2304>} : tensor<8x8x3x3xf32>
  %0 = graph.pad %x {low = [0, 0, 1, 1], high = [0, 0, 1, 1]} : (tensor<1x3x12x8xf32>) -> tensor<1x3x14x10xf32>
  %1 = graph.conv %0, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x3x14x10xf32>, tensor<8x3x3x3xf32>) -> tensor<1x8x12x8xf32>
  %2 = graph.relu %1 : (tensor<1x8x12x8xf32>) -> tensor<1x8x12x8xf32>
  %3 = graph.pad %2 {low = [0, 0, 1, 1], high = [0, 0, 1, 1]} : (tensor<1x8x12x8xf32>) -> tensor<1x8x14x10xf32>
  %4 = graph.conv %3, %v {strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x8x14x10xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x6x8xf32>
  return %4 : tensor<1x8x6x8xf32>
}

// -----

// Three ranks have 2, 2 and 3 of 7 rows of a feature map. The all-gather transfers equal numbers of
// rows from each rank, and each rank slices off the surplus rows.
// ALL-LABEL: func.func @uneven
// FIRST: graph.pad {{.*}} {high = [0, 0, 1, 0], low = [0, 0, 0, 0]} : (tensor<1x4x2x4xf32>)
// LAST: %[[Y:.*]] = graph.relu {{.*}} : (tensor<1x4x3x4xf32>)
// LAST-NOT: graph.pad
// ALL: %[[W:.*]] = graph.reshape {{.*}} -> tensor<1x4x9x4xf32>
// ALL: %[[A:.*]] = graph.slice %[[W]] {offsets = [0, 0, 0, 0], sizes = [1, 4, 2, 4]
// ALL: %[[B:.*]] = graph.slice %[[W]] {offsets = [0, 0, 3, 0], sizes = [1, 4, 2, 4]
// ALL: %[[C:.*]] = graph.slice %[[W]] {offsets = [0, 0, 6, 0], sizes = [1, 4, 3, 4]
// ALL: graph.concat %[[A]], %[[B]], %[[C]] {axis = 2 : i64}
func.func @uneven(%x: tensor<1x4x7x4xf32>) -> tensor<1x4x7x4xf32> {
  %w = graph.constant {value = #graph.weight<"w", 0 : 64>} : tensor<4x4x1x1xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x4x7x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x7x4xf32>
  %1 = graph.relu %0 : (tensor<1x4x7x4xf32>) -> tensor<1x4x7x4xf32>
  return %1 : tensor<1x4x7x4xf32>
}

// -----

// Upsampled rows stay on their rank; the halo row is received before the Resize, and surplus result
// rows are sliced off.
// ALL-LABEL: func.func @resized
// FIRST: %[[X:.*]] = graph.relu
// FIRST: graph.send
// FIRST: %[[N:.*]] = graph.receive {{.*}}from = 1 : i64
// FIRST: %[[H:.*]] = graph.concat %{{.*}}, %[[N]]
// FIRST: graph.resize %[[H]] {{.*}}size = [6]
// FIRST: graph.slice {{.*}} {offsets = [0, 0, 0, 0], sizes = [1, 2, 5, 4]
// MIDDLE: graph.resize {{.*}}size = [8]
// MIDDLE: graph.slice {{.*}} {offsets = [0, 0, 1, 0], sizes = [1, 2, 6, 4]
// LAST: graph.resize {{.*}}size = [6]
// LAST: graph.slice {{.*}} {offsets = [0, 0, 1, 0], sizes = [1, 2, 5, 4]
// ALL: graph.conv {{.*}} -> tensor<1x2x4x4xf32>
func.func @resized(%x: tensor<1x2x6x4xf32>) -> tensor<1x2x12x4xf32> {
  %w = graph.constant {value = #graph.weight<"w", 0 : 16>} : tensor<2x2x1x1xf32>
  %v = graph.constant {value = #graph.weight<"v", 0 : 48>} : tensor<2x2x3x1xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x2x6x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x6x4xf32>
  %1 = graph.relu %0 : (tensor<1x2x6x4xf32>) -> tensor<1x2x6x4xf32>
  %2 = graph.resize %1 {dim = 2 : i64, size = [12], scale = 0.0 : f64, mode = "linear", coordinates = "half_pixel"} : (tensor<1x2x6x4xf32>) -> tensor<1x2x12x4xf32>
  %3 = graph.pad %2 {low = [0, 0, 1, 0], high = [0, 0, 1, 0]} : (tensor<1x2x12x4xf32>) -> tensor<1x2x14x4xf32>
  %4 = graph.conv %3, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x2x14x4xf32>, tensor<2x2x3x1xf32>) -> tensor<1x2x12x4xf32>
  return %4 : tensor<1x2x12x4xf32>
}

// -----

// A reduction over all rows of a sharded feature map reads the gathered tensor.
// ALL-LABEL: func.func @squeezed
// ALL: %[[Y:.*]] = graph.relu {{.*}} : (tensor<1x4x2x4xf32>)
// ALL: %[[G:.*]] = graph.all_gather %[[Y]]
// ALL: %[[S:.*]] = graph.reduce_sum
// ALL: graph.mul %[[Y]], %[[S]]
func.func @squeezed(%x: tensor<1x4x6x4xf32>) -> tensor<1x4x6x4xf32> {
  %w = graph.constant {value = #graph.weight<"w", 0 : 64>} : tensor<4x4x1x1xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x4x6x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x6x4xf32>
  %1 = graph.relu %0 : (tensor<1x4x6x4xf32>) -> tensor<1x4x6x4xf32>
  %2 = graph.reduce_sum %1 {dims = array<i64: 2, 3>, keep = true} : (tensor<1x4x6x4xf32>) -> tensor<1x4x1x1xf32>
  %3 = graph.mul %1, %2 : (tensor<1x4x6x4xf32>, tensor<1x4x1x1xf32>) -> tensor<1x4x6x4xf32>
  return %3 : tensor<1x4x6x4xf32>
}

// RUN: hewn-opt %s --hewn-partition='stages=2 rank=0' | FileCheck %s --check-prefix=FIRST
// RUN: hewn-opt %s --hewn-partition='stages=2 rank=1' | FileCheck %s --check-prefix=SECOND
// RUN: hewn-opt %s --hewn-partition='tensor=2 stages=2 rank=3' | FileCheck %s --check-prefix=BOTH

// Half of the constants in each; what goes on, and what comes out at the end.
// FIRST: %[[H:.*]] = graph.matmul
// FIRST-NEXT: graph.send %[[H]] {to = 1 : i64}
// FIRST-NOT: graph.matmul
// FIRST: %[[Y:.*]] = graph.receive {{.*}}from = 1 : i64{{.*}} -> tensor<8x64xf32>
// FIRST: return %[[Y]], %[[H]]

// SECOND: %[[H:.*]] = graph.receive {{.*}}from = 0 : i64
// SECOND: %[[Y:.*]] = graph.matmul %[[H]]
// SECOND: graph.send %[[Y]] {to = 0 : i64}
// SECOND: %[[OUT:.*]] = graph.receive {{.*}}from = 0 : i64
// SECOND: return %[[Y]], %[[OUT]]

// The second rank of the second stage: it hears of the second one of the first, and adds up with its own stage.
// BOTH: graph.receive {{.*}}from = 1 : i64
// BOTH: graph.matmul
// BOTH: {first = 2 : i64{{.*}}ranks = 2 : i64}
func.func @main(%x: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %w = graph.constant {value = #graph.weight<"w", 0 : 16384>} : tensor<64x64xf32>
  %v = graph.constant {value = #graph.weight<"v", 0 : 16384>} : tensor<64x64xf32>
  %0 = graph.matmul %x, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %1 = graph.matmul %0, %v : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  return %1, %0 : tensor<8x64xf32>, tensor<8x64xf32>
}

// Launches of kernels with scratch memory: their dims are checked before use.
// RUN: hewn-opt %s --split-input-file --verify-diagnostics --hewn-assign-schedules --hewn-insert-scratch

module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  plan.kernel @unknown(%q: tensor<?x64xf32> {graph.dims = [#graph.dim<"s0">, 64]}, %k: tensor<64x?xf32> {graph.dims = [64, #graph.dim<"s1">]}, %v: tensor<?x64xf32> {graph.dims = [#graph.dim<"s1">, 64]}) -> tensor<?x64xf32>
      attributes {symbols = ["s0", "s1"]} {
    %s = graph.matmul %q, %k {graph.dims = [[#graph.dim<"s0">, #graph.dim<"s1">]]} : (tensor<?x64xf32>, tensor<64x?xf32>) -> tensor<?x?xf32>
    %m = graph.reduce_max %s {dims = array<i64: 1>, graph.dims = [[#graph.dim<"s0">, 1]]} : (tensor<?x?xf32>) -> tensor<?x1xf32>
    %d = graph.sub %s, %m {graph.dims = [[#graph.dim<"s0">, #graph.dim<"s1">]]} : (tensor<?x?xf32>, tensor<?x1xf32>) -> tensor<?x?xf32>
    %y = graph.matmul %d, %v {graph.dims = [[#graph.dim<"s0">, 64]]} : (tensor<?x?xf32>, tensor<?x64xf32>) -> tensor<?x64xf32>
    graph.yield %y : tensor<?x64xf32>
  }
  func.func @main(%q: tensor<?x64xf32> {graph.dims = [#graph.dim<"a">, 64]}, %k: tensor<64x?xf32> {graph.dims = [64, #graph.dim<"b">]}, %v: tensor<?x64xf32> {graph.dims = [#graph.dim<"b">, 64]}) -> tensor<?x64xf32> {
    // expected-error@+2 {{invalid dim expression 'b +'}}
    // expected-error@+1 {{failed to parse Graph_DimAttr parameter 'expr'}}
    %0 = plan.launch @unknown(%q, %k, %v) symbols [#graph.dim<"a">, #graph.dim<"b +">] {graph.dims = [[#graph.dim<"a">, 64]]} : (tensor<?x64xf32>, tensor<64x?xf32>, tensor<?x64xf32>) -> tensor<?x64xf32>
    return %0 : tensor<?x64xf32>
  }
}

// -----

module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  plan.kernel @unknown(%q: tensor<?x64xf32> {graph.dims = [#graph.dim<"s0">, 64]}, %k: tensor<64x?xf32> {graph.dims = [64, #graph.dim<"s1">]}, %v: tensor<?x64xf32> {graph.dims = [#graph.dim<"s1">, 64]}) -> tensor<?x64xf32>
      attributes {symbols = ["s0", "s1"]} {
    %s = graph.matmul %q, %k {graph.dims = [[#graph.dim<"s0">, #graph.dim<"s1">]]} : (tensor<?x64xf32>, tensor<64x?xf32>) -> tensor<?x?xf32>
    %m = graph.reduce_max %s {dims = array<i64: 1>, graph.dims = [[#graph.dim<"s0">, 1]]} : (tensor<?x?xf32>) -> tensor<?x1xf32>
    %d = graph.sub %s, %m {graph.dims = [[#graph.dim<"s0">, #graph.dim<"s1">]]} : (tensor<?x?xf32>, tensor<?x1xf32>) -> tensor<?x?xf32>
    %y = graph.matmul %d, %v {graph.dims = [[#graph.dim<"s0">, 64]]} : (tensor<?x?xf32>, tensor<?x64xf32>) -> tensor<?x64xf32>
    graph.yield %y : tensor<?x64xf32>
  }
  func.func @main(%q: tensor<?x64xf32> {graph.dims = [#graph.dim<"a">, 64]}, %k: tensor<64x?xf32> {graph.dims = [64, #graph.dim<"b">]}, %v: tensor<?x64xf32> {graph.dims = [#graph.dim<"b">, 64]}) -> tensor<?x64xf32> {
    // expected-error@+1 {{does not match the operands, results and symbols of 'unknown'}}
    %0 = plan.launch @unknown(%q, %k, %v) symbols [#graph.dim<"a">] {graph.dims = [[#graph.dim<"a">, 64]]} : (tensor<?x64xf32>, tensor<64x?xf32>, tensor<?x64xf32>) -> tensor<?x64xf32>
    return %0 : tensor<?x64xf32>
  }
}

// -----

module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  plan.kernel @work(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) attributes {symbols = []} {
    %0 = graph.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = graph.scratch {shape = [4, 8], of = f32} : () -> tensor<4x8xf32>
    graph.yield %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
  }
  func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
    // expected-error@+1 {{has scratch memory as a result that has uses}}
    %0:2 = plan.launch @work(%x) symbols [] : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    return %0#1 : tensor<4x8xf32>
  }
}

// -----

module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  plan.kernel @work(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) attributes {symbols = []} {
    %0 = graph.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = graph.scratch {shape = [4, 8], of = f32} : () -> tensor<4x8xf32>
    graph.yield %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
  }
  func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
    // expected-error@+1 {{does not match the operands, results and symbols of 'work'}}
    %0 = plan.launch @work(%x) symbols [] : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
}

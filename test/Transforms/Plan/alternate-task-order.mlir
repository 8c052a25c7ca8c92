// RUN: hewn-opt %s --hewn-alternate-task-order | FileCheck %s

#small = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 65536, l3Bytes = 8388608>

module attributes {plan.target = #small} {
  plan.kernel @large(%h: tensor<1x128xf32>, %w: tensor<128x256xf32>) -> tensor<1x256xf32> attributes {symbols = [], schedule = #plan.contract<m = 1, n = 64, lanes = 8>} {
    %0 = graph.matmul %h, %w : (tensor<1x128xf32>, tensor<128x256xf32>) -> tensor<1x256xf32>
    graph.yield %0 : tensor<1x256xf32>
  }
  plan.kernel @back(%h: tensor<1x256xf32>, %w: tensor<256x128xf32>) -> tensor<1x128xf32> attributes {symbols = [], schedule = #plan.contract<m = 1, n = 64, lanes = 8>} {
    %0 = graph.matmul %h, %w : (tensor<1x256xf32>, tensor<256x128xf32>) -> tensor<1x128xf32>
    graph.yield %0 : tensor<1x128xf32>
  }
  plan.kernel @first(%h: tensor<1x256xf32>) -> tensor<1x128xf32> attributes {symbols = []} {
    %0 = graph.slice %h {offsets = [0, 0], sizes = [1, 128], steps = array<i64: 1, 1>} : (tensor<1x256xf32>) -> tensor<1x128xf32>
    graph.yield %0 : tensor<1x128xf32>
  }
  plan.kernel @limbs(%h: tensor<1x128xf32>, %w: tensor<128x256xf32>) -> tensor<1x256xf32> attributes {symbols = [], schedule = #plan.contract<m = 1, n = 64, lanes = 8, int8Slices = 3>} {
    %0 = graph.matmul %h, %w : (tensor<1x128xf32>, tensor<128x256xf32>) -> tensor<1x256xf32>
    graph.yield %0 : tensor<1x256xf32>
  }

  // The loop-invariant operand exceeds the L2 cache. Alternating the order has no benefit for
  // values computed in a step.
  // CHECK-LABEL: func.func @recurrence
  // CHECK: plan.launch @large({{.*}}) symbols [] {plan.alternates}
  // CHECK: plan.launch @first({{.*}}) symbols [] :
  func.func @recurrence(%n: tensor<i64>, %c: tensor<i1>, %h: tensor<1x128xf32>, %w: tensor<128x256xf32>) -> tensor<1x128xf32> {
    %0 = graph.loop %n, %c, %h {
    ^bb0(%i: tensor<i64>, %d: tensor<i1>, %s: tensor<1x128xf32>):
      %1 = plan.launch @large(%s, %w) symbols [] : (tensor<1x128xf32>, tensor<128x256xf32>) -> tensor<1x256xf32>
      %2 = plan.launch @first(%1) symbols [] : (tensor<1x256xf32>) -> tensor<1x128xf32>
      graph.yield %d, %2 : tensor<i1>, tensor<1x128xf32>
    } : (tensor<i64>, tensor<i1>, tensor<1x128xf32>) -> tensor<1x128xf32>
    return %0 : tensor<1x128xf32>
  }

  // Not alternated: a kernel reads two operands that are each as large as the cache, so that
  // neither is still cached when the next step reads it.
  // CHECK-LABEL: func.func @two
  // CHECK-NOT: plan.alternates
  func.func @two(%n: tensor<i64>, %c: tensor<i1>, %h: tensor<1x128xf32>, %w: tensor<128x256xf32>, %v: tensor<256x128xf32>) -> tensor<1x128xf32> {
    %0 = graph.loop %n, %c, %h {
    ^bb0(%i: tensor<i64>, %d: tensor<i1>, %s: tensor<1x128xf32>):
      %1 = plan.launch @large(%s, %w) symbols [] : (tensor<1x128xf32>, tensor<128x256xf32>) -> tensor<1x256xf32>
      %2 = plan.launch @back(%1, %v) symbols [] : (tensor<1x256xf32>, tensor<256x128xf32>) -> tensor<1x128xf32>
      graph.yield %d, %2 : tensor<i1>, tensor<1x128xf32>
    } : (tensor<i64>, tensor<i1>, tensor<1x128xf32>) -> tensor<1x128xf32>
    return %0 : tensor<1x128xf32>
  }

  // Not alternated: in an int8-slice GEMM, each thread prepares the left operand before its first
  // task.
  // CHECK-LABEL: func.func @prepared
  // CHECK-NOT: plan.alternates
  func.func @prepared(%n: tensor<i64>, %c: tensor<i1>, %h: tensor<1x128xf32>, %w: tensor<128x256xf32>) -> tensor<1x128xf32> {
    %0 = graph.loop %n, %c, %h {
    ^bb0(%i: tensor<i64>, %d: tensor<i1>, %s: tensor<1x128xf32>):
      %1 = plan.launch @limbs(%s, %w) symbols [] : (tensor<1x128xf32>, tensor<128x256xf32>) -> tensor<1x256xf32>
      %2 = plan.launch @first(%1) symbols [] : (tensor<1x256xf32>) -> tensor<1x128xf32>
      graph.yield %d, %2 : tensor<i1>, tensor<1x128xf32>
    } : (tensor<i64>, tensor<i1>, tensor<1x128xf32>) -> tensor<1x128xf32>
    return %0 : tensor<1x128xf32>
  }

  // Not alternated: kernels outside of a loop, and a loop that computes its weights in each step.
  // CHECK-LABEL: func.func @once
  // CHECK-NOT: plan.alternates
  func.func @once(%h: tensor<1x128xf32>, %w: tensor<128x256xf32>) -> tensor<1x256xf32> {
    %1 = plan.launch @large(%h, %w) symbols [] : (tensor<1x128xf32>, tensor<128x256xf32>) -> tensor<1x256xf32>
    return %1 : tensor<1x256xf32>
  }
  func.func @made(%n: tensor<i64>, %c: tensor<i1>, %h: tensor<1x128xf32>, %w: tensor<128x256xf32>) -> tensor<1x128xf32> {
    %0 = graph.loop %n, %c, %h {
    ^bb0(%i: tensor<i64>, %d: tensor<i1>, %s: tensor<1x128xf32>):
      %3 = graph.concat %w {axis = 0 : i64} : (tensor<128x256xf32>) -> tensor<128x256xf32>
      %1 = plan.launch @large(%s, %3) symbols [] : (tensor<1x128xf32>, tensor<128x256xf32>) -> tensor<1x256xf32>
      %2 = plan.launch @first(%1) symbols [] : (tensor<1x256xf32>) -> tensor<1x128xf32>
      graph.yield %d, %2 : tensor<i1>, tensor<1x128xf32>
    } : (tensor<i64>, tensor<i1>, tensor<1x128xf32>) -> tensor<1x128xf32>
    return %0 : tensor<1x128xf32>
  }
}

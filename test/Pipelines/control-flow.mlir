// Programs with branches and loops, compiled from the plan stage on. The kernels are hand-written.
// RUN: split-file %s %t
// RUN: hewn compile %t/if.mlir -o %t/if.so && %python %S/Inputs/run.py %t/if.so 'c=b(True)' 'n=i64([3])' | FileCheck %s --check-prefix=THEN
// RUN: %python %S/Inputs/run.py %t/if.so 'c=b(False)' 'n=i64([3])' | FileCheck %s --check-prefix=ELSE
// THEN: y: [3] [0.0, 1.0, 2.0]
// THEN: z: [1] [3]
// ELSE: y: [6] [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
// ELSE: z: [1] [6]
// An invalid size fails the run.
// RUN: not %python %S/Inputs/run.py %t/if.so 'c=b(True)' 'n=i64([-3])' 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not %python %S/Inputs/run.py %t/if.so 'c=b(True)' 'n=i64([1 << 62])' 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// NEGATIVE: error: {{.+}}

// RUN: hewn compile %t/loop.mlir -o %t/loop.so && %python %S/Inputs/run.py %t/loop.so 'trips=i64(4)' | FileCheck %s --check-prefix=LOOP
// RUN: %python %S/Inputs/run.py %t/loop.so 'trips=i64(0)' | FileCheck %s --check-prefix=NOTHING
// LOOP: grown: [5] [0.0, 1.0, 2.0, 3.0, 4.0]
// LOOP: a: [2] [1.0, 1.0]
// LOOP: b: [2] [0.0, 1.0]
// LOOP: all: [4, 2] [0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0]
// NOTHING: grown: [1] [0.0]
// NOTHING: a: [2] [1.0, 1.0]
// NOTHING: b: [2] [0.0, 1.0]
// NOTHING: all: [0, 2] []

// RUN: hewn compile %t/scan.mlir -o %t/scan.so && %python %S/Inputs/run.py %t/scan.so 'x=f32([[1, 2], [3, 4], [5, 6]])' | FileCheck %s --check-prefix=SCAN
// SCAN: last: [2] [9.0, 12.0]
// SCAN: sums: [3, 2] [9.0, 12.0, 8.0, 10.0, 5.0, 6.0]
// SCAN: same: [3, 2] [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
// SCAN: seven: [1] [7.0]

//--- if.mlir
plan.kernel @iota() -> tensor<?xf32> attributes {symbols = ["s0"]} {
  func.func @iota(%ctx: !llvm.ptr, %y: memref<?xf32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      %a = arith.index_cast %i : index to i64
      %b = arith.sitofp %a : i64 to f32
      memref.store %b, %y[%i] : memref<?xf32>
    }
    return
  }
}
func.func @main(%c: tensor<i1> {graph.name = "c"}, %n: tensor<1xi64> {graph.name = "n"}) -> (tensor<?xf32> {graph.name = "y"}, tensor<1xi64> {graph.name = "z"}) {
  graph.read_symbol "u0" = %n[0] : tensor<1xi64>
  %0 = graph.if %c attributes {graph.dims = [[#graph.dim<"k">]]} {
    %1 = plan.launch @iota() symbols [#graph.dim<"u0">] {graph.dims = [[#graph.dim<"u0">]]} : () -> tensor<?xf32>
    graph.yield %1 : tensor<?xf32>
  } else {
    %1 = plan.launch @iota() symbols [#graph.dim<"2*u0">] {graph.dims = [[#graph.dim<"2*u0">]]} : () -> tensor<?xf32>
    graph.yield %1 : tensor<?xf32>
  } : (tensor<i1>) -> tensor<?xf32>
  %2 = graph.dim_value {values = [#graph.dim<"k">]} : () -> tensor<1xi64>
  return %0, %2 : tensor<?xf32>, tensor<1xi64>
}

//--- loop.mlir
plan.kernel @iota() -> tensor<?xf32> attributes {symbols = ["s0"]} {
  func.func @iota(%ctx: !llvm.ptr, %y: memref<?xf32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      %a = arith.index_cast %i : index to i64
      %b = arith.sitofp %a : i64 to f32
      memref.store %b, %y[%i] : memref<?xf32>
    }
    return
  }
}
func.func @main(%trips: tensor<i64> {graph.name = "trips"})
    -> (tensor<?xf32> {graph.name = "grown"}, tensor<2xf32> {graph.name = "a"}, tensor<2xf32> {graph.name = "b"}, tensor<?x2xf32> {graph.name = "all"}) {
  %true = graph.constant {value = dense<true> : tensor<i1>} : tensor<i1>
  %one = graph.constant {value = dense<0.0> : tensor<1xf32>} : tensor<1xf32>
  %a = graph.constant {value = dense<1.0> : tensor<2xf32>} : tensor<2xf32>
  %b = graph.constant {value = dense<[0.0, 1.0]> : tensor<2xf32>} : tensor<2xf32>
  %0:4 = graph.loop %trips, %true, %one, %a, %b attributes {graph.dims = [[#graph.dim<"last">], [2], [2], [#graph.dim<"count">, 2]], graph.region_dims = [[[], [], [#graph.dim<"m">], [2], [2]]]} {
  ^bb0(%i: tensor<i64>, %c: tensor<i1>, %g: tensor<?xf32>, %p: tensor<2xf32>, %q: tensor<2xf32>):
    %1 = plan.launch @iota() symbols [#graph.dim<"m + 1">] {graph.dims = [[#graph.dim<"m + 1">]]} : () -> tensor<?xf32>
    graph.yield %c, %1, %q, %p, %q : tensor<i1>, tensor<?xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
  } : (tensor<i64>, tensor<i1>, tensor<1xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<?xf32>, tensor<2xf32>, tensor<2xf32>, tensor<?x2xf32>)
  return %0#0, %0#1, %0#2, %0#3 : tensor<?xf32>, tensor<2xf32>, tensor<2xf32>, tensor<?x2xf32>
}

//--- scan.mlir
plan.kernel @add(tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> attributes {symbols = []} {
  func.func @add(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 2 : index
    scf.for %i = %c0 to %n step %c1 {
      %a = memref.load %x[%i] : memref<?xf32>
      %b = memref.load %y[%i] : memref<?xf32>
      %c = arith.addf %a, %b : f32
      memref.store %c, %z[%i] : memref<?xf32>
    }
    return
  }
}
func.func @main(%x: tensor<?x2xf32> {graph.name = "x", graph.dims = [#graph.dim<"t">, 2]})
    -> (tensor<2xf32> {graph.name = "last"}, tensor<?x2xf32> {graph.name = "sums"}, tensor<?x2xf32> {graph.name = "same"}, tensor<1xf32> {graph.name = "seven"}) {
  %zero = graph.constant {value = dense<0.0> : tensor<2xf32>} : tensor<2xf32>
  %seven = graph.constant {value = dense<7.0> : tensor<1xf32>} : tensor<1xf32>
  %0:2 = graph.scan %zero, %x attributes {numStates = 1 : i64, backward = array<i1: true, true>, graph.dims = [[2], [#graph.dim<"t">, 2]]} {
  ^bb0(%s: tensor<2xf32>, %e: tensor<2xf32>):
    %1 = plan.launch @add(%s, %e) symbols [] : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    graph.yield %1, %1 : tensor<2xf32>, tensor<2xf32>
  } : (tensor<2xf32>, tensor<?x2xf32>) -> (tensor<2xf32>, tensor<?x2xf32>)
  return %0#0, %0#1, %x, %seven : tensor<2xf32>, tensor<?x2xf32>, tensor<?x2xf32>, tensor<1xf32>
}

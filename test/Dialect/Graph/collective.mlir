// RUN: hewn-opt %s --split-input-file --verify-diagnostics | hewn-opt | FileCheck %s
// RUN: hewn-opt %s --split-input-file --verify-diagnostics --cse | FileCheck %s --check-prefix=CSE

// A program executes each of its collectives, even if equal ones exist or the result has no uses,
// because all ranks take part.
// CHECK-LABEL: @ranks
// CSE-LABEL: @ranks
func.func @ranks(%x: tensor<2x?xf32> {graph.dims = [2, #graph.dim<"n">]}) {
  // CHECK: graph.all_reduce %{{.*}} {first = 0 : i64, graph.dims = {{.*}}, ranks = 2 : i64} : (tensor<2x?xf32>) -> tensor<2x?xf32>
  // CSE-COUNT-2: graph.all_reduce
  %0 = graph.all_reduce %x {first = 0 : i64, ranks = 2 : i64, graph.dims = [[2, #graph.dim<"n">]]} : (tensor<2x?xf32>) -> tensor<2x?xf32>
  %1 = graph.all_reduce %x {first = 0 : i64, ranks = 2 : i64, graph.dims = [[2, #graph.dim<"n">]]} : (tensor<2x?xf32>) -> tensor<2x?xf32>
  // CHECK: graph.reduce_scatter %{{.*}} -> tensor<?xf32>
  // CSE: graph.reduce_scatter
  %5 = graph.reduce_scatter %x {first = 0 : i64, ranks = 2 : i64, graph.dims = [[#graph.dim<"n">]]} : (tensor<2x?xf32>) -> tensor<?xf32>
  // CHECK: graph.all_gather %{{.*}} -> tensor<3x2x?xf32>
  // CSE: graph.all_gather
  %2 = graph.all_gather %x {first = 0 : i64, ranks = 3 : i64, graph.dims = [[3, 2, #graph.dim<"n">]]} : (tensor<2x?xf32>) -> tensor<3x2x?xf32>
  // CHECK: graph.send %{{.*}} {to = 1 : i64} : (tensor<2x?xf32>) -> tensor<0xi8>
  // CSE: graph.send
  %3 = graph.send %x {to = 1 : i64} : (tensor<2x?xf32>) -> tensor<0xi8>
  // CHECK: graph.receive {{.*}}from = 0 : i64{{.*}} -> tensor<4x5xi64>
  // CSE: graph.receive
  %4 = graph.receive {elementType = i64, shape = [4, 5], from = 0 : i64} : () -> tensor<4x5xi64>
  return
}

// -----

func.func @types(%x: tensor<2xi1>) {
  // expected-error @below {{can't add elements of type 'i1'}}
  %0 = graph.all_reduce %x {first = 0 : i64, ranks = 2 : i64} : (tensor<2xi1>) -> tensor<2xi1>
  return
}

// -----

func.func @parts(%x: tensor<2xi1>) {
  // expected-error @below {{can't add elements of type 'i1'}}
  %0 = graph.reduce_scatter %x {first = 0 : i64, ranks = 2 : i64} : (tensor<2xi1>) -> tensor<i1>
  return
}

// -----

func.func @uneven(%x: tensor<3xf32>) {
  // expected-error @below {{the first dim must be the number of ranks}}
  %0 = graph.reduce_scatter %x {first = 0 : i64, ranks = 2 : i64} : (tensor<3xf32>) -> tensor<f32>
  return
}

// -----

func.func @fewbits(%x: tensor<2xi4>) {
  // expected-error @below {{cannot send elements of type 'i4'}}
  %0 = graph.all_gather %x {first = 0 : i64, ranks = 2 : i64} : (tensor<2xi4>) -> tensor<2x2xi4>
  return
}

// -----

func.func @sent(%x: tensor<2xi4>) {
  // expected-error @below {{cannot send elements of type 'i4'}}
  %0 = graph.send %x {to = 0 : i64} : (tensor<2xi4>) -> tensor<0xi8>
  return
}

// -----

func.func @nobody(%x: tensor<2xf32>) {
  // expected-error @below {{requires at least one rank}}
  %0 = graph.all_reduce %x {first = 0 : i64, ranks = 0 : i64} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @none(%x: tensor<2xf32>) {
  // expected-error @below {{requires at least one rank}}
  %0 = graph.all_gather %x {first = 0 : i64, ranks = 0 : i64} : (tensor<2xf32>) -> tensor<0x2xf32>
  return
}

// -----

func.func @malformed() {
  // expected-error @below {{shape must be a list of integers and expressions}}
  %0 = graph.receive {elementType = f32, shape = ["x"], from = 0 : i64} : () -> tensor<2xf32>
  return
}

// -----

func.func @received() {
  // expected-error @below {{cannot receive elements of type 'i4'}}
  %0 = graph.receive {elementType = i4, shape = [2], from = 0 : i64} : () -> tensor<2xi4>
  return
}

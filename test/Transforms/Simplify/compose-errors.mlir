// RUN: hewn-opt %s --split-input-file --verify-diagnostics --hewn-compose-ops

// As many windows as there may be channels would have to be cut.
func.func @channels(%x: tensor<1x?x5x5xf32> {graph.dims = [1, #graph.dim<"c">, 5, 5]}) -> tensor<1x?x5x5xf32> {
  // expected-error@+1 {{sums over 9001 channels where their number is not known when compiling; 4096 are the most there}}
  %0 = graph.lrn %x {size = 9001 : i64, graph.dims = [[1, #graph.dim<"c">, 5, 5]]} : (tensor<1x?x5x5xf32>) -> tensor<1x?x5x5xf32>
  return %0 : tensor<1x?x5x5xf32>
}

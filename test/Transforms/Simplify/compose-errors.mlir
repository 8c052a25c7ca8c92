// RUN: hewn-opt %s --split-input-file --verify-diagnostics --hewn-decompose-ops

// A dynamic number of channels would need as many slices as there may be.
func.func @channels(%x: tensor<1x?x5x5xf32> {graph.dims = [1, #graph.dim<"c">, 5, 5]}) -> tensor<1x?x5x5xf32> {
  // expected-error@+1 {{normalizes over 9001 channels with a dynamic channel count; at most 4096 are supported}}
  %0 = graph.lrn %x {size = 9001 : i64, graph.dims = [[1, #graph.dim<"c">, 5, 5]]} : (tensor<1x?x5x5xf32>) -> tensor<1x?x5x5xf32>
  return %0 : tensor<1x?x5x5xf32>
}

// SPDX-License-Identifier: Apache-2.0
//
// The op graph.attention. The importer emits attention as this single op, and a later pass
// decomposes it, so that a kernel generator can instead lower it directly.
#ifndef HEWN_GRAPH_ATTENTION
#define HEWN_GRAPH_ATTENTION

include "dialects/Graph/GraphBase.td"

def Graph_AttentionOp : GraphOp<"attention", [Pure, AttrSizedOperandSegments,
                                              DeclareOpInterfaceMethods<ShapeOpInterface>,
                                              DeclareOpInterfaceMethods<DecomposeOpInterface>]> {
  let summary = "Scaled dot-product attention: softmax(softcap(q k^T scale) + mask) v for each head";
  let description = [{
    | operand | shape | meaning |
    | --- | --- | --- |
    | `q` | [batch, head, query, size] | queries |
    | `k` | [batch, kvHead, key, size] | keys; `head / kvHead` neighboring heads share one kvHead |
    | `v` | [batch, kvHead, key, vSize] | values |
    | `mask` | broadcasts to [batch, head, query, key] | bool (true keeps a key) or float (added) |
    | `lengths` | [batch] | number of valid keys |

    Query i is at position `offset` + i in the sequence of keys, or at position lengths - queries +
    i if `lengths` is given. Keys from position `lengths` on are masked. Keys that are more than
    `left` positions before the query, or more than `right` after it, are also masked; -1 means that
    there is no such limit. If all keys of a query are masked, its result is zeros.

    The second result, `scores`, contains intermediate values, depending on `stage`: q k^T scale
    (0), the values after softcap (1), after the mask (2), or after the softmax (3). The softmax is
    computed in the type `precision`.

    ```mlir
    %0:2 = graph.attention %q, %k, %v {scale = 0.25 : f64, offset = [0], precision = f32}
      : (tensor<2x6x4x8xf32>, tensor<2x3x5x8xf32>, tensor<2x3x5x10xf32>)
      -> (tensor<2x6x4x10xf32>, tensor<2x6x4x5xf32>)
    ```
  }];
  let arguments = (ins Tensor:$q, Tensor:$k, Tensor:$v, Optional<Tensor>:$mask, Optional<Tensor>:$lengths,
                       F64Attr:$scale, DefaultValuedAttr<F64Attr, "0.0">:$softcap, ArrayAttr:$offset,
                       DefaultValuedAttr<I64Attr, "-1">:$left, DefaultValuedAttr<I64Attr, "-1">:$right,
                       TypeAttr:$precision, DefaultValuedAttr<I64Attr, "0">:$stage);
  let results = (outs Tensor:$result, Tensor:$scores);
  let assemblyFormat = [{
    $q `,` $k `,` $v (`mask` $mask^)? (`lengths` $lengths^)? attr-dict `:` functional-type(operands, results)
  }];
  let onnx = [Onnx<"Attention", 23, 0, "buildAttention">];
}

def : OnnxCompose<"RotaryEmbedding", "buildRotaryEmbedding", 23>;
def : OnnxCompose<"RotaryEmbedding", "buildRotaryEmbeddingMs", 1, 0, "com.microsoft",
                  ["no packed batches", "no scaling of positions"]>;
def : OnnxCompose<"MultiHeadAttention", "buildMultiHeadAttention", 1, 0, "com.microsoft",
                  ["no packed keys and values"]>;
def : OnnxCompose<"GroupQueryAttention", "buildGroupQueryAttention", 1, 0, "com.microsoft",
                  ["no sinks, no smooth softmax"]>;
def : OnnxCompose<"Attention", "buildPackedAttention", 1, 0, "com.microsoft",
                  ["mask as [batch, key], [batch, query, key] or lengths"]>;

#endif

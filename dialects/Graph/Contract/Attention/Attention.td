// SPDX-License-Identifier: Apache-2.0
//
// Attention. It stays whole until ops are composed, so that an engine may take all of it.
#ifndef HEWN_GRAPH_ATTENTION
#define HEWN_GRAPH_ATTENTION

include "dialects/Graph/GraphBase.td"

def Graph_AttentionOp : GraphOp<"attention", [Pure, AttrSizedOperandSegments, DeclareOpInterfaceMethods<ShapeOpInterface>,
                                              DeclareOpInterfaceMethods<ComposeOpInterface>]> {
  let summary = "softmax(softcap(q k^T scale) + mask) v, head by head.";
  let description = [{
    q is [batch, head, query, size], k [batch, kvHead, key, size], v [batch, kvHead, key, vSize]; heads are a multiple of kvHeads,
    and neighbours share one. `mask` broadcasts to [batch, head, query, key]: bools (who takes part) or floats, which are added.
    Query i stands at position `offset` + i among the keys, or with `lengths` [batch] at lengths - queries + i, and keys from
    there on take no part. Keys farther than `left` before or `right` behind a query's position take no part; -1 means no bound.
    A query without a key that takes part gives zeros.

    `scores` are by `stage`: 0 the product, 1 with softcap, 2 with mask, 3 behind softmax, which is computed in `precision`.
  }];
  let arguments = (ins Tensor:$q, Tensor:$k, Tensor:$v, Optional<Tensor>:$mask, Optional<Tensor>:$lengths, F64Attr:$scale,
                       DefaultValuedAttr<F64Attr, "0.0">:$softcap, ArrayAttr:$offset, DefaultValuedAttr<I64Attr, "-1">:$left,
                       DefaultValuedAttr<I64Attr, "-1">:$right, TypeAttr:$precision, DefaultValuedAttr<I64Attr, "0">:$stage);
  let results = (outs Tensor:$result, Tensor:$scores);
  let assemblyFormat = [{
    $q `,` $k `,` $v (`mask` $mask^)? (`lengths` $lengths^)? attr-dict `:` functional-type(operands, results)
  }];
  let onnx = [Onnx<"Attention", 23, 0, "buildAttention">];
}

def : OnnxCompose<"RotaryEmbedding", "buildRotaryEmbedding", 23>;
def : OnnxCompose<"RotaryEmbedding", "buildRotaryEmbeddingMs", 1, 0, "com.microsoft",
                  ["no packed batches", "no scaling of positions"]>;
def : OnnxCompose<"MultiHeadAttention", "buildMultiHeadAttention", 1, 0, "com.microsoft", ["no packed keys and values"]>;
def : OnnxCompose<"GroupQueryAttention", "buildGroupQueryAttention", 1, 0, "com.microsoft", ["no sinks, no smooth softmax"]>;
def : OnnxCompose<"Attention", "buildPackedAttention", 1, 0, "com.microsoft", ["mask as [batch, key], [batch, query, key] or lengths"]>;

#endif

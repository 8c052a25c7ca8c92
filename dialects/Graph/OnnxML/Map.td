// SPDX-License-Identifier: Apache-2.0
//
// ONNX's maps. A map is a pair of tensors: its keys and its values. The op exists only during
// import; inputs and outputs of the model that are maps become two tensors each.
#ifndef HEWN_GRAPH_MAP
#define HEWN_GRAPH_MAP

include "dialects/Graph/GraphBase.td"

def Graph_MapOp : GraphOp<"map", [Pure]> {
  let summary = "A map: keys [k] and values [k]; or a sequence of n maps with equal keys: values [n, k]";
  let arguments = (ins Tensor:$keys, Tensor:$values);
  let results = (outs AnyTuple:$result);
  let assemblyFormat = "`(` $keys `,` $values `)` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let onnx = [Onnx<"ZipMap", 1, 0, "buildZipMap", "ai.onnx.ml">];
}

def : OnnxCompose<"DictVectorizer", "buildDictVectorizer", 1, 0, "ai.onnx.ml">;
def : OnnxCompose<"CastMap", "buildCastMap", 1, 0, "ai.onnx.ml">;

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Recurrent layers. They compose to one product over all steps and a graph.scan of what depends on the step before.
#ifndef HEWN_GRAPH_RECURRENT
#define HEWN_GRAPH_RECURRENT

include "dialects/Graph/GraphBase.td"

// `activations` names each gate function in lower case, direction by direction; `alphas` and `betas` are their parameters.
class Recurrent<string mnemonic, dag special> : GraphOp<mnemonic, [Pure, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<ShapeOpInterface>, DeclareOpInterfaceMethods<ComposeOpInterface>]> {
  let description = [{
    Weights, biases and peepholes lie as ONNX has them, a direction each in dim 0. `layout` 0: x [steps, batch, inputs], y
    [steps, directions, batch, hidden], states [directions, batch, hidden]; 1: batch first. Steps at or beyond
    `sequenceLens` leave the state as it is and give zeros. `clip` 0: none.
  }];
  let arguments = !con((ins Tensor:$x, Tensor:$w, Tensor:$r, Optional<Tensor>:$bias, Optional<Tensor>:$sequenceLens,
                            Optional<Tensor>:$initialH), special,
                       (ins StrArrayAttr:$activations, DenseF64ArrayAttr:$alphas, DenseF64ArrayAttr:$betas,
                            DefaultValuedAttr<StrAttr, "\"forward\"">:$direction,
                            DefaultValuedAttr<F64Attr, "0.0">:$clip, DefaultValuedAttr<I64Attr, "0">:$layout));
  let results = (outs Tensor:$y, Tensor:$yH);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Graph_LSTMOp : Recurrent<"lstm", (ins Optional<Tensor>:$initialC, Optional<Tensor>:$peepholes,
                                          Optional<Tensor>:$wScale, Optional<Tensor>:$wZero, Optional<Tensor>:$rScale,
                                          Optional<Tensor>:$rZero,
                                          DefaultValuedAttr<BoolAttr, "false">:$inputForget)> {
  let summary = "i, o, f = F(x W + h R + b [+ p c]); c' = f c + i G(x W + h R + b); h' = o H(c'). `inputForget`: f = 1 - i.";
  let description = [{
    With `wScale` and `rScale` weights are integers that stand for (w - wZero) * wScale, a scale a direction or a direction and
    gate, and x (all of it) and h (each step's) are quantized to 256 steps of their range before the products.
  }];
  let results = (outs Tensor:$y, Tensor:$yH, Tensor:$yC);
  let onnx = [Onnx<"LSTM", 1, 0, "buildRecurrent">,
              Onnx<"DynamicQuantizeLSTM", 1, 0, "buildRecurrent", "com.microsoft">];
}

def Graph_GRUOp : Recurrent<"gru", (ins DefaultValuedAttr<BoolAttr, "false">:$linearBeforeReset)> {
  let summary = "z, r = F(x W + h R + b); h' = (1 - z) G(x W + (r h) R + b) + z h. `linearBeforeReset`: r (h R + b).";
  let onnx = [Onnx<"GRU", 1, 0, "buildRecurrent">];
}

def Graph_RNNOp : Recurrent<"rnn", (ins)> {
  let summary = "h' = F(x W + h R + b).";
  let onnx = [Onnx<"RNN", 1, 0, "buildRecurrent">];
}

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Recurrent layers. They decompose into one matmul over all steps, and a graph.scan for the
// recurrence.
#ifndef HEWN_GRAPH_RECURRENT
#define HEWN_GRAPH_RECURRENT

include "dialects/Graph/GraphBase.td"

// Base class of recurrent layers. `activations` lists, for each direction, the name in lower case
// of the activation of each gate. `alphas` and `betas` list the parameters of these activations.
class Recurrent<string mnemonic, dag special> : GraphOp<mnemonic, [Pure, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<ShapeOpInterface>, DeclareOpInterfaceMethods<DecomposeOpInterface>]> {
  let description = [{
    Weights, biases and peepholes have ONNX's shapes, with the directions in dim 0. For `layout` 0,
    x is [steps, batch, inputs], y is [steps, directions, batch, hidden], and states are
    [directions, batch, hidden]. For `layout` 1, the batch is the first dim. From step
    `sequenceLens` on, the state of a batch element does not change, and y is zero. `clip` 0 means
    no clipping.
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
  let summary = "i, o, f = F(x W + h R + b [+ p c]); c' = f c + i G(x W + h R + b); h' = o H(c')";
  let description = [{
    If `inputForget` is set, the forget gate is computed from the input gate: f = 1 - i.

    With the operands `wScale` and `rScale`, the weights are integers that represent (w - wZero) *
    wScale, with one scale per direction, or one per direction and gate. The inputs of the matmuls
    are then dynamically quantized to 256 steps of their range: x for all steps at once, and h in
    each step.
  }];
  let results = (outs Tensor:$y, Tensor:$yH, Tensor:$yC);
  let onnx = [Onnx<"LSTM", 1, 0, "buildRecurrent">,
              Onnx<"DynamicQuantizeLSTM", 1, 0, "buildRecurrent", "com.microsoft">];
}

def Graph_GRUOp : Recurrent<"gru", (ins DefaultValuedAttr<BoolAttr, "false">:$linearBeforeReset)> {
  let summary = "z, r = F(x W + h R + b); h' = (1 - z) G(x W + (r h) R + b) + z h. `linearBeforeReset`: r (h R + b)";
  let onnx = [Onnx<"GRU", 1, 0, "buildRecurrent">];
}

def Graph_RNNOp : Recurrent<"rnn", (ins)> {
  let summary = "h' = F(x W + h R + b)";
  let onnx = [Onnx<"RNN", 1, 0, "buildRecurrent">];
}

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Reductions over dims of one operand. Importing resolves axes; ReduceL2, ReduceLogSumExp and kin are composed of these.
#ifndef HEWN_GRAPH_REDUCE
#define HEWN_GRAPH_REDUCE

include "dialects/Graph/GraphKinds.td"


def Graph_ReduceSumOp : SimpleReduce<"reduce_sum", "Extreme::Zero", "add(e, kind, a[0], b[0])"> {
  let onnx = [Onnx<"ReduceSum", 1, 0, "buildReduce">];
}
def Graph_ReduceProdOp : SimpleReduce<"reduce_prod", "Extreme::One", "mul(e, kind, a[0], b[0])"> {
  let onnx = [Onnx<"ReduceProd", 1, 0, "buildReduce">];
}
def Graph_ReduceMaxOp : SimpleReduce<"reduce_max", "Extreme::Lowest", "maximum(e, kind, a[0], b[0])"> {
  let onnx = [Onnx<"ReduceMax", 1, 0, "buildReduce">];
}
def Graph_ReduceMinOp : SimpleReduce<"reduce_min", "Extreme::Highest", "minimum(e, kind, a[0], b[0])"> {
  let onnx = [Onnx<"ReduceMin", 1, 0, "buildReduce">];
}
def Graph_ReduceMeanOp : SimpleReduce<"reduce_mean", "Extreme::Zero", "add(e, kind, a[0], b[0])", "divideByCount(e, kind, state[0], count)"> {
  let onnx = [Onnx<"ReduceMean", 1, 0, "buildReduce">];
}

#endif

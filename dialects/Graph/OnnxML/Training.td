// SPDX-License-Identifier: Apache-2.0
//
// ONNX records of optimizer steps and losses. The importer decomposes these nodes.
#ifndef HEWN_GRAPH_TRAINING
#define HEWN_GRAPH_TRAINING

include "dialects/Graph/GraphBase.td"

def : OnnxCompose<"Adagrad", "buildAdagrad", 1, 0, "ai.onnx.preview.training">;
def : OnnxCompose<"Adam", "buildAdam", 1, 0, "ai.onnx.preview.training">;
def : OnnxCompose<"Momentum", "buildMomentum", 1, 0, "ai.onnx.preview.training">;

def : OnnxCompose<"NegativeLogLikelihoodLoss", "buildNegativeLogLikelihoodLoss", 12>;
def : OnnxCompose<"SoftmaxCrossEntropyLoss", "buildSoftmaxCrossEntropyLoss", 12>;

#endif

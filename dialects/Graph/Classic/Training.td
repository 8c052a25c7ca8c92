// SPDX-License-Identifier: Apache-2.0
//
// Steps of optimizers, and losses: composed when they are imported.
#ifndef HEWN_GRAPH_TRAINING
#define HEWN_GRAPH_TRAINING

include "dialects/Graph/GraphBase.td"

def : OnnxCompose<"Adagrad", "buildAdagrad", 1, 0, "ai.onnx.preview.training">;
def : OnnxCompose<"Adam", "buildAdam", 1, 0, "ai.onnx.preview.training">;
def : OnnxCompose<"Momentum", "buildMomentum", 1, 0, "ai.onnx.preview.training">;

def : OnnxCompose<"NegativeLogLikelihoodLoss", "buildNegativeLogLikelihoodLoss", 12>;
def : OnnxCompose<"SoftmaxCrossEntropyLoss", "buildSoftmaxCrossEntropyLoss", 12>;

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Steps of optimizers: composed when they are imported.
#ifndef HEWN_GRAPH_TRAINING
#define HEWN_GRAPH_TRAINING

include "dialects/Graph/GraphBase.td"

def : OnnxCompose<"Adagrad", "buildAdagrad", 1, 0, "ai.onnx.preview.training">;
def : OnnxCompose<"Adam", "buildAdam", 1, 0, "ai.onnx.preview.training">;
def : OnnxCompose<"Momentum", "buildMomentum", 1, 0, "ai.onnx.preview.training">;

#endif

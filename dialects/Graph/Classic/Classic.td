// SPDX-License-Identifier: Apache-2.0
//
// ai.onnx.ml: what came before networks.
#ifndef HEWN_GRAPH_CLASSIC
#define HEWN_GRAPH_CLASSIC

include "dialects/Graph/GraphBase.td"

def : OnnxCompose<"ArrayFeatureExtractor", "buildArrayFeatureExtractor", 1, 0, "ai.onnx.ml">;
def : OnnxCompose<"Binarizer", "buildBinarizer", 1, 0, "ai.onnx.ml">;
def : OnnxCompose<"Scaler", "buildScaler", 1, 0, "ai.onnx.ml">;
def : OnnxCompose<"Normalizer", "buildNormalizer", 1, 0, "ai.onnx.ml">;
def : OnnxCompose<"LinearRegressor", "buildLinearRegressor", 1, 0, "ai.onnx.ml">;

// Of ONNX itself.
def : OnnxCompose<"MelWeightMatrix", "buildMelWeightMatrix", 17>;
def : OnnxCompose<"TfIdfVectorizer", "buildTfIdfVectorizer", 9, 0, "", ["of integers"]>;

#endif

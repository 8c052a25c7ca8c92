// SPDX-License-Identifier: Apache-2.0
//
// ai.onnx.ml: what came before networks.
#ifndef HEWN_GRAPH_CLASSIC
#define HEWN_GRAPH_CLASSIC

include "dialects/Graph/GraphKinds.td"

//===--------------------------------------------------------------------------------------------------------------------===//
// Trees
//===--------------------------------------------------------------------------------------------------------------------===//

def Graph_ForestOp
    : Part<"forest", "forest", "{int64_t(getAggregate()), getPlain(), int64_t(getMaxFeature())}"> {
  let summary = "What the leaves that rows reach in decision trees say of `numTargets` targets, summed or the least or most of it.";
  let description = [{
    x [rows, features], f32 or f64. `nodes`, i32, a record a row as the runtime's part has them: split, feature, place of the first
    of two children beside each other, mask of outcomes that go there. `trees`, i32: root and number of levels each. Without `votes` a
    leaf's split is what it adds to the one target; with them it is the number of a list in (starts, targets, weights).
    `maxFeature` is the highest feature that a node asks for.
  }];
  let arguments = (ins Tensor:$x, Tensor:$nodes, Tensor:$trees, Variadic<Tensor>:$votes, I64Attr:$aggregate, BoolAttr:$plain,
                       I64Attr:$maxFeature, I64Attr:$numTargets);
}

def : OnnxCompose<"TreeEnsemble", "buildTreeEnsemble", 5, 0, "ai.onnx.ml">;
def : OnnxCompose<"TreeEnsembleRegressor", "buildTreeEnsembleRegressor", 1, 0, "ai.onnx.ml">;
def : OnnxCompose<"TreeEnsembleClassifier", "buildTreeEnsembleClassifier", 1, 0, "ai.onnx.ml">;

//===--------------------------------------------------------------------------------------------------------------------===//
// Products with coefficients
//===--------------------------------------------------------------------------------------------------------------------===//

def : OnnxCompose<"LinearClassifier", "buildLinearClassifier", 1, 0, "ai.onnx.ml">;
def : OnnxCompose<"SVMRegressor", "buildSVMRegressor", 1, 0, "ai.onnx.ml">;
def : OnnxCompose<"SVMClassifier", "buildSVMClassifier", 1, 0, "ai.onnx.ml">;

//===--------------------------------------------------------------------------------------------------------------------===//
// Features
//===--------------------------------------------------------------------------------------------------------------------===//

def : OnnxCompose<"Imputer", "buildImputer", 1, 0, "ai.onnx.ml">;
def : OnnxCompose<"FeatureVectorizer", "buildFeatureVectorizer", 1, 0, "ai.onnx.ml">;
def : OnnxCompose<"OneHotEncoder", "buildOneHotEncoder", 1, 0, "ai.onnx.ml">;
def : OnnxCompose<"LabelEncoder", "buildLabelEncoder", 1, 0, "ai.onnx.ml">;
def : OnnxCompose<"CategoryMapper", "buildCategoryMapper", 1, 0, "ai.onnx.ml">;

def : OnnxCompose<"ArrayFeatureExtractor", "buildArrayFeatureExtractor", 1, 0, "ai.onnx.ml">;
def : OnnxCompose<"Binarizer", "buildBinarizer", 1, 0, "ai.onnx.ml">;
def : OnnxCompose<"Scaler", "buildScaler", 1, 0, "ai.onnx.ml">;
def : OnnxCompose<"Normalizer", "buildNormalizer", 1, 0, "ai.onnx.ml">;
def : OnnxCompose<"LinearRegressor", "buildLinearRegressor", 1, 0, "ai.onnx.ml">;

// Of ONNX itself.
def : OnnxCompose<"MelWeightMatrix", "buildMelWeightMatrix", 17>;
def : OnnxCompose<"TfIdfVectorizer", "buildTfIdfVectorizer", 9, 0, "">;

#endif

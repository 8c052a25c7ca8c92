// SPDX-License-Identifier: Apache-2.0
//
// Ops of ai.onnx.ml (classic machine learning).
#ifndef HEWN_GRAPH_ONNXML
#define HEWN_GRAPH_ONNXML

include "dialects/Graph/GraphKinds.td"

//===------------------------------------------------------------------------------------------===//
// Trees
//===------------------------------------------------------------------------------------------===//

def Graph_ForestOp
    : Part<"forest", "forest", "{int64_t(getAggregate()), getPlain(), int64_t(getMaxFeature())}"> {
  let summary = "Evaluates decision trees: the sum, minimum or maximum of the leaves' votes for each target";
  let description = [{
    | operand | contents |
    | --- | --- |
    | `x` | [rows, features], f32 or f64 |
    | `nodes` | i32, one record a row (see below) |
    | `trees` | i32, for each tree the root and the number of levels |
    | `votes` | (starts, targets, weights) of lists of votes, or absent |

    The record of a node has the split value, the feature, the index of the first of two adjacent
    children, and a mask of the comparison results (less, equal, greater, unordered) that select the
    first child.

    Without `votes`, the split value of a leaf is its vote for the only target. With `votes`, it is
    the number of the leaf's list of votes. `maxFeature` is the highest feature index of any node.
  }];
  let arguments = (ins Tensor:$x, Tensor:$nodes, Tensor:$trees, Variadic<Tensor>:$votes, I64Attr:$aggregate,
                       BoolAttr:$plain, I64Attr:$maxFeature, I64Attr:$numTargets);
}

def : OnnxCompose<"TreeEnsemble", "buildTreeEnsemble", 5, 0, "ai.onnx.ml">;
def : OnnxCompose<"TreeEnsembleRegressor", "buildTreeEnsembleRegressor", 1, 0, "ai.onnx.ml">;
def : OnnxCompose<"TreeEnsembleClassifier", "buildTreeEnsembleClassifier", 1, 0, "ai.onnx.ml">;

//===------------------------------------------------------------------------------------------===//
// Linear models
//===------------------------------------------------------------------------------------------===//

def : OnnxCompose<"LinearClassifier", "buildLinearClassifier", 1, 0, "ai.onnx.ml">;
def : OnnxCompose<"SVMRegressor", "buildSVMRegressor", 1, 0, "ai.onnx.ml">;
def : OnnxCompose<"SVMClassifier", "buildSVMClassifier", 1, 0, "ai.onnx.ml">;

def Graph_PairwiseProbabilitiesOp : Part<"pairwise_probabilities", "pairwiseprobabilities", "{}"> {
  let summary = "Probabilities of k classes [n, k] from those of each pair of classes [n, k (k - 1) / 2], in f32";
  let arguments = (ins Tensor:$x, I64Attr:$numClasses);
}

//===------------------------------------------------------------------------------------------===//
// Features
//===------------------------------------------------------------------------------------------===//

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

// ONNX records of ops in ONNX's own domain, not in ai.onnx.ml.
def : OnnxCompose<"MelWeightMatrix", "buildMelWeightMatrix", 17>;
def : OnnxCompose<"TfIdfVectorizer", "buildTfIdfVectorizer", 9, 0, "">;

def Graph_NgramsOp
    : Part<"ngrams", "ngrams", "{int64_t(getLeast()), int64_t(getMost()), int64_t(getSkips()), getOnce()}"> {
  let summary = "Counts the n-grams of a pool in each row of words, multiplied by weights";
  let description = [{
    | operand | contents |
    | --- | --- |
    | `x` | [rows, words], i64 |
    | `pool` | i64, the words of the n-grams, in the order of their lengths |
    | `starts` | i64, the index in `pool` of the first n-gram of each length 1, 2, ... |
    | `columns` | i64, the result column of each n-gram, or -1 if it has none |
    | `slots` | i32, a hash table of the n-grams (hewn/hash.h) |
    | `weights` | f32, one for each column, or empty |

    The op counts n-grams of `least` to `most` words. Their words are 1 to `skips` + 1 apart in the
    row. With `once`, an n-gram that occurs several times counts as one.
  }];
  let arguments = (ins Tensor:$x, Tensor:$pool, Tensor:$starts, Tensor:$columns, Tensor:$slots, Tensor:$weights,
                       I64Attr:$least, I64Attr:$most, I64Attr:$skips, BoolAttr:$once, I64Attr:$numColumns);
}

#endif

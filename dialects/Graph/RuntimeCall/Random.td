// SPDX-License-Identifier: Apache-2.0
//
// Random numbers. With `hasSeed`, every run generates the same numbers. Otherwise, `seed` only
// distinguishes the ops of a model. The ops are not Pure, because two equal ops generate different
// numbers.
#ifndef HEWN_GRAPH_RUNTIMECALL_RANDOM
#define HEWN_GRAPH_RUNTIMECALL_RANDOM

include "dialects/Graph/GraphKinds.td"

class Random<string mnemonic, string part, string params> : Part<mnemonic, part, params, [], []>;

def Graph_RandomNormalOp
    : Random<"random_normal", "randomnormal",
             "{getHasSeed(), int64_t(getSeed()), ::hewn::graph::floatBits(getMean()), "
             "::hewn::graph::floatBits(getScale())}"> {
  let summary = "A tensor of dims `shape`, normally distributed";
  let arguments = (ins ArrayAttr:$shape, TypeAttr:$elementType, BoolAttr:$hasSeed, I64Attr:$seed, F32Attr:$mean,
                       F32Attr:$scale);
}
def : OnnxCompose<"RandomNormal", "buildRandom">;
def : OnnxCompose<"RandomNormalLike", "buildRandom">;

def Graph_RandomUniformOp
    : Random<"random_uniform", "randomuniform",
             "{getHasSeed(), int64_t(getSeed()), ::hewn::graph::floatBits(getLow()), "
             "::hewn::graph::floatBits(getHigh())}"> {
  let summary = "A tensor of dims `shape`, uniformly distributed between `low` and `high`";
  let arguments = (ins ArrayAttr:$shape, TypeAttr:$elementType, BoolAttr:$hasSeed, I64Attr:$seed, F32Attr:$low,
                       F32Attr:$high);
}
def : OnnxCompose<"RandomUniform", "buildRandom">;
def : OnnxCompose<"RandomUniformLike", "buildRandom">;

def Graph_MersenneOp : Part<"mersenne", "mersenne", "{int64_t(getSeed())}"> {
  let summary = "A tensor of dims `shape` of f64 in [0, 1) from MT19937, as NumPy's RandomState(seed).uniform";
  let arguments = (ins ArrayAttr:$shape, I64Attr:$seed);
}

def Graph_BernoulliOp : Random<"bernoulli", "bernoulli", "{getHasSeed(), int64_t(getSeed())}"> {
  let summary = "Random numbers: each element is 1 with the probability in x, else 0";
  let arguments = (ins Tensor:$x, TypeAttr:$elementType, BoolAttr:$hasSeed, I64Attr:$seed);
  let onnx = [Onnx<"Bernoulli", 15, 0, "buildBernoulli">];
}

def Graph_MultinomialOp : Random<"multinomial", "multinomial", "{getHasSeed(), int64_t(getSeed())}"> {
  let summary = "Draws `samples` classes for each row of log-probabilities [batch, classes]";
  let arguments = (ins Tensor:$x, I64Attr:$samples, TypeAttr:$elementType, BoolAttr:$hasSeed, I64Attr:$seed);
  let onnx = [Onnx<"Multinomial", 7, 0, "buildMultinomial">];
}

#endif

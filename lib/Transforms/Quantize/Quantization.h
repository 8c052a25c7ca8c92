// SPDX-License-Identifier: Apache-2.0
//
// A quantization: what the user wants of which contractions, and what was found for each of them. It is a text (docs/quantization.md) that a
// compile reads and writes: one that it wrote, edited or not, gives the same integers again without data.
#ifndef HEWN_LIB_TRANSFORMS_QUANTIZE_QUANTIZATION_H
#define HEWN_LIB_TRANSFORMS_QUANTIZE_QUANTIZATION_H

#include "lib/Support/Diagnostics.h"
#include "llvm/Support/GlobPattern.h"
#include "llvm/Support/JSON.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hewn::quantize {

/// How a range of integers is laid over what was seen. (NVIDIA, "8-bit Inference with TensorRT", 2017: entropy; Sung et al.,
/// "Resiliency of Deep Neural Networks under Quantization", 2015: mse; Badri and Shaji, "Half-Quadratic Quantization of Large Machine
/// Learning Models", 2023: hqq, of weights alone.)
enum class Range { MinMax, Percentile, Mse, Entropy, HalfQuadratic };

/// Which integer a weight becomes: the nearest one, or one that makes up for what those before it lost, as far as data tell. (Frantar et al.,
/// "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained Transformers", 2022.) Choose: the latter for integers on both sides, where
/// there are rows enough, in models whose weights are few enough that a text of them is no burden.
enum class Rounding { Choose, Nearest, Gptq };

/// Scales below this are none: numbers that small are near to what float32 has at all.
inline constexpr double kLeastScale = 1e-30;

/// What weights are kept as: integers; places in a table of numbers that are fitted to them (Kim et al., "SqueezeLLM: Dense-and-Sparse
/// Quantization", 2023); floats that are narrower than those of the products.
enum class Storage { Integers, Codebook, Float16, BFloat16, Float8 };

/// Weights, with a scale for each column, for `group` neighbours along the sum, or for all of them; floats of 16 bits have none.
struct Weights {
  int64_t bits = 8;
  Storage storage = Storage::Integers;
  /// 0: all of a column.
  int64_t group = 0;
  Range range = Range::MinMax;
  Rounding rounding = Rounding::Choose;
  /// Around zero; else each scale has a zero point beside it.
  bool symmetric = true;
  /// All columns have one scale.
  bool perTensor = false;
  bool operator==(const Weights &) const = default;
  /// Of integers in memory: there are no kernels for 3 bits.
  int64_t storedBits() const { return bits == 3 ? 4 : bits; }
  bool areIntegers() const { return storage == Storage::Integers; }
  bool areFloats() const { return !areIntegers() && storage != Storage::Codebook; }
};

/// Activations: unsigned integers of 8 bits with one scale and zero point for a tensor; floats where `integers` is false.
struct Activations {
  bool integers = true;
  Range range = Range::Mse;
  /// Of what was seen, the share inside of a range by Percentile, in percent.
  double percentile = 99.99;
  /// The zero point is 128.
  bool symmetric = false;
  bool operator==(const Activations &) const = default;
};

struct Scheme {
  Weights weights;
  Activations activations;
  /// What rounding shifts the mean of a column of results by, over calibration data, is taken off again. (Nagel et al., "Data-Free Quantization
  /// through Weight Equalization and Bias Correction", 2019.)
  bool biasCorrection = true;
  /// How far the spread of a channel's activations is made the weights' affair: their channel c is divided by
  /// max|x_c|^smoothing / max|w_c|^(1 - smoothing), and the weights multiplied. 0: not at all; `kChooseSmoothing`: what rounds best.
  /// (Xiao et al., "SmoothQuant", 2023.)
  static constexpr double kChooseSmoothing = -1;
  double smoothing = kChooseSmoothing;
  /// Nothing is quantized.
  bool keepFloat = false;
  /// Integers also where the machine's model expects floats to take less time.
  bool evenIfSlower = false;
  bool operator==(const Scheme &) const = default;
};

/// A scheme for some contractions. Of several rules that name one the last is taken.
struct Rule {
  /// As the user wrote it: a glob over names of ONNX nodes; or empty.
  std::string node;
  /// The kind of contraction as `hewn explain` names it ("conv", "matmul"); or empty.
  std::string op;
  Scheme scheme;
};

/// What was chosen for one contraction.
struct Site {
  std::string node;
  Scheme scheme;
  /// Of activations: x ≈ (q - zero) * scale.
  double scale = 0;
  int64_t zero = 0;
  /// What is added to each column of the results; empty: nothing.
  std::vector<double> bias;
  /// What each channel of the activations is divided by and the weights' are multiplied by; empty: nothing.
  std::vector<double> smooth;
  /// The integers of the weights, a byte each, in the order of the weights, where data chose them; empty: they are rounded.
  std::vector<int8_t> codes;
  /// The numbers of the codebook, where data chose them, as many as there are codes; empty: they are fitted to the weights alone.
  std::vector<double> codebook;
  /// Why it stays float, where that was not asked for.
  std::string why;
};

struct Quantization {
  Scheme scheme;
  std::vector<Rule> rules;
  /// By name. Contractions that are not there go by the rules.
  std::map<std::string, Site> sites;
  /// The text has sites, if none: data, where there were any, have said what they tell.
  bool isChosen = false;
  /// A key of the text that asks for what only calibration data tell; empty: none does.
  std::string asksForData;

  /// What is wanted of a contraction that has no site yet.
  const Scheme &schemeFor(llvm::StringRef node, llvm::StringRef op) const;
};

/// The names of whole quantizations: "int8", "int4", "codebook16", ...
llvm::ArrayRef<llvm::StringRef> presets();
/// A preset's name, the text of a quantization (which begins with a brace) or its file. nullopt after errors, all of them.
std::optional<Quantization> readQuantization(const std::string &given, Diagnostics &diagnostics);
/// The text that `readQuantization` reads.
std::string writeQuantization(const Quantization &quantization);

llvm::StringRef nameOf(Range range);
/// Of what weights are kept as, in the text and in reports.
llvm::StringRef nameOf(const Weights &weights);

} // namespace hewn::quantize

#endif

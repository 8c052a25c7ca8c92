// SPDX-License-Identifier: Apache-2.0
//
// A quantization: the schemes that the user requests for contractions, and the values chosen for
// each of them. A compile reads and writes it as text (docs/quantization.md). A compile with a
// written text, edited or not, quantizes without calibration data and gets the same integers.
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

/// The method that fits a quantized range to the observed values. Sources: entropy: NVIDIA, "8-bit
/// Inference with TensorRT", 2017; mse: Sung et al., "Resiliency of Deep Neural Networks under
/// Quantization", 2015; hqq (weights only): Badri and Shaji, "Half-Quadratic Quantization of Large
/// Machine Learning Models", 2023.
enum class Range { MinMax, Percentile, Mse, Entropy, HalfQuadratic };

/// How weights are rounded. Nearest: each weight by itself. Gptq: each weight compensates the
/// errors of the weights before it, by calibration statistics (Frantar et al., "GPTQ: Accurate
/// Post-Training Quantization for Generative Pre-trained Transformers", 2022). Choose: Gptq if the
/// activations are integers too, there are enough observed rows, and the model has few enough
/// weights to store them in the quantization's text; otherwise Nearest.
enum class Rounding { Choose, Nearest, Gptq };

/// Smallest scale that a quantization may have. Smaller scales are near the smallest float32, where
/// they lose precision.
inline constexpr double kLeastScale = 1e-30;

/// How weights are stored: as integers; as indices into a lookup table that is fitted to them (Kim
/// et al., "SqueezeLLM: Dense-and-Sparse Quantization", 2023); or in a float type smaller than
/// float32.
enum class Storage { Integers, Codebook, Float16, BFloat16, Float8 };

/// The quantization scheme of the weights. There is a scale for each column, for each `group` of
/// neighbours along K, or for the entire tensor. 16-bit floats have no scales.
struct Weights {
  int64_t bits = 8;
  Storage storage = Storage::Integers;
  /// Number of elements along K that share a scale; 0 if an entire column does.
  int64_t group = 0;
  Range range = Range::MinMax;
  Rounding rounding = Rounding::Choose;
  /// True if the quantized range is symmetric around zero; otherwise each scale has a zero point.
  bool symmetric = true;
  /// True if all columns share one scale.
  bool perTensor = false;
  bool operator==(const Weights &) const = default;
  /// Returns the number of bits that an integer takes in memory. 3-bit integers are stored in 4
  /// bits, because there are no kernels for 3 bits.
  int64_t storedBits() const { return bits == 3 ? 4 : bits; }
  bool areIntegers() const { return storage == Storage::Integers; }
  bool areFloats() const { return !areIntegers() && storage != Storage::Codebook; }
};

/// The quantization scheme of the activations: uint8 with one scale and zero point per tensor, or
/// float if `integers` is false.
struct Activations {
  bool integers = true;
  Range range = Range::Mse;
  /// Percentage of the observed values that a Percentile range contains.
  double percentile = 99.99;
  /// True if the zero point is always 128, so that the range is symmetric around zero.
  bool symmetric = false;
  bool operator==(const Activations &) const = default;
};

struct Scheme {
  Weights weights;
  Activations activations;
  /// True if bias correction is applied: calibration measures the mean shift of each result column
  /// by rounding, and a bias removes it. (Nagel et al., "Data-Free Quantization through Weight
  /// Equalization and Bias Correction", 2019.)
  bool biasCorrection = true;
  /// The strength of smoothing, which shifts range from activations to weights: channel c of the
  /// activations is divided by the factor max|x_c|^smoothing / max|w_c|^(1 - smoothing), and its
  /// weights are multiplied by that factor. 0 disables smoothing; `kChooseSmoothing` chooses the
  /// strength with the least expected error. (Xiao et al., "SmoothQuant", 2023.)
  static constexpr double kChooseSmoothing = -1;
  double smoothing = kChooseSmoothing;
  /// True if the user's rule excludes the contraction from quantization, so that it stays float.
  bool keepFloat = false;
  /// True if the contraction is computed in integers even where the cost model expects floats to be
  /// faster.
  bool evenIfSlower = false;
  bool operator==(const Scheme &) const = default;
};

/// A rule of a quantization: a scheme and the contractions that it applies to. If several rules
/// match a contraction, the last one applies.
struct Rule {
  /// A glob for the names of the ONNX nodes that the rule matches, as the user wrote it. If empty,
  /// every name matches.
  std::string node;
  /// The name of the ops that the rule matches, as `hewn explain` prints it ("conv", "matmul"). If
  /// empty, every op matches.
  std::string op;
  Scheme scheme;
};

/// The values that calibration chose for one contraction.
struct Site {
  std::string node;
  Scheme scheme;
  /// Scale and zero point of the activations: x ≈ (q - zero) * scale.
  double scale = 0;
  int64_t zero = 0;
  /// Bias correction of the contraction's result: one addend per result column. Empty without
  /// correction.
  std::vector<double> bias;
  /// Smoothing factors: each channel of the activations is divided by its factor, and its weights
  /// are multiplied by it. Empty without smoothing.
  std::vector<double> smooth;
  /// The integers of the weights, one byte each, in the order of the weights, if calibration data
  /// chose them. If empty, the weights are rounded at compile time.
  std::vector<int8_t> codes;
  /// The 2^bits entries of the codebook's lookup table, if calibration data chose them. Otherwise
  /// empty; the table is then fitted to the weights alone.
  std::vector<double> codebook;
  /// The reason why the contraction stays float, if the user did not request that. Empty otherwise.
  std::string why;
};

struct Quantization {
  Scheme scheme;
  std::vector<Rule> rules;
  /// The values chosen for each contraction, by the contraction's name. The rules apply to
  /// contractions without an entry.
  std::map<std::string, Site> sites;
  /// True if the quantization's text has the list `sites` of chosen values, even an empty one. It
  /// means that calibration is complete.
  bool isChosen = false;
  /// A key of the quantization's text that requires calibration data, or an empty string if no key
  /// does.
  std::string asksForData;

  /// Returns the scheme that is requested for a contraction without an entry in `sites`.
  const Scheme &schemeFor(llvm::StringRef node, llvm::StringRef op) const;
};

/// Returns the names of the presets: "int8", "int4", "codebook16", ...
llvm::ArrayRef<llvm::StringRef> presets();
/// Reads a quantization. `given` is the name of a preset, the text itself (which starts with a
/// brace) or a file name. Reports all errors, and returns nothing if there are any.
std::optional<Quantization> readQuantization(const std::string &given, Diagnostics &diagnostics);
/// Returns the text of a quantization, which `readQuantization` reads.
std::string writeQuantization(const Quantization &quantization);

llvm::StringRef nameOf(Range range);
/// Returns the name of a weight type, as it appears in the quantization's text and in reports.
llvm::StringRef nameOf(const Weights &weights);

} // namespace hewn::quantize

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Passes of the quantize stage.
#ifndef HEWN_LIB_TRANSFORMS_QUANTIZE_PASSES_H
#define HEWN_LIB_TRANSFORMS_QUANTIZE_PASSES_H

#include "lib/Support/PrecisionOption.h"
#include "lib/Transforms/Quantize/Numbers/Evidence.h"
#include "lib/Transforms/Quantize/Quantization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace hewn {

/// A value that calibration observes: the left operand of one or more contractions, returned as an
/// additional result of the program.
struct ExposedOperand {
  struct Contraction {
    std::string name, kind;
  };
  unsigned result;
  std::vector<Contraction> readers;
  /// True if calibration records the rows of the contraction's operand, which GPTQ needs. Otherwise
  /// calibration records the range of the value that the operand is a view of.
  bool isRows = false;
  /// True if calibration records the sum of squares of each channel of the contraction's operand,
  /// which codebooks need. Otherwise calibration records the range of the value that the operand is
  /// a view of.
  bool isChannels = false;
  /// The channel dim of the observed value, if all contractions that read the value reduce the same
  /// dim.
  std::optional<unsigned> channelDim;
};
/// Creates the pass that inserts observers. It observes operands that `quantization` converts to
/// integers and has no ranges for, and operands whose rows its rounding method needs. If
/// `quantization` is null, it observes all operands that can be integers. If `exposed` is not
/// empty, it observes the operands in `exposed` instead; otherwise it fills `exposed`.
std::unique_ptr<mlir::Pass> createInsertObserversPass(const quantize::Quantization *quantization,
                                                      std::vector<ExposedOperand> *exposed);

/// A report of how a contraction was quantized.
struct QuantizedCandidate {
  std::string node, kind;
  /// Bits of each quantized weight. 0 if the weights stay float32; `why` then has the reason.
  int64_t weightBits = 0;
  /// The type of the quantized weights, named as in a quantization's text.
  std::string weightType;
  bool activations = false;
  std::string why;
  /// Three properties of the quantized weights: their signal-to-noise ratio in decibels, their
  /// bytes including scales, and the bytes that they would take in float32.
  double weightDecibels = 0;
  int64_t weightBytes = 0, floatBytes = 0;
  /// Estimated time of the contraction in float and in integers, in cycles as `#plan.contract`
  /// counts them. 0 if unknown.
  int64_t floatCycles = 0, integerCycles = 0;
  /// Why the contraction is expected to be slower in integers than in float. Empty if it is not.
  std::string slower;
  /// Values that the pass chose from calibration statistics: the smoothing factors of the channels,
  /// the integers of the weights, the entries of the codebook. Empty if there are no statistics.
  std::vector<double> smooth;
  std::vector<int8_t> codes;
  std::vector<double> codebook;
};
/// A result of the program that measures the shift by quantization: for each column of a
/// contraction's result, Σ (quantized - float) over all rows. The next result of the program is the
/// number of rows.
struct ExposedShift {
  unsigned result;
  std::string node, kind;
};
/// A program that computes each contraction both in float and quantized, and blends the two
/// results. Its last input has a float32 share for each contraction, from 0 (float) to 1
/// (quantized).
struct QuantizeTrial {
  unsigned size = 0;
  /// For each contraction, the index of its share in the program's last input, and the
  /// contraction's name.
  std::vector<std::pair<unsigned, std::string>> sites;
};
/// The values of a step of a quantizing compile, and its results.
struct QuantizeRequest {
  /// The quantization to apply. If null, the pass reads it from its option.
  const quantize::Quantization *quantization = nullptr;
  /// If not null, receives a report of each contraction.
  std::vector<QuantizedCandidate> *done = nullptr;
  /// If not null, contractions whose scheme requests a bias correction that is not known yet are
  /// computed twice. The program continues with the float result, and the shift by quantization
  /// becomes a result.
  std::vector<ExposedShift> *shifts = nullptr;
  /// If not null, every contraction is computed both in float and quantized, and the results are
  /// blended.
  QuantizeTrial *trial = nullptr;
  /// If not null, the pass chooses quantization values from these calibration statistics and
  /// reports them in `done`.
  const quantize::EvidenceOf *evidence = nullptr;
};

#define GEN_PASS_DECL
#include "lib/Transforms/Quantize/Passes.h.inc"

std::unique_ptr<mlir::Pass> createQuantizeContractionsPass(const QuantizeContractionsPassOptions &options,
                                                           const QuantizeRequest &request);

#define GEN_PASS_REGISTRATION
#include "lib/Transforms/Quantize/Passes.h.inc"
} // namespace hewn

#endif

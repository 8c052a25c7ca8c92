// SPDX-License-Identifier: Apache-2.0
//
// Passes of the quantize stage.
#ifndef HEWN_LIB_TRANSFORMS_QUANTIZE_PASSES_H
#define HEWN_LIB_TRANSFORMS_QUANTIZE_PASSES_H

#include "lib/Support/PrecisionOption.h"
#include "lib/Support/WeightTable.h"
#include "lib/Transforms/Quantize/Numbers/Evidence.h"
#include "lib/Transforms/Quantize/Quantization.h"
#include "lib/Transforms/Simplify/ConstantEvaluator.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace hewn {

/// `weights` holds the constants that zero points may be; null: only those in the IR are known.
std::unique_ptr<mlir::Pass> createFormIntegerContractionsPass(const WeightTable *weights);

struct FormCodesPassOptions;
/// `weights`: as above.
std::unique_ptr<mlir::Pass> createFormCodesPass(const FormCodesPassOptions &options, const WeightTable *weights);

struct ScaleBehindSumsPassOptions;
/// `weights`: as above.
std::unique_ptr<mlir::Pass> createScaleBehindSumsPass(const ScaleBehindSumsPassOptions &options,
                                                      const WeightTable *weights);

struct NarrowContractionsPassOptions;
/// `weights` holds the constants, whose range decides whether terms can stand for them; null: only those in the IR are known.
std::unique_ptr<mlir::Pass> createNarrowContractionsPass(const NarrowContractionsPassOptions &options,
                                                         const WeightTable *weights);

struct WidenContractionsPassOptions;
/// `weights` holds the constants, whose range decides whether they can be transformed as float16; null: only those in the IR are known.
std::unique_ptr<mlir::Pass> createWidenContractionsPass(const WidenContractionsPassOptions &options,
                                                        const WeightTable *weights);

/// `weights` takes the scales that are found; without `evaluate` nothing is.
std::unique_ptr<mlir::Pass> createRecognizeCodesPass(WeightTable *weights, ConstantEvaluator evaluate);

/// A result of the program that is the left operand of contractions.
struct ExposedOperand {
  struct Contraction {
    std::string name, kind;
  };
  unsigned result;
  std::vector<Contraction> readers;
  /// Its rows are wanted, as the contraction reads them, and not what it is a view of, whose range is.
  bool isRows = false;
  /// Of what the contraction reads, not of what that is a view of, each channel's squares are wanted, and no range.
  bool isChannels = false;
  /// Which dim the channels lie along that are summed, where that is one.
  std::optional<unsigned> channelDim;
};
/// Exposes operands that `quantization` makes integers of and has no ranges for, and those whose rows its rounding asks for; null: of all that can
/// be. Where `exposed` names some already, these.
std::unique_ptr<mlir::Pass> createExposeOperandsPass(const quantize::Quantization *quantization,
                                                     std::vector<ExposedOperand> *exposed);

/// What became of a contraction.
struct QuantizedSite {
  std::string node, kind;
  /// 0: its weights are float32, and `why` says so.
  int64_t weightBits = 0;
  /// What they are kept as, as the text of a quantization names it.
  std::string weightType;
  bool activations = false;
  std::string why;
  /// Of the weights: signal to noise, and the bytes of integers with their scales beside those of float32.
  double weightDecibels = 0;
  int64_t weightBytes = 0, floatBytes = 0;
  /// What the model of the machine expects it to take, as floats and as integers, in cycles as #plan.contract has them; 0: it can't tell.
  int64_t floatCycles = 0, integerCycles = 0;
  /// Why integers would be slower than floats; empty: they are not, as far as the model can tell.
  std::string slower;
  /// What evidence says: the factors of its channels, the integers of its weights, the numbers of its codebook. Empty where it says nothing.
  std::vector<double> smooth;
  std::vector<int8_t> codes;
  std::vector<double> codebook;
};
/// A result of the program that is Σ (quantized - float) over the rows of a contraction's results, by column; the result behind it is how many
/// rows there are.
struct ExposedShift {
  unsigned result;
  std::string node, kind;
};
/// The quantized contractions of a program that computes each of them both ways: its last input, a float32 for each, says how far it is
/// from the floats (0) to what it is quantized (1).
struct QuantizeTrial {
  unsigned size = 0;
  /// Which number of that input is whose.
  std::vector<std::pair<unsigned, std::string>> sites;
};
struct QuantizeRequest {
  /// Null: the pass's option says it.
  const quantize::Quantization *quantization = nullptr;
  /// Has the constants and takes those that are made.
  WeightTable *weights = nullptr;
  /// Each contraction is told there.
  std::vector<QuantizedSite> *done = nullptr;
  /// Where given, contractions whose bias is wanted and not known are computed twice: the program goes on with the floats, and what quantizing
  /// shifts becomes a result.
  std::vector<ExposedShift> *shifts = nullptr;
  /// Where given, contractions are computed both ways.
  QuantizeTrial *trial = nullptr;
  /// Where given, what is chosen by it is told.
  const quantize::EvidenceOf *evidence = nullptr;
  /// Whether tables that rows are looked up in are quantized too.
  bool tables = true;
  Precision precision = Precision::Highest;
};
std::unique_ptr<mlir::Pass> createQuantizeContractionsPass(const QuantizeRequest &request);

#define GEN_PASS_DECL
#include "lib/Transforms/Quantize/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "lib/Transforms/Quantize/Passes.h.inc"
} // namespace hewn

#endif

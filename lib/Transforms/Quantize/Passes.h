// SPDX-License-Identifier: Apache-2.0
//
// Passes of the quantize stage.
#ifndef HEWN_LIB_TRANSFORMS_QUANTIZE_PASSES_H
#define HEWN_LIB_TRANSFORMS_QUANTIZE_PASSES_H

#include "lib/Support/PrecisionOption.h"
#include "lib/Support/WeightTable.h"
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

struct NarrowContractionsPassOptions;
/// `weights` holds the constants, whose range decides whether terms can stand for them; null: only those in the IR are known.
std::unique_ptr<mlir::Pass> createNarrowContractionsPass(const NarrowContractionsPassOptions &options,
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
};
/// Exposes operands that `quantization` makes integers of and has no ranges for; null: of all that can be. Where `exposed` names some already,
/// these.
std::unique_ptr<mlir::Pass> createExposeOperandsPass(const quantize::Quantization *quantization,
                                                     std::vector<ExposedOperand> *exposed);

/// What became of a contraction.
struct QuantizedSite {
  std::string node, kind;
  /// 0: its weights are floats, and `why` says so.
  int64_t weightBits = 0;
  bool activations = false;
  std::string why;
  /// Of the weights: signal to noise, and the bytes of integers with their scales beside those of float32.
  double weightDecibels = 0;
  int64_t weightBytes = 0, floatBytes = 0;
};
/// A result of the program that is Σ (quantized - float) over the rows of a contraction's results, by column; the result behind it is how many
/// rows there are.
struct ExposedShift {
  unsigned result;
  std::string node, kind;
};
/// `weights` has the constants and takes those that are made. Each contraction is told in `done`. Without a quantization the pass's
/// option says which. With `shifts`, contractions whose bias is wanted and not known are computed twice: the program goes on with the floats,
/// and what quantizing shifts becomes a result.
std::unique_ptr<mlir::Pass> createQuantizeContractionsPass(const quantize::Quantization *quantization,
                                                           WeightTable *weights, std::vector<QuantizedSite> *done,
                                                           std::vector<ExposedShift> *shifts);

#define GEN_PASS_DECL
#include "lib/Transforms/Quantize/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "lib/Transforms/Quantize/Passes.h.inc"
} // namespace hewn

#endif

// SPDX-License-Identifier: Apache-2.0
//
// A compile that quantizes, in steps that are compiles: one whose operands can be seen, over which samples run; one whose integers can be
// compared with that; and the artifact.
#ifndef HEWN_LIB_COMPILER_QUANTIZATION_QUANTIZE_H
#define HEWN_LIB_COMPILER_QUANTIZATION_QUANTIZE_H

#include "lib/Compiler/Compiler.h"
#include "lib/Transforms/Quantize/Passes.h"

namespace hewn {

/// What one of those compiles does with the graph.
struct QuantizeStep {
  const quantize::Quantization &wanted;
  /// What became of each contraction; null: all stay as they are.
  std::vector<QuantizedSite> *done = nullptr;
  /// Operands that are results too; null: none.
  std::vector<ExposedOperand> *exposed = nullptr;
  /// What rounding shifts by column is a result, and the program goes on with floats; null: it goes on with integers.
  std::vector<ExposedShift> *shifts = nullptr;
  /// Asked when all of `done` is there; false after an error.
  std::function<bool()> check = nullptr;
  /// What runs showed of operands, by which more is chosen and told in `done`; null: nothing.
  const quantize::EvidenceOf *evidence = nullptr;
  /// Contractions are computed both ways, as an input more says; null: they are not.
  QuantizeTrial *trial = nullptr;
};

/// A compile of one step, or of a model as it is.
CompileResult compileOnce(const CompileOptions &options, Diagnostics &diagnostics);
/// The whole of it, where `options.quantize` says how.
CompileResult compileQuantized(const CompileOptions &options, Diagnostics &diagnostics);

} // namespace hewn

#endif

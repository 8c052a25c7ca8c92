// SPDX-License-Identifier: Apache-2.0
//
// A quantizing compile consists of several compiles, called steps: one whose program returns
// observed operands, for calibration; one with integer contractions, which is compared with the
// float model; and the compile of the artifact.
#ifndef HEWN_LIB_COMPILER_QUANTIZATION_QUANTIZE_H
#define HEWN_LIB_COMPILER_QUANTIZATION_QUANTIZE_H

#include "lib/Compiler/Compiler.h"
#include "lib/Transforms/Quantize/Passes.h"

namespace hewn {

/// Options of a step of a quantizing compile, for the graph stage.
struct QuantizeStep {
  const quantize::Quantization &wanted;
  /// Receives a report about each quantization candidate. If null, no contraction is quantized.
  std::vector<QuantizedCandidate> *done = nullptr;
  /// List of observed operands: filled by the step if it is empty, otherwise it selects them. If
  /// null, no operands are observed.
  std::vector<ExposedOperand> *exposed = nullptr;
  /// If not null, the program returns for each contraction by how much its quantized result differs
  /// from the float result, summed by column. It continues with the float result.
  std::vector<ExposedShift> *shifts = nullptr;
  /// Called when the list `done` of reports is complete. Returns false after an error.
  std::function<bool()> check = nullptr;
  /// Calibration statistics, or null. If they are set, the step derives further values from them,
  /// such as smoothing factors, and reports these values in `done`.
  const quantize::EvidenceOf *evidence = nullptr;
  /// If not null, contractions are computed both in float and quantized, and an additional input of
  /// the program selects or blends the two results.
  QuantizeTrial *trial = nullptr;
};

/// Runs one step, or a compile without quantization.
CompileResult compileOnce(const CompileOptions &options, Diagnostics &diagnostics);
/// Runs a quantizing compile as `options.quantize` describes.
CompileResult compileQuantized(const CompileOptions &options, Diagnostics &diagnostics);

} // namespace hewn

#endif

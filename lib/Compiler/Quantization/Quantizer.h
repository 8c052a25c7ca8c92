// SPDX-License-Identifier: Apache-2.0
//
// The steps of a compile that quantizes, and what they know of each other.
#ifndef HEWN_LIB_COMPILER_QUANTIZATION_QUANTIZER_H
#define HEWN_LIB_COMPILER_QUANTIZATION_QUANTIZER_H

#include "lib/Compiler/Quantization/Observation.h"
#include "lib/Compiler/Quantization/Quantize.h"
#include "lib/Compiler/Quantization/Report.h"
#include "lib/Compiler/Quantization/Samples.h"
#include <set>

namespace hewn::quantize {

class Quantizer {
public:
  Quantizer(const CompileOptions &options, Diagnostics &diagnostics)
      : given(options), diagnostics(diagnostics), samples(options) {}
  CompileResult run();

private:
  // Quantize.cpp. Each is false after an error.
  bool begin();
  bool calibrate();
  bool decide();
  bool decideBy(const EvidenceOf &evidence);
  bool decideByMoments(std::vector<size_t> operands);
  void note(const QuantizedSite &told);
  /// What was chosen for the contraction, from the rules on.
  Site &siteOf(llvm::StringRef node, llvm::StringRef kind);
  bool rangesAfterSmoothing();
  void choose(const ExposedOperand::Contraction &reader, const Distribution &distribution);
  bool correctBias();
  // Bounds.cpp
  bool compare();
  bool returnToFloats();
  bool meetsBounds() const;
  bool measureTimes();
  // Names.cpp
  bool checkNames();

  /// Runs the kept samples through the model of floats. False after an error.
  bool again(llvm::function_ref<void(std::vector<Array> &outputs)> visit);
  bool run(LoadedLibrary &library, const std::vector<Array> &inputs, std::vector<Array> &outputs);
  /// The options of a step.
  CompileOptions plain() const {
    CompileOptions options = given;
    options.quantize.clear();
    options.nextSample = nullptr;
    return options;
  }
  /// Those of one that is run here: the numbers of a machine that is not at hand are those of this one.
  CompileOptions scratch() const {
    CompileOptions options = plain();
    options.target = "host";
    return options;
  }
  bool hasBound() const { return given.leastDecibels > 0 || given.largestError > 0; }

  const CompileOptions &given;
  Diagnostics &diagnostics;
  Quantization wanted;
  /// The sites that the user's text has, which are taken as they stand.
  std::set<std::string> asGiven;
  Samples samples;
  std::unique_ptr<ScratchModel> floats;
  std::vector<ExposedOperand> exposed;
  /// One an exposed operand.
  std::vector<Observation> seen;
  Report report;
};

} // namespace hewn::quantize

#endif

// SPDX-License-Identifier: Apache-2.0
//
// The steps of a quantizing compile and their shared state.
#ifndef HEWN_LIB_COMPILER_QUANTIZATION_QUANTIZER_H
#define HEWN_LIB_COMPILER_QUANTIZATION_QUANTIZER_H

#include "lib/Codegen/Emit/CodeCache.h"
#include "lib/Compiler/Quantization/Observation.h"
#include "lib/Compiler/Quantization/Quantize.h"
#include "lib/Compiler/Quantization/Report.h"
#include "lib/Compiler/Quantization/Samples.h"
#include "llvm/Support/ThreadPool.h"
#include <array>
#include <optional>
#include <set>

namespace hewn::quantize {

/// Share of the cycles that all contractions save. A contraction that saves less is not worth
/// quantizing.
inline constexpr double kNothing = 1e-3;

class Quantizer {
public:
  Quantizer(const CompileOptions &options, Diagnostics &diagnostics)
      : given(options), diagnostics(diagnostics), pool(llvm::hardware_concurrency(unsigned(std::max(options.jobs, 0)))),
        samples(options) {}
  CompileResult run();

private:
  // Quantize.cpp. Each function returns false after an error.
  bool begin();
  bool calibrate();
  /// Fits the quantization to all samples except part `part`: chooses the quantized range of each
  /// operand, then runs `decide` and `correctBias`.
  bool fit();
  bool chooseMappings();
  bool decide();
  bool decideBy(const EvidenceOf &evidence);
  /// Indices of observed operands whose second moments are needed: those of the current pass over
  /// the samples, and those left for later passes.
  struct MomentPass {
    std::vector<size_t> now, waiting;
  };
  bool isStillRead(const ExposedOperand &operand) const;
  void addMoments(llvm::ArrayRef<Array> outputs, MomentPass &pass);
  bool decideByMoments(MomentPass &pass);
  void note(const QuantizedCandidate &told, std::string whyFloat);
  /// Returns the entry of the contraction `node` in `wanted`. A new entry is initialized from the
  /// rules of the quantization.
  Site &siteOf(llvm::StringRef node, llvm::StringRef kind);
  /// An observed operand, and the contractions that read it with equal smoothing factors.
  struct Smoothed {
    size_t operand;
    std::vector<const Site *> readers;
  };
  std::vector<Smoothed> smoothedOperands();
  bool rangesAndMoments(MomentPass pass);
  void choose(const ExposedOperand::Contraction &reader, const Distribution &distribution);
  bool correctBias();
  // Compare.cpp
  bool compare();
  bool compareOn(llvm::ArrayRef<const Samples::Inputs *> all, LoadedLibrary &integers,
                 llvm::function_ref<void(llvm::ArrayRef<Array> right, llvm::ArrayRef<Array> got)> visit);
  std::unique_ptr<LoadedLibrary> artifact() const;
  bool measureTimes();
  // ReturnToFloats.cpp
  bool returnToFloats();
  bool searchCount(const std::vector<std::string> &names);
  bool measureLosses();
  bool meetsBounds() const;
  double judgedDecibels() const;
  bool mayGoBack(const std::string &name) const;
  std::vector<std::string> candidates() const;
  size_t expectedCount(llvm::ArrayRef<std::string> order) const;
  double worstLoss(const std::string &name) const;
  bool keepFirst(const Quantization &whole, llvm::ArrayRef<std::string> order, size_t count);
  std::vector<std::string> orderOf(const std::vector<std::string> &names) const;
  bool explain();
  // Trials.cpp
  /// A model that was fitted without one part of the samples. It computes each contraction in float
  /// and quantized; an additional input has a share for each contraction, which blends the two
  /// results.
  struct Trial {
    unsigned part;
    QuantizeTrial sites;
    std::unique_ptr<ScratchModel> model;
    /// Outputs of the float model for the first samples of the part. The outputs of every choice of
    /// quantized contractions are compared with them.
    std::vector<std::vector<Array>> right;
  };
  bool runFloats(Trial &trial, size_t sample, const Samples::Inputs &inputs, std::vector<Array> &own,
                 llvm::ArrayRef<Array> &right);
  std::optional<Trial> compileTrial();
  bool runTrial(const Trial &trial, const Samples::Inputs &inputs, llvm::ArrayRef<float> shares,
                std::vector<Array> &outputs);
  bool isFarFromBounds() const;
  bool crossFit();
  bool judge();
  bool judgeByTrials();
  // Names.cpp
  bool checkNames();

  /// Calls `work` for each index in [0, count), in parallel on the threads of the compile.
  void forEach(size_t count, llvm::function_ref<void(size_t)> work);
  /// Reports to the caller of the compile, as progress, what the next runs of samples are for.
  void tell(llvm::StringRef what);
  size_t numOutputs() const { return size_t(floats->library().model().num_outputs) - exposed.size(); }
  /// Runs the samples to which the model is fitted through the float model again. Returns false
  /// after an error.
  bool again(llvm::function_ref<void(std::vector<Array> &outputs)> visit);
  bool run(LoadedLibrary &library, const std::vector<Array> &inputs, std::vector<Array> &outputs);
  /// Returns the compile options of a step.
  CompileOptions plain() {
    CompileOptions options = given;
    options.quantize.clear();
    options.nextSample = nullptr;
    options.codeStore = &code;
    return options;
  }
  /// Returns the compile options of a step whose program runs in this process. If the artifact is
  /// for another machine, the step is compiled for this one, and its results are used instead.
  CompileOptions scratch() {
    CompileOptions options = plain();
    options.target = "host";
    options.partition.clear();
    options.cluster.clear();
    return options;
  }
  bool hasBound() const { return given.leastDecibels > 0 || given.largestError > 0; }
  /// Returns the lower bound of the signal-to-noise ratio in decibels: the user's, or the default.
  double leastDecibels() const;

  const CompileOptions &given;
  Diagnostics &diagnostics;
  llvm::DefaultThreadPool pool;
  /// Kernel code that the steps of the quantizing compile share. The programs of the steps differ
  /// in a few contractions; all other kernels are compiled once.
  codegen::CodeStore code;
  Quantization wanted;
  /// The quantization as the user gave it, before calibration.
  Quantization asked;
  /// Names of the contractions in the user's quantization text. Calibration does not change their
  /// entries.
  std::set<std::string> asGiven;
  Samples samples;
  std::unique_ptr<ScratchModel> floats;
  std::vector<ExposedOperand> exposed;
  /// Calibration statistics for each part of the samples (Samples::Group) and each observed
  /// operand.
  std::array<std::vector<Observation>, Samples::kParts + 1> shown;
  /// `part`: the part of the samples that is held out, or Samples::kNoPart. `seen`: calibration
  /// statistics of all parts that are not held out.
  unsigned part = 0;
  std::vector<Observation> seen;
  /// One trial for each part if a bound is checked by cross-validation, otherwise empty.
  std::vector<Trial> trials;
  int64_t rightBytes = 0;
  Report report;
  /// For each contraction (by name) and each output, the noise-to-signal ratio that quantizing this
  /// contraction alone adds.
  std::map<std::string, std::vector<double>> losses;
  int64_t notShown = 0;
  std::string told;
  int64_t toldRuns = 0;
};

} // namespace hewn::quantize

#endif

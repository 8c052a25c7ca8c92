// SPDX-License-Identifier: Apache-2.0
//
// The steps of a compile that quantizes, and what they know of each other.
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

/// Of the cycles that all contractions save, a share that nobody waits for.
inline constexpr double kNothing = 1e-3;

class Quantizer {
public:
  Quantizer(const CompileOptions &options, Diagnostics &diagnostics)
      : given(options), diagnostics(diagnostics), pool(llvm::hardware_concurrency(unsigned(std::max(options.jobs, 0)))),
        samples(options) {}
  CompileResult run();

private:
  // Quantize.cpp. Each is false after an error.
  bool begin();
  bool calibrate();
  /// Chooses the mapping of each operand by what runs of all samples but part `part` have shown, and then all that `decide` and `correctBias` do.
  bool fit();
  bool chooseMappings();
  bool decide();
  bool decideBy(const EvidenceOf &evidence);
  /// Numbers of exposed operands: those whose moments are summed in a pass over the samples, and those that wait for another.
  struct MomentPass {
    std::vector<size_t> now, waiting;
  };
  bool isStillRead(const ExposedOperand &operand) const;
  void addMoments(llvm::ArrayRef<Array> outputs, MomentPass &pass);
  bool decideByMoments(MomentPass &pass);
  void note(const QuantizedSite &told, std::string whyFloat);
  /// What was chosen for the contraction, from the rules on.
  Site &siteOf(llvm::StringRef node, llvm::StringRef kind);
  /// An exposed operand, and contractions that read it with the same factors of channels.
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
  /// A model fitted without a part of the samples that computes each contraction both ways; runs of it take an input more.
  struct Trial {
    unsigned part;
    QuantizeTrial sites;
    std::unique_ptr<ScratchModel> model;
    /// The outputs of floats for the first samples of the part, which all choices are compared with.
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

  /// `work` for each of [0, count), which have nothing in common, on as many threads as compile.
  void forEach(size_t count, llvm::function_ref<void(size_t)> work);
  /// What runs are for, and how many of them there were, for who watches.
  void tell(llvm::StringRef what);
  size_t numOutputs() const { return size_t(floats->library().model().num_outputs) - exposed.size(); }
  /// Runs the samples to fit to through the model of floats. False after an error.
  bool again(llvm::function_ref<void(std::vector<Array> &outputs)> visit);
  bool run(LoadedLibrary &library, const std::vector<Array> &inputs, std::vector<Array> &outputs);
  /// The options of a step.
  CompileOptions plain() {
    CompileOptions options = given;
    options.quantize.clear();
    options.nextSample = nullptr;
    options.codeStore = &code;
    return options;
  }
  /// Those of one that is run here: the numbers of a machine that is not at hand are those of this one.
  CompileOptions scratch() {
    CompileOptions options = plain();
    options.target = "host";
    options.partition.clear();
    options.cluster.clear();
    return options;
  }
  bool hasBound() const { return given.leastDecibels > 0 || given.largestError > 0; }
  /// The bound of decibels: the user's, or one of ours where that is none.
  double leastDecibels() const;

  const CompileOptions &given;
  Diagnostics &diagnostics;
  llvm::DefaultThreadPool pool;
  /// Steps differ in some contractions, and have all other kernels in common.
  codegen::CodeStore code;
  Quantization wanted;
  /// `wanted` before data were seen.
  Quantization asked;
  /// The sites that the user's text has, which are taken as they stand.
  std::set<std::string> asGiven;
  Samples samples;
  std::unique_ptr<ScratchModel> floats;
  std::vector<ExposedOperand> exposed;
  /// What runs showed, by Samples::Group: one an exposed operand.
  std::array<std::vector<Observation>, Samples::kParts + 1> shown;
  /// The part of the samples that is held out or Samples::kNoPart, and what the others showed.
  unsigned part = 0;
  std::vector<Observation> seen;
  /// One a part, where a bound is judged by all of them; else none.
  std::vector<Trial> trials;
  int64_t rightBytes = 0;
  Report report;
  /// What rounding one contraction alone adds to each output, noise by signal; by its name.
  std::map<std::string, std::vector<double>> losses;
  int64_t notShown = 0;
  std::string told;
  int64_t toldRuns = 0;
};

} // namespace hewn::quantize

#endif

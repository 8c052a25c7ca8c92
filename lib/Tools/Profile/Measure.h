// SPDX-License-Identifier: Apache-2.0
//
// Inputs, timing and report shared by `hewn bench` and `hewn profile`.
#ifndef HEWN_LIB_TOOLS_PROFILE_MEASURE_H
#define HEWN_LIB_TOOLS_PROFILE_MEASURE_H

#include "lib/Tools/Models/Loaded.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/JSON.h"

namespace hewn::tool {

/// The inputs that bench and profile run a model on.
struct MeasuredInputs {
  std::vector<Array> arrays;
  /// `dims`: each dynamic dim and its size in the model's order, then the dims that were bound at
  /// compile time. `assumed`: the dynamic dims whose size was not given.
  std::vector<std::pair<std::string, int64_t>> dims;
  std::vector<std::string> assumed;
};

/// Creates arrays for all inputs; those that are not given have reproducible values
/// (`filledArray`). The size of a dynamic dim comes from `sizes` ("batch=8"), else from the given
/// inputs, else it is the minimum that the model allows, with a warning. Returns false after
/// printing errors.
bool measuredInputs(const Loaded &loaded, const std::vector<std::string> &given, const std::vector<std::string> &sizes,
                    MeasuredInputs &inputs);

/// Times of runs, in milliseconds.
class Timings {
public:
  void add(double milliseconds) { times.push_back(milliseconds); }
  size_t runs() const { return times.size(); }
  /// Returns a percentile of the run times by the nearest-rank method. The percentile 0 is the
  /// fastest run.
  double percentile(double percent) const;
  double mean() const;

private:
  std::vector<double> times;
};

/// Report of timed runs, without their kernels.
struct Measurement {
  std::string target, cpu;
  int threads = 1;
  const MeasuredInputs *inputs = nullptr;
  std::vector<std::string> inputNames;
  Timings timings;
  bool interrupted = false;
  /// Device time of a model with device code, if it was measured.
  std::optional<Loaded::DeviceTime> device;

  Measurement(const Loaded &loaded, const MeasuredInputs &inputs);
  double runsPerSecond() const { return 1e3 / timings.mean(); }
  /// Name and size of the batch: the dynamic dim that is dim 0 of all inputs.
  std::optional<std::pair<std::string, int64_t>> items;
  /// Returns the report as text of two or three lines.
  std::string text() const;
  llvm::json::Object record() const;
};

/// Calls `run` for the given time and at least `least` times, or until `stop` returns true, which
/// sets `interrupted`. Returns false if `run` returns false (an error).
bool measure(double seconds, size_t least, Measurement &measurement, llvm::function_ref<bool()> stop,
             llvm::function_ref<bool()> run);

/// Returns the name of the processor, for example "AMD EPYC 7763 64-Core Processor".
std::string cpuName();

} // namespace hewn::tool

#endif

// SPDX-License-Identifier: Apache-2.0
//
// What bench and profile say of their runs: on what was measured, and how long it took.
#ifndef HEWN_TOOLS_HEWN_MEASURE_H
#define HEWN_TOOLS_HEWN_MEASURE_H

#include "tools/hewn/Loaded.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/JSON.h"

namespace hewn::tool {

/// The inputs that bench and profile run a model on.
struct MeasuredInputs {
  std::vector<Array> arrays;
  /// Each open dim and its size, in the model's order, then those that were bound; the open ones that nobody has said.
  std::vector<std::pair<std::string, int64_t>> dims;
  std::vector<std::string> assumed;
};

/// Arrays for all inputs: those given, the others with numbers of a fixed generator. Open dims are as long as `sizes` ("batch=8") say, else as
/// in the inputs that were given, else the least that the model allows, which is told on the standard error. False after errors were printed.
bool measuredInputs(const Loaded &loaded, const std::vector<std::string> &given, const std::vector<std::string> &sizes,
                    MeasuredInputs &inputs);

/// Times of runs, in milliseconds.
class Timings {
public:
  void add(double milliseconds) { times.push_back(milliseconds); }
  size_t runs() const { return times.size(); }
  /// Of the runs so many percent take no longer (the nearest rank); 0: the fastest.
  double percentile(double percent) const;
  double mean() const;

private:
  std::vector<double> times;
};

/// All that is to be said of some runs but kernels.
struct Measurement {
  std::string target, cpu;
  int threads = 1;
  const MeasuredInputs *inputs = nullptr;
  std::vector<std::string> inputNames;
  Timings timings;
  bool interrupted = false;
  /// Of a model with code for a device, where it was asked for.
  std::optional<Loaded::DeviceTime> device;

  Measurement(const Loaded &loaded, const MeasuredInputs &inputs);
  double runsPerSecond() const { return 1e3 / timings.mean(); }
  /// The size of the open dim that comes first in all inputs, and its name: what a run computes so many items of.
  std::optional<std::pair<std::string, int64_t>> items;
  /// Two lines.
  std::string text() const;
  llvm::json::Object record() const;
};

/// Calls `run`, which is false after an error, for so many seconds, at least `least` times, or until Ctrl-C.
bool measure(double seconds, size_t least, Measurement &measurement, llvm::function_ref<bool()> run);

/// "AMD EPYC 7763 64-Core Processor"
std::string cpuName();

} // namespace hewn::tool

#endif

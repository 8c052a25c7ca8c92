// SPDX-License-Identifier: Apache-2.0
//
// Roofline model: lower bounds for the times of kernels in the record of `hewn explain`.
#ifndef HEWN_LIB_TOOLS_PROFILE_ROOFLINE_H
#define HEWN_LIB_TOOLS_PROFILE_ROOFLINE_H

#include "lib/Compiler/MachineRates.h"
#include "llvm/Support/JSON.h"
#include <optional>

namespace hewn::tool {

/// The peak rates and bandwidths of the machine, or why they are unknown.
class Roofline {
public:
  /// Measures the rates that code for `target` reaches on this machine. `rounds` is true if float32
  /// multiplications may round their operands to 16 bits.
  Roofline(const std::string &target, int threads, bool rounds);
  /// Creates a roofline whose rates are unknown. `why` is the reason.
  explicit Roofline(std::string why) : missing(std::move(why)) {}

  /// Adds the members `machine` and `machine_unavailable` (docs/reference/json.md) to the record.
  void addTo(llvm::json::Object &record) const;
  /// Adds two members to a kernel that has `flop`, `bytes` and `multiplies`: the lower bound
  /// `least_milliseconds` of the time of its launches in a run, and the `roof` ("compute" or
  /// "memory") that determines this bound. Both are null if they are unknown.
  void addLeastTime(llvm::json::Object &kernel, std::optional<int64_t> launches) const;

private:
  std::optional<MachineRates> rates;
  std::string missing;
  bool rounds = false;
};

/// Returns the sizes of dynamic dims that the arena diagram of a variant in explain's record
/// assumes.
std::vector<std::pair<std::string, int64_t>> picturedDims(const llvm::json::Object &variant);
/// Sets a kernel's `flop` and `bytes` to the values of their formulas, if `dims` has all dims that
/// the formulas use.
void bindWork(llvm::json::Object &kernel, llvm::ArrayRef<std::pair<std::string, int64_t>> dims);

/// Returns the kernel with the trace name `traced` ("conv", "conv [n = 1]") in the record of `hewn
/// explain`, in the variant for `target`, or null. `rank` selects the variant of the traced rank of
/// a split model ("rank = 1"); trace names do not contain it.
const llvm::json::Object *explainedKernel(const llvm::json::Object &explanation, llvm::StringRef target,
                                          llvm::StringRef traced, llvm::StringRef rank = "");
/// Returns the condition of a variant in explain's record ("n = 1"), or an empty string.
llvm::StringRef conditionOf(const llvm::json::Object &variant);
/// Returns the variants in explain's record that a run for `target` may have used.
std::vector<const llvm::json::Object *> explainedVariants(const llvm::json::Object &explanation,
                                                          llvm::StringRef target);

} // namespace hewn::tool

#endif

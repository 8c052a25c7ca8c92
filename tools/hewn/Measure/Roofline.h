// SPDX-License-Identifier: Apache-2.0
//
// Kernels of `hewn explain`'s record beside what the machine can do at most.
#ifndef HEWN_TOOLS_HEWN_ROOFLINE_H
#define HEWN_TOOLS_HEWN_ROOFLINE_H

#include "lib/Compiler/MachineRates.h"
#include "llvm/Support/JSON.h"
#include <optional>

namespace hewn::tool {

/// The machine's rates, or why they are not known.
class Roofline {
public:
  /// Measures now, for code for `target`; `rounds`: products of float32 may be of 16-bit floats.
  Roofline(const std::string &target, int threads, bool rounds);
  /// Not measured.
  explicit Roofline(std::string why) : missing(std::move(why)) {}

  /// Adds `machine` and `machine_unavailable` (docs/reference/json.md).
  void addTo(llvm::json::Object &record) const;
  /// Adds to a kernel with `flop`, `bytes`, `multiplies` and `launches_per_run` the `least_milliseconds` of a run's launches and which `roof` it is;
  /// null where that is not known.
  void addLeastTime(llvm::json::Object &kernel, std::optional<int64_t> launches) const;

private:
  std::optional<MachineRates> rates;
  std::string missing;
  bool rounds = false;
};

/// The sizes of open dims that a variant of explain's record pictures its arena at.
std::vector<std::pair<std::string, int64_t>> picturedDims(const llvm::json::Object &variant);
/// Writes a kernel's `flop` and `bytes` from their formulas, where dims are open and these are all of those that they speak of.
void bindWork(llvm::json::Object &kernel, llvm::ArrayRef<std::pair<std::string, int64_t>> dims);

/// The kernel that a trace calls `traced` ("conv", "conv [n = 1]") in the record of `hewn explain`, of the variant for `target`; null where there
/// is none. `rank`: of a model that is split, which one of its variants is the traced rank's ("rank = 1"), which traces do not say.
const llvm::json::Object *explainedKernel(const llvm::json::Object &explanation, llvm::StringRef target,
                                          llvm::StringRef traced, llvm::StringRef rank = "");
/// When a variant of the record runs: "n = 1"; empty: always.
llvm::StringRef conditionOf(const llvm::json::Object &variant);
/// The variants of the record that a run for `target` may have used.
std::vector<const llvm::json::Object *> explainedVariants(const llvm::json::Object &explanation,
                                                          llvm::StringRef target);

} // namespace hewn::tool

#endif

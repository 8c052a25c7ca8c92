// SPDX-License-Identifier: Apache-2.0
//
// Report of `hewn check`, as text and as JSON.
#ifndef HEWN_TOOLS_HEWN_CHECK_CHECKREPORT_H
#define HEWN_TOOLS_HEWN_CHECK_CHECKREPORT_H

#include "tools/hewn/Reduce/PartSearch.h"

#include "llvm/Support/JSON.h"

namespace hewn::tool {

struct Findings {
  /// The model file, the name of the reference, and the given reference values (null for -O0).
  std::string path, against;
  const Values *given = nullptr;
  bool outputsOnly = false;
  /// The values that can be compared: first the outputs of the model, then those of its nodes in
  /// graph order.
  Names outputs, values;
  /// The values of the model that cannot be compared with the reference, and the reason.
  std::map<std::string, std::string> refused;
  Judgement ofOutputs, ofValues;
};

std::string quoted(const std::string &name);
/// Returns a count with its noun: "1 node", "2 nodes".
std::string counted(size_t count, const std::string &what);

class Report {
public:
  Report(const ModelGraph &graph, const Parts &parts, const Findings &findings)
      : graph(graph), parts(parts), findings(findings) {}

  void listValues() const;
  void allEqual() const;
  /// Prints how the values differ. `window` is the smallest subgraph that differs from the
  /// reference, if --reduce searched it.
  void difference(const std::optional<Window> &window) const;
  void inputs(const Values &inputs, uint64_t seed) const;
  void notCompared(bool verbose) const;
  /// Returns the report as JSON (docs/reference/json.md).
  llvm::json::Object record(const std::optional<Window> &window, const Values &inputs, uint64_t seed) const;

private:
  /// Returns the value whose difference is reported, and the judgement that contains it.
  std::pair<const Judgement *, std::string> told(const std::optional<Window> &window) const;
  std::string nodeOf(const std::string &value) const;
  std::string valueText(const std::string &value) const;

  const ModelGraph &graph;
  const Parts &parts;
  const Findings &findings;
};

} // namespace hewn::tool

#endif

// SPDX-License-Identifier: Apache-2.0
//
// What a check has found, in words.
#ifndef HEWN_TOOLS_HEWN_CHECK_CHECKREPORT_H
#define HEWN_TOOLS_HEWN_CHECK_CHECKREPORT_H

#include "tools/hewn/Reduce/PartSearch.h"

#include "llvm/Support/JSON.h"

namespace hewn::tool {

struct Findings {
  /// The model's file, and what it was compared with; the values that were given for that, if any.
  std::string path, against;
  const Values *given = nullptr;
  bool outputsOnly = false;
  /// What can be compared: the model's outputs, and the nodes' in their order.
  Names outputs, values;
  /// Values that can't be looked at, and why.
  std::map<std::string, std::string> refused;
  Judgement ofOutputs, ofValues;
};

std::string quoted(const std::string &name);
/// "1 node", "2 nodes"
std::string counted(size_t count, const std::string &what);

class Report {
public:
  Report(const ModelGraph &graph, const Parts &parts, const Findings &findings)
      : graph(graph), parts(parts), findings(findings) {}

  void listValues() const;
  void allEqual() const;
  /// `window`: the part that differs, where it was looked for.
  void difference(const std::optional<Window> &window) const;
  void inputs(const Values &inputs, uint64_t seed) const;
  void notCompared(bool verbose) const;
  /// All of this for programs: docs/reference/json.md.
  llvm::json::Object record(const std::optional<Window> &window, const Values &inputs, uint64_t seed) const;

private:
  /// The value whose difference is told, and the judgement that has it.
  std::pair<const Judgement *, std::string> told(const std::optional<Window> &window) const;
  std::string nodeOf(const std::string &value) const;
  std::string valueText(const std::string &value) const;

  const ModelGraph &graph;
  const Parts &parts;
  const Findings &findings;
};

} // namespace hewn::tool

#endif

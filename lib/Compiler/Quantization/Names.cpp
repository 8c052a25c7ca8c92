// SPDX-License-Identifier: Apache-2.0
#include "lib/Compiler/Quantization/Quantizer.h"
#include "lib/Support/Printable.h"
#include "llvm/ADT/StringExtras.h"

using llvm::StringRef;

namespace hewn::quantize {

/// Checks that the names in the quantization's text, of contractions and of rules, are names of
/// contractions and embedding tables of the model. Removes duplicate reports, because each case of
/// the model reports its candidates.
bool Quantizer::checkNames() {
  std::set<std::string> told;
  llvm::erase_if(report.sites, [&](const QuantizedCandidate &site) { return !told.insert(site.node).second; });
  std::vector<StringRef> names;
  std::set<StringRef> kinds;
  for (const QuantizedCandidate &site : report.sites) {
    names.push_back(site.node);
    kinds.insert(site.kind);
  }
  unsigned before = diagnostics.numErrors();
  // limit of error messages: if the quantization's text belongs to another model, none of its names
  // exist
  constexpr unsigned most = 10;
  auto refuse = [&](const std::string &what, StringRef name) {
    if (diagnostics.numErrors() - before >= most)
      return;
    StringRef near = nearestName(name, names);
    diagnostics.error("the quantization names " + what + " '" + printable(name) +
                      "', which is not a contraction or table" +
                      (near.empty() ? "" : "; did you mean '" + near.str() + "'?"));
  };
  for (const auto &[name, site] : wanted.sites)
    if (!llvm::is_contained(names, name))
      refuse("the node", name);
  for (const Rule &rule : wanted.rules) {
    auto isFor = [&](const QuantizedCandidate &site) {
      Quantization one;
      one.rules = {rule};
      return &one.schemeFor(site.node, site.kind) != &one.scheme;
    };
    if (llvm::any_of(report.sites, isFor))
      continue;
    if (!rule.op.empty() && !kinds.count(rule.op))
      diagnostics.error("the quantization has a rule for the op '" + printable(rule.op) +
                        "', which is not a contraction or table; there are: " + llvm::join(kinds, ", "));
    else
      refuse("the nodes", rule.node);
  }
  return diagnostics.numErrors() == before;
}

} // namespace hewn::quantize

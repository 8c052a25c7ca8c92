// SPDX-License-Identifier: Apache-2.0
#include "tools/hewn/Check/CheckReport.h"
#include "lib/Support/Printable.h"
#include "lib/Tools/Models/Record.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

namespace json = llvm::json;

namespace hewn::tool {

std::string quoted(const std::string &name) { return "'" + printable(name) + "'"; }

std::string counted(size_t count, const std::string &what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string Report::nodeOf(const std::string &value) const {
  int maker = graph.maker(value);
  if (maker < 0)
    return "no node";
  const ModelGraph::Node &node = graph.nodes()[size_t(maker)];
  return "node " + quoted(node.name) + " (" + printable(node.op) + ")";
}

std::string Report::valueText(const std::string &value) const {
  const ValueInfo *info = parts.info(value);
  std::string text = quoted(value);
  if (info)
    text += " " + dataTypeText(info->type) + "[" + llvm::join(info->dims, ", ") + "]";
  return text;
}

void Report::listValues() const {
  llvm::outs() << llvm::format("%-10s %10s %10s  %s\n", "", "error", "share", "value, node");
  auto line = [&](const std::string &name, const Difference &found, const char *how) {
    const char *kinds[] = {"equal", "rounding", "DIFFERS"};
    llvm::outs() << llvm::format("%-10s %10.3g %10.2g  ", kinds[int(found.kind)], found.largest, found.share)
                 << valueText(name) << ", " << nodeOf(name) << how << "\n";
  };
  for (const std::string &name : findings.values)
    if (auto found = findings.ofValues.found.find(name); found != findings.ofValues.found.end())
      line(name, found->second, "");
  for (const std::string &name : findings.outputs)
    if (auto found = findings.ofOutputs.found.find(name); found != findings.ofOutputs.found.end())
      line(name, found->second, ", as output of the whole model");
}

void Report::inputs(const Values &inputs, uint64_t seed) const {
  llvm::outs() << "inputs:";
  const char *comma = " ";
  for (auto &[name, array] : inputs) {
    llvm::outs() << comma << quoted(name) << " " << dataTypeText(array.type) << " " << shapeText(array);
    comma = ", ";
  }
  llvm::outs() << (inputs.empty() ? " none" : "") << "; seed " << seed << "\n";
}

void Report::notCompared(bool verbose) const {
  size_t constants = 0, bodies = 0, others = 0, lacking = 0;
  for (const ModelGraph::Node &node : graph.nodes()) {
    bodies += node.domain.empty() && llvm::is_contained({"If", "Loop", "Scan"}, node.op);
    for (const std::string &value : node.outputs) {
      constants += graph.isConstant(value);
      others += parts.info(value) && !parts.info(value)->isTensor;
      lacking += findings.given && !graph.isConstant(value) && !findings.given->count(value);
    }
  }
  std::vector<std::string> told;
  auto add = [&](size_t count, const char *what) {
    if (count)
      told.push_back(std::to_string(count) + " " + what);
  };
  if (!findings.outputsOnly && constants)
    told.push_back(counted(constants, "constant"));
  add(others, "with strings, sequences, maps or optional values");
  std::set<std::string> random = findings.ofValues.random;
  random.insert(findings.ofOutputs.random.begin(), findings.ofOutputs.random.end());
  add(random.size(), "random");
  add(lacking, "missing in the reference");
  add(findings.refused.size(), "that cannot be outputs");
  if (!told.empty())
    llvm::outs() << "values not compared: " << llvm::join(told, ", ") << "\n";
  if (bodies)
    llvm::outs() << "values in the bodies of " << counted(bodies, "node") << " (If, Loop, Scan) are only compared as "
                 << (bodies == 1 ? "its" : "their") << " outputs\n";
  for (auto &[name, why] : findings.refused)
    if (verbose)
      llvm::outs() << "  " << quoted(name) << ": " << printable(why) << "\n";
}

void Report::allEqual() const {
  size_t rounding = 0;
  std::pair<double, std::string> worst;
  for (const Judgement *one : {&findings.ofOutputs, &findings.ofValues})
    for (auto &[value, found] : one->found) {
      rounding += found.kind == Difference::Kind::Rounding;
      if (found.kind == Difference::Kind::None && found.share > worst.first)
        worst = {found.share, value};
    }
  llvm::outs() << findings.path << ": " << counted(findings.ofOutputs.found.size(), "output");
  if (!findings.outputsOnly)
    llvm::outs() << " and " << counted(findings.ofValues.found.size(), "value") << " of "
                 << counted(graph.nodes().size(), "node");
  bool isOne = findings.outputsOnly && findings.ofOutputs.found.size() == 1;
  llvm::outs() << (isOne ? " agrees with " : " agree with ") << findings.against;
  if (!worst.second.empty())
    llvm::outs() << llvm::format("; the largest error is %.2g of the largest element, in ", worst.first)
                 << quoted(worst.second) << ", " << nodeOf(worst.second);
  llvm::outs() << "\n";
  if (rounding)
    llvm::outs() << rounding << " of them differ only by rounding: perturbing their inputs by a few steps of the type "
                 << "changes them as much\n";
}

std::pair<const Judgement *, std::string> Report::told(const std::optional<Window> &window) const {
  if (findings.ofValues.differs())
    return {&findings.ofValues, findings.ofValues.first(findings.values)};
  if (window)
    return {&window->judgement, window->outputs.front()};
  return {&findings.ofOutputs, findings.ofOutputs.first(findings.outputs)};
}

void Report::difference(const std::optional<Window> &window) const {
  bool valuesDiffer = findings.ofValues.differs();
  auto [shown, first] = told(window);
  llvm::outs() << findings.path << ": differs from " << findings.against << " at " << nodeOf(first)
               << ", in its output " << valueText(first) << ": " << describe(shown->found.at(first)) << "\n";
  if (!valuesDiffer && !findings.outputsOnly)
    llvm::outs() << (window ? "it does not differ if every value is an output: the difference depends on what it is "
                              "fused with\n"
                            : "no value differs if every value is an output, and no subgraph differs alone\n");
  if (valuesDiffer && !findings.ofOutputs.differs())
    llvm::outs() << "the model's outputs do not differ\n";
  const std::string &name = first; // a lambda cannot capture a structured binding
  size_t more = llvm::count_if(
      shown->found, [&](const auto &one) { return one.second.kind == Difference::Kind::Differs && one.first != name; });
  if (more)
    llvm::outs() << counted(more, "other value") << (more == 1 ? " differs" : " differ")
                 << " too: use --verbose to list all\n";
  if (!shown->refusedMoves.empty())
    llvm::outs() << "the effect of rounding may be larger than measured: the reference rejected "
                 << counted(shown->refusedMoves.size(), "perturbed run")
                 << " of the value: " << printable(shown->refusedMoves.front()) << "\n";
  auto naive = shown->asNaive.find(first);
  if (naive != shown->asNaive.end())
    llvm::outs() << (naive->second ? "hewn at -O0 gives the same value: the difference is not due to an optimization\n"
                                   : "hewn at -O0 gives another value: the difference may be due to an optimization\n");
}

json::Object Report::record(const std::optional<Window> &window, const Values &inputs, uint64_t seed) const {
  static const char *const kinds[] = {"equal", "rounding", "differs"};
  auto recordOfValue = [&](const std::string &name, const Difference &found) {
    int maker = graph.maker(name);
    const ModelGraph::Node *node = maker < 0 ? nullptr : &graph.nodes()[size_t(maker)];
    return json::Object{{"name", jsonText(name)},
                        {"node", node ? jsonText(node->name) : json::Value(nullptr)},
                        {"op", node ? jsonText(node->op) : json::Value(nullptr)},
                        {"judgement", kinds[int(found.kind)]},
                        {"forms", jsonText(found.forms)},
                        {"elements", found.elements},
                        {"differing", found.differing},
                        {"largest_error", jsonNumber(found.largest)},
                        {"share", jsonNumber(found.share)}};
  };
  auto list = [&](const Names &names, const Judgement &judgement) {
    json::Array all;
    for (const std::string &name : names)
      if (auto found = judgement.found.find(name); found != judgement.found.end())
        all.push_back(recordOfValue(name, found->second));
    return all;
  };
  json::Array arrays;
  for (const auto &[name, array] : inputs)
    arrays.push_back(recordOf(name, array));
  json::Object refused;
  for (const auto &[name, why] : findings.refused)
    refused[json::fixUTF8(name)] = jsonText(why);
  std::set<std::string> randoms = findings.ofValues.random;
  randoms.insert(findings.ofOutputs.random.begin(), findings.ofOutputs.random.end());
  json::Array random;
  for (const std::string &name : randoms)
    random.push_back(jsonText(name));
  bool differs = findings.ofValues.differs() || findings.ofOutputs.differs();
  json::Value first = nullptr;
  if (differs) {
    auto [judgement, name] = told(window);
    first = recordOfValue(name, judgement->found.at(name));
  }
  return json::Object{{"compiles", true},
                      {"differs", differs},
                      {"against", jsonText(findings.against)},
                      {"nodes", int64_t(graph.nodes().size())},
                      {"first_difference", std::move(first)},
                      {"outputs", list(findings.outputs, findings.ofOutputs)},
                      {"values", list(findings.values, findings.ofValues)},
                      {"not_compared", std::move(refused)},
                      {"random", std::move(random)},
                      {"inputs", std::move(arrays)},
                      {"seed", int64_t(seed)}};
}

} // namespace hewn::tool

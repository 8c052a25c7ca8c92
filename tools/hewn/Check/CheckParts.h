// SPDX-License-Identifier: Apache-2.0
//
// Parts of a model, compiled and run beside the reference: what the model's values are, and whether a part gives them.
#ifndef HEWN_TOOLS_HEWN_CHECK_CHECKPARTS_H
#define HEWN_TOOLS_HEWN_CHECK_CHECKPARTS_H

#include "lib/Importer/ONNX/Protos/ModelGraph.h"
#include "tools/hewn/Check/CheckCompare.h"
#include "tools/hewn/Loaded.h"
#include "tools/hewn/Subcommands.h"
#include <map>
#include <set>

namespace hewn::tool {

using importer::ModelGraph;
using Values = std::map<std::string, Array>;
using Names = std::vector<std::string>;

/// What is known of a value's form from the reference's descriptor: each dim as a number, a symbol, a formula, or empty.
struct ValueInfo {
  DLDataType type;
  std::vector<std::string> dims;
  bool isTensor;
};

/// How a part's values compare, by name; those that a second run gives otherwise are random, and not among them.
struct Judgement {
  std::map<std::string, Difference> found;
  std::set<std::string> random;
  /// Why the reference refused what was moved to see how far rounding goes, a line for each such move.
  std::vector<std::string> refusedMoves;
  /// Of values that differ from given ones, whether -O0 has them as the compiled model has.
  std::map<std::string, bool> asNaive;
  bool differs() const;
  /// The first one in this order that differs; empty where none does.
  std::string first(const Names &order) const;
};

class Parts {
public:
  /// `given`: values from elsewhere that are taken for right, instead of those of -O0; null where there are none.
  Parts(const ModelGraph &graph, const CompileFlags &flags, const Tolerance &tolerance, const Values *given,
        uint64_t seed);

  const ModelGraph &graph() const { return model; }
  /// Of all the model, for values that it has.
  ModelGraph::Part whole(Names outputs) const;
  /// The nodes of `chosen`, and those that they read from without that a value could be given for it. What computes with dims is among
  /// these, unless `cutsFixed`.
  ModelGraph::Part cut(const std::set<int> &chosen, Names outputs, bool cutsFixed = false) const;

  /// The flags by which a part is compiled: the model's, without bounds of dims that the part does not have.
  CompileFlags flagsFor(const ModelGraph::Part &part, bool naive) const;
  /// Null, and why in `problem`. `move`: a number for weights that are moved a little; 0: as they are.
  std::unique_ptr<Loaded> compile(const ModelGraph::Part &part, bool naive, unsigned move, std::string &problem) const;
  hewn_status run(Loaded &loaded, const Values &feeds, unsigned move, Values &results) const;

  /// Notes the forms of a loaded part's inputs and outputs.
  void learn(const Loaded &loaded);
  void learn(const std::string &value, ValueInfo form) { infos[value] = std::move(form); }
  const ValueInfo *info(const std::string &value) const;
  /// Values of the whole model as the reference has them.
  void know(Values values);
  const Array *known(const std::string &value) const;
  /// Whether what the reference computes of the whole model is kept.
  void keepAll(bool keeps) { keepsAll = keeps; }
  /// All values that a part reads; computes those that are not known. False, and why in `problem`.
  bool feedsOf(const ModelGraph::Part &part, Values &feeds, std::string &problem);

  /// What the part gives beside the reference. Nothing, and why in `problem`, where one of both can't be run.
  std::optional<Judgement> judge(const ModelGraph::Part &part, const Values &feeds, const Values &got,
                                 std::string &problem);
  /// The same of a part as it is compiled.
  std::optional<Judgement> judge(const ModelGraph::Part &part, std::string &problem);
  /// The same of one in a model's bytes that refer to no file.
  std::optional<Judgement> judgeWritten(const ModelGraph::Part &part, const std::string &bytes, const Values &feeds,
                                        std::string &problem);

private:
  std::optional<Judgement> judgeLoaded(const ModelGraph::Part &part, Loaded &loaded, const Values &feeds,
                                       std::string &problem);
  bool canGive(const std::string &value) const;
  void addSpreads(const ModelGraph::Part &part, const Values &feeds, const Names &names, const Values &wanted,
                  const Values &got, Judgement &judgement) const;

  const ModelGraph &model;
  CompileFlags flags;
  Tolerance tolerance;
  const Values *given;
  uint64_t seed;
  std::map<std::string, ValueInfo> infos;
  Values naive;
  bool keepsAll = false;
};

} // namespace hewn::tool

#endif

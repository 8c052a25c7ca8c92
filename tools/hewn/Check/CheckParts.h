// SPDX-License-Identifier: Apache-2.0
//
// Compiles and runs subgraphs of a model, and compares their values to the reference.
#ifndef HEWN_TOOLS_HEWN_CHECK_CHECKPARTS_H
#define HEWN_TOOLS_HEWN_CHECK_CHECKPARTS_H

#include "lib/Importer/ONNX/Protos/ModelGraph.h"
#include "lib/Tools/Models/Loaded.h"
#include "tools/hewn/Check/CheckCompare.h"
#include "tools/hewn/Subcommands.h"
#include <map>
#include <set>

namespace hewn::tool {

using importer::ModelGraph;
using Values = std::map<std::string, Array>;
using Names = std::vector<std::string>;

/// Type and dims of a value in the reference's descriptor. A dim is a number, a symbol, a formula,
/// or empty if it is unknown.
struct ValueInfo {
  DLDataType type;
  std::vector<std::string> dims;
  bool isTensor;
};

/// Result of comparing a subgraph with the reference, by value name. Values that change between two
/// runs are only in `random`.
struct Judgement {
  std::map<std::string, Difference> found;
  std::set<std::string> random;
  /// Error messages of the runs with perturbed inputs or weights that the reference rejected, one
  /// per run.
  std::vector<std::string> refusedMoves;
  /// For values that differ from given reference values: true if -O0 computes the same value as the
  /// compiled model.
  std::map<std::string, bool> asNaive;
  bool differs() const;
  /// Returns the first value in `order` that differs, or an empty string.
  std::string first(const Names &order) const;
};

class Parts {
public:
  /// `given`: reference values from a file, which are used instead of those of -O0, or null.
  Parts(const ModelGraph &graph, const CompileFlags &flags, const Tolerance &tolerance, const Values *given,
        uint64_t seed);

  const ModelGraph &graph() const { return model; }
  /// Returns the subgraph of all nodes of the model, with the values `outputs` as its outputs.
  ModelGraph::Part whole(Names outputs) const;
  /// Returns the subgraph of the nodes `chosen` and of the nodes that they depend on through values
  /// that cannot be inputs of a model. Nodes that compute dims are included, unless `cutsFixed` is
  /// true.
  ModelGraph::Part cut(const std::set<int> &chosen, Names outputs, bool cutsFixed = false) const;

  /// Returns the flags to compile a subgraph: those of the model, without --dim for dims that do
  /// not appear in the subgraph.
  CompileFlags flagsFor(const ModelGraph::Part &part, bool naive) const;
  /// Compiles a subgraph. Returns null with an error in `problem`. `move` selects one of several
  /// perturbations of the weights; 0 leaves the weights unchanged.
  std::unique_ptr<Loaded> compile(const ModelGraph::Part &part, bool naive, unsigned move, std::string &problem) const;
  hewn_status run(Loaded &loaded, const Values &feeds, unsigned move, Values &results) const;

  /// Records the types and dims of the inputs and outputs of the reference.
  void learn(const Loaded &loaded);
  void learn(const std::string &value, ValueInfo form) { infos[value] = std::move(form); }
  const ValueInfo *info(const std::string &value) const;
  /// Stores values that the reference computed for the full model.
  void know(Values values);
  const Array *known(const std::string &value) const;
  /// Sets whether values of the full model that the reference computes are stored for later
  /// subgraphs.
  void keepAll(bool keeps) { keepsAll = keeps; }
  /// Collects the values that a subgraph reads. Runs the reference for values that are not stored.
  /// Returns false with an error in `problem`.
  bool feedsOf(const ModelGraph::Part &part, Values &feeds, std::string &problem);

  /// Compares the values `got` of a subgraph to the reference. Returns nullopt with an error in
  /// `problem` if the reference fails.
  std::optional<Judgement> judge(const ModelGraph::Part &part, const Values &feeds, const Values &got,
                                 std::string &problem);
  /// Compiles and runs a subgraph and compares its values to the reference.
  std::optional<Judgement> judge(const ModelGraph::Part &part, std::string &problem);
  /// Compiles and runs a subgraph from a serialized model without external data, and compares its
  /// values to the reference.
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

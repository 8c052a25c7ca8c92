// SPDX-License-Identifier: Apache-2.0
//
// Compares the weights of an artifact with those of its model. They grow if passes convert integer
// weights to wider types, or store them in several layouts.
#ifndef HEWN_LIB_COMPILER_WEIGHTGROWTH_H
#define HEWN_LIB_COMPILER_WEIGHTGROWTH_H

#include "dialects/Graph/Graph.h"
#include "mlir/IR/BuiltinOps.h"
#include <map>
#include <set>
#include <string>

namespace hewn {

class WeightGrowth {
public:
  /// Records the weights of an imported model, by the nodes that use them.
  void noteModel(mlir::ModuleOp module);
  /// Records the weights of a planned module.
  void noteArtifact(mlir::ModuleOp module);
  /// Returns a warning with the nodes whose weights grow most, if the weights of the artifact have
  /// at least a quarter and 1 MiB more bytes than those of the model. Otherwise returns "".
  std::string warning(uint64_t artifactBytes) const;

private:
  struct Weights {
    uint64_t bytes = 0;
    std::set<std::string> types;
    std::set<std::string> keys;
  };
  static void add(Weights &weights, graph::ConstantOp constant, graph::WeightAttr weight);

  Weights model;
  std::map<std::string, Weights> before, after; // by node
  unsigned numModules = 0;
};

} // namespace hewn

#endif

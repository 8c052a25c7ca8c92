// SPDX-License-Identifier: Apache-2.0
//
// What a model's file says of the model, whether or not it can be compiled. No protobuf shows.
#ifndef HEWN_LIB_IMPORTER_ONNX_MODELSUMMARY_H
#define HEWN_LIB_IMPORTER_ONNX_MODELSUMMARY_H

#include "lib/Support/Diagnostics.h"
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace hewn::importer {

struct ModelSummary {
  struct Dim {
    /// nullopt: open, under this name, which `--dim` takes.
    std::optional<int64_t> size;
    std::string name;
  };
  struct Value {
    std::string name;
    /// "tensor", "sequence", "optional", "map" or "sparse tensor"; of the next two what is in it.
    std::string kind = "tensor";
    int32_t elementType = 0; ///< as ONNX numbers it; 0: not said
    /// nullopt: nothing is said of the rank.
    std::optional<std::vector<Dim>> dims = std::nullopt;
  };
  int64_t irVersion = 0;
  std::string producer, producerVersion, graph;
  /// By domain, "" for ONNX's own.
  std::map<std::string, int64_t> opsets;
  /// Without those that have an initializer: they are constants.
  std::vector<Value> inputs;
  std::vector<Value> outputs;
  size_t nodes = 0, initializers = 0;
  /// Nodes by op ("com.microsoft.Attention"), without those in bodies.
  std::map<std::string, size_t> ops;
  /// Of initializers, by their types and dims.
  uint64_t weightBytes = 0;
  /// Other files that tensors lie in, wherever in the model these are: as they are written, from its folder on; each once, sorted.
  std::set<std::string> files;
};

/// nullopt after an error.
std::optional<ModelSummary> summarizeModel(const std::string &path, Diagnostics &diagnostics);

} // namespace hewn::importer

#endif

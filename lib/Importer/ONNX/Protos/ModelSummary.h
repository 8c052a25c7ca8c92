// SPDX-License-Identifier: Apache-2.0
// Summary of a model file, independent of whether it can be compiled. Exposes no protobuf types.
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
    /// Size of the dim of an input or output. If it is nullopt, the dim is dynamic, and `name` is
    /// the name by which the option `--dim` refers to it.
    std::optional<int64_t> size;
    std::string name;
  };
  struct Value {
    std::string name;
    /// Kind of the value: "tensor", "sequence", "optional", "optional sequence", "map", "sequence
    /// of maps" or "sparse tensor". For sequences and optional values, the other members describe
    /// the tensor that they contain; for maps, the values.
    std::string kind = "tensor";
    int32_t elementType = 0; ///< TensorProto.DataType, or 0 if not specified
    int32_t keyType = 0;     ///< type of the keys of maps; 0 for other kinds
    /// Dims of the tensor, or nullopt if the model does not specify the rank.
    std::optional<std::vector<Dim>> dims = std::nullopt;
  };
  int64_t irVersion = 0;
  std::string producer, producerVersion, graph;
  /// Maps each domain to the version that the model imports; "" is the domain of ONNX.
  std::map<std::string, int64_t> opsets;
  /// Inputs of the model, except for those that have an initializer, which are constants.
  std::vector<Value> inputs;
  std::vector<Value> outputs;
  size_t nodes = 0, initializers = 0;
  /// Number of Constant nodes whose value is a tensor. Nodes in bodies are not counted.
  size_t constants = 0;
  /// Number of nodes of the model for each op, such as "com.microsoft.Attention". Nodes in bodies
  /// are not counted.
  std::map<std::string, size_t> ops;
  /// Total size of the initializers and of the tensors of `constants` in bytes, computed from their
  /// types and dims.
  uint64_t weightBytes = 0;
  /// Names of the external data files of all tensors, as the model contains them: relative to the
  /// model's folder.
  std::set<std::string> files;
};

/// Reads and summarizes a model. Returns nullopt after reporting an error.
std::optional<ModelSummary> summarizeModel(const std::string &path, Diagnostics &diagnostics);

} // namespace hewn::importer

#endif

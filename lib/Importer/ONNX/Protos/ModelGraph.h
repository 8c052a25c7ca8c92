// SPDX-License-Identifier: Apache-2.0
//
// Represents a model as a graph of nodes, from which submodels can be extracted and run, to compare
// intermediate values. The interface exposes no protobuf types.
#ifndef HEWN_LIB_IMPORTER_ONNX_MODELGRAPH_H
#define HEWN_LIB_IMPORTER_ONNX_MODELGRAPH_H

#include "lib/Support/Diagnostics.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <memory>
#include <string>
#include <vector>

namespace onnx {
class NodeProto;
class TensorProto;
} // namespace onnx

namespace hewn::importer {

struct LoadedModel;

class ModelGraph {
public:
  struct Node {
    /// Name of the node in messages: its own name, or a text such as "#12 Conv" if it has none.
    std::string name;
    std::string op, domain;
    /// Names of the values that the node and its bodies read. Each name occurs once, and omitted
    /// optional inputs are left out.
    std::vector<std::string> inputs;
    std::vector<std::string> outputs;
  };
  /// An input of a submodel. `elementType`: its TensorProto.DataType, or 0 for an input of the
  /// model, which keeps its declared type. `dims`: each dim is a number, a name, or "" if unknown.
  struct Feed {
    std::string name;
    int elementType;
    std::vector<std::string> dims;
  };
  /// A submodel that can be extracted: the indices of its nodes, its inputs (`feeds`) and its
  /// outputs. If `feeds` is empty, the submodel has the model's inputs.
  struct Part {
    std::vector<int> nodes;
    std::vector<Feed> feeds;
    std::vector<std::string> outputs;
  };
  /// A function that is called with each tensor of floating-point weights before the submodel is
  /// serialized, and may modify the tensor's elements.
  using Change = llvm::function_ref<void(int elementType, llvm::MutableArrayRef<char> bytes)>;

  /// Loads a model. Returns null after reporting an error.
  static std::unique_ptr<ModelGraph> load(const std::string &path, Diagnostics &diagnostics);
  ~ModelGraph();

  /// Returns the nodes in topological order. Nodes that no output depends on are omitted.
  llvm::ArrayRef<Node> nodes() const { return list; }
  llvm::ArrayRef<std::string> inputs() const { return inputNames; }
  llvm::ArrayRef<std::string> outputs() const { return outputNames; }
  /// Returns the index of the node that computes the value, or -1 if none does.
  int maker(llvm::StringRef value) const;
  /// Returns true if the value depends only on constants and on dims of the inputs, not on elements
  /// of inputs.
  bool isFixed(llvm::StringRef value) const { return fixed.contains(value); }
  /// Returns true if the value depends only on constants: neither on elements nor on dims of the
  /// inputs.
  bool isConstant(llvm::StringRef value) const { return !varying.contains(value); }

  /// Returns the folder of the external files to which serialized submodels may refer.
  const std::string &folder() const { return home; }
  /// Serializes a submodel to `bytes`. If `whole`, the result refers to no external file. Returns
  /// false and sets `reason` if the submodel is too large or a file cannot be read.
  bool serialize(const Part &part, bool whole, Change change, std::string &bytes, std::string &reason) const;

private:
  ModelGraph() = default;
  void order();
  void findFixed();
  bool copyTensor(const onnx::TensorProto &from, bool whole, Change change, onnx::TensorProto &to,
                  std::string &reason) const;
  llvm::ArrayRef<char> rawBytes(const onnx::TensorProto &tensor, std::unique_ptr<llvm::MemoryBuffer> &file,
                                std::string &reason) const;
  void changeConstants(onnx::NodeProto &node, Change change) const;

  std::shared_ptr<LoadedModel> loaded;
  /// `home`: folder of the model. `file`: name of the model file in that folder, or "" if submodels
  /// must not refer to it.
  std::string home, file;
  std::vector<Node> list;
  std::vector<int> places; // index of each node among the model's nodes
  std::vector<std::string> inputNames, outputNames;
  llvm::StringMap<int> makers;
  llvm::StringSet<> fixed, varying;
};

} // namespace hewn::importer

#endif

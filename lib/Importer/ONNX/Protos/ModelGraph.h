// SPDX-License-Identifier: Apache-2.0
//
// A model as a graph of nodes from which parts can be cut: what compares a model's values by running parts of it needs no more.
// No protobuf shows.
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
    /// As messages have it: the node's own, or "#12 Conv".
    std::string name;
    std::string op, domain;
    /// What it reads, by its bodies as well; no name twice and none empty.
    std::vector<std::string> inputs;
    std::vector<std::string> outputs;
  };
  /// An input of a part: its element type as ONNX numbers it, 0 for an input of the model that stays as that declares it; each dim as a number
  /// or a name, or empty where nothing is known of it.
  struct Feed {
    std::string name;
    int elementType;
    std::vector<std::string> dims;
  };
  /// Nodes by number and what is wanted of them. Without `feeds` the inputs are the model's.
  struct Part {
    std::vector<int> nodes;
    std::vector<Feed> feeds;
    std::vector<std::string> outputs;
  };
  /// Shown each floating tensor of weights before it is written, which it may change.
  using Change = llvm::function_ref<void(int elementType, llvm::MutableArrayRef<char> bytes)>;

  /// Null after an error.
  static std::unique_ptr<ModelGraph> load(const std::string &path, Diagnostics &diagnostics);
  ~ModelGraph();

  /// In an order in which each comes after those that it reads from; those that no output needs are left out.
  llvm::ArrayRef<Node> nodes() const { return list; }
  llvm::ArrayRef<std::string> inputs() const { return inputNames; }
  llvm::ArrayRef<std::string> outputs() const { return outputNames; }
  /// The node that makes a value; -1: none.
  int maker(llvm::StringRef value) const;
  /// Whether a value depends on no element of an input: on constants and dims alone.
  bool isFixed(llvm::StringRef value) const { return fixed.contains(value); }
  /// Whether it depends on no input at all, not even on its dims.
  bool isConstant(llvm::StringRef value) const { return !varying.contains(value); }

  /// Where the files of `serialize`'s tensors lie, if it refers to any.
  const std::string &folder() const { return home; }
  /// A part as a model of its own. `whole`: it refers to no file. False, and why in `reason`, where it is too large or a file can't
  /// be read.
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
  /// The model's folder; its file's name in there where that may be referred to, else empty.
  std::string home, file;
  std::vector<Node> list;
  std::vector<int> places; // of each, among the model's nodes
  std::vector<std::string> inputNames, outputNames;
  llvm::StringMap<int> makers;
  llvm::StringSet<> fixed, varying;
};

} // namespace hewn::importer

#endif

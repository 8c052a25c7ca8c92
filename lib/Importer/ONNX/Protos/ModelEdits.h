// SPDX-License-Identifier: Apache-2.0
//
// Ways to make a model smaller, one at a time, in its bodies and functions too: for what looks for the smallest model that shows something.
// No protobuf shows.
#ifndef HEWN_LIB_IMPORTER_ONNX_MODELEDITS_H
#define HEWN_LIB_IMPORTER_ONNX_MODELEDITS_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace onnx {
class ModelProto;
} // namespace onnx

namespace hewn::importer {

class ModelEdits {
public:
  /// Of a model that refers to no file. Null where these are no model's bytes.
  static std::unique_ptr<ModelEdits> parse(const std::string &bytes);
  ~ModelEdits();

  /// Nodes, those of bodies and functions among them.
  size_t nodes() const { return numNodes; }
  size_t count() const { return edits.size(); }
  /// Names of the model's inputs.
  std::vector<std::string> inputs() const;
  /// The model after one of them, without what nothing reads any more. It may be no valid one: who asks finds out. False where it would be as it was.
  bool apply(size_t edit, std::string &bytes) const;

  /// The sizes of dims of inputs and constants that can be less, the largest first.
  std::vector<int64_t> sizes() const;
  /// The model with dims of one size cut to another, in inputs and constants, where short lists of integers and attributes have that number in them
  /// too. False where it would be as it was.
  bool resize(int64_t from, int64_t to, std::string &bytes) const;
  /// Which elements of a tensor of these dims stay when dims are cut so, in row-major order; `dims` become those that stay.
  static std::vector<int64_t> keptElements(std::vector<int64_t> &dims, int64_t from, int64_t to);

private:
  bool written(const onnx::ModelProto &made, std::string &bytes) const;
  /// What is done to which node, as `apply` counts them; `part`: which operand, branch or attribute.
  struct Edit {
    enum class What {
      Prune,         // nothing but what nothing reads
      TakeBranch,    // the branch of an If stands in its place
      Bypass,        // who reads the first result reads an operand
      DropAttribute, // what ONNX says where it is not given
      DropOperand,   // an optional one
    } what;
    int node, part;
  };
  ModelEdits() = default;

  std::unique_ptr<onnx::ModelProto> model;
  std::vector<Edit> edits;
  size_t numNodes = 0;
};

} // namespace hewn::importer

#endif

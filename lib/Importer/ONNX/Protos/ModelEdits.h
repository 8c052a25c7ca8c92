// SPDX-License-Identifier: Apache-2.0
// Enumerates single-step reductions of an ONNX model, also inside bodies and functions, for `hewn
// reduce`. Exposes no protobuf types.
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
  /// Parses a model. It must not refer to external files. Returns null if the bytes are not a
  /// model.
  static std::unique_ptr<ModelEdits> parse(const std::string &bytes);
  ~ModelEdits();

  /// Returns the number of nodes of the model, including those in bodies and functions.
  size_t nodes() const { return numNodes; }
  /// Returns the number of possible edits. An edit is identified by its index.
  size_t count() const { return edits.size(); }
  /// Returns the names of the model's inputs.
  std::vector<std::string> inputs() const;
  /// Applies one edit, removes everything that the outputs no longer depend on, and stores the new
  /// model in `bytes`. The new model may be invalid. Returns false if the edit changes nothing.
  bool apply(size_t edit, std::string &bytes) const;

  /// Returns the sizes of dims of inputs and constants, in descending order. Sizes of 0 and 1 are
  /// omitted.
  std::vector<int64_t> sizes() const;
  /// Changes all dims of size `from` in inputs and constants to size `to`, and the number `from` in
  /// short integer lists and attributes to `to`. Stores the new model in `bytes`. Returns false if
  /// that is not possible or changes nothing.
  bool resize(int64_t from, int64_t to, std::string &bytes) const;
  /// Returns the row-major indices of the elements that remain in a tensor when its dims of size
  /// `from` get size `to`. Updates `dims`.
  static std::vector<int64_t> keptElements(std::vector<int64_t> &dims, int64_t from, int64_t to);

private:
  bool written(const onnx::ModelProto &made, std::string &bytes) const;
  /// An edit of a node. `node`: index of the node in the order of `placesOf`. `part`: index of the
  /// operand, branch or attribute that the edit concerns.
  struct Edit {
    enum class What {
      Prune,         // only removes what no output depends on
      TakeBranch,    // replaces an If node by one of its branches
      Bypass,        // replaces uses of the node's first result by one of its operands
      DropAttribute, // removes an attribute
      DropOperand,   // removes an optional operand
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

// SPDX-License-Identifier: Apache-2.0
//
// A user's definition of a custom op. lib/Importer/ONNX/CustomOps.h reads it from a file, whose
// fields docs/custom-ops.md describes.
#ifndef HEWN_DIALECTS_GRAPH_CUSTOM_DEFINITION_H
#define HEWN_DIALECTS_GRAPH_CUSTOM_DEFINITION_H

#include "dialects/Graph/Analysis/Dims.h"
#include "llvm/ADT/StringMap.h"
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace hewn::graph {

class OnnxNode;

/// The entry "..." at the start of a list of dims, which matches any number of dims.
inline constexpr llvm::StringLiteral kAnyDims = "...";

struct CustomDefinition {
  /// The dims of an input or output as written in the definition file. The list may start with
  /// kAnyDims.
  struct DimList {
    bool anyBefore = false;
    Dims dims;
  };
  struct Input {
    std::string name;
    /// The allowed element types of an input: their names, or the name of a list in `types`.
    std::vector<std::string> elements;
    std::optional<DimList> dims; // required dims; nullopt if any dims are allowed
    bool optional = false;
    // true if the node may have any number of these inputs, at least one; only for the last input
    bool variadic = false;
  };
  /// The kinds of attributes of a custom op, with the values of the enum in hewn/custom.h.
  enum class Kind { Int = 1, Float, String, Ints, Floats, Strings, Tensor };
  using Value = std::variant<std::monostate, int64_t, double, std::string, std::vector<int64_t>, std::vector<float>,
                             std::vector<std::string>>;
  struct Attribute {
    std::string name;
    Kind kind = Kind::Int;
    bool required = false;
    Value otherwise; // default value; monostate: no default, and the attribute may be absent
  };
  struct Output {
    std::string name, element;
    DimList dims;
  };
  struct Size {
    std::string name;
    std::optional<DimExpr> bound;
  };

  std::string domain, name;
  int64_t since = 1;
  /// C symbols of the custom op's function and of its shape function. If there is no shape
  /// function, `function` sets the sizes of its results itself.
  std::string function, shapeFunction;
  llvm::StringMap<std::vector<std::string>> types;
  std::vector<Input> inputs;
  std::vector<Attribute> attributes;
  std::vector<Output> outputs;
  std::vector<Size> sizes;
  /// True if the custom op's function has no side effects and its results depend on its inputs
  /// only. Calls with equal inputs are then merged, and unused calls erased.
  bool pure = false;
  /// Name of the file that contains the custom op's definition, for error messages.
  std::string file;

  std::string title() const { return domain.empty() ? name : domain + "." + name; }
};

/// Returns the ONNX data type (TensorProto.DataType) of the element type with this name in
/// definitions ("float32", "string"), or nullopt if there is none.
std::optional<int64_t> elementCodeOf(llvm::StringRef name);

/// Emits the graph ops for a node that has the user's definition `op`.
llvm::LogicalResult buildCustom(OnnxNode &node, const CustomDefinition &op);

} // namespace hewn::graph

#endif

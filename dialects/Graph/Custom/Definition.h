// SPDX-License-Identifier: Apache-2.0
//
// What the user says of an op that hewn does not have. lib/Importer/ONNX/CustomOps.h reads it from a file, docs/custom-ops.md says what
// each means.
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

/// In front of a list of dims: any number of them.
inline constexpr llvm::StringLiteral kAnyDims = "...";

struct CustomDefinition {
  /// Dims as the file has them; a list may begin with kAnyDims.
  struct DimList {
    bool anyBefore = false;
    Dims dims;
  };
  struct Input {
    std::string name;
    /// Names of element types, or the one name of a list in `types`.
    std::vector<std::string> elements;
    std::optional<DimList> dims; // nullopt: any
    bool optional = false;
    bool variadic = false; // the last one: any number, at least one
  };
  /// In hewn/custom.h's order.
  enum class Kind { Int = 1, Float, String, Ints, Floats, Strings, Tensor };
  using Value = std::variant<std::monostate, int64_t, double, std::string, std::vector<int64_t>, std::vector<float>,
                             std::vector<std::string>>;
  struct Attribute {
    std::string name;
    Kind kind = Kind::Int;
    bool required = false;
    Value otherwise; // monostate: it may be absent
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
  /// C symbols; without a shape function the function tells sizes itself.
  std::string function, shapeFunction;
  llvm::StringMap<std::vector<std::string>> types;
  std::vector<Input> inputs;
  std::vector<Attribute> attributes;
  std::vector<Output> outputs;
  std::vector<Size> sizes;
  /// Equal calls give equal results and change nothing: one is enough, and none where nobody reads them.
  bool pure = false;
  /// The file, for messages.
  std::string file;

  std::string title() const { return domain.empty() ? name : domain + "." + name; }
};

/// ONNX's number of an element type as definitions name it ("float32", "string"); nullopt where there is none.
std::optional<int64_t> elementCodeOf(llvm::StringRef name);

/// Makes the node's ops by its definition.
llvm::LogicalResult buildCustom(OnnxNode &node, const CustomDefinition &op);

} // namespace hewn::graph

#endif

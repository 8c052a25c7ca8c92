// SPDX-License-Identifier: Apache-2.0
//
// Matches the dims in a custom op's definition with the dims of its operands.
#ifndef HEWN_DIALECTS_GRAPH_CUSTOM_PATTERNS_H
#define HEWN_DIALECTS_GRAPH_CUSTOM_PATTERNS_H

#include "dialects/Graph/Custom/Definition.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace hewn::graph {

/// Convert a list of dims to an attribute, and back. The latter returns nullopt if the attribute is
/// malformed.
mlir::ArrayAttr patternAttr(mlir::MLIRContext *context, const CustomDefinition::DimList &list);
std::optional<CustomDefinition::DimList> parsePattern(mlir::Attribute attribute);
/// Returns a list of dims as text: "[..., n, 2*m]".
std::string textOf(const CustomDefinition::DimList &list);
/// Returns the name if the dim expression `dim` is a single name, else nullopt.
std::optional<llvm::StringRef> plainName(const DimExpr &dim);
/// Returns true if the expression contains a division by the constant 0.
bool dividesByZero(const DimExpr &dim);

/// The values of the dim names in a custom op's definition. The dims of all operands must be
/// matched before names are evaluated.
class DimNames {
public:
  /// Matches a list of dims in the definition with the dims of an operand. Returns false if their
  /// ranks do not match.
  bool match(const CustomDefinition::DimList &pattern, llvm::ArrayRef<DimExpr> dims);
  void define(llvm::StringRef name, const DimExpr &value) { names.try_emplace(name, value); }

  /// Evaluates the names in a dim, or in a list of dims. If a name has no value, stores the name in
  /// `unknown` and returns nullopt.
  std::optional<DimExpr> evaluate(const DimExpr &dim);
  std::optional<Dims> evaluate(const CustomDefinition::DimList &pattern);
  /// Returns the pairs of sizes that must be equal: a dim as the custom op's definition gives it,
  /// and the dim of the operand.
  std::optional<llvm::SmallVector<std::pair<DimExpr, DimExpr>>> pairs();
  std::string unknown;

private:
  llvm::StringMap<DimExpr> names;
  std::optional<Dims> before; // the operand dims matched by "..." in the definition
  llvm::SmallVector<std::pair<DimExpr, DimExpr>> equal, written;
};

} // namespace hewn::graph

#endif

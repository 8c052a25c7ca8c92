// SPDX-License-Identifier: Apache-2.0
//
// Dims as definitions write them, against dims of operands.
#ifndef HEWN_DIALECTS_GRAPH_CUSTOM_PATTERNS_H
#define HEWN_DIALECTS_GRAPH_CUSTOM_PATTERNS_H

#include "dialects/Graph/Custom/Definition.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace hewn::graph {

/// A list of dims as it stands in the IR, and back; nullopt where it is malformed.
mlir::ArrayAttr patternAttr(mlir::MLIRContext *context, const CustomDefinition::DimList &list);
std::optional<CustomDefinition::DimList> parsePattern(mlir::Attribute attribute);
/// "[..., n, 2*m]"
std::string textOf(const CustomDefinition::DimList &list);
/// The name, where the dim is nothing but one.
std::optional<llvm::StringRef> plainName(const DimExpr &dim);
/// Whether something is divided by the number 0.
bool dividesByZero(const DimExpr &dim);

/// What names stand for. Patterns are matched first, all of them; then what they mean is asked.
class DimNames {
public:
  /// False where the rank does not fit.
  bool match(const CustomDefinition::DimList &pattern, llvm::ArrayRef<DimExpr> dims);
  void define(llvm::StringRef name, const DimExpr &value) { names.try_emplace(name, value); }

  /// Nullopt where a name has no value: `unknown` has it.
  std::optional<DimExpr> evaluate(const DimExpr &dim);
  std::optional<Dims> evaluate(const CustomDefinition::DimList &pattern);
  /// What must be equal: what a pattern's dim means, and the operand's.
  std::optional<llvm::SmallVector<std::pair<DimExpr, DimExpr>>> pairs();
  std::string unknown;

private:
  llvm::StringMap<DimExpr> names;
  std::optional<Dims> before; // what "..." stands for
  llvm::SmallVector<std::pair<DimExpr, DimExpr>> equal, written;
};

} // namespace hewn::graph

#endif

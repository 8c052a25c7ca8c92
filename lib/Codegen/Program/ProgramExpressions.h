// SPDX-License-Identifier: Apache-2.0
//
// Emits expressions over symbols as LLVM instructions on i64.
#ifndef HEWN_LIB_CODEGEN_PROGRAMEXPRESSIONS_H
#define HEWN_LIB_CODEGEN_PROGRAMEXPRESSIONS_H

#include "dialects/Graph/Analysis/Dims.h"
#include "llvm/IR/IRBuilder.h"

namespace hewn::codegen {

class ExpressionBuilder {
public:
  using SymbolValue = std::function<llvm::Value *(llvm::StringRef)>;
  ExpressionBuilder(llvm::IRBuilder<> &b, SymbolValue symbol) : b(b), symbol(std::move(symbol)) {}

  llvm::Value *value(const graph::DimExpr &expr);
  /// Emits the expression with overflow checks. Sets `overflow` to an i1 value that is true if an
  /// operation overflows, or leaves it null if none can.
  llvm::Value *checked(const graph::DimExpr &expr, llvm::Value *&overflow);

private:
  llvm::Value *sum(const graph::DimExpr &expr);
  llvm::Value *atom(const graph::DimExpr::Atom &atom);
  llvm::Value *combine(bool multiply, llvm::Value *a, llvm::Value *c);

  llvm::IRBuilder<> &b;
  SymbolValue symbol;
  bool checks = false;
  llvm::Value *overflow = nullptr;
};

} // namespace hewn::codegen

#endif

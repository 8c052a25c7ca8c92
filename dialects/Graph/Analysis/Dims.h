// SPDX-License-Identifier: Apache-2.0
//
// Symbolic dimensions.
//
// A model's dims are often names ("batch", "seq") or arithmetic on them (4*seq + 3, (h + 1)
// floordiv 2). `DimExpr` is such a value: a polynomial with integer coefficients over atoms. An
// atom is a symbol or a floordiv, mod, min or max of two polynomials. Sums and products are kept in
// a canonical order, so two expressions are equal exactly if their texts are equal. The IR contains
// the text (`graph.dims = [#graph.dim<"batch">, #graph.dim<"4*seq">, 768]`), and parses it. In
// memory, the attribute's parameter is the value itself.
//
// AffineExpr is not sufficient: dims are multiplied (batch*seq), and Reshape's -1 needs exact
// division of such products.
#ifndef HEWN_DIALECTS_GRAPH_ANALYSIS_DIMS_H
#define HEWN_DIALECTS_GRAPH_ANALYSIS_DIMS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <memory>
#include <optional>
#include <string>

namespace mlir {
class AsmParser;
class AsmPrinter;
} // namespace mlir

namespace hewn::graph {

/// An integer expression over named symbols. An immutable value type that is cheap to copy.
class DimExpr {
public:
  enum class Op { FloorDiv, Mod, Min, Max };
  struct Atom;
  using AtomRef = std::shared_ptr<const Atom>;
  /// A term of a dim expression: coefficient * factors[0] * factors[1] * ...; the factors are
  /// sorted by text, and repeated for powers.
  struct Term {
    int64_t coefficient;
    llvm::SmallVector<AtomRef, 2> factors;
  };

  DimExpr() : DimExpr(0) {}
  DimExpr(int64_t constant);
  static DimExpr symbol(llvm::StringRef name);
  /// Parses text as printed by `str`. Returns nullopt if the text is not an expression.
  static std::optional<DimExpr> parse(llvm::StringRef text);

  std::optional<int64_t> constant() const;
  bool is(int64_t value) const { return constant() == value; }
  llvm::StringRef str() const { return rep->text; }
  /// Returns the value of an integer or #graph.dim attribute; nullopt for other attributes.
  static std::optional<DimExpr> fromAttr(mlir::Attribute attr);
  mlir::Attribute toAttr(mlir::MLIRContext *context) const;

  DimExpr operator+(const DimExpr &other) const;
  DimExpr operator-(const DimExpr &other) const;
  /// Returns the sum of all summands. Adding many of them one by one would take quadratic time.
  static DimExpr sum(llvm::ArrayRef<DimExpr> summands);
  DimExpr operator*(const DimExpr &other) const;
  bool operator==(const DimExpr &other) const { return rep == other.rep || rep->text == other.rep->text; }
  bool operator!=(const DimExpr &other) const { return !(*this == other); }
  /// Returns floor(this / other), simplified if the division is exact. `other` must not be the
  /// constant 0.
  DimExpr floorDiv(const DimExpr &other) const;
  DimExpr ceilDiv(const DimExpr &other) const;
  DimExpr mod(const DimExpr &other) const;
  static DimExpr min(const DimExpr &a, const DimExpr &b);
  static DimExpr max(const DimExpr &a, const DimExpr &b);
  /// Returns the expression op(a, b), simplified. A division by 1 is kept as one factor (see
  /// `whole`).
  static DimExpr apply(Op op, const DimExpr &a, const DimExpr &b);
  /// Returns this / other if `other` divides every term, else nullopt.
  std::optional<DimExpr> divideExactly(const DimExpr &other) const;

  /// Calls `visit` with the name of every symbol, in order of first appearance.
  void walkSymbols(llvm::function_ref<void(llvm::StringRef)> visit) const;
  /// Returns the expression with each symbol replaced by `map(name)`.
  DimExpr substitute(llvm::function_ref<DimExpr(llvm::StringRef)> map) const;
  /// Emits arith ops that compute the expression as an index; `symbolValue(name)` is the SSA value
  /// of a symbol.
  mlir::Value materialize(mlir::OpBuilder &b, mlir::Location loc,
                          llvm::function_ref<mlir::Value(llvm::StringRef)> symbolValue) const;

  llvm::ArrayRef<Term> terms() const { return rep->terms; }
  /// Returns one factor of a term as an expression.
  static DimExpr factor(AtomRef atom);
  friend llvm::hash_code hash_value(const DimExpr &expr) { return llvm::hash_value(expr.str()); }

private:
  struct Rep {
    llvm::SmallVector<Term, 2> terms;
    std::string text;
  };
  explicit DimExpr(llvm::SmallVector<Term, 2> terms);
  /// Sets the terms of the expression, which the caller has sorted in canonical order. Adds up
  /// terms with equal factors.
  void setSorted(llvm::SmallVector<Term, 2> terms);
  static DimExpr atom(Op op, const DimExpr &a, const DimExpr &b);
  /// Wraps a sum in a single factor, `floordiv(a, 1)`, so that multiplications do not expand it.
  static DimExpr whole(const DimExpr &a);
  std::shared_ptr<const Rep> rep;
};

struct DimExpr::Atom {
  std::string name; // name of a symbol, or empty if the atom is an operation
  Op op = Op::FloorDiv;
  DimExpr lhs, rhs;
  std::string text;
  explicit Atom(llvm::StringRef symbol) : name(symbol), lhs(0), rhs(0), text(symbol) {}
  Atom(Op op, const DimExpr &a, const DimExpr &b);
};

using Dims = llvm::SmallVector<DimExpr, 4>;

/// Parses and prints a dim as an attribute parameter: an integer, or quoted text.
llvm::FailureOr<DimExpr> parseDim(mlir::AsmParser &parser);
void printDim(mlir::AsmPrinter &printer, const DimExpr &dim);

/// Returns the number of elements of a tensor with these dims: all dims multiplied.
DimExpr numElements(llvm::ArrayRef<DimExpr> dims);
/// Returns the shape of a tensor type with these dims: ShapedType::kDynamic for dims that are not
/// constant.
llvm::SmallVector<int64_t, 4> staticShape(llvm::ArrayRef<DimExpr> dims);

} // namespace hewn::graph

#endif

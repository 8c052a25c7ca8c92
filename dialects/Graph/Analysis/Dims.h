// SPDX-License-Identifier: Apache-2.0
//
// Symbolic dimensions.
//
// A model's dims are often names ("batch", "seq") or arithmetic over them
// (4*seq + 3, (h + 1) floordiv 2).  `DimExpr` is such a value: a polynomial
// with integer coefficients over atoms, where an atom is a symbol or one of
// floordiv, mod, min, max of two polynomials.  Sums and products are kept in a
// canonical order, so two expressions are equal exactly when their text is
// equal; the text is also the form that stands in the IR (`graph.dims =
// [#graph.dim<"batch">, #graph.dim<"4*seq">, 768]`) and parses back. There the
// value itself is the attribute's parameter, and no text is read again.
//
// Why not AffineExpr: dims multiply (batch*seq), and Reshape's -1 needs exact
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

/// An integer expression over named symbols.  A cheap value type; immutable.
class DimExpr {
public:
  enum class Op { FloorDiv, Mod, Min, Max };
  struct Atom;
  using AtomRef = std::shared_ptr<const Atom>;
  /// coefficient * product of factors (sorted by text, repeated for powers).
  struct Term {
    int64_t coefficient;
    llvm::SmallVector<AtomRef, 2> factors;
  };

  DimExpr() : DimExpr(0) {}
  DimExpr(int64_t constant);
  static DimExpr symbol(llvm::StringRef name);
  /// Parses what `str` prints; nullopt where the text is not an expression.
  static std::optional<DimExpr> parse(llvm::StringRef text);

  std::optional<int64_t> constant() const;
  bool is(int64_t value) const { return constant() == value; }
  llvm::StringRef str() const { return rep->text; }
  /// The value of an integer or a #graph.dim; nullopt for any other attribute.
  static std::optional<DimExpr> fromAttr(mlir::Attribute attr);
  mlir::Attribute toAttr(mlir::MLIRContext *context) const;

  DimExpr operator+(const DimExpr &other) const;
  DimExpr operator-(const DimExpr &other) const;
  /// Of many: adding one after another takes the square of their number.
  static DimExpr sum(llvm::ArrayRef<DimExpr> summands);
  DimExpr operator*(const DimExpr &other) const;
  bool operator==(const DimExpr &other) const { return rep == other.rep || rep->text == other.rep->text; }
  bool operator!=(const DimExpr &other) const { return !(*this == other); }
  /// floor(this / other), exact where the division leaves no rest; `other` must
  /// not be the constant 0.
  DimExpr floorDiv(const DimExpr &other) const;
  DimExpr ceilDiv(const DimExpr &other) const;
  DimExpr mod(const DimExpr &other) const;
  static DimExpr min(const DimExpr &a, const DimExpr &b);
  static DimExpr max(const DimExpr &a, const DimExpr &b);
  /// The operation on other operands; what is divided by 1 stays one factor.
  static DimExpr apply(Op op, const DimExpr &a, const DimExpr &b);
  /// this / other where `other` divides every term, else nullopt.
  std::optional<DimExpr> divideExactly(const DimExpr &other) const;

  /// Calls `visit` with the name of every symbol in the expression, in order of
  /// first appearance.
  void walkSymbols(llvm::function_ref<void(llvm::StringRef)> visit) const;
  /// The expression with each symbol replaced by `map(name)`.
  DimExpr substitute(llvm::function_ref<DimExpr(llvm::StringRef)> map) const;
  /// The expression as `arith` ops on index values; `symbolValue` gives each
  /// symbol's value.
  mlir::Value materialize(mlir::OpBuilder &b, mlir::Location loc,
                          llvm::function_ref<mlir::Value(llvm::StringRef)> symbolValue) const;

  llvm::ArrayRef<Term> terms() const { return rep->terms; }
  /// One factor of a term by itself.
  static DimExpr factor(AtomRef atom);
  friend llvm::hash_code hash_value(const DimExpr &expr) { return llvm::hash_value(expr.str()); }

private:
  struct Rep {
    llvm::SmallVector<Term, 2> terms;
    std::string text;
  };
  explicit DimExpr(llvm::SmallVector<Term, 2> terms);
  /// Terms in canonical order, of which some may be the same but for their coefficients.
  void setSorted(llvm::SmallVector<Term, 2> terms);
  static DimExpr atom(Op op, const DimExpr &a, const DimExpr &b);
  /// The sum as one factor, `floordiv(a, 1)`, which nobody multiplies out.
  static DimExpr whole(const DimExpr &a);
  std::shared_ptr<const Rep> rep;
};

struct DimExpr::Atom {
  std::string name; // of a symbol; empty for an operation
  Op op = Op::FloorDiv;
  DimExpr lhs, rhs;
  std::string text;
  explicit Atom(llvm::StringRef symbol) : name(symbol), lhs(0), rhs(0), text(symbol) {}
  Atom(Op op, const DimExpr &a, const DimExpr &b);
};

using Dims = llvm::SmallVector<DimExpr, 4>;

/// As a parameter of an attribute: a number, or text in quotes.
llvm::FailureOr<DimExpr> parseDim(mlir::AsmParser &parser);
void printDim(mlir::AsmPrinter &printer, const DimExpr &dim);

/// Product of all dims: the number of elements.
DimExpr numElements(llvm::ArrayRef<DimExpr> dims);
/// The static dims of a type; ShapedType::kDynamic where the expression is not
/// a constant.
llvm::SmallVector<int64_t, 4> staticShape(llvm::ArrayRef<DimExpr> dims);

} // namespace hewn::graph

#endif

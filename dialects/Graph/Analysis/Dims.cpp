// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Analysis/Dims.h"
#include "dialects/Graph/Analysis/Bounds/Bounds.h"
#include "dialects/Graph/Graph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <limits>

using namespace mlir;

namespace hewn::graph {

namespace {

/// Defines the canonical order of the terms of a dim expression: more factors first, then by text,
/// the constant last. Returns 0 for terms with equal factors, whose coefficients can be added.
int compareFactors(const DimExpr::Term &a, const DimExpr::Term &b) {
  if (a.factors.size() != b.factors.size())
    return a.factors.size() > b.factors.size() ? -1 : 1;
  for (auto [x, y] : llvm::zip_equal(a.factors, b.factors))
    if (int order = x == y ? 0 : StringRef(x->text).compare(y->text))
      return order;
  return 0;
}

void sortFactors(DimExpr::Term &term) {
  llvm::sort(term.factors, [](const auto &a, const auto &b) { return a->text < b->text; });
}

std::string print(ArrayRef<DimExpr::Term> terms) {
  if (terms.empty())
    return "0";
  std::string text;
  for (const DimExpr::Term &term : terms) {
    // Negates the coefficient as an unsigned number, because the signed negation of INT64_MIN
    // overflows.
    uint64_t magnitude = term.coefficient < 0 ? -uint64_t(term.coefficient) : uint64_t(term.coefficient);
    if (term.coefficient < 0)
      text += text.empty() ? "-" : " - ";
    else if (!text.empty())
      text += " + ";
    if (magnitude != 1 || term.factors.empty()) {
      text += std::to_string(magnitude);
      if (!term.factors.empty())
        text += "*";
    }
    llvm::interleave(term.factors, [&](const auto &f) { text += f->text; }, [&] { text += "*"; });
  }
  return text;
}

/// Divides a by b, rounding down. Callers ensure that the quotient fits: INT64_MIN / -1 overflows.
int64_t floorDivide(int64_t a, int64_t b) { return b == -1 ? int64_t(-uint64_t(a)) : llvm::divideFloorSigned(a, b); }

} // namespace

DimExpr::DimExpr(llvm::SmallVector<Term, 2> terms) {
  llvm::sort(terms, [](const Term &a, const Term &b) { return compareFactors(a, b) < 0; });
  setSorted(std::move(terms));
}

void DimExpr::setSorted(llvm::SmallVector<Term, 2> terms) {
  llvm::SmallVector<Term, 2> merged;
  merged.reserve(terms.size());
  for (Term &term : terms) {
    if (merged.empty() || compareFactors(merged.back(), term) != 0) {
      merged.push_back(std::move(term));
    } else if (llvm::AddOverflow(merged.back().coefficient, term.coefficient, merged.back().coefficient)) {
      rep = symbol(kOverflow).rep;
      return;
    }
  }
  llvm::erase_if(merged, [](const Term &t) { return t.coefficient == 0; });
  std::string text = print(merged);
  rep = std::make_shared<const Rep>(Rep{std::move(merged), std::move(text)});
}

DimExpr::DimExpr(int64_t constant) {
  // 0 is frequent, as the start value of sums, so all expressions that are 0 share one
  // representation
  if (constant == 0) {
    static const auto zero = std::make_shared<const Rep>(Rep{{}, "0"});
    rep = zero;
    return;
  }
  // 1 is frequent, as the start value of products, so all expressions that are 1 share one
  // representation
  if (constant == 1) {
    static const auto one = std::make_shared<const Rep>(Rep{{Term{1, {}}}, "1"});
    rep = one;
    return;
  }
  auto fresh = std::make_shared<Rep>();
  fresh->terms.push_back({constant, {}});
  fresh->text = print(fresh->terms);
  rep = std::move(fresh);
}

DimExpr DimExpr::symbol(StringRef name) { return factor(std::make_shared<const Atom>(name)); }

DimExpr::Atom::Atom(Op op, const DimExpr &a, const DimExpr &b) : op(op), lhs(a), rhs(b) {
  static const char *names[] = {"floordiv", "mod", "min", "max"};
  text = (Twine(names[int(op)]) + "(" + a.str() + ", " + b.str() + ")").str();
}

DimExpr DimExpr::atom(Op op, const DimExpr &a, const DimExpr &b) {
  return factor(std::make_shared<const Atom>(op, a, b));
}

std::optional<int64_t> DimExpr::constant() const {
  if (rep->terms.empty())
    return 0;
  if (rep->terms.size() == 1 && rep->terms[0].factors.empty())
    return rep->terms[0].coefficient;
  return std::nullopt;
}

DimExpr DimExpr::operator+(const DimExpr &other) const {
  if (rep->terms.empty() || other.rep->terms.empty())
    return rep->terms.empty() ? other : *this;
  llvm::SmallVector<Term, 2> terms;
  terms.reserve(rep->terms.size() + other.rep->terms.size());
  std::merge(rep->terms.begin(), rep->terms.end(), other.rep->terms.begin(), other.rep->terms.end(),
             std::back_inserter(terms), [](const Term &a, const Term &b) { return compareFactors(a, b) < 0; });
  DimExpr result;
  result.setSorted(std::move(terms));
  return result;
}

DimExpr DimExpr::sum(ArrayRef<DimExpr> summands) {
  llvm::SmallVector<Term, 2> terms;
  for (const DimExpr &one : summands)
    llvm::append_range(terms, one.rep->terms);
  return DimExpr(std::move(terms));
}

DimExpr DimExpr::operator-(const DimExpr &other) const { return *this + other * DimExpr(-1); }

DimExpr DimExpr::whole(const DimExpr &a) { return a.rep->terms.size() > 1 ? atom(Op::FloorDiv, a, DimExpr(1)) : a; }

DimExpr DimExpr::operator*(const DimExpr &other) const {
  // Expanding (a + b) * (c + d) multiplies the numbers of terms. For the element count of a
  // five-dim tensor whose dims are all clamped run-time values, this would take minutes, so large
  // sums are multiplied unexpanded.
  constexpr size_t mostTerms = 256;
  if (rep->terms.size() > 1 && other.rep->terms.size() > 1 && rep->terms.size() * other.rep->terms.size() > mostTerms)
    return whole(*this) * whole(other);
  llvm::SmallVector<Term, 2> terms;
  for (const Term &a : rep->terms)
    for (const Term &b : other.rep->terms) {
      Term product{0, a.factors};
      if (llvm::MulOverflow(a.coefficient, b.coefficient, product.coefficient))
        return symbol(kOverflow);
      llvm::append_range(product.factors, b.factors);
      sortFactors(product);
      terms.push_back(std::move(product));
    }
  return DimExpr(std::move(terms));
}

std::optional<DimExpr> DimExpr::divideExactly(const DimExpr &other) const {
  if (other.rep->terms.empty())
    return std::nullopt;
  if (*this == other)
    return DimExpr(1);
  // Long division by the divisor's leading term. Dim expressions have few terms, so the division
  // rarely reaches this limit of steps.
  DimExpr rest = *this, quotient(0);
  const Term &lead = other.rep->terms.front();
  for (int step = 0; step < 16 && !rest.rep->terms.empty(); ++step) {
    const Term &term = rest.rep->terms.front();
    // rejects coefficients whose division would trap: a divisor of 0, and INT64_MIN / -1
    if (lead.coefficient == 0)
      return std::nullopt;
    if (lead.coefficient == -1 && term.coefficient == std::numeric_limits<int64_t>::min())
      return std::nullopt;
    if (term.coefficient % lead.coefficient != 0)
      return std::nullopt;
    Term part{floorDivide(term.coefficient, lead.coefficient), term.factors};
    for (const AtomRef &factor : lead.factors) {
      auto *found = llvm::find_if(part.factors, [&](const AtomRef &f) { return f->text == factor->text; });
      if (found == part.factors.end())
        return std::nullopt;
      part.factors.erase(found);
    }
    llvm::SmallVector<Term, 2> single;
    single.push_back(std::move(part));
    DimExpr partial(std::move(single));
    quotient = quotient + partial;
    rest = rest - partial * other;
  }
  if (!rest.rep->terms.empty())
    return std::nullopt;
  return quotient;
}

DimExpr DimExpr::floorDiv(const DimExpr &other) const {
  std::optional<int64_t> a = constant(), b = other.constant();
  if (b == 1)
    return *this;
  if (a && b && *b == -1)
    return *this * other;
  if (a && b && *b != 0)
    return DimExpr(floorDivide(*a, *b));
  if (auto exact = divideExactly(other))
    return *exact;
  // Rewrites (c*q + r) floordiv c to q + (r floordiv c), so that equal sizes have equal canonical
  // forms.
  if (b && *b > 0) {
    llvm::SmallVector<Term, 2> whole, rest;
    for (const Term &term : rep->terms) {
      int64_t q = floorDivide(term.coefficient, *b), r = term.coefficient - q * *b;
      if (r == 0 || term.factors.empty()) {
        if (q)
          whole.push_back({q, term.factors});
        if (r)
          rest.push_back({r, term.factors});
      } else {
        rest.push_back(term);
      }
    }
    if (!whole.empty())
      return DimExpr(std::move(whole)) + DimExpr(std::move(rest)).floorDiv(other);
  }
  return atom(Op::FloorDiv, *this, other);
}

DimExpr DimExpr::ceilDiv(const DimExpr &other) const { return (*this + other - DimExpr(1)).floorDiv(other); }

DimExpr DimExpr::mod(const DimExpr &other) const {
  if (divideExactly(other))
    return DimExpr(0);
  std::optional<int64_t> a = constant(), b = other.constant();
  if (a && b && *b == -1)
    return DimExpr(0);
  if (a && b && *b != 0)
    return DimExpr(*a - floorDivide(*a, *b) * *b);
  return atom(Op::Mod, *this, other);
}

/// Returns true if `a` is op(b, x) or op(x, b) for any expression x.
static bool isOpOf(const DimExpr &a, DimExpr::Op op, const DimExpr &b) {
  ArrayRef<DimExpr::Term> terms = a.terms();
  if (terms.size() != 1 || terms[0].coefficient != 1 || terms[0].factors.size() != 1)
    return false;
  const DimExpr::Atom &atom = *terms[0].factors[0];
  return atom.name.empty() && atom.op == op && (atom.lhs == b || atom.rhs == b);
}

/// Simplifies nested minima and maxima: min(a, min(a, b)) is min(a, b), and min(a, max(a, b)) is a.
/// The rules with min and max exchanged also apply. Broadcasts of clamped sizes produce such
/// expressions.
static std::optional<DimExpr> absorb(DimExpr::Op op, const DimExpr &a, const DimExpr &b) {
  DimExpr::Op dual = op == DimExpr::Op::Min ? DimExpr::Op::Max : DimExpr::Op::Min;
  if (isOpOf(a, op, b) || isOpOf(b, dual, a))
    return a;
  if (isOpOf(b, op, a) || isOpOf(a, dual, b))
    return b;
  return std::nullopt;
}

DimExpr DimExpr::min(const DimExpr &a, const DimExpr &b) {
  // constants are compared directly, because their difference may overflow
  if (a.constant() && b.constant())
    return *a.constant() <= *b.constant() ? a : b;
  if (std::optional<DimExpr> one = absorb(Op::Min, a, b))
    return *one;
  if (std::optional<int64_t> difference = (a - b).constant())
    return *difference <= 0 ? a : b;
  return a.str() < b.str() ? atom(Op::Min, a, b) : atom(Op::Min, b, a);
}

DimExpr DimExpr::max(const DimExpr &a, const DimExpr &b) {
  if (a.constant() && b.constant())
    return *a.constant() >= *b.constant() ? a : b;
  if (std::optional<DimExpr> one = absorb(Op::Max, a, b))
    return *one;
  if (std::optional<int64_t> difference = (a - b).constant())
    return *difference >= 0 ? a : b;
  return a.str() < b.str() ? atom(Op::Max, a, b) : atom(Op::Max, b, a);
}

void DimExpr::walkSymbols(llvm::function_ref<void(StringRef)> visit) const {
  for (const Term &term : rep->terms)
    for (const AtomRef &factor : term.factors) {
      if (!factor->name.empty()) {
        visit(factor->name);
        continue;
      }
      factor->lhs.walkSymbols(visit);
      factor->rhs.walkSymbols(visit);
    }
}

DimExpr DimExpr::apply(Op op, const DimExpr &a, const DimExpr &b) {
  switch (op) {
  case DimExpr::Op::FloorDiv:
    return b.is(1) ? whole(a) : a.floorDiv(b);
  case DimExpr::Op::Mod:
    return a.mod(b);
  case DimExpr::Op::Min:
    return DimExpr::min(a, b);
  case DimExpr::Op::Max:
    return DimExpr::max(a, b);
  }
  return a;
}

DimExpr DimExpr::substitute(llvm::function_ref<DimExpr(StringRef)> map) const {
  DimExpr sum(0);
  for (const Term &term : rep->terms) {
    DimExpr product(term.coefficient);
    for (const AtomRef &factor : term.factors)
      product =
          product * (factor->name.empty() ? apply(factor->op, factor->lhs.substitute(map), factor->rhs.substitute(map))
                                          : map(factor->name));
    sum = sum + product;
  }
  return sum;
}

/// Changes the dividend `l` and the divisor `r` of an emitted division so that it cannot trap:
/// division by 0 and INT64_MIN / -1 trap on CPUs and have no correct result.
static void guardDivision(OpBuilder &b, Location loc, Value &l, Value &r) {
  auto constant = [&](int64_t v) -> Value { return arith::ConstantIndexOp::create(b, loc, v); };
  auto is = [&](int64_t v) { return b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, r, constant(v)); };
  Value negates = is(-1), special = b.createOrFold<arith::OrIOp>(loc, is(0), negates);
  l = b.createOrFold<arith::SelectOp>(loc, negates, b.createOrFold<arith::SubIOp>(loc, constant(0), l), l);
  r = b.createOrFold<arith::SelectOp>(loc, special, constant(1), r);
}

Value DimExpr::materialize(OpBuilder &b, Location loc, llvm::function_ref<Value(StringRef)> symbolValue) const {
  auto constantIndex = [&](int64_t v) -> Value { return arith::ConstantIndexOp::create(b, loc, v); };
  Value sum;
  for (const Term &term : rep->terms) {
    Value product;
    for (const AtomRef &factor : term.factors) {
      Value value;
      if (!factor->name.empty()) {
        value = symbolValue(factor->name);
      } else {
        Value l = factor->lhs.materialize(b, loc, symbolValue), r = factor->rhs.materialize(b, loc, symbolValue);
        bool divides = factor->op == Op::FloorDiv || factor->op == Op::Mod;
        if (divides && !factor->rhs.constant())
          guardDivision(b, loc, l, r);
        switch (factor->op) {
        case Op::FloorDiv:
          value = b.createOrFold<arith::FloorDivSIOp>(loc, l, r);
          break;
        case Op::Mod: {
          Value q = b.createOrFold<arith::FloorDivSIOp>(loc, l, r);
          value = b.createOrFold<arith::SubIOp>(loc, l, b.createOrFold<arith::MulIOp>(loc, q, r));
          break;
        }
        case Op::Min:
          value = b.createOrFold<arith::MinSIOp>(loc, l, r);
          break;
        case Op::Max:
          value = b.createOrFold<arith::MaxSIOp>(loc, l, r);
          break;
        }
      }
      product = product ? b.createOrFold<arith::MulIOp>(loc, product, value) : value;
    }
    if (!product)
      product = constantIndex(term.coefficient);
    else if (term.coefficient != 1)
      product = b.createOrFold<arith::MulIOp>(loc, product, constantIndex(term.coefficient));
    sum = sum ? b.createOrFold<arith::AddIOp>(loc, sum, product) : product;
  }
  return sum ? sum : constantIndex(0);
}

//===------------------------------------------------------------------------------------------===//
// Text
//===------------------------------------------------------------------------------------------===//

namespace {

/// Parser of dim expressions. Grammar: sum := ['-'] product (('+' | '-') product)*;  product :=
/// factor ('*' factor)*; factor := number | name | op '(' sum ',' sum ')'
class Parser {
public:
  explicit Parser(StringRef text) : rest(text) {}

  std::optional<DimExpr> whole() {
    std::optional<DimExpr> value = sum(0);
    skip();
    return rest.empty() ? value : std::nullopt;
  }

private:
  void skip() { rest = rest.ltrim(' '); }
  bool eat(char c) {
    skip();
    return rest.consume_front(StringRef(&c, 1));
  }

  std::optional<DimExpr> sum(int depth) {
    // the text comes from files, so the nesting depth of expressions is limited to protect the
    // stack
    if (depth > 64)
      return std::nullopt;
    SmallVector<DimExpr> summands;
    bool isNegative = eat('-');
    while (true) {
      std::optional<DimExpr> term = product(depth, isNegative);
      if (!term)
        return std::nullopt;
      summands.push_back(*term);
      if (eat('+'))
        isNegative = false;
      else if (eat('-'))
        isNegative = true;
      else
        return DimExpr::sum(summands);
    }
  }

  /// Parses a product. If a minus sign precedes it (`isNegative`), the sign becomes part of the
  /// product's first number, because -INT64_MIN does not exist.
  std::optional<DimExpr> product(int depth, bool isNegative) {
    DimExpr total(1);
    skip();
    if (!rest.empty() && llvm::isDigit(rest.front())) {
      std::optional<DimExpr> value = number(isNegative);
      if (!value || !eat('*'))
        return value;
      total = *value;
    } else if (isNegative) {
      total = DimExpr(-1);
    }
    do {
      std::optional<DimExpr> value = factor(depth);
      if (!value)
        return std::nullopt;
      total = total * *value;
    } while (eat('*'));
    return total;
  }

  std::optional<DimExpr> number(bool isNegative) {
    uint64_t magnitude;
    if (rest.consumeInteger(10, magnitude) ||
        magnitude > uint64_t(std::numeric_limits<int64_t>::max()) + uint64_t(isNegative))
      return std::nullopt;
    return DimExpr(int64_t(isNegative ? -magnitude : magnitude));
  }

  std::optional<DimExpr> factor(int depth) {
    skip();
    if (rest.empty())
      return std::nullopt;
    if (llvm::isDigit(rest.front()))
      return number(/*isNegative=*/false);
    StringRef name = rest.take_while([](char c) { return !StringRef(" +-*(),").contains(c); });
    if (name.empty())
      return std::nullopt;
    rest = rest.drop_front(name.size());
    if (!eat('('))
      return DimExpr::symbol(name);
    std::optional<DimExpr> a = sum(depth + 1);
    if (!a || !eat(','))
      return std::nullopt;
    std::optional<DimExpr> b = sum(depth + 1);
    if (!b || !eat(')'))
      return std::nullopt;
    if (name == "floordiv" && !b->is(0))
      return DimExpr::apply(DimExpr::Op::FloorDiv, *a, *b);
    if (name == "mod" && !b->is(0))
      return a->mod(*b);
    if (name == "min")
      return DimExpr::min(*a, *b);
    if (name == "max")
      return DimExpr::max(*a, *b);
    return std::nullopt;
  }

  StringRef rest;
};

} // namespace

std::optional<DimExpr> DimExpr::parse(StringRef text) { return Parser(text).whole(); }

DimExpr DimExpr::factor(AtomRef atom) {
  llvm::SmallVector<Term, 2> terms;
  terms.push_back({1, {std::move(atom)}});
  return DimExpr(std::move(terms));
}

std::optional<DimExpr> DimExpr::fromAttr(Attribute attr) {
  if (auto dim = dyn_cast_or_null<DimAttr>(attr))
    return dim.getExpr();
  auto number = dyn_cast_or_null<IntegerAttr>(attr);
  if (!number || !number.getType().isSignlessIntOrIndex())
    return std::nullopt;
  std::optional<int64_t> value = number.getValue().trySExtValue();
  return value ? std::optional<DimExpr>(*value) : std::nullopt;
}

Attribute DimExpr::toAttr(MLIRContext *context) const {
  if (std::optional<int64_t> value = constant())
    return IntegerAttr::get(IntegerType::get(context, 64), *value);
  return DimAttr::get(context, *this);
}

LogicalResult DimAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, DimExpr expr) {
  if (expr.constant())
    return emitError() << "a constant dim must be an integer attribute: " << expr.str();
  return success();
}

FailureOr<DimExpr> parseDim(AsmParser &parser) {
  SMLoc at = parser.getCurrentLocation();
  std::string text;
  if (succeeded(parser.parseOptionalString(&text))) {
    if (std::optional<DimExpr> expr = DimExpr::parse(text))
      return *expr;
    return parser.emitError(at) << "invalid dim expression '" << text << "'";
  }
  int64_t number;
  if (parser.parseInteger(number))
    return failure();
  return DimExpr(number);
}

void printDim(AsmPrinter &printer, const DimExpr &dim) {
  if (std::optional<int64_t> number = dim.constant())
    printer << *number;
  else
    printer.printString(dim.str());
}

DimExpr numElements(ArrayRef<DimExpr> dims) {
  DimExpr product(1);
  for (const DimExpr &dim : dims)
    product = product * dim;
  return product;
}

llvm::SmallVector<int64_t, 4> staticShape(ArrayRef<DimExpr> dims) {
  return llvm::map_to_vector<4>(dims, [](const DimExpr &d) { return d.constant().value_or(ShapedType::kDynamic); });
}

} // namespace hewn::graph

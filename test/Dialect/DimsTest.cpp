// SPDX-License-Identifier: Apache-2.0
//
// Compares DimExpr with functions of int64. Draws random expressions and equivalent functions, and
// evaluates both at random values of their symbols, including negative values and zeros. If a
// division by 0 occurs, any value is accepted.
#include "dialects/Graph/Analysis/Dims.h"
#include "dialects/Graph/Analysis/Bounds/Bounds.h"
#include "dialects/Graph/Analysis/Bounds/Solutions.h"
#include "dialects/Graph/Graph.h"

#include "gtest/gtest.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <functional>
#include <limits>
#include <random>

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;

namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
constexpr const char *kNames[] = {"batch", "h", "n", "w.0"};

using Values = llvm::StringMap<int64_t>;
using Number = std::optional<int64_t>; // nullopt if a division by 0 occurs

int64_t floorDivide(int64_t a, int64_t b) {
  int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

Number apply(DimExpr::Op op, int64_t a, int64_t b) {
  switch (op) {
  case DimExpr::Op::FloorDiv:
    return b == 0 ? Number() : floorDivide(a, b);
  case DimExpr::Op::Mod:
    return b == 0 ? Number() : a - floorDivide(a, b) * b;
  case DimExpr::Op::Min:
    return std::min(a, b);
  case DimExpr::Op::Max:
    return std::max(a, b);
  }
  return std::nullopt;
}

/// Evaluates an expression from its representation as a sum of terms.
Number valueOf(const DimExpr &expr, const Values &values) {
  int64_t sum = 0;
  for (const DimExpr::Term &term : expr.terms()) {
    int64_t product = term.coefficient;
    for (const DimExpr::AtomRef &factor : term.factors) {
      Number value;
      if (!factor->name.empty()) {
        value = values.lookup(factor->name);
      } else {
        Number l = valueOf(factor->lhs, values), r = valueOf(factor->rhs, values);
        value = l && r ? apply(factor->op, *l, *r) : Number();
      }
      if (!value)
        return std::nullopt;
      product *= *value;
    }
    sum += product;
  }
  return sum;
}

/// An expression, and a function of int64 that is equivalent to it.
struct Drawn {
  DimExpr expr;
  std::function<Number(const Values &)> reference;
};

/// Draws expressions. Numbers are small and trees are flat, so that multiplied-out terms do not
/// overflow 64 bits.
class Drawer {
public:
  explicit Drawer(unsigned seed) : random(seed) {}

  int64_t number(int64_t least, int64_t most) { return std::uniform_int_distribution<int64_t>(least, most)(random); }

  Values values() {
    Values drawn;
    for (const char *name : kNames)
      drawn[name] = number(-5, 5);
    return drawn;
  }

  Drawn expression(int depth = 3) {
    int64_t kind = depth == 0 ? number(0, 2) : number(0, 9);
    if (kind == 0) {
      int64_t value = number(-4, 4);
      return {DimExpr(value), [=](const Values &) { return value; }};
    }
    if (kind <= 2) {
      std::string name = kNames[number(0, std::size(kNames) - 1)];
      return {DimExpr::symbol(name), [=](const Values &values) { return values.lookup(name); }};
    }
    Drawn a = expression(depth - 1), b = expression(depth - 1);
    switch (kind) {
    case 3:
    case 4:
      return joined(a.expr + b.expr, a, b, [](int64_t x, int64_t y) -> Number { return x + y; });
    case 5:
      return joined(a.expr - b.expr, a, b, [](int64_t x, int64_t y) -> Number { return x - y; });
    case 6:
    case 7:
      return joined(a.expr * b.expr, a, b, [](int64_t x, int64_t y) -> Number { return x * y; });
    default:
      return operation(DimExpr::Op(number(0, 3)), a, b);
    }
  }

private:
  static Drawn joined(DimExpr expr, const Drawn &a, const Drawn &b, std::function<Number(int64_t, int64_t)> of) {
    auto reference = [l = a.reference, r = b.reference, of](const Values &values) -> Number {
      Number x = l(values), y = r(values);
      return x && y ? of(*x, *y) : Number();
    };
    return {std::move(expr), reference};
  }

  Drawn operation(DimExpr::Op op, const Drawn &a, Drawn b) {
    bool divides = op == DimExpr::Op::FloorDiv || op == DimExpr::Op::Mod;
    if (divides && b.expr.is(0))
      b = {DimExpr(3), [](const Values &) { return 3; }};
    auto of = [op](int64_t x, int64_t y) { return apply(op, x, y); };
    switch (op) {
    case DimExpr::Op::FloorDiv:
      return joined(a.expr.floorDiv(b.expr), a, b, of);
    case DimExpr::Op::Mod:
      return joined(a.expr.mod(b.expr), a, b, of);
    case DimExpr::Op::Min:
      return joined(DimExpr::min(a.expr, b.expr), a, b, of);
    case DimExpr::Op::Max:
      return joined(DimExpr::max(a.expr, b.expr), a, b, of);
    }
    return a;
  }

  std::mt19937_64 random;
};

constexpr int kExpressions = 2000, kPoints = 6;

/// Calls `check` with random expressions, each with symbol values for which it is defined.
void forAll(unsigned seed, llvm::function_ref<void(Drawer &, const Drawn &, const Values &, int64_t)> check) {
  Drawer drawer(seed);
  int checked = 0;
  for (int i = 0; i < kExpressions && !testing::Test::HasFailure(); ++i) {
    Drawn drawn = drawer.expression();
    for (int point = 0; point < kPoints; ++point) {
      Values values = drawer.values();
      Number wanted = drawn.reference(values);
      if (!wanted)
        continue;
      ++checked;
      check(drawer, drawn, values, *wanted);
    }
  }
  EXPECT_TRUE(testing::Test::HasFailure() || checked > kExpressions * kPoints / 2);
}

std::string shown(const Values &values) {
  std::string text;
  for (const char *name : kNames)
    text += std::string(" ") + name + " = " + std::to_string(values.lookup(name));
  return text;
}

TEST(Dims, operatorsAreThoseOfIntegers) {
  forAll(1, [](Drawer &, const Drawn &drawn, const Values &values, int64_t wanted) {
    EXPECT_EQ(valueOf(drawn.expr, values), wanted) << drawn.expr.str().str() << " at" << shown(values);
  });
}

TEST(Dims, numbersInPlaceOfSymbolsGiveANumber) {
  forAll(2, [](Drawer &, const Drawn &drawn, const Values &values, int64_t wanted) {
    DimExpr number = drawn.expr.substitute([&](StringRef name) { return DimExpr(values.lookup(name)); });
    EXPECT_EQ(number.constant(), wanted) << drawn.expr.str().str() << " at" << shown(values);
  });
}

TEST(Dims, expressionsInPlaceOfSymbolsAreComputedFirst) {
  forAll(3, [](Drawer &drawer, const Drawn &drawn, const Values &values, int64_t) {
    llvm::StringMap<Drawn> inner;
    Values outer;
    for (const char *name : kNames) {
      inner[name] = drawer.expression(1);
      Number value = inner[name].reference(values);
      if (!value)
        return;
      outer[name] = *value;
    }
    Number wanted = drawn.reference(outer);
    DimExpr whole = drawn.expr.substitute([&](StringRef name) { return inner[name].expr; });
    if (wanted)
      EXPECT_EQ(valueOf(whole, values), *wanted) << drawn.expr.str().str() << " as " << whole.str().str();
  });
}

TEST(Dims, textReadsBackAsWhatItIs) {
  Drawer drawer(4);
  for (int i = 0; i < kExpressions; ++i) {
    DimExpr expr = drawer.expression().expr;
    std::optional<DimExpr> read = DimExpr::parse(expr.str());
    ASSERT_TRUE(read && *read == expr) << expr.str().str() << " reads as " << (read ? read->str().str() : "nothing");
  }
}

/// Draws sums of terms with 64-bit coefficients. No two terms can be combined, so that coefficients
/// are neither added nor multiplied.
TEST(Dims, textOfLargeNumbersReadsBackAsWhatItIs) {
  std::mt19937_64 random(14);
  auto coefficient = [&] {
    constexpr int64_t edges[] = {kLeast, kLeast + 1, kMost, kMost - 1, -1, 1};
    size_t kind = random() % 8;
    return DimExpr(kind < std::size(edges) ? edges[kind] : int64_t(random()));
  };
  for (int i = 0; i < kExpressions; ++i) {
    DimExpr expr(0), n = DimExpr::symbol("n"), h = DimExpr::symbol("h");
    for (const DimExpr &product : {DimExpr(1), n, h, n * n, n * h, DimExpr::min(h, n), n.floorDiv(h)})
      if (random() % 3)
        expr = expr + coefficient() * product;
    if (random() % 4 == 0)
      expr = DimExpr::max(expr, n + coefficient());
    std::optional<DimExpr> read = DimExpr::parse(expr.str());
    ASSERT_TRUE(read && *read == expr) << expr.str().str() << " reads as " << (read ? read->str().str() : "nothing");
  }
  EXPECT_EQ(DimExpr::parse(DimExpr(kLeast).str())->constant(), kLeast);
}

TEST(Dims, attributesReadBackAsWhatTheyAre) {
  MLIRContext context;
  context.loadDialect<hewn::graph::GraphDialect>();
  Drawer drawer(5);
  for (int i = 0; i < 500; ++i) {
    DimExpr expr = drawer.expression().expr;
    ASSERT_EQ(DimExpr::fromAttr(expr.toAttr(&context))->str(), expr.str());
  }
  // Equal expressions are the same attribute, even if they are built in different ways.
  EXPECT_EQ((DimExpr::symbol("n") * DimExpr(2) + DimExpr::symbol("n")).toAttr(&context),
            DimExpr::parse("3*n")->toAttr(&context));
  EXPECT_EQ(DimExpr::parse("4*2")->toAttr(&context), Builder(&context).getI64IntegerAttr(8));
  // Parsed text may have an integer attribute of any type. A value that exceeds 64 bits is not a
  // dim.
  EXPECT_EQ(DimExpr::fromAttr(IntegerAttr::get(IntegerType::get(&context, 8), 5))->constant(), 5);
  EXPECT_FALSE(DimExpr::fromAttr(IntegerAttr::get(IntegerType::get(&context, 128), APInt::getSignedMinValue(128))));
  EXPECT_FALSE(DimExpr::fromAttr(IntegerAttr::get(IntegerType::get(&context, 8, IntegerType::Unsigned), 5)));
  EXPECT_FALSE(DimExpr::fromAttr(StringAttr::get(&context, "n")));
  EXPECT_FALSE(DimExpr::fromAttr(UnitAttr::get(&context)));
  EXPECT_FALSE(DimExpr::fromAttr(Attribute()));
}

TEST(Dims, equalExpressionsHaveOneText) {
  Drawer drawer(6);
  for (int i = 0; i < kExpressions; ++i) {
    DimExpr a = drawer.expression(2).expr, b = drawer.expression(2).expr, c = drawer.expression(1).expr;
    ASSERT_EQ((a + b).str(), (b + a).str());
    ASSERT_EQ((a * b).str(), (b * a).str());
    ASSERT_EQ(((a + b) + c).str(), (a + (b + c)).str());
    ASSERT_EQ(((a + b) * c).str(), (a * c + b * c).str());
    ASSERT_TRUE((a - a).is(0) && (a + b - b) == a);
    ASSERT_EQ(DimExpr::min(a, b).str(), DimExpr::min(b, a).str());
    ASSERT_EQ(DimExpr::max(a, b).str(), DimExpr::max(b, a).str());
    ASSERT_EQ(DimExpr::min(a, DimExpr::min(a, b)).str(), DimExpr::min(a, b).str());
    ASSERT_EQ(DimExpr::min(a, DimExpr::max(a, b)).str(), a.str());
  }
}

TEST(Dims, anExactQuotientTimesTheDivisorIsTheDividend) {
  Drawer drawer(7);
  int exact = 0;
  for (int i = 0; i < kExpressions; ++i) {
    DimExpr a = drawer.expression(2).expr, b = drawer.expression(2).expr;
    for (const DimExpr &dividend : {a, a * b})
      if (std::optional<DimExpr> quotient = dividend.divideExactly(b)) {
        ++exact;
        ASSERT_EQ((*quotient * b).str(), dividend.str()) << " by " << b.str().str();
      }
    // The quotients of these dim expressions simplify to exact results, because each term contains
    // the divisor.
    if (b.terms().size() == 1 && a.terms().size() < 16)
      ASSERT_EQ((a * b).divideExactly(b)->str(), a.str()) << " times " << b.str().str();
  }
  EXPECT_GT(exact, kExpressions / 2);
  EXPECT_FALSE(DimExpr::symbol("n").divideExactly(DimExpr(0)));
  EXPECT_FALSE(DimExpr::symbol("n").divideExactly(DimExpr(2)));
}

TEST(Dims, aQuotientRoundedUpIsTheLeastThatSuffices) {
  for (int64_t a = -20; a <= 20; ++a)
    for (int64_t b = 1; b <= 7; ++b) {
      int64_t q = *DimExpr(a).ceilDiv(DimExpr(b)).constant();
      EXPECT_TRUE(q * b >= a && (q - 1) * b < a) << a << " by " << b;
    }
}

TEST(Dims, opsGiveTheSameNumber) {
  MLIRContext context;
  context.loadDialect<arith::ArithDialect>();
  Drawer drawer(8);
  for (int i = 0; i < 1000 && !HasFailure(); ++i) {
    Drawn drawn = drawer.expression();
    Values values = drawer.values();
    Number wanted = drawn.reference(values);
    if (!wanted)
      continue;
    OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
    OpBuilder b = OpBuilder::atBlockBegin(module->getBody());
    Location loc = b.getUnknownLoc();
    Value made = drawn.expr.materialize(
        b, loc, [&](StringRef name) -> Value { return arith::ConstantIndexOp::create(b, loc, values.lookup(name)); });
    APInt number;
    ASSERT_TRUE(matchPattern(made, m_ConstantInt(&number))) << drawn.expr.str().str();
    EXPECT_EQ(number.getSExtValue(), *wanted) << drawn.expr.str().str() << " at" << shown(values);
  }
}

TEST(Dims, symbolsAreThoseOfTheText) {
  DimExpr expr = *DimExpr::parse("w.0*floordiv(n + h, 2) + min(batch, n)");
  llvm::StringSet<> seen;
  expr.walkSymbols([&](StringRef name) { seen.insert(name); });
  EXPECT_EQ(seen.size(), 4u);
  for (const char *name : kNames)
    EXPECT_TRUE(seen.contains(name)) << name;
}

TEST(Dims, whatDoesNotFitHasNoValue) {
  DimExpr most(kMost), least(kLeast), n = DimExpr::symbol("n");
  for (const DimExpr &expr : {most + DimExpr(1), least - DimExpr(1), most * DimExpr(2), least * DimExpr(-1),
                              least.floorDiv(DimExpr(-1)), most * n + n})
    EXPECT_FALSE(
        expr.substitute([](StringRef name) { return name == "n" ? DimExpr(0) : DimExpr::symbol(name); }).constant())
        << expr.str().str();
  EXPECT_TRUE(least.mod(DimExpr(-1)).is(0));
  EXPECT_TRUE(DimExpr::min(most, least) == least && DimExpr::max(most, least) == most);
  EXPECT_EQ(*least.floorDiv(DimExpr(2)).constant(), kLeast / 2);
}

TEST(Dims, whatIsNoExpressionIsNotRead) {
  std::string deep;
  for (int i = 0; i < 100; ++i)
    deep += "min(n, ";
  for (StringRef text : {"", "n +", "+ n", "*", "n n", "n)", "(n)", "floordiv(n)", "floordiv(n, 0)", "mod(n, m - m)",
                         "ceil(n, 2)", "min(n, m", "9223372036854775808", "-9223372036854775809",
                         "n*9223372036854775808", "-n*9223372036854775808", "2 3", ","})
    EXPECT_FALSE(DimExpr::parse(text)) << text.str();
  EXPECT_FALSE(DimExpr::parse(deep + "1" + std::string(100, ')')));
  EXPECT_EQ(DimExpr::parse(" - n*2+ 3 *n -0")->str(), "n");
}

TEST(Dims, elementsAndShapes) {
  DimExpr n = DimExpr::symbol("n");
  EXPECT_EQ(hewn::graph::numElements(Dims{n, DimExpr(3), n + DimExpr(1)}).str(), "3*n*n + 3*n");
  EXPECT_TRUE(hewn::graph::numElements({}).is(1));
  EXPECT_EQ(hewn::graph::staticShape(Dims{DimExpr(2), n, n - n}),
            (llvm::SmallVector<int64_t, 4>{2, ShapedType::kDynamic, 0}));
}

// A tensor has many dims that clamp a run-time value. Its number of elements, multiplied out, would
// have millions of terms.
TEST(Dims, ProductsOfLongSumsStaySmall) {
  Dims dims;
  for (int d = 0; d < 6; ++d) {
    DimExpr dim(d + 1);
    for (int i = 0; i < 12; ++i)
      dim = dim + DimExpr::symbol("n" + std::to_string(12 * d + i));
    dims.push_back(dim);
  }
  DimExpr all = hewn::graph::numElements(dims);
  EXPECT_LT(all.terms().size(), 400u);
  EXPECT_EQ(all.str(), DimExpr::parse(all.str())->str());
  auto number = [](StringRef) { return DimExpr(2); };
  int64_t wanted = 1;
  for (int d = 0; d < 6; ++d)
    wanted *= d + 1 + 24;
  EXPECT_TRUE(all.substitute(number).is(wanted) || valueOf(all.substitute(number), {}) == wanted);
  auto same = [](StringRef name) { return DimExpr::symbol(name); };
  EXPECT_EQ(all, all.substitute(same));
}

using hewn::graph::Condition;
using hewn::graph::Fact;
using hewn::graph::SizeSet;

/// Returns the solutions of `left = right` (or of `left <= right`) for n as text.
std::string solutionsOf(StringRef left, int64_t right, Condition::Kind kind = Condition::Kind::Zero) {
  std::optional<SizeSet> sizes = hewn::graph::solve({kind, *DimExpr::parse(left) - DimExpr(right)});
  return !sizes ? "unsolved" : sizes->empty() ? "none" : sizes->text("n").value_or("many");
}

TEST(Solutions, OfOneCondition) {
  constexpr auto atMost = Condition::Kind::AtMostZero;
  EXPECT_EQ(solutionsOf("floordiv(n + 64, 128)", 2), "n in 192..319");
  EXPECT_EQ(solutionsOf("n - floordiv(n, 2)", 3), "n in 5..6");
  EXPECT_EQ(solutionsOf("max(3, floordiv(n, 4))", 3), "n <= 15");
  EXPECT_EQ(solutionsOf("10 - 2*n", 4), "n = 3");
  EXPECT_EQ(solutionsOf("n", 4, atMost), "n <= 4");
  EXPECT_EQ(solutionsOf("10 - 2*n", 4, atMost), "n >= 3");
  EXPECT_EQ(solutionsOf("n + 7*mod(n, 2)", 8), "n in 1..8, n not in 2..7");
  EXPECT_EQ(solutionsOf("2*n", 3), "none");
  EXPECT_EQ(solutionsOf("n + 4*mod(n, 2) + 10", 20, atMost), "n <= 10, n != 7, n != 9");
  // The value has no limit on one side, is no quasi-affine expression, or needs too many tries.
  EXPECT_EQ(solutionsOf("mod(n, 4)", 1), "unsolved");
  EXPECT_EQ(solutionsOf("min(n, 4)", 4), "unsolved");
  EXPECT_EQ(solutionsOf("n*n", 4), "unsolved");
  EXPECT_EQ(solutionsOf("n*m", 4), "unsolved");
  EXPECT_EQ(solutionsOf("floordiv(n, m)", 4), "unsolved");
  EXPECT_EQ(solutionsOf("n", 1000000), "unsolved");
  EXPECT_EQ(solutionsOf("u0", 4), "unsolved");
  EXPECT_EQ(solutionsOf("floordiv(4611686018427387904*n + 1, 3)", 4), "unsolved");
}

// Compares the solutions of random conditions with a search.
TEST(Solutions, AreThoseThatASearchFinds) {
  std::mt19937_64 random(7);
  auto draw = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); };
  std::function<DimExpr(int)> expression = [&](int depth) -> DimExpr {
    DimExpr n = DimExpr::symbol("n");
    if (depth == 0)
      return draw(0, 3) ? n : DimExpr(draw(-9, 9));
    DimExpr a = expression(depth - 1), b = expression(depth - 1);
    switch (draw(0, 4)) {
    case 0:
      return a.floorDiv(DimExpr(draw(1, 9)));
    case 1:
      return a.mod(DimExpr(draw(1, 9)));
    case 2:
      return DimExpr::min(a, b);
    case 3:
      return DimExpr::max(a, b);
    default:
      return a * DimExpr(draw(-3, 3)) + b + DimExpr(draw(-9, 9));
    }
  };
  int solved = 0;
  for (int i = 0; i < 3000; ++i) {
    Condition condition{draw(0, 1) ? Condition::Kind::Zero : Condition::Kind::AtMostZero,
                        expression(int(draw(0, 4))) - DimExpr(draw(0, 9))};
    std::optional<SizeSet> sizes = hewn::graph::solve(condition);
    if (!sizes)
      continue;
    ++solved;
    for (int64_t n = 0; n < 400; ++n) {
      int64_t value = hewn::graph::evaluate(condition.difference, [&](StringRef) { return n; });
      bool holds = condition.kind == Condition::Kind::Zero ? value == 0 : value <= 0;
      EXPECT_EQ(!sizes->intersect(SizeSet({{n, n}})).empty(), holds) << condition.text(true) << " at " << n;
      EXPECT_EQ(sizes->complement().intersect(SizeSet({{n, n}})).empty(), holds) << condition.text(true);
    }
  }
  EXPECT_GT(solved, 1000);
}

TEST(Solutions, OfSeveralFacts) {
  auto fact = [](StringRef left, int64_t right, bool holds) {
    return Fact{Condition::equal(*DimExpr::parse(left), DimExpr(right)), holds};
  };
  Fact large = fact("floordiv(n, 128)", 1, true), small = fact("floordiv(n, 64)", 1, true);
  Fact other = fact("floordiv(m, 2)", 1, false), linear = fact("k", 1, false);
  EXPECT_EQ(hewn::graph::textOf({large, fact("n", 200, false)}), "n in 128..255, n != 200");
  EXPECT_EQ(hewn::graph::textOf({other, large, linear}), "m not in 2..3, n in 128..255, k != 1");
  EXPECT_EQ(hewn::graph::textOf({fact("mod(n, 2)", 1, true), large}), "mod(n, 2) = 1, floordiv(n, 128) = 1");
  EXPECT_FALSE(hewn::graph::mayHold({large}, small));
  EXPECT_TRUE(hewn::graph::mayHold({other}, small));
  EXPECT_TRUE(hewn::graph::mayHold({large}, fact("floordiv(n, 64)", 1, false)));
  EXPECT_EQ(hewn::graph::solve({large, other}, "n")->unite(*hewn::graph::solve({small}, "n")).text("n"),
            "n in 64..255");
}

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

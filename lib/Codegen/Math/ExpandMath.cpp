// SPDX-License-Identifier: Apache-2.0
//
// Expands math ops without a hardware instruction to arithmetic or calls of libm (see Passes.td).
#include "lib/Codegen/Math/Extrema.h"
#include "lib/Codegen/Math/VectorMath.h"
#include "lib/Codegen/Passes.h"
#include "lib/Schedule/Schedule.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include <functional>

using namespace mlir;
using hewn::codegen::vecmath::Formula;
using hewn::codegen::vecmath::Num;

namespace hewn::codegen {
#define GEN_PASS_DEF_EXPANDMATHPASS
#include "lib/Codegen/Passes.h.inc"

namespace {

using Unary = std::function<Num(Num)>;
using Binary = Num (*)(Num, Num);

/// How an op is expanded: by an approximation (`unary` or `binary` for float32, `wide` or
/// `wideBinary` for float64), or by calls of the function `libm`. `reader` is a user of the op's
/// result that is expanded together with the op, or null.
struct Rule {
  Unary unary;
  Binary binary = nullptr;
  llvm::StringRef libm;
  bool limitedAngle = false;
  Operation *reader = nullptr;
  Num (*wide)(Num) = nullptr;
  Binary wideBinary = nullptr;
};

/// Returns the constant that `value` has in all lanes, or nullopt if it is not such a constant.
std::optional<double> constantOf(Value value) {
  FloatAttr number;
  DenseFPElementsAttr lanes;
  std::optional<double> found;
  if (matchPattern(value, m_Constant(&number)))
    found = number.getValueAsDouble();
  else if (matchPattern(value, m_Constant(&lanes)) && lanes.isSplat())
    found = lanes.getSplatValue<FloatAttr>().getValueAsDouble();
  return found;
}

/// Returns the range of `value`, unless it is NaN. The range follows from ops that clamp the value.
vecmath::Range rangeOf(Value value) {
  vecmath::Range range;
  if (auto negated = value.getDefiningOp<arith::NegFOp>()) {
    range = rangeOf(negated.getOperand());
    range = {-range.high, -range.low};
  } else if (value.getDefiningOp<math::AbsFOp>()) {
    range.low = 0;
  } else if (auto clamp = value.getDefiningOp<arith::MinimumFOp>()) {
    double bound = constantOf(clamp.getRhs()).value_or(vecmath::kInfinity);
    range = rangeOf(clamp.getLhs());
    range = {std::min(range.low, bound), std::min(range.high, bound)};
  } else if (auto clamp = value.getDefiningOp<arith::MaximumFOp>()) {
    double bound = constantOf(clamp.getRhs()).value_or(-vecmath::kInfinity);
    range = rangeOf(clamp.getLhs());
    range = {std::max(range.low, bound), std::max(range.high, bound)};
  }
  return range;
}

/// Returns true if the value is known to be in [0, 1] or NaN.
bool isFraction(Value value) {
  auto power = value.getDefiningOp<math::ExpOp>();
  return power && rangeOf(power.getOperand()).high <= 0;
}

/// Returns the expansion rule for an exponential. If the result is multiplied by a small power of
/// two, the multiplication is folded into the exponential, where it is free.
Rule ruleForExp(math::ExpOp exp) {
  vecmath::Range range = rangeOf(exp.getOperand());
  auto product = exp->hasOneUse() ? dyn_cast<arith::MulFOp>(*exp->user_begin()) : arith::MulFOp();
  double factor = product ? constantOf(product.getRhs()).value_or(1) : 1;
  bool takes = product && product.getLhs() == exp.getResult() && getElementTypeOrSelf(exp.getType()).isF32() &&
               llvm::is_contained({2.0, 4.0, 8.0, 16.0}, factor);
  if (!takes)
    factor = 1;
  Rule rule{[=](Num x) { return vecmath::exp(x, range, factor); }, nullptr, "exp"};
  rule.reader = takes ? product : nullptr;
  return rule;
}

/// Adds the approximation of a float64 op to its rule, if there is one.
void addWideRule(Operation *op, Rule &rule) {
  namespace vm = vecmath::wide;
  using R = Num (*)(Num);
  rule.wideBinary = isa<math::PowFOp>(op) ? vm::pow : nullptr;
  rule.wide = llvm::TypeSwitch<Operation *, R>(op)
                  .Case([](math::ExpOp) { return vm::exp; })
                  .Case([](math::ExpM1Op) { return vm::expm1; })
                  .Case([](math::SinhOp) { return vm::sinh; })
                  .Case([](math::CoshOp) { return vm::cosh; })
                  .Case([](math::TanhOp) { return vm::tanh; })
                  .Case([](math::LogOp) { return vm::log; })
                  .Case([](math::Log1pOp) { return vm::log1p; })
                  .Case([](math::SinOp) { return vm::sin; })
                  .Case([](math::CosOp) { return vm::cos; })
                  .Default(R(nullptr));
}

Rule ruleFor(Operation *op) {
  namespace vm = vecmath;
  using R = Rule;
  return llvm::TypeSwitch<Operation *, Rule>(op)
      .Case([](math::ExpOp exp) { return ruleForExp(exp); })
      .Case([](math::Exp2Op) { return R{vm::exp2, nullptr, "exp2"}; })
      .Case([](math::ExpM1Op) { return R{vm::expm1, nullptr, "expm1"}; })
      .Case([](math::SinhOp) { return R{vm::sinh, nullptr, "sinh"}; })
      .Case([](math::CoshOp) { return R{vm::cosh, nullptr, "cosh"}; })
      .Case([](math::TanhOp) { return R{vm::tanh, nullptr, "tanh"}; })
      .Case([](math::ErfOp) { return R{vm::erf, nullptr, "erf"}; })
      .Case([](math::ErfcOp) { return R{nullptr, nullptr, "erfc"}; })
      .Case([](math::LogOp) { return R{vm::log, nullptr, "log"}; })
      .Case([](math::Log2Op) { return R{vm::log2, nullptr, "log2"}; })
      .Case([](math::Log10Op) { return R{vm::log10, nullptr, "log10"}; })
      .Case([](math::Log1pOp log) {
        return R{isFraction(log.getOperand()) ? vm::log1pOfFraction : vm::log1p, nullptr, "log1p"};
      })
      .Case([](math::PowFOp) { return R{nullptr, vm::pow, "pow"}; })
      .Case([](math::CbrtOp) { return R{nullptr, nullptr, "cbrt"}; })
      .Case([](math::AsinhOp) { return R{vm::asinh, nullptr, "asinh"}; })
      .Case([](math::AcoshOp) { return R{vm::acosh, nullptr, "acosh"}; })
      .Case([](math::AtanhOp) { return R{vm::atanh, nullptr, "atanh"}; })
      .Case([](math::SinOp) { return R{vm::sin, nullptr, "sin", true}; })
      .Case([](math::CosOp) { return R{vm::cos, nullptr, "cos", true}; })
      .Case([](math::TanOp) { return R{vm::tan, nullptr, "tan", true}; })
      .Case([](math::AsinOp) { return R{vm::asin, nullptr, "asin"}; })
      .Case([](math::AcosOp) { return R{vm::acos, nullptr, "acos"}; })
      .Case([](math::AtanOp) { return R{vm::atan, nullptr, "atan"}; })
      .Case([](math::Atan2Op) { return R{nullptr, vm::atan2, "atan2"}; })
      .Default(Rule());
}

class Expander {
public:
  Expander(Operation *table, bool libm) : table(table), symbols(table), libm(libm) {
    plan::TargetAttr target = plan::targetOf(table);
    if (target) {
      machine = {target.getVectorBytes() / 4, target.getScaleIntrinsic(), target.getPermuteIntrinsic(),
                 target.getHasFma()};
      hasFma = target.getHasFma();
    }
  }

  void run() {
    // Collect all rules before any op is expanded: a rule may depend on the ops that define the
    // operands.
    SmallVector<std::pair<Operation *, Rule>> found;
    table->walk([&](Operation *op) {
      if (Rule rule = ruleFor(op); isa<math::RsqrtOp>(op) || !rule.libm.empty()) {
        if (hasFma && getElementTypeOrSelf(op->getResult(0).getType()).isF64())
          addWideRule(op, rule);
        found.push_back({op, rule});
      }
    });
    SmallVector<Operation *> divided;
    if (!libm) {
      table->walk([&](Operation *op) {
        if (isDividedByLanes(op))
          divided.push_back(op);
      });
      expandExtrema(table);
    }
    for (auto &[op, rule] : found) {
      ImplicitLocOpBuilder b(op->getLoc(), op);
      Operation *last = rule.reader && !libm ? rule.reader : op;
      last->replaceAllUsesWith(ValueRange{expand(b, op, rule)});
      last->erase();
      if (last != op)
        op->erase();
    }
    for (Operation *op : divided) {
      ImplicitLocOpBuilder b(op->getLoc(), op);
      divide(b, op);
    }
  }

private:
  /// Emits the expansion of `op`. The expansion works on one-dimensional vectors of f32 or f64, or
  /// on scalars; operands of other types are converted.
  Value expand(ImplicitLocOpBuilder &b, Operation *op, const Rule &rule) {
    Type type = op->getResult(0).getType(), element = getElementTypeOrSelf(type);
    SmallVector<Value> in(op->getOperands());
    auto vector = dyn_cast<VectorType>(type);
    bool narrow = element.getIntOrFloatBitWidth() < 32;
    Type work = narrow ? Type(b.getF32Type()) : element;
    for (Value &v : in) {
      if (narrow)
        v = arith::ExtFOp::create(b, vecmath::withElement(type, work), v);
      if (vector && vector.getRank() != 1)
        v = vector::ShapeCastOp::create(b, VectorType::get({vector.getNumElements()}, work), v);
    }
    Value result = isa<math::RsqrtOp>(op) ? reciprocalRoot(b, in[0]) : apply(b, rule, in);
    if (vector && vector.getRank() != 1)
      result = vector::ShapeCastOp::create(b, VectorType::get(vector.getShape(), work), result);
    return narrow ? Value(arith::TruncFOp::create(b, type, result)) : result;
  }

  /// Returns true for vector divisions that LLVM would execute lane by lane: divisions of integers
  /// by non-constant values, and float remainders.
  static bool isDividedByLanes(Operation *op) {
    auto vector = op->getNumResults() == 1 ? dyn_cast<VectorType>(op->getResult(0).getType()) : VectorType();
    if (!vector)
      return false;
    if (isa<arith::RemFOp>(op))
      return vector.getElementType().isF32();
    auto integer = dyn_cast<IntegerType>(vector.getElementType()); // `index` is not an IntegerType
    return integer && isa<arith::DivSIOp, arith::DivUIOp>(op) &&
           (integer.getWidth() <= 32 || isa<arith::DivSIOp>(op)) && !matchPattern(op->getOperand(1), m_Constant());
  }

  void divide(ImplicitLocOpBuilder &b, Operation *op) {
    if (auto remainder = dyn_cast<arith::RemFOp>(op))
      return divideFloats(b, remainder);
    if (cast<VectorType>(op->getResult(0).getType()).getElementTypeBitWidth() > 32)
      return divideLong(b, cast<arith::DivSIOp>(op));
    op->replaceAllUsesWith(ValueRange{byDoubles(b, op)});
    op->erase();
  }

  /// Divides integers by a float64 division, whose truncated result is exact. float64 has more than
  /// twice the bits of 32-bit integers, so a quotient is never rounded up to the next integer. This
  /// also holds for 64-bit x and y below 2^53 in magnitude: a quotient that is not an integer is at
  /// least 1 / y less than the next integer n, and the relative distance 1 / (n y) exceeds 2^-53.
  static Value byDoubles(ImplicitLocOpBuilder &b, Operation *op) {
    Type type = op->getResult(0).getType(), wide = vecmath::withElement(type, b.getF64Type());
    bool isSigned = isa<arith::DivSIOp>(op);
    auto widened = [&](Value v) -> Value {
      return isSigned ? Value(arith::SIToFPOp::create(b, wide, v)) : Value(arith::UIToFPOp::create(b, wide, v));
    };
    Value quotient = arith::DivFOp::create(b, widened(op->getOperand(0)), widened(op->getOperand(1)));
    return isSigned ? Value(arith::FPToSIOp::create(b, type, quotient))
                    : Value(arith::FPToUIOp::create(b, type, quotient));
  }

  /// Divides 64-bit integers, whose magnitudes rarely exceed 53 bits. If one does in any lane, the
  /// code divides the vector lane by lane.
  void divideLong(ImplicitLocOpBuilder &b, arith::DivSIOp op) {
    auto type = cast<VectorType>(op.getType());
    auto all = [&](int64_t value) {
      return arith::ConstantOp::create(b, DenseElementsAttr::get(type, b.getIntegerAttr(type.getElementType(), value)));
    };
    Value half = all(int64_t(1) << 53), whole = all(int64_t(1) << 54);
    auto isShort = [&](Value v) -> Value {
      return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, arith::AddIOp::create(b, v, half), whole);
    };
    Value areShort = arith::AndIOp::create(b, isShort(op.getLhs()), isShort(op.getRhs()));
    Value allShort = vector::ReductionOp::create(b, vector::CombiningKind::AND, areShort);
    auto branch = scf::IfOp::create(b, TypeRange{type}, allShort, /*addThenBlock=*/true, /*addElseBlock=*/true);
    op.replaceAllUsesWith(branch.getResult(0));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, byDoubles(b, op));
    b.setInsertionPointToStart(branch.elseBlock());
    auto yield = scf::YieldOp::create(b, op.getResult());
    op->moveBefore(yield);
  }

  /// Computes the remainder x - trunc(x / y) * y with one FMA, which is exact for small quotients.
  /// If a lane has a large quotient, the code executes the original op instead.
  void divideFloats(ImplicitLocOpBuilder &b, arith::RemFOp op) {
    using P = arith::CmpFPredicate;
    constexpr double largest = 1 << 22;
    Value x = op.getLhs(), y = op.getRhs();
    Formula f(b, b.getLoc());
    Value zero = f.constant(x.getType(), 0.0);
    Value quotient = arith::DivFOp::create(b, x, y);
    auto isBelow = [&](Value v, double bound) {
      return arith::CmpFOp::create(b, P::OLT, math::AbsFOp::create(b, v), f.constant(v.getType(), bound)).getResult();
    };
    Value inside =
        arith::AndIOp::create(b, isBelow(quotient, largest), isBelow(y, std::numeric_limits<double>::infinity()));
    Value allInside = vector::ReductionOp::create(b, vector::CombiningKind::AND, inside);
    auto branch = scf::IfOp::create(b, TypeRange{x.getType()}, allInside, /*addThenBlock=*/true, /*addElseBlock=*/true);
    op.replaceAllUsesWith(branch.getResult(0));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.elseBlock());
    auto yield = scf::YieldOp::create(b, op.getResult());
    op->moveBefore(yield);
    b.setInsertionPointToStart(branch.thenBlock());
    Value whole = arith::NegFOp::create(b, math::TruncOp::create(b, quotient));
    Value rest = math::FmaOp::create(b, whole, y, x);
    // If the quotient was rounded up to an integer, the remainder has the wrong sign; add y to it.
    auto compare = [&](P predicate, Value v) { return arith::CmpFOp::create(b, predicate, v, zero).getResult(); };
    Value beyond = arith::OrIOp::create(b, arith::AndIOp::create(b, compare(P::OLT, rest), compare(P::OGT, x)),
                                        arith::AndIOp::create(b, compare(P::OGT, rest), compare(P::OLT, x)));
    Value back = arith::AddFOp::create(b, rest, math::CopySignOp::create(b, y, x));
    rest = arith::SelectOp::create(b, beyond, back, rest);
    scf::YieldOp::create(b, math::CopySignOp::create(b, rest, x).getResult());
  }

  Value reciprocalRoot(ImplicitLocOpBuilder &b, Value x) {
    Formula f(b, b.getLoc());
    return (1.0 / sqrt(Num{&f, x})).v;
  }

  Value apply(ImplicitLocOpBuilder &b, const Rule &rule, ArrayRef<Value> in) {
    bool isWide = getElementTypeOrSelf(in[0].getType()).isF64();
    if (libm || (isWide ? !rule.wide && !rule.wideBinary : !rule.unary && !rule.binary))
      return callLanes(b, rule.libm, in);
    if (!rule.limitedAngle)
      return approximate(b, rule, in);
    auto branch = scf::IfOp::create(b, TypeRange{in[0].getType()}, anyBeyond(b, in[0]), /*addThenBlock=*/true,
                                    /*addElseBlock=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, callLanes(b, rule.libm, in));
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, approximate(b, rule, in));
    return branch.getResult(0);
  }

  Value approximate(ImplicitLocOpBuilder &b, const Rule &rule, ArrayRef<Value> in) {
    Formula f(b, b.getLoc(), machine);
    if (in.size() == 2)
      return (rule.wideBinary ? rule.wideBinary : rule.binary)({&f, in[0]}, {&f, in[1]}).v;
    return rule.wide ? rule.wide({&f, in[0]}).v : rule.unary({&f, in[0]}).v;
  }

  Value anyBeyond(ImplicitLocOpBuilder &b, Value x) {
    Formula f(b, b.getLoc());
    bool isWide = getElementTypeOrSelf(x.getType()).isF64();
    Value beyond = (abs(Num{&f, x}) > (isWide ? vecmath::wide::kLargestAngle : vecmath::kLargestAngle)).v;
    return isa<VectorType>(x.getType()) ? vector::ReductionOp::create(b, vector::CombiningKind::OR, beyond).getResult()
                                        : beyond;
  }

  Value callLanes(ImplicitLocOpBuilder &b, StringRef libm, ArrayRef<Value> in) {
    Type type = in[0].getType(), element = getElementTypeOrSelf(type);
    func::FuncOp callee = declare(libm, element, in.size());
    if (!isa<VectorType>(type))
      return func::CallOp::create(b, callee, in).getResult(0);
    // Emit a loop over the lanes, since 16 unrolled calls would dominate the kernel's code size.
    Value zero = arith::ConstantIndexOp::create(b, 0), one = arith::ConstantIndexOp::create(b, 1);
    Value lanes = arith::ConstantIndexOp::create(b, cast<VectorType>(type).getNumElements());
    Value start = arith::ConstantOp::create(b, b.getZeroAttr(type));
    auto loop = scf::ForOp::create(b, zero, lanes, one, start);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    OpFoldResult lane = loop.getInductionVar();
    SmallVector<Value> scalars =
        llvm::map_to_vector(in, [&](Value v) -> Value { return vector::ExtractOp::create(b, v, lane); });
    Value result = func::CallOp::create(b, callee, scalars).getResult(0);
    scf::YieldOp::create(b, vector::InsertOp::create(b, result, loop.getRegionIterArg(0), lane).getResult());
    return loop.getResult(0);
  }

  func::FuncOp declare(StringRef libm, Type element, unsigned operands) {
    std::string name = libm.str() + (element.isF32() ? "f" : "");
    if (auto known = symbols.lookup<func::FuncOp>(name))
      return known;
    OpBuilder b(table->getRegion(0));
    auto type = b.getFunctionType(SmallVector<Type>(operands, element), element);
    auto callee = func::FuncOp::create(b, table->getLoc(), name, type);
    callee.setPrivate();
    symbols.insert(callee);
    return callee;
  }

  /// The op with the symbol table, which gets the declarations of libm functions.
  Operation *table;
  SymbolTable symbols;
  bool libm, hasFma = false;
  vecmath::VectorIntrinsics machine;
};

struct ExpandMathPass : impl::ExpandMathPassBase<ExpandMathPass> {
  using ExpandMathPassBase::ExpandMathPassBase;
  bool canScheduleOn(RegisteredOperationName name) const override { return name.hasTrait<OpTrait::SymbolTable>(); }
  void runOnOperation() override { Expander(getOperation(), libm).run(); }
};

} // namespace
} // namespace hewn::codegen

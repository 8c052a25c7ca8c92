// SPDX-License-Identifier: Apache-2.0
//
// Rewrites math ops that no machine has an instruction for.
//
//     math.exp %x : vector<16xf32>    →   arith on vector<16xf32> (VectorMath.h)
//     math.exp %x : f64               →   func.call @exp(%x) : (f64) -> f64, lane by lane in vectors
//     math.sqrt, fma, floor ...       stay: they are instructions
//     arith.divsi, remf in vectors    → arith on vectors, which have instructions for float division alone
//     trees of arith.maximumf         → maxima without NaN, which are one instruction, and whether there is a NaN (Extrema.h)
//
// sin, cos and tan of huge angles, which no model has, are called of libm behind a branch.
//
// With libm=true every one of these ops is a call: -O0 is the oracle, and must not share our formulas.
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

/// What an op becomes, and one that reads it alone if it does so as well.
struct Rule {
  Unary unary;
  Binary binary = nullptr;
  llvm::StringRef libm;
  bool limitedAngle = false;
  Operation *reader = nullptr;
};

/// The number that is in all lanes, where that is known.
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

/// Where the value is unless it is NaN, as far as the ops tell that keep it there.
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

/// Whether the value is from 0 to 1, or NaN.
bool isFraction(Value value) {
  auto power = value.getDefiningOp<math::ExpOp>();
  return power && rangeOf(power.getOperand()).high <= 0;
}

/// A product by a small power of two costs an exponential nothing.
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
  Expander(ModuleOp module, bool libm) : module(module), symbols(module), libm(libm) {
    plan::TargetAttr target = plan::targetOf(module);
    if (target)
      machine = {target.getVectorBytes() / 4, target.getScaleIntrinsic(), target.getPermuteIntrinsic()};
  }

  void run() {
    // What an op becomes may depend on what makes its operands, which are ops yet.
    SmallVector<std::pair<Operation *, Rule>> found;
    module.walk([&](Operation *op) {
      if (Rule rule = ruleFor(op); isa<math::RsqrtOp>(op) || !rule.libm.empty())
        found.push_back({op, rule});
    });
    SmallVector<Operation *> divided;
    if (!libm) {
      module.walk([&](Operation *op) {
        if (isDividedByLanes(op))
          divided.push_back(op);
      });
      expandExtrema(module);
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
  /// The value of `op` on one-dimensional vectors of f32 or f64, or scalars.
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

  /// Divisions in vectors that become one for each lane: of integers by others than constants, and remainders of floats.
  static bool isDividedByLanes(Operation *op) {
    auto vector = op->getNumResults() == 1 ? dyn_cast<VectorType>(op->getResult(0).getType()) : VectorType();
    if (!vector)
      return false;
    if (isa<arith::RemFOp>(op))
      return vector.getElementType().isF32();
    auto integer = dyn_cast<IntegerType>(vector.getElementType()); // not places of elements
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

  /// Float64 has twice the digits of integers of 32 bits: their quotient is not rounded over the next whole number. Nor is that of x and y
  /// below 2^53: where it is no whole number, it is 1 / y or more from the next one, n, and 1 / (n y) is more than 2^-53.
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

  /// Integers of 64 bits, which few models have beyond 53: where a vector has one, its lanes are divided one by one.
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

  /// x - trunc(x / y) * y, which a fused product gives exactly where the quotient is small; the rest is left as it is, behind a
  /// branch.
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
    // The quotient may have been rounded up to a whole number: then the rest is beyond zero.
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
    if (libm || !getElementTypeOrSelf(in[0].getType()).isF32() || (!rule.unary && !rule.binary))
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
    return rule.unary ? rule.unary({&f, in[0]}).v : rule.binary({&f, in[0]}, {&f, in[1]}).v;
  }

  Value anyBeyond(ImplicitLocOpBuilder &b, Value x) {
    Formula f(b, b.getLoc());
    Value beyond = (abs(Num{&f, x}) > vecmath::kLargestAngle).v;
    return isa<VectorType>(x.getType()) ? vector::ReductionOp::create(b, vector::CombiningKind::OR, beyond).getResult()
                                        : beyond;
  }

  Value callLanes(ImplicitLocOpBuilder &b, StringRef libm, ArrayRef<Value> in) {
    Type type = in[0].getType(), element = getElementTypeOrSelf(type);
    func::FuncOp callee = declare(libm, element, in.size());
    if (!isa<VectorType>(type))
      return func::CallOp::create(b, callee, in).getResult(0);
    // A loop: sixteen calls in a row would be most of a kernel's code.
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
    OpBuilder b(module.getBodyRegion());
    auto type = b.getFunctionType(SmallVector<Type>(operands, element), element);
    auto callee = func::FuncOp::create(b, module.getLoc(), name, type);
    callee.setPrivate();
    symbols.insert(callee);
    return callee;
  }

  ModuleOp module;
  SymbolTable symbols;
  bool libm;
  vecmath::VectorIntrinsics machine;
};

struct ExpandMathPass : impl::ExpandMathPassBase<ExpandMathPass> {
  using ExpandMathPassBase::ExpandMathPassBase;
  void runOnOperation() override { Expander(getOperation(), libm).run(); }
};

} // namespace
} // namespace hewn::codegen

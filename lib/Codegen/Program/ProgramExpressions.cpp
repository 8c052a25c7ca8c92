// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Program/ProgramExpressions.h"

using namespace llvm;
using hewn::graph::DimExpr;

namespace hewn::codegen {

Value *ExpressionBuilder::value(const DimExpr &expr) {
  checks = false;
  return sum(expr);
}

Value *ExpressionBuilder::checked(const DimExpr &expr, Value *&flag) {
  checks = true;
  overflow = flag;
  Value *result = sum(expr);
  flag = overflow;
  return result;
}

Value *ExpressionBuilder::combine(bool multiply, Value *a, Value *c) {
  if (!checks || (isa<ConstantInt>(a) && isa<ConstantInt>(c)))
    return multiply ? b.CreateMul(a, c) : b.CreateAdd(a, c);
  Value *both = b.CreateBinaryIntrinsic(multiply ? Intrinsic::smul_with_overflow : Intrinsic::sadd_with_overflow, a, c);
  Value *flag = b.CreateExtractValue(both, 1);
  overflow = overflow ? b.CreateOr(overflow, flag) : flag;
  return b.CreateExtractValue(both, 0);
}

Value *ExpressionBuilder::atom(const DimExpr::Atom &a) {
  if (!a.name.empty())
    return symbol(a.name);
  Value *l = sum(a.lhs), *r = sum(a.rhs);
  if (a.op == DimExpr::Op::Min || a.op == DimExpr::Op::Max)
    return b.CreateBinaryIntrinsic(a.op == DimExpr::Op::Min ? Intrinsic::smin : Intrinsic::smax, l, r);
  // Emit a division that cannot trap: a dynamic divisor may be 0, and the smallest integer may be
  // divided by -1. The result of such a division is not defined.
  Value *zero = b.getInt64(0), *negates = b.CreateICmpEQ(r, b.getInt64(uint64_t(-1)));
  l = b.CreateSelect(negates, b.CreateNeg(l), l);
  r = b.CreateSelect(b.CreateOr(negates, b.CreateICmpEQ(r, zero)), b.getInt64(1), r);
  Value *quotient = b.CreateSDiv(l, r), *rest = b.CreateSRem(l, r);
  Value *unlike = b.CreateAnd(b.CreateICmpNE(rest, zero), b.CreateICmpSLT(b.CreateXor(rest, r), zero));
  if (a.op == DimExpr::Op::FloorDiv)
    return b.CreateSub(quotient, b.CreateZExt(unlike, b.getInt64Ty()));
  return b.CreateAdd(rest, b.CreateSelect(unlike, r, zero));
}

Value *ExpressionBuilder::sum(const DimExpr &expr) {
  Value *total = nullptr;
  for (const DimExpr::Term &term : expr.terms()) {
    Value *product = term.coefficient == 1 && !term.factors.empty() ? nullptr : b.getInt64(uint64_t(term.coefficient));
    for (const DimExpr::AtomRef &factor : term.factors) {
      Value *value = atom(*factor);
      product = product ? combine(true, product, value) : value;
    }
    total = total ? combine(false, total, product) : product;
  }
  return total ? total : b.getInt64(0);
}

} // namespace hewn::codegen

// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Contract/FusedAttention.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace hewn::graph {

/// Returns true if every index into an operand of the contraction is a single iteration dim, or the
/// constant 0 (broadcast).
static bool isPlain(ContractOpInterface op) {
  for (AffineMap map : op.getIndexingMaps())
    for (AffineExpr expr : map.getResults())
      if (!isa<AffineDimExpr, AffineConstantExpr>(expr))
        return false;
  return true;
}

/// Returns true if the contraction is a matmul: the result's last two dims are one row and one
/// column dim, and there is one reduction dim.
static bool isMatrixProduct(ContractOpInterface op) {
  std::optional<ContractRoles> roles = contractRoles(op);
  if (!roles || roles->columnInLeft || !isPlain(op) || termsOf(op) > 1)
    return false;
  AffineMap result = op.getIndexingMaps()[2];
  unsigned rank = result.getNumResults();
  Dims extents = op.getIterationDims(getDims);
  for (unsigned d : roles->rows)
    if (!extents[d].is(1) && resultWith(result, d) != rank - 2)
      return false;
  return rank >= 2 && resultWith(result, roles->column) == rank - 1 && plainSummedDim(op, *roles);
}

/// Returns true if a value with the dims `dims` broadcasts to the dims `space` of the attention
/// scores. Its last dim may be 1, as after a row-wise reduction.
static bool isRowOf(const Dims &dims, const Dims &space) {
  if (dims.size() > space.size())
    return false;
  for (size_t i = 0; i < dims.size(); ++i)
    if (const DimExpr &whole = space[space.size() - dims.size() + i]; !(dims[i] == whole) && !dims[i].is(1))
      return false;
  return true;
}

/// Computes FusedAttention::inPlace: whether the weights can be stored over the scores.
static bool isOneLine(const FusedAttention &attention, const Dims &space) {
  llvm::SmallPtrSet<Operation *, 16> between(attention.middle.begin(), attention.middle.end());
  llvm::SmallPtrSet<Value, 4> reduced;
  auto runsOn = [&](Value value) {
    unsigned readers = 0;
    for (Operation *user : value.getUsers()) {
      if (!between.contains(user))
        continue;
      if (!isa<ReduceOpInterface>(user))
        ++readers;
      else if (value != attention.scores)
        reduced.insert(value);
    }
    return readers <= 1;
  };
  for (Operation *op : attention.middle)
    if (getDims(op->getResult(0)) == space && !isa<ReduceOpInterface>(op) && !runsOn(op->getResult(0)))
      return false;
  return runsOn(attention.scores) && reduced.size() <= 1 &&
         getElementType(attention.weights) == getElementType(attention.scores);
}

int64_t FusedAttention::columnBytes() const { return elementBytes(scores) + (inPlace ? 0 : elementBytes(weights)); }

namespace {

/// Matches a list of ops as fused attention, by a sequence of checks. Each check may reject the
/// list.
class AttentionMatcher {
public:
  AttentionMatcher(ArrayRef<Operation *> ops, bool narrow) : ops(ops), narrow(narrow), inside(ops.begin(), ops.end()) {}

  OrReason<FusedAttention> find() {
    for (auto question :
         {&AttentionMatcher::findProducts, &AttentionMatcher::lookAtWeights, &AttentionMatcher::findHead,
          &AttentionMatcher::findSteps, &AttentionMatcher::lookAtReaders, &AttentionMatcher::lookAtSteps})
      if (Eligibility answer = (this->*question)(); !answer)
        return answer;
    attention.inPlace = isOneLine(attention, space);
    return std::move(attention);
  }

private:
  Eligibility findProducts() {
    for (Operation *op : ops)
      if (auto contraction = dyn_cast<ContractOpInterface>(op)) {
        if (attention.second)
          return Eligibility::no("fused attention has two contractions, and there are more");
        (attention.first ? attention.second : attention.first) = contraction;
      }
    if (!attention.second)
      return Eligibility::no("fused attention has two contractions, and there are fewer");
    bool areProducts = isMatrixProduct(attention.first) && isMatrixProduct(attention.second);
    return areProducts ? Eligibility::yes() : Eligibility::no("one of the two contractions is not a matmul");
  }

  Eligibility lookAtWeights() {
    Value first = attention.first->getResult(0), second = attention.second->getResult(0);
    attention.weights = attention.second->getOperand(0);
    space = getDims(first);
    unsigned rank = space.size();
    attention.rowDim = rank - 2;
    ContractRoles roles = *contractRoles(attention.second);
    AffineMap left = attention.second.getIndexingMaps()[0];
    bool sumsOverRows = getDims(attention.weights) == space && rank == unsigned(getRank(second)) &&
                        resultWith(left, *plainSummedDim(attention.second, roles)) == rank - 1 &&
                        inside.contains(attention.weights.getDefiningOp());
    if (!sumsOverRows)
      return Eligibility::no("the second contraction does not reduce over the first one's columns");
    bool weightsFit = narrow ? fits(attention.weights) : elementBytes(attention.weights) <= 4;
    return weightsFit && fits(first) && fits(second)
               ? Eligibility::yes()
               : Eligibility::no("the contractions have other types than float32");
  }

  /// Finds the head of a fused attention: the first contraction, and the chain of elementwise ops
  /// on its result, up to the first value that has several uses.
  Eligibility findHead() {
    attention.scores = attention.first->getResult(0);
    attention.head = {attention.first};
    while (attention.scores.hasOneUse()) {
      Operation *user = *attention.scores.user_begin();
      if (!inside.contains(user) || !isa<ElementwiseOpInterface>(user) || getDims(user->getResult(0)) != space ||
          user->getResult(0) == attention.weights)
        break;
      bool others = llvm::all_of(user->getOperands(), [&](Value v) {
        return v == attention.scores || !inside.contains(v.getDefiningOp()) || isa<ConstantOp>(v.getDefiningOp());
      });
      if (!others || !fits(user->getResult(0)))
        break;
      attention.scores = user->getResult(0);
      attention.head.push_back(user);
    }
    return Eligibility::yes();
  }

  Eligibility findSteps() {
    llvm::SmallPtrSet<Operation *, 8> early(attention.head.begin(), attention.head.end());
    bool reduces = false;
    for (Operation *op : ops) {
      if (early.contains(op) || isa<ConstantOp, ScratchOp>(op))
        continue;
      bool isLate = !op->isBeforeInBlock(attention.second);
      if (Eligibility answer = isLate ? mayFollow(op) : mayStandBetween(op); !answer)
        return answer;
      reduces |= !isLate && isa<ReduceOpInterface>(op);
      (isLate ? attention.tail : attention.middle).push_back(op);
    }
    return reduces ? Eligibility::yes()
                   : Eligibility::no("there is no row-wise reduction between the two contractions");
  }

  Eligibility mayFollow(Operation *op) {
    bool fits =
        op == attention.second.getOperation() ||
        (isa<ElementwiseOpInterface>(op) && getDims(op->getResult(0)) == getDims(attention.second->getResult(0)));
    return fits ? Eligibility::yes() : Eligibility::no("an op after the second contraction is not elementwise");
  }

  Eligibility mayStandBetween(Operation *op) {
    if (auto reduce = dyn_cast<ReduceOpInterface>(op)) {
      bool ofRows = getDims(op->getOperand(0)) == space &&
                    reduce.getReducedDims() == SmallVector<int64_t>{int64_t(space.size()) - 1} && reduce.keepsDims();
      return ofRows ? Eligibility::yes()
                    : Eligibility::no("a reduction between the two contractions does not reduce full rows");
    }
    bool fits = isa<ElementwiseOpInterface>(op) && isRowOf(getDims(op->getResult(0)), space);
    return fits ? Eligibility::yes() : Eligibility::no("an op between the two contractions is not row-wise");
  }

  /// Checks that the values computed before the second contraction have no uses outside of the
  /// fused attention's ops.
  Eligibility lookAtReaders() {
    for (const auto *list : {&attention.head, &attention.middle})
      for (Operation *op : *list)
        for (Operation *user : op->getUsers())
          if (!inside.contains(user))
            return Eligibility::no("a value between the two contractions has other uses");
    return Eligibility::yes();
  }

  /// Checks that the ops of each step of the fused attention (head, middle, tail) only read the
  /// output of the step before, and values from outside that belong to the same rows.
  Eligibility lookAtSteps() {
    auto fits = [&](ArrayRef<Operation *> step, Value handedOn, const Dims &rows) {
      return llvm::all_of(step, [&](Operation *op) {
        return llvm::all_of(op->getOperands(), [&](Value operand) {
          Operation *maker = operand.getDefiningOp();
          bool earlier = inside.contains(maker) && !isa<ConstantOp>(maker) && !llvm::is_contained(step, maker);
          return earlier ? operand == handedOn : isa<ContractOpInterface>(op) || isRowOf(getDims(operand), rows);
        });
      });
    };
    bool keepsApart = fits(attention.head, Value(), space) && fits(attention.middle, attention.scores, space) &&
                      fits(attention.tail, attention.weights, getDims(attention.second->getResult(0)));
    return keepsApart ? Eligibility::yes()
                      : Eligibility::no("an op reads intermediate values of an earlier step, or values of other rows");
  }

  bool fits(Value value) const {
    Type type = getElementType(value);
    return type.isF32() || (narrow && (type.isF16() || type.isBF16()));
  }

  ArrayRef<Operation *> ops;
  bool narrow;
  llvm::SmallPtrSet<Operation *, 16> inside;
  Dims space;
  FusedAttention attention;
};

} // namespace

OrReason<FusedAttention> matchAttention(ArrayRef<Operation *> ops, bool narrow) {
  return AttentionMatcher(ops, narrow).find();
}

} // namespace hewn::graph

// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Contract/Chain.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace hewn::graph {

/// Whether every access is at iteration dims themselves, or at 0 where an operand is broadcast.
static bool isPlain(ContractOpInterface op) {
  for (AffineMap map : op.getIndexingMaps())
    for (AffineExpr expr : map.getResults())
      if (!isa<AffineDimExpr, AffineConstantExpr>(expr))
        return false;
  return true;
}

/// One row dim, the one before last of the result, and the last one its column; one dim is summed.
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

/// Whether a value of these dims meets values of `space` as a whole row or less: its last dim may be reduced.
static bool isRowOf(const Dims &dims, const Dims &space) {
  if (dims.size() > space.size())
    return false;
  for (size_t i = 0; i < dims.size(); ++i)
    if (const DimExpr &whole = space[space.size() - dims.size() + i]; !(dims[i] == whole) && !dims[i].is(1))
      return false;
  return true;
}

/// Chain::inPlace.
static bool isOneLine(const Chain &chain, const Dims &space) {
  llvm::SmallPtrSet<Operation *, 16> between(chain.middle.begin(), chain.middle.end());
  llvm::SmallPtrSet<Value, 4> reduced;
  auto runsOn = [&](Value value) {
    unsigned readers = 0;
    for (Operation *user : value.getUsers()) {
      if (!between.contains(user))
        continue;
      if (!isa<ReduceOpInterface>(user))
        ++readers;
      else if (value != chain.scores)
        reduced.insert(value);
    }
    return readers <= 1;
  };
  for (Operation *op : chain.middle)
    if (getDims(op->getResult(0)) == space && !isa<ReduceOpInterface>(op) && !runsOn(op->getResult(0)))
      return false;
  return runsOn(chain.scores) && reduced.size() <= 1 && getElementType(chain.weights) == getElementType(chain.scores);
}

int64_t Chain::columnBytes() const { return elementBytes(scores) + (inPlace ? 0 : elementBytes(weights)); }

namespace {

/// Looks at the ops, a question after the other, each of which may be the last.
class ChainFinder {
public:
  ChainFinder(ArrayRef<Operation *> ops, bool narrow) : ops(ops), narrow(narrow), inside(ops.begin(), ops.end()) {}

  Found<Chain> find() {
    for (auto question : {&ChainFinder::findProducts, &ChainFinder::lookAtWeights, &ChainFinder::findHead,
                          &ChainFinder::findSteps, &ChainFinder::lookAtReaders, &ChainFinder::lookAtSteps})
      if (Verdict answer = (this->*question)(); !answer)
        return answer;
    chain.inPlace = isOneLine(chain, space);
    return std::move(chain);
  }

private:
  Verdict findProducts() {
    for (Operation *op : ops)
      if (auto contraction = dyn_cast<ContractOpInterface>(op)) {
        if (chain.second)
          return Verdict::no("a chain has two contractions, and there are more");
        (chain.first ? chain.second : chain.first) = contraction;
      }
    if (!chain.second)
      return Verdict::no("a chain has two contractions, and there are fewer");
    bool areProducts = isMatrixProduct(chain.first) && isMatrixProduct(chain.second);
    return areProducts ? Verdict::yes()
                       : Verdict::no("one of the two contractions is no product of matrices, of rows and columns");
  }

  Verdict lookAtWeights() {
    Value first = chain.first->getResult(0), second = chain.second->getResult(0);
    chain.weights = chain.second->getOperand(0);
    space = getDims(first);
    unsigned rank = space.size();
    chain.rowDim = rank - 2;
    ContractRoles roles = *contractRoles(chain.second);
    AffineMap left = chain.second.getIndexingMaps()[0];
    bool sumsOverRows = getDims(chain.weights) == space && rank == unsigned(getRank(second)) &&
                        resultWith(left, *plainSummedDim(chain.second, roles)) == rank - 1 &&
                        inside.contains(chain.weights.getDefiningOp());
    if (!sumsOverRows)
      return Verdict::no("the second contraction does not sum over what is made of the first one's rows");
    bool weightsFit = narrow ? fits(chain.weights) : elementBytes(chain.weights) <= 4;
    return weightsFit && fits(first) && fits(second) ? Verdict::yes()
                                                     : Verdict::no("a chain is of float32, and this one is not");
  }

  /// Elementwise ops on the accumulators: as long as nothing else reads what they read.
  Verdict findHead() {
    chain.scores = chain.first->getResult(0);
    chain.head = {chain.first};
    while (chain.scores.hasOneUse()) {
      Operation *user = *chain.scores.user_begin();
      if (!inside.contains(user) || !isa<ElementwiseOpInterface>(user) || getDims(user->getResult(0)) != space ||
          user->getResult(0) == chain.weights)
        break;
      bool others = llvm::all_of(user->getOperands(), [&](Value v) {
        return v == chain.scores || !inside.contains(v.getDefiningOp()) || isa<ConstantOp>(v.getDefiningOp());
      });
      if (!others || !fits(user->getResult(0)))
        break;
      chain.scores = user->getResult(0);
      chain.head.push_back(user);
    }
    return Verdict::yes();
  }

  Verdict findSteps() {
    llvm::SmallPtrSet<Operation *, 8> early(chain.head.begin(), chain.head.end());
    bool reduces = false;
    for (Operation *op : ops) {
      if (early.contains(op) || isa<ConstantOp, ScratchOp>(op))
        continue;
      bool isLate = !op->isBeforeInBlock(chain.second);
      if (Verdict answer = isLate ? mayFollow(op) : mayStandBetween(op); !answer)
        return answer;
      reduces |= !isLate && isa<ReduceOpInterface>(op);
      (isLate ? chain.tail : chain.middle).push_back(op);
    }
    return reduces ? Verdict::yes() : Verdict::no("nothing between the two contractions is reduced over its rows");
  }

  Verdict mayFollow(Operation *op) {
    bool fits = op == chain.second.getOperation() ||
                (isa<ElementwiseOpInterface>(op) && getDims(op->getResult(0)) == getDims(chain.second->getResult(0)));
    return fits ? Verdict::yes() : Verdict::no("what follows the second contraction is not elementwise");
  }

  Verdict mayStandBetween(Operation *op) {
    if (auto reduce = dyn_cast<ReduceOpInterface>(op)) {
      bool ofRows = getDims(op->getOperand(0)) == space &&
                    reduce.getReducedDims() == SmallVector<int64_t>{int64_t(space.size()) - 1} && reduce.keepsDims();
      return ofRows ? Verdict::yes() : Verdict::no("a reduction between the two contractions is not one of whole rows");
    }
    bool fits = isa<ElementwiseOpInterface>(op) && isRowOf(getDims(op->getResult(0)), space);
    return fits ? Verdict::yes() : Verdict::no("an op between the two contractions does not keep their rows apart");
  }

  /// Nobody outside sees what lies between.
  Verdict lookAtReaders() {
    for (const auto *list : {&chain.head, &chain.middle})
      for (Operation *op : *list)
        for (Operation *user : op->getUsers())
          if (!inside.contains(user))
            return Verdict::no("others read what is between the two contractions");
    return Verdict::yes();
  }

  /// A step reads of an earlier one what that hands on, and from outside what lies along the same rows.
  Verdict lookAtSteps() {
    auto fits = [&](ArrayRef<Operation *> step, Value handedOn, const Dims &rows) {
      return llvm::all_of(step, [&](Operation *op) {
        return llvm::all_of(op->getOperands(), [&](Value operand) {
          Operation *maker = operand.getDefiningOp();
          bool earlier = inside.contains(maker) && !isa<ConstantOp>(maker) && !llvm::is_contained(step, maker);
          return earlier ? operand == handedOn : isa<ContractOpInterface>(op) || isRowOf(getDims(operand), rows);
        });
      });
    };
    bool keepsApart = fits(chain.head, Value(), space) && fits(chain.middle, chain.scores, space) &&
                      fits(chain.tail, chain.weights, getDims(chain.second->getResult(0)));
    return keepsApart ? Verdict::yes()
                      : Verdict::no("an op of the chain reads an earlier step's values, or others than its own rows'");
  }

  bool fits(Value value) const {
    Type type = getElementType(value);
    return type.isF32() || (narrow && (type.isF16() || type.isBF16()));
  }

  ArrayRef<Operation *> ops;
  bool narrow;
  llvm::SmallPtrSet<Operation *, 16> inside;
  Dims space;
  Chain chain;
};

} // namespace

Found<Chain> findChain(ArrayRef<Operation *> ops, bool narrow) { return ChainFinder(ops, narrow).find(); }

} // namespace hewn::graph

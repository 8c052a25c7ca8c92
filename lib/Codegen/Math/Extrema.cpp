// SPDX-License-Identifier: Apache-2.0
//
// Expands trees of NaN-propagating maxima or minima ("extrema"). On most vector units, a
// NaN-propagating maximum takes three instructions, a maximum that ignores NaN takes one, and
// testing two numbers for NaN takes one.
//
//     %4 = arith.maximumf %0, %1        ordered(%0, %1), ordered(%2, %3)
//     %5 = arith.maximumf %2, %3    →   maxima without NaN propagation, pairwise
//     %6 = arith.maximumf %4, %5        one select: the maximum, or NaN
//
// If the lanes of a vector are halved until one is left (the extremum of a row), the NaN test is
// done once for all lanes. Not rewritten: trees with less than four leaves, and extrema that may
// ignore NaN (`nnan`), because their users compute NaN from the elements themselves.
#include "lib/Codegen/Math/Extrema.h"
#include "lib/Codegen/Math/Formula.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using hewn::codegen::vecmath::Formula;

namespace hewn::codegen {

namespace {

using P = arith::CmpFPredicate;

/// Returns true if the op is a maximum or minimum of vectors that must propagate NaN and may ignore
/// the sign of zeros.
bool isExtremum(Operation *op) {
  if (!isa_and_present<arith::MaximumFOp, arith::MinimumFOp>(op) || !isa<VectorType>(op->getResult(0).getType()))
    return false;
  arith::FastMathFlags flags = cast<arith::ArithFastMathInterface>(op).getFastMathFlagsAttr().getValue();
  return bitEnumContainsAll(flags, arith::FastMathFlags::nsz) && !bitEnumContainsAny(flags, arith::FastMathFlags::nnan);
}

/// Returns the shuffle that defines `value`, if it extracts the lower half (`which` is 0) or the
/// upper half (1) of a vector's lanes. Returns null otherwise.
vector::ShuffleOp asHalf(Value value, int64_t which) {
  auto shuffle = value.getDefiningOp<vector::ShuffleOp>();
  if (!shuffle)
    return {};
  ArrayRef<int64_t> mask = shuffle.getMask();
  int64_t from = which * int64_t(mask.size());
  bool isHalf = shuffle.getV1VectorType().getRank() == 1 &&
                shuffle.getV1VectorType().getNumElements() == 2 * int64_t(mask.size());
  for (auto [i, lane] : llvm::enumerate(mask))
    isHalf &= lane == from + int64_t(i);
  return isHalf ? shuffle : vector::ShuffleOp();
}

/// If the op is the extremum of the two halves of a vector, returns that vector, else null.
Value halvedBy(Operation *op) {
  if (!isExtremum(op))
    return {};
  vector::ShuffleOp lower = asHalf(op->getOperand(0), 0), upper = asHalf(op->getOperand(1), 1);
  return lower && upper && lower.getV1() == upper.getV1() ? lower.getV1() : Value();
}

class Tree {
public:
  Tree(ImplicitLocOpBuilder &b, Operation *root) : b(b), f(b, b.getLoc()), root(root) {}

  /// Returns the extremum over the lanes of `vector`, halved `times` times. `readers` is the number
  /// of uses of `vector` in the first pair of halves.
  Value halved(Value vector, size_t times, unsigned readers) {
    collect(vector, {}, readers);
    if (leaves.empty()) // all leaves are constants
      leaves.push_back({vector, {}});
    Value ordered = allOrdered(), lossy = extremum();
    for (size_t i = 0; i < times; ++i) {
      int64_t half = cast<VectorType>(lossy.getType()).getNumElements() / 2;
      auto part = [&](int64_t from) -> Value {
        return vector::ShuffleOp::create(b, lossy, lossy, llvm::to_vector(llvm::seq<int64_t>(from, from + half)));
      };
      lossy = either(part(0), part(half));
    }
    ordered = vector::ReductionOp::create(b, vector::CombiningKind::AND, ordered);
    return arith::SelectOp::create(b, ordered, lossy, none(lossy.getType()));
  }

  /// Returns the value of the tree, or null if it has less than four leaves.
  Value whole() {
    constexpr size_t few = 4;
    for (Value operand : root->getOperands())
      collect(operand, {}, /*readers=*/1);
    if (leaves.size() < few)
      return {};
    Value ordered = allOrdered(), lossy = extremum();
    return arith::SelectOp::create(b, ordered, lossy, none(lossy.getType()));
  }

private:
  /// An operand of the extremum. It counts only in the lanes of `mask`, or in all lanes if `mask`
  /// is null.
  struct Leaf {
    Value value, mask;
  };

  ImplicitLocOpBuilder &b;
  Formula f;
  Operation *root;
  SmallVector<Leaf> leaves;

  bool isInner(Operation *op) const {
    return isExtremum(op) && op->getName() == root->getName() && op->getBlock() == root->getBlock();
  }

  /// Returns true if the value cannot change the extremum: -inf for maxima, +inf for minima.
  bool isIdentity(Value value) const {
    APFloat number(0.0);
    return matchPattern(value, m_ConstantFloat(&number)) && number.isInfinity() &&
           number.isNegative() == isa<arith::MaximumFOp>(root);
  }

  /// Collects the leaves of the tree with the root `value`, which count in the lanes of `mask`.
  /// `readers` is the number of uses of `value` in the tree. If `value` has other uses, it becomes
  /// a leaf, because its op remains in any case.
  void collect(Value value, Value mask, unsigned readers) {
    Operation *op = value.getDefiningOp();
    bool isAlone = value.hasNUses(readers) && !mask;
    if (isAlone && isInner(op)) {
      collect(op->getOperand(0), {}, 1);
      collect(op->getOperand(1), {}, 1);
      return;
    }
    // Look through a select after an inner extremum: in lanes outside of its mask, the value does
    // not change.
    auto select = dyn_cast_if_present<arith::SelectOp>(op);
    Operation *merged = select && isAlone ? select.getTrueValue().getDefiningOp() : nullptr;
    if (isInner(merged) && merged->hasOneUse() && merged->getOperand(0) == select.getFalseValue() &&
        isa<VectorType>(select.getCondition().getType())) {
      collect(select.getFalseValue(), {}, 2);
      collect(merged->getOperand(1), select.getCondition(), 1);
      return;
    }
    if (!isIdentity(value))
      leaves.push_back({value, mask});
  }

  Value none(Type type) { return f.constant(type, std::numeric_limits<double>::quiet_NaN()); }

  Value either(Value x, Value y) {
    P first = isa<arith::MaximumFOp>(root) ? P::OGT : P::OLT;
    return arith::SelectOp::create(b, arith::CmpFOp::create(b, first, x, y), x, y);
  }

  /// Returns the extremum of all leaves, computed without NaN propagation.
  Value extremum() {
    SmallVector<Value> all;
    for (const Leaf &leaf : leaves)
      if (!leaf.mask)
        all.push_back(leaf.value);
    if (all.empty())
      all.push_back(f.constant(leaves[0].value.getType(),
                               isa<arith::MaximumFOp>(root) ? -vecmath::kInfinity : vecmath::kInfinity));
    // Form a balanced tree, because a linear chain would have a longer latency.
    for (; all.size() > 1; all.resize(llvm::divideCeil(all.size(), 2)))
      for (size_t i = 0; i < all.size(); i += 2)
        all[i / 2] = i + 1 < all.size() ? either(all[i], all[i + 1]) : all[i];
    for (const Leaf &leaf : leaves)
      if (leaf.mask)
        all[0] = arith::SelectOp::create(b, leaf.mask, either(all[0], leaf.value), all[0]);
    return all[0];
  }

  /// Returns a mask of the lanes in which no leaf is NaN. One comparison tests two leaves.
  Value allOrdered() {
    SmallVector<Value> all;
    for (const Leaf &leaf : leaves)
      all.push_back(
          leaf.mask
              ? arith::SelectOp::create(b, leaf.mask, leaf.value, f.constant(leaf.value.getType(), 0.0)).getResult()
              : leaf.value);
    Value ordered;
    for (size_t i = 0; i < all.size(); i += 2) {
      Value two = arith::CmpFOp::create(b, P::ORD, all[i], all[std::min(i + 1, all.size() - 1)]);
      ordered = ordered ? arith::AndIOp::create(b, ordered, two).getResult() : two;
    }
    return ordered;
  }
};

/// Returns true if the op's result is only used as the two halves of another extremum.
bool isHalvedAgain(Operation *op) {
  return !op->use_empty() && llvm::all_of(op->getUsers(), [&](Operation *half) {
    return isa<vector::ShuffleOp>(half) && half->hasOneUse() && halvedBy(*half->user_begin()) == op->getResult(0);
  });
}

/// Erases those ops that have no uses, and then the ops that defined their operands if these have
/// no other uses.
void eraseDeadOps(llvm::SetVector<Operation *> ops) {
  while (!ops.empty()) {
    Operation *op = ops.pop_back_val();
    if (!isOpTriviallyDead(op))
      continue;
    for (Value operand : op->getOperands())
      if (Operation *maker = operand.getDefiningOp())
        ops.insert(maker);
    op->erase();
  }
}

void expandHalvings(Operation *within) {
  SmallVector<Operation *> last;
  llvm::SetVector<Operation *> replaced;
  within->walk([&](Operation *op) {
    if (halvedBy(op) && !isHalvedAgain(op))
      last.push_back(op);
  });
  for (Operation *root : last) {
    SmallVector<Operation *> halvings = {root};
    while (Operation *op = halvedBy(halvings.back()).getDefiningOp()) {
      if (!halvedBy(op) || op->getName() != root->getName() || op->getBlock() != root->getBlock() || !isHalvedAgain(op))
        break;
      halvings.push_back(op);
    }
    if (halvings.size() == 1)
      continue;
    ImplicitLocOpBuilder b(root->getLoc(), root);
    Value vector = halvedBy(halvings.back());
    auto readers = unsigned(llvm::count_if(vector.getUses(), [&](OpOperand &use) {
      return use.getOwner()->getNumResults() == 1 &&
             llvm::is_contained(halvings.back()->getOperands(), use.getOwner()->getResult(0));
    }));
    root->replaceAllUsesWith(ValueRange{Tree(b, root).halved(vector, halvings.size(), readers)});
    replaced.insert(root);
  }
  eraseDeadOps(std::move(replaced));
}

} // namespace

void expandExtrema(Operation *within) {
  expandHalvings(within);
  SmallVector<Operation *> roots;
  within->walk([&](Operation *op) {
    auto isInner = [&](Operation *user) {
      return user->getName() == op->getName() && user->getBlock() == op->getBlock();
    };
    if (isExtremum(op) && !(op->hasOneUse() && isInner(*op->user_begin())))
      roots.push_back(op);
  });
  llvm::SetVector<Operation *> replaced;
  for (Operation *root : roots) {
    ImplicitLocOpBuilder b(root->getLoc(), root);
    if (Value result = Tree(b, root).whole()) {
      root->replaceAllUsesWith(ValueRange{result});
      replaced.insert(root);
    }
  }
  eraseDeadOps(std::move(replaced));
}

} // namespace hewn::codegen

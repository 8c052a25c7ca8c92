// SPDX-License-Identifier: Apache-2.0
//
// Trees of extrema. One in which NaN counts takes three instructions on most vector units, one in which it may be lost takes one, and whether one
// of two numbers is NaN another one.
//
//     %4 = arith.maximumf %0, %1        ordered %0, %1 and ordered %2, %3
//     %5 = arith.maximumf %2, %3    →   maxima of neighbours, then of these
//     %6 = arith.maximumf %4, %5        one selection: the maximum, or NaN
//
// Where lanes are halved until one is left (a row's extremum), it is asked once whether any lane is NaN. Left alone: trees of less than four
// and extrema that may lose NaN as they are (`nnan`: whoever reads them makes NaN of the elements again).
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

/// Whether the op is a maximum or minimum of vectors in which NaN counts, and the sign of a zero does not.
bool isExtremum(Operation *op) {
  if (!isa_and_present<arith::MaximumFOp, arith::MinimumFOp>(op) || !isa<VectorType>(op->getResult(0).getType()))
    return false;
  arith::FastMathFlags flags = cast<arith::ArithFastMathInterface>(op).getFastMathFlagsAttr().getValue();
  return bitEnumContainsAll(flags, arith::FastMathFlags::nsz) && !bitEnumContainsAny(flags, arith::FastMathFlags::nnan);
}

/// The op that gives the value, where that is the lower (0) or the upper (1) half of a vector's lanes; null: it is not.
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

/// The vector whose halves an extremum is of; null: it is of something else.
Value halvedBy(Operation *op) {
  if (!isExtremum(op))
    return {};
  vector::ShuffleOp lower = asHalf(op->getOperand(0), 0), upper = asHalf(op->getOperand(1), 1);
  return lower && upper && lower.getV1() == upper.getV1() ? lower.getV1() : Value();
}

class Tree {
public:
  Tree(ImplicitLocOpBuilder &b, Operation *root) : b(b), f(b, b.getLoc()), root(root) {}

  /// The lanes of `vector` are halved so often; its first halves read it `readers` times.
  Value halved(Value vector, size_t times, unsigned readers) {
    collect(vector, {}, readers);
    if (leaves.empty()) // of constants alone
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

  /// The tree's own value; null where it has few leaves.
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
  /// A value that the extremum is of, in the lanes of `mask` (null: in all).
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

  /// Whether the value is the least of a maximum, or the other way round, with which nothing changes.
  bool isIdentity(Value value) const {
    APFloat number(0.0);
    return matchPattern(value, m_ConstantFloat(&number)) && number.isInfinity() &&
           number.isNegative() == isa<arith::MaximumFOp>(root);
  }

  /// What `value` is the extremum of, in the lanes of `mask`. `readers`: how often those read it that are collected already; where others read
  /// it too, it is there anyway.
  void collect(Value value, Value mask, unsigned readers) {
    Operation *op = value.getDefiningOp();
    bool isAlone = value.hasNUses(readers) && !mask;
    if (isAlone && isInner(op)) {
      collect(op->getOperand(0), {}, 1);
      collect(op->getOperand(1), {}, 1);
      return;
    }
    // Lanes outside of a mask keep what they were.
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

  /// Of all leaves, with NaN lost or not.
  Value extremum() {
    SmallVector<Value> all;
    for (const Leaf &leaf : leaves)
      if (!leaf.mask)
        all.push_back(leaf.value);
    if (all.empty())
      all.push_back(f.constant(leaves[0].value.getType(),
                               isa<arith::MaximumFOp>(root) ? -vecmath::kInfinity : vecmath::kInfinity));
    // Neighbours first, then their pairs: a chain would wait for each of them.
    for (; all.size() > 1; all.resize(llvm::divideCeil(all.size(), 2)))
      for (size_t i = 0; i < all.size(); i += 2)
        all[i / 2] = i + 1 < all.size() ? either(all[i], all[i + 1]) : all[i];
    for (const Leaf &leaf : leaves)
      if (leaf.mask)
        all[0] = arith::SelectOp::create(b, leaf.mask, either(all[0], leaf.value), all[0]);
    return all[0];
  }

  /// Which lanes have no NaN: of two leaves by a comparison each, since one under a mask of those before takes no instruction more.
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

/// Whether an extremum's only readers are the halves that another one is of.
bool isHalvedAgain(Operation *op) {
  return !op->use_empty() && llvm::all_of(op->getUsers(), [&](Operation *half) {
    return isa<vector::ShuffleOp>(half) && half->hasOneUse() && halvedBy(*half->user_begin()) == op->getResult(0);
  });
}

/// Erases ops that nobody reads, and then what they alone have read.
void eraseUnread(llvm::SetVector<Operation *> ops) {
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

void expandHalvings(ModuleOp module) {
  SmallVector<Operation *> last;
  llvm::SetVector<Operation *> replaced;
  module.walk([&](Operation *op) {
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
  eraseUnread(std::move(replaced));
}

} // namespace

void expandExtrema(ModuleOp module) {
  expandHalvings(module);
  SmallVector<Operation *> roots;
  module.walk([&](Operation *op) {
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
  eraseUnread(std::move(replaced));
}

} // namespace hewn::codegen

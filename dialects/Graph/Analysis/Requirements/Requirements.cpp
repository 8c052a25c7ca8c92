// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Analysis/Requirements/Requirements.h"
#include "dialects/Graph/Analysis/Bounds/Bounds.h"
#include "dialects/Graph/Analysis/Requirements/Accesses.h"
#include "dialects/Graph/Control/ControlFlow.h"
#include "dialects/Graph/Control/RequirementOps.h"
#include "dialects/Graph/Indexing/Interleave.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

#include "dialects/Graph/Analysis/Requirements/RequirementsInterface.cpp.inc"

namespace hewn::graph {

StringRef requirementMessage(Relation relation) {
  switch (relation) {
  case Relation::Equal:
    return "two of its sizes must be equal, and are {a} and {b}";
  case Relation::Broadcast:
    return "a dim of {a} is neither 1 nor the {b} of the result";
  case Relation::AtMost:
    return "takes {a} elements along a dim that has {b}";
  case Relation::NoCopy:
    return "a size of 0 in its shape copies the dim of the input, which gives another shape; set allowzero";
  }
  return "";
}

Operation *makeRequirement(OpBuilder &b, Location loc, const Requirement &requirement) {
  return RequireDimsOp::create(b, loc, requirement.relation,
                               dimsAttr(b.getContext(), {requirement.left, requirement.right}));
}

void require(OpBuilder &b, Location loc, Relation relation, const DimExpr &left, const DimExpr &right) {
  Requirements needed;
  if (relation == Relation::Equal)
    needed.equal(left, right);
  else if (relation == Relation::Broadcast)
    needed.broadcast(left, right);
  else if (relation == Relation::AtMost)
    needed.atMost(left, right);
  else
    needed.noCopy(left);
  for (const Requirement &requirement : needed.list())
    makeRequirement(b, loc, requirement);
}

bool onlyStatesRequirement(Operation *op) {
  return isa<RequiringOpInterface>(op) && op->getNumOperands() == 0 && op->getNumResults() == 0;
}

std::optional<bool> Requirement::known() const {
  std::optional<int64_t> l = left.constant(), r = right.constant();
  if (!l || !r)
    return std::nullopt;
  if (relation == Relation::AtMost)
    return *l <= *r;
  return *l == *r || (relation == Relation::Broadcast && *l == 1);
}

void Requirements::add(const Requirement &requirement) {
  if (!llvm::is_contained(entries, requirement))
    entries.push_back(requirement);
}

void Requirements::equal(const DimExpr &a, const DimExpr &b) {
  if (a != b)
    add({Relation::Equal, a, b});
}

void Requirements::broadcast(const DimExpr &a, const DimExpr &b) {
  if (a != b && !a.is(1))
    add({Relation::Broadcast, a, b});
}

void Requirements::atMost(const DimExpr &a, const DimExpr &b) {
  if (!isKnownAtMost(a, b))
    add({Relation::AtMost, a, b});
}

void Requirements::noCopy(const DimExpr &copies) {
  if (!copies.is(0))
    add({Relation::NoCopy, copies, DimExpr(0)});
}

//===------------------------------------------------------------------------------------------===//
// Proofs from types and other requirements
//===------------------------------------------------------------------------------------------===//

namespace {

/// Proves conditions on the dims of an op under the assumption that the op's result has at least
/// one element.
class Prover {
public:
  Prover(Operation *op, const Requirements &stated) {
    for (const Requirement &entry : stated.list()) {
      // the requirement states that the operand dim is 1 or equal to the result's dim, so the
      // operand dim is positive
      if (entry.relation == Relation::Broadcast)
        assumePositive(entry.left);
      if (entry.relation == Relation::Equal && !identify(entry.left, entry.right))
        identify(entry.right, entry.left);
    }
    for (const DimExpr &dim : getDims(op->getResult(0))) {
      assumePositive(dim);
      if (!graph::isKnownNonNegative(dim - DimExpr(1)))
        some = some.is(1) ? DimExpr::min(DimExpr(1), dim) : DimExpr::min(some, dim);
    }
  }

  /// Returns true if `expr` is proven to be >= 0. If `also` is given, the proof assumes `also` >=
  /// 1.
  bool isKnownNonNegative(const DimExpr &expr, const DimExpr *also = nullptr) const {
    DimExpr resolved = expr;
    for (const auto &[name, value] : same)
      resolved = resolved.substitute([&](StringRef s) { return s == name ? value : DimExpr::symbol(s); });
    std::optional<StringRef> extra = also ? symbolOf(*also) : std::nullopt;
    return graph::isKnownNonNegative(resolved.substitute([&](StringRef s) {
      // replaces a symbol s that is at least 1 by s.less + 1, where the new symbol s.less is a size
      // and thus >= 0
      bool isPositive = positive.contains(s) || s == extra;
      return isPositive ? DimExpr::symbol((s + ".less").str()) + DimExpr(1) : DimExpr::symbol(s);
    }));
  }

  /// Returns an expression that is 1 if the op's result has elements, and 0 or negative if it is
  /// empty.
  const DimExpr &someElements() const { return some; }

private:
  static std::optional<StringRef> symbolOf(const DimExpr &expr) {
    ArrayRef<DimExpr::Term> terms = expr.terms();
    bool isOne = terms.size() == 1 && terms[0].coefficient == 1 && terms[0].factors.size() == 1;
    if (!isOne || terms[0].factors[0]->name.empty())
      return std::nullopt;
    return StringRef(terms[0].factors[0]->name);
  }
  void assumePositive(const DimExpr &dim) {
    if (std::optional<StringRef> name = symbolOf(dim))
      positive.insert(*name);
  }
  bool identify(const DimExpr &symbol, const DimExpr &value) {
    std::optional<StringRef> name = symbolOf(symbol);
    bool occurs = false;
    value.walkSymbols([&](StringRef s) { occurs |= s == name; });
    if (!name || occurs)
      return false;
    same.push_back({name->str(), value});
    return true;
  }

  llvm::StringSet<> positive;
  SmallVector<std::pair<std::string, DimExpr>> same;
  DimExpr some = DimExpr(1);
};

} // namespace

/// Adds the requirement low <= high to those of an op. It applies only if the op's result has
/// elements.
static void requireOrdered(const DimExpr &low, const DimExpr &high, const Prover &prover, Requirements &requirements) {
  if (prover.isKnownNonNegative(high - low) ||
      llvm::is_contained(requirements.list(), Requirement{Relation::AtMost, low, high}))
    return;
  // Brings the negative terms of a requirement to the other side of the comparison, for the error
  // message: "takes 5 elements of n" reads better than "5 - n is at most 0".
  DimExpr left(0), right(0);
  for (const DimExpr &side : {low, high * DimExpr(-1)})
    for (const DimExpr::Term &term : side.terms()) {
      if (term.coefficient < 0)
        right = right - termOf(term);
      else
        left = left + termOf(term);
    }
  if (prover.someElements().is(1) || graph::isKnownNonNegative(right))
    return requirements.atMost(prover.someElements() * left, right);
  requirements.atMost(prover.someElements() * (left - right), DimExpr(0));
}

//===------------------------------------------------------------------------------------------===//
// Requirements of op interfaces
//===------------------------------------------------------------------------------------------===//

/// Returns the maximum index that an indexing map's result takes in a non-empty iteration space.
static std::optional<DimExpr> largest(AffineExpr expr, ArrayRef<DimExpr> extents) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return extents[dim.getPosition()] - DimExpr(1);
  if (auto number = dyn_cast<AffineConstantExpr>(expr))
    return DimExpr(number.getValue());
  auto both = dyn_cast<AffineBinaryOpExpr>(expr);
  std::optional<DimExpr> l = both ? largest(both.getLHS(), extents) : std::nullopt;
  std::optional<DimExpr> r = both ? largest(both.getRHS(), extents) : std::nullopt;
  if (l && r && both.getKind() == AffineExprKind::Add)
    return *l + *r;
  auto factor = both ? dyn_cast<AffineConstantExpr>(both.getRHS()) : nullptr;
  if (l && factor && factor.getValue() >= 0 && both.getKind() == AffineExprKind::Mul)
    return *l * DimExpr(factor.getValue());
  return std::nullopt;
}

static LogicalResult requireOfContraction(ContractOpInterface op, Requirements &requirements) {
  Dims extents = op.getIterationDims([](Value value) { return getDims(value); });
  SmallVector<bool> summed = op.getReductionDims();
  for (auto [operand, map] : llvm::zip(op->getOperands().take_front(2), op.getIndexingMaps()))
    for (auto [dim, expr] : llvm::zip(getDims(operand), map.getResults())) {
      auto own = dyn_cast<AffineDimExpr>(expr);
      if (own && summed[own.getPosition()])
        requirements.equal(dim, extents[own.getPosition()]);
      else if (own)
        requirements.broadcast(dim, extents[own.getPosition()]);
    }
  // Requires bounds for operand indices of a contraction that are sums of several iteration dims,
  // as in windows and channel groups of convolutions.
  Prover prover(op, requirements);
  for (auto [operand, map] : llvm::zip(op->getOperands().take_front(2), op.getIndexingMaps()))
    for (auto [dim, expr] : llvm::zip(getDims(operand), map.getResults())) {
      std::optional<DimExpr> most = largest(expr, extents);
      if (!most)
        return op->emitOpError("has an unbounded indexing map");
      if (!isa<AffineDimExpr>(expr))
        requireOrdered(*most + DimExpr(1), dim, prover, requirements);
    }
  return success();
}

static void requireOfBroadcast(Operation *op, Requirements &requirements) {
  Dims dims = getDims(op->getResult(0));
  for (Value operand : op->getOperands()) {
    Dims own = getDims(operand);
    for (size_t i = 1; i <= std::min(own.size(), dims.size()); ++i)
      requirements.broadcast(own[own.size() - i], dims[dims.size() - i]);
  }
}

static void requireOfMove(IndexingOpInterface op, Requirements &requirements) {
  if (op.getViewKind() == ViewKind::Reshape)
    requirements.equal(numElements(getDims(op->getOperand(0))), numElements(getDims(op->getResult(0))));
  Dims to = getDims(op->getResult(0));
  std::optional<Assembly> assembly = assemblyOf(op);
  if (!assembly)
    return;
  for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
    SmallVector<int64_t> first = assembly->firstOf(int64_t(number));
    for (auto [d, dim] : llvm::enumerate(getDims(operand))) {
      int64_t step = assembly->isInterleaved() ? assembly->steps[d] : 1;
      if (step != 1)
        requirements.atMost(Assembly::lengthOf(to[d], first[d], step), dim);
      else if (assembly->isInterleaved() || int64_t(d) != assembly->dim)
        requirements.equal(dim, to[d]);
    }
  }
}

//===------------------------------------------------------------------------------------------===//
// Requirements of reads
//===------------------------------------------------------------------------------------------===//

static LogicalResult requireOfReads(Operation *op, Requirements &requirements) {
  if (llvm::any_of(getDims(op->getResult(0)), [](const DimExpr &dim) { return dim.is(0); }))
    return success();
  Prover prover(op, requirements);
  Accesses accesses = accessesOf(op);
  for (const AccessRange &range : accesses.ranges) {
    DimExpr dim = getDims(range.tensor)[range.dim];
    if (!range.least || !range.most)
      return op->emitOpError() << "has an unbounded access along dim " << range.dim << " of an operand";
    DimExpr end = *range.most + DimExpr(1);
    if (prover.isKnownNonNegative(dim - end) && prover.isKnownNonNegative(*range.least))
      continue;
    // The op clamps the index to the operand's dim, so the read is in bounds unless this dim is 0.
    // The requirement is that it is not 0.
    if (prover.isKnownNonNegative(dim - end, &dim) && prover.isKnownNonNegative(*range.least, &dim)) {
      requirements.atMost(prover.someElements(), dim);
      continue;
    }
    requireOrdered(end, dim, prover, requirements);
    requireOrdered(DimExpr(0), *range.least, prover, requirements);
  }
  for (const std::optional<DimExpr> &divisor : accesses.divisors) {
    if (!divisor)
      return op->emitOpError("divides an index by an unbounded value");
    if (!prover.isKnownNonNegative(*divisor - DimExpr(1)))
      requirements.atMost(prover.someElements(), *divisor);
  }
  return success();
}

//===------------------------------------------------------------------------------------------===//
// Collection
//===------------------------------------------------------------------------------------------===//

FailureOr<Requirements> requirementsOf(Operation *op) {
  Requirements requirements;
  bool isKnown = op->hasTrait<OpTrait::IsTerminator>() ||
                 isa<ConstantOp, ReadSymbolOp, GroupOp, ControlOpInterface, CheckIndicesOp, RequireOp,
                     ReduceOpInterface, PrefixScanOpInterface, ElementwiseOpInterface>(op);
  if (auto move = dyn_cast<IndexingOpInterface>(op))
    requireOfMove(move, requirements);
  if (ControlOpInterface loop = countedLoopOf(op)) {
    // Each iteration of a counted loop reads or writes one slice of every scanned tensor, so dim 0
    // of these tensors must be the number of iterations.
    for (const SlicedValue &sliced : loop.getSlicedValues())
      requirements.equal(getDims(sliced.sequence)[0], *loop.getNumSteps());
    for (const StackedValue &stacked : loop.getStackedValues())
      requirements.equal(getDims(stacked.result)[0], *loop.getNumSteps());
  }
  if (auto states = dyn_cast<RequiringOpInterface>(op)) {
    states.requireDims(requirements);
    isKnown = true;
  }
  // Requires result dims of at least 0, because the dims that a ShapeOpInterface op infers may be
  // negative for some values of the symbols.
  for (Value result : isa<ShapeOpInterface>(op) ? ValueRange(op->getResults()) : ValueRange())
    if (isa<RankedTensorType>(result.getType()))
      for (const DimExpr &dim : getDims(result))
        requirements.atMost(DimExpr(0), dim);
  if (isa<ElementwiseOpInterface>(op))
    requireOfBroadcast(op, requirements);
  if (auto contraction = dyn_cast<ContractOpInterface>(op)) {
    if (failed(requireOfContraction(contraction, requirements)))
      return failure();
    isKnown = true;
  }
  if (auto move = dyn_cast<IndexingOpInterface>(op)) {
    if (move.getViewKind() == ViewKind::None && failed(requireOfReads(op, requirements)))
      return failure();
    isKnown = true;
  }
  if (!isKnown)
    return op->emitOpError("has no op interface or requirement that describes its accesses");
  return requirements;
}

} // namespace hewn::graph

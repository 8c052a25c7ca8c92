// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/ElementEmitter.h"
#include "dialects/Graph/Analysis/Layout.h"
#include "dialects/Graph/Contract/ContractRoles.h"
#include "lib/Codegen/BlockedSum.h"
#include "lib/Codegen/StorageRounding.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/AffineMap.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn::codegen {

//===------------------------------------------------------------------------------------------------------------------===//
// Buffers
//===------------------------------------------------------------------------------------------------------------------===//

Type storageType(Type elementType) {
  if (auto integer = dyn_cast<IntegerType>(elementType))
    return IntegerType::get(integer.getContext(), std::max(8u, integer.getWidth()));
  if (graph::isHeldInByte(elementType))
    return IntegerType::get(elementType.getContext(), 8);
  return elementType;
}

SmallVector<int64_t> memoryOrder(Value tensor) { return graph::memoryOrder(cast<RankedTensorType>(tensor.getType())); }

Buffer describeBuffer(Value memref, RankedTensorType type, ArrayRef<DimExpr> dims) {
  Buffer buffer{memref, type.getElementType(), Dims(dims.begin(), dims.end()), graph::storedStrides(type, dims)};
  if (auto layout = dyn_cast_or_null<graph::LayoutAttr>(type.getEncoding()); layout && layout.getBlockDim() >= 0) {
    buffer.blockDim = layout.getBlockDim();
    buffer.block = layout.getBlock();
    buffer.groupDim = layout.getGroupDim();
    buffer.group = layout.getGroup();
  }
  return buffer;
}

//===------------------------------------------------------------------------------------------------------------------===//
// Loads and stores
//===------------------------------------------------------------------------------------------------------------------===//

Index ElementEmitter::expression(const DimExpr &expr) {
  if (std::optional<int64_t> known = expr.constant())
    return constant(*known);
  auto symbolValue = [&](StringRef name) { return symbols.lookup(name); };
  bool everywhere = home != nullptr;
  expr.walkSymbols([&](StringRef name) {
    auto argument = dyn_cast_or_null<BlockArgument>(symbolValue(name));
    everywhere &= argument && argument.getOwner() == home;
  });
  // Do not reuse the expression's value if one of its symbols is defined inside of the function, as
  // in a nested kernel: the value might not dominate later uses.
  if (!everywhere)
    return {expr.materialize(b, loc, symbolValue)};
  Value &value = expressions[expr.str()];
  if (!value) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(home);
    value = expr.materialize(b, loc, symbolValue);
  }
  return {value};
}

Index ElementEmitter::extent(Value tensor, unsigned dim) { return expression(graph::getDims(tensor)[dim]); }

Value ElementEmitter::allLanes() {
  auto type = VectorType::get({lanes}, b.getI1Type());
  return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, true));
}

Index ElementEmitter::offset(const Buffer &buffer, ArrayRef<Index> at) {
  Index sum = buffer.start ? Index{buffer.start} : constant(0);
  for (auto [dim, index] : llvm::enumerate(at)) {
    if (buffer.dims[dim].is(1))
      continue;
    Index stride = expression(buffer.strides[dim]);
    if (int64_t(dim) == buffer.blockDim) {
      Index size = constant(buffer.block);
      sum = add(sum, add(mul(floorDiv(index, size), stride), mul(mod(index, size), constant(buffer.group))));
    } else if (int64_t(dim) == buffer.groupDim) {
      Index size = constant(buffer.group);
      sum = add(sum, add(mul(floorDiv(index, size), stride), mod(index, size)));
    } else {
      sum = add(sum, mul(index, stride));
    }
  }
  return sum;
}

Value ElementEmitter::toCompute(Value stored, Type elementType) {
  bool vector = isa<VectorType>(stored.getType());
  if (elementType.isInteger(1)) {
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(stored.getType()));
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, stored, zero);
  }
  Type compute = graph::computeType(elementType);
  if (compute == storageType(elementType))
    return stored;
  Type type = vector ? Type(vectorType(compute)) : compute;
  if (graph::isHeldInByte(elementType))
    return graph::fromByte(b, loc, elementType, stored);
  if (isa<FloatType>(compute))
    return arith::ExtFOp::create(b, loc, type, stored);
  return arith::TruncIOp::create(b, loc, type, stored); // 4-bit integers are stored as bytes
}

Value ElementEmitter::toStorage(Value element, Type elementType) {
  Type storage = storageType(elementType);
  if (getElementTypeOrSelf(element.getType()) == storage)
    return element;
  if (graph::isHeldInByte(elementType))
    return graph::toByte(b, loc, elementType, element);
  Type type = isa<VectorType>(element.getType()) ? Type(vectorType(storage)) : storage;
  if (isa<FloatType>(storage))
    return arith::TruncFOp::create(b, loc, type, element);
  if (elementType.isInteger(1) || elementType.isUnsignedInteger())
    return arith::ExtUIOp::create(b, loc, type, element);
  return arith::ExtSIOp::create(b, loc, type, element);
}

//===------------------------------------------------------------------------------------------------------------------===//
// Evaluation by op interface
//===------------------------------------------------------------------------------------------------------------------===//

Value ElementEmitter::read(Value tensor, ArrayRef<Index> at) {
  if (Value known = bound.lookup(tensor))
    return known;
  Key key;
  key.first = tensor.getAsOpaquePointer();
  for (const Index &index : at)
    key.second.push_back({index.base.getAsOpaquePointer(), index.general ? INT64_MAX : index.stride});
  if (auto found = cache.find(key); found != cache.end())
    return found->second;
  Value element = evaluate(tensor, at);
  cache[key] = element;
  return element;
}

Value ElementEmitter::evaluate(Value tensor, ArrayRef<Index> at) {
  if (auto spill = spilled.find(tensor); spill != spilled.end())
    return load(spill->second, at);
  Operation *op = tensor.getDefiningOp();
  if (!op) // only arguments of the kernel have no defining op
    return load(buffers.find(tensor)->second, at);
  if (auto elementwiseOp = dyn_cast<graph::ElementwiseOpInterface>(op))
    return elementwise(elementwiseOp, at);
  if (auto move = dyn_cast<graph::IndexingOpInterface>(op)) {
    if (copies.contains(op))
      return read(op->getOperand(0), at);
    if (!readsStored(op))
      return move.emitAt(*this, at);
    StoredElements stored(*this);
    return move.emitAt(stored, at);
  }
  if (auto reduction = dyn_cast<graph::ReduceOpInterface>(op))
    return reduce(reduction, at);
  if (auto contraction = dyn_cast<graph::ContractOpInterface>(op))
    return contract(contraction, at);
  if (auto sums = dyn_cast<graph::PrefixScanOpInterface>(op))
    return cumulated(sums, at);
  if (auto constantOp = dyn_cast<graph::ConstantOp>(op)) {
    auto splat = cast<SplatElementsAttr>(constantOp.getValue());
    Type compute = graph::computeType(splat.getElementType());
    if (isa<FloatType>(compute))
      return arith::ConstantOp::create(b, loc,
                                       b.getFloatAttr(compute, splat.getSplatValue<APFloat>().convertToDouble()));
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(compute, splat.getSplatValue<APInt>()));
  }
  // The verifier of plan.kernel permits no other op.
  return constantElement(graph::getElementType(tensor), 0);
}

Value ElementEmitter::elementwise(graph::ElementwiseOpInterface op, ArrayRef<Index> at) {
  SmallVector<Value> in;
  Dims result = graph::getDims(op->getResult(0));
  for (Value operand : op->getOperands()) {
    Dims dims = graph::getDims(operand);
    SmallVector<Index> from;
    for (auto [i, dim] : llvm::enumerate(dims)) {
      unsigned outer = result.size() - dims.size() + i;
      if (dim.is(1) && !result[outer].is(1))
        from.push_back(constant(0));
      else if (dim == result[outer] || dim.constant())
        from.push_back(at[outer]);
      else // the dim is dynamic and may be 1 (broadcast), so clamp the index
        from.push_back(min(at[outer], sub(expression(dim), constant(1))));
    }
    Value element = read(operand, from);
    in.push_back(readsStored(op) ? roundToStorageType(b, loc, operand, element) : element);
  }
  unify(in);
  return op.emit(b, loc, in);
}

Value ElementEmitter::readIf(Value inside, Value tensor, ArrayRef<Index> at, Value fill) {
  if (std::optional<int64_t> known = getConstantIntValue(inside))
    return *known ? read(tensor, at) : fill;
  bool uniformIndex = llvm::all_of(at, [](const Index &i) { return i.uniform(); });
  bool uniformCondition = !isa<VectorType>(inside.getType());
  if (uniformCondition && (!uniformIndex || !isa<VectorType>(fill.getType()))) {
    auto lanewise = [&](Value element) { return uniformIndex ? element : broadcast(element); };
    Value otherwise = lanewise(fill);
    auto branch = scf::IfOp::create(b, loc, otherwise.getType(), inside, /*withElse=*/true);
    OpBuilder::InsertionGuard guard(b);
    auto outer = cache;
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, loc, lanewise(read(tensor, at)));
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, loc, otherwise);
    cache = std::move(outer);
    return branch.getResult(0);
  }
  SmallVector<Index> from(at);
  // The mask applies to vector accesses only, so make the address a vector.
  if (uniformIndex && !from.empty())
    from.back() = {vectorOf(from.back()), 0, true};
  Value saved = mask;
  auto outer = cache;
  Value lanesInside = broadcast(inside);
  mask = saved ? Value(arith::AndIOp::create(b, loc, saved, lanesInside)) : lanesInside;
  cache.clear();
  Value element = readWhereAny(tensor, from);
  mask = saved;
  cache = std::move(outer);
  return selectElement(lanesInside, element, fill);
}

Value ElementEmitter::readWhereAny(Value tensor, ArrayRef<Index> at) {
  OpBuilder::InsertionGuard guard(b);
  Value any = vector::ReductionOp::create(b, loc, vector::CombiningKind::OR, mask);
  auto branch = scf::IfOp::create(b, loc, any, /*withElse=*/false);
  bool outer = std::exchange(loadsOnePlace, false);
  b.setInsertionPoint(branch.thenYield());
  Value element = read(tensor, at);
  if (!std::exchange(loadsOnePlace, outer)) { // all loads are masked: no branch needed
    branch.thenYield().erase();
    Block *block = branch->getBlock();
    block->getOperations().splice(Block::iterator(branch), branch.thenBlock()->getOperations());
    branch.erase();
    any.getDefiningOp()->erase();
    return element;
  }
  scf::YieldOp::create(b, loc, element);
  branch.thenYield().erase();
  b.setInsertionPoint(branch);
  auto guarded = scf::IfOp::create(b, loc, element.getType(), any, /*withElse=*/true);
  guarded.getThenRegion().takeBody(branch.getThenRegion());
  branch.erase();
  b.setInsertionPointToStart(guarded.elseBlock());
  Value none = arith::ConstantOp::create(b, loc, b.getZeroAttr(element.getType()));
  scf::YieldOp::create(b, loc, none);
  return guarded.getResult(0);
}

SmallVector<Value> ElementEmitter::loopNest(ArrayRef<DimExpr> extents, ValueRange state, int64_t unrollLimit,
                                            llvm::function_ref<SmallVector<Value>(ArrayRef<Index>, ValueRange)> body) {
  std::optional<int64_t> trips = graph::numElements(extents).constant();
  SmallVector<Value> current(state);
  if (trips && *trips <= unrollLimit) {
    for (int64_t linear = 0; linear < *trips; ++linear) {
      SmallVector<Index> at(extents.size());
      int64_t rest = linear;
      for (unsigned d = extents.size(); d-- > 0; rest /= *extents[d].constant())
        at[d] = constant(rest % *extents[d].constant());
      current = body(at, current);
    }
    return current;
  }
  SmallVector<Index> at;
  SmallVector<scf::ForOp> loops;
  OpBuilder::InsertionGuard guard(b);
  auto outer = cache;
  Value zero = constant(0).base, one = constant(1).base;
  for (const DimExpr &extent : extents) {
    auto loop = scf::ForOp::create(b, loc, zero, expression(extent).base, one, current);
    loops.push_back(loop);
    at.push_back({loop.getInductionVar()});
    current.assign(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
    b.setInsertionPointToStart(loop.getBody());
    if (current.empty()) // the builder has already added a terminator to the block
      b.setInsertionPoint(loop.getBody()->getTerminator());
  }
  cache.clear();
  current = body(at, current);
  for (scf::ForOp loop : llvm::reverse(loops)) {
    if (!current.empty()) {
      b.setInsertionPointToEnd(loop.getBody());
      scf::YieldOp::create(b, loc, current);
    }
    b.setInsertionPointAfter(loop);
    current.assign(loop.getResults().begin(), loop.getResults().end());
  }
  cache = std::move(outer);
  return current;
}

void ElementEmitter::branch(Value condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise) {
  auto choice = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/true);
  for (auto [block, body] : {std::pair(choice.thenBlock(), then), std::pair(choice.elseBlock(), otherwise)}) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(block->getTerminator());
    forget();
    body();
  }
  forget();
}

SmallVector<Index> ElementEmitter::unravel(Index linear, ArrayRef<DimExpr> counts) {
  SmallVector<Index> at(counts.size(), constant(0));
  for (unsigned i = counts.size(); i-- > 0;) {
    if (counts[i].is(1))
      continue;
    if (llvm::all_of(counts.take_front(i), [](const DimExpr &count) { return count.is(1); })) {
      at[i] = linear;
      break;
    }
    Value count = expression(counts[i]).base;
    at[i] = {arith::RemUIOp::create(b, loc, linear.base, count)};
    linear = {arith::DivUIOp::create(b, loc, linear.base, count)};
  }
  return at;
}

void ElementEmitter::forEach(Index begin, Index end, int64_t step, llvm::function_ref<void(Index)> body) {
  auto loop = scf::ForOp::create(b, loc, begin.base, end.base, constant(step).base);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(loop.getBody()->getTerminator());
    forget();
    body({loop.getInductionVar()});
  }
  forget();
}

Value ElementEmitter::reduce(graph::ReduceOpInterface op, ArrayRef<Index> at) {
  Value operand = op->getOperand(0);
  Dims dims = graph::getDims(operand);
  SmallVector<int64_t> reduced = op.getReducedDims();
  SmallVector<Index> from(dims.size());
  unsigned next = 0;
  for (unsigned d = 0; d < dims.size(); ++d) {
    bool summed = llvm::is_contained(reduced, int64_t(d));
    if (!summed)
      from[d] = at[next++];
    else if (op.keepsDims())
      ++next;
  }
  Dims extents = llvm::map_to_vector<4>(reduced, [&](int64_t d) { return dims[d]; });
  bool uniform = llvm::all_of(at, [](const Index &i) { return i.uniform(); });
  int64_t width = uniform ? 0 : lanes;
  auto asState = [&](SmallVector<Value> values) {
    if (width)
      for (Value &v : values)
        v = broadcast(v);
    return values;
  };
  auto elementAt = [&](ArrayRef<Index> inner) {
    Value position;
    for (auto [i, d] : llvm::enumerate(reduced))
      from[d] = inner[i];
    if (op.usesPosition()) {
      Index linear = constant(0);
      for (auto [i, d] : llvm::enumerate(reduced))
        linear = add(mul(linear, expression(dims[d])), inner[i]);
      position = toElement(linear, b.getI64Type());
      if (width)
        position = broadcast(position);
    }
    Value element = read(operand, from);
    if (op.usesPosition())
      element = roundToStorageType(b, loc, operand, element);
    if (width)
      element = broadcast(element);
    return std::pair(element, position);
  };
  auto lifted = [&](ArrayRef<Index> inner) {
    auto [element, position] = elementAt(inner);
    return asState(op.lift(b, loc, element, position));
  };
  // Fully unroll loops over small windows of a reduction. For larger windows, in vector code, the
  // inner dims are unrolled inside of loops over the outer dims.
  constexpr int64_t most = 32;
  unsigned outer = extents.size();
  int64_t straight = 1;
  while (width && outer > 0 && straight * extents[outer - 1].constant().value_or(most + 1) <= most)
    straight *= *extents[--outer].constant();
  SmallVector<Value> state = op.identity(b, loc, width);
  auto merge = [&](ValueRange x, ValueRange y) { return op.merge(b, loc, x, y); };
  const BlockedSum sum(*this, state, merge);
  if (!width || straight < 2) {
    state = sum.nest(extents, 1, most, state, [&](ArrayRef<Index> inner, ValueRange carried) {
      auto [element, position] = elementAt(inner);
      return op.append(b, loc, carried, element, position);
    });
  } else {
    state =
        sum.nest(ArrayRef(extents).take_front(outer), 1, 1, state, [&](ArrayRef<Index> outside, ValueRange carried) {
          // Merge the reduction states of the elements as a balanced tree. In a linear sequence,
          // each merge would wait for the previous one. An entry of the list is a number of merged
          // elements and their state.
          SmallVector<std::pair<int64_t, SmallVector<Value>>> waiting;
          loopNest(ArrayRef(extents).drop_front(outer), {}, most,
                   [&](ArrayRef<Index> inner, ValueRange) -> SmallVector<Value> {
                     SmallVector<Index> whole(outside);
                     whole.append(inner.begin(), inner.end());
                     waiting.push_back({1, lifted(whole)});
                     while (waiting.size() > 1 && waiting.back().first == waiting[waiting.size() - 2].first) {
                       auto last = waiting.pop_back_val();
                       waiting.back() = {2 * last.first, op.merge(b, loc, waiting.back().second, last.second)};
                     }
                     return {};
                   });
          SmallVector<Value> sum = waiting.pop_back_val().second;
          while (!waiting.empty())
            sum = op.merge(b, loc, waiting.pop_back_val().second, sum);
          return op.merge(b, loc, carried, sum);
        });
  }
  Value count = toElement(expression(graph::numElements(extents)), b.getI64Type());
  if (width)
    count = broadcast(count);
  return op.finish(b, loc, state, count);
}

Index ElementEmitter::affine(AffineExpr expr, ArrayRef<Index> iteration) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return iteration[dim.getPosition()];
  if (auto number = dyn_cast<AffineConstantExpr>(expr))
    return constant(number.getValue());
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Index l = affine(binary.getLHS(), iteration), r = affine(binary.getRHS(), iteration);
  return expr.getKind() == AffineExprKind::Add ? add(l, r) : mul(l, r);
}

Value ElementEmitter::addElements(Value x, Value y) {
  if (isa<FloatType>(getElementTypeOrSelf(x.getType())))
    return arith::AddFOp::create(b, loc, x, y);
  return arith::AddIOp::create(b, loc, x, y);
}

Value ElementEmitter::multiplyAdd(Value sum, Value x, Value y) {
  if (isa<FloatType>(getElementTypeOrSelf(x.getType())))
    return addElements(sum, arith::MulFOp::create(b, loc, x, y));
  return addElements(sum, arith::MulIOp::create(b, loc, x, y));
}

/// Extends the operand `factor` to the type of the accumulators, `sumType`, or converts it if it is
/// an integer and `sumType` is a float. `elementType` determines whether integers are signed.
static Value extendOperand(OpBuilder &b, Location loc, Value factor, Type elementType, Type sumType) {
  Type own = getElementTypeOrSelf(factor.getType());
  auto vector = dyn_cast<VectorType>(factor.getType());
  Type type = vector ? Type(vector.clone(sumType)) : sumType;
  if (isa<FloatType>(sumType) && isa<IntegerType>(own)) {
    if (elementType.isUnsignedInteger())
      return arith::UIToFPOp::create(b, loc, type, factor);
    return arith::SIToFPOp::create(b, loc, type, factor);
  }
  if (own == sumType || own.getIntOrFloatBitWidth() >= sumType.getIntOrFloatBitWidth())
    return factor;
  if (isa<FloatType>(sumType))
    return arith::ExtFOp::create(b, loc, type, factor);
  if (elementType.isUnsignedInteger())
    return arith::ExtUIOp::create(b, loc, type, factor);
  return arith::ExtSIOp::create(b, loc, type, factor);
}

Value ElementEmitter::contract(graph::ContractOpInterface op, ArrayRef<Index> at) {
  SmallVector<AffineMap> maps = op.getIndexingMaps();
  SmallVector<bool> summed = op.getReductionDims();
  Dims extents = op.getIterationDims(graph::getDims), inner;
  SmallVector<Index> iteration(extents.size(), constant(0));
  // Compute the iteration indices of a result element from its indices by inverting the map of the
  // contraction's result. The map's expressions are dims, or outer * size + inner of two dims.
  for (auto [i, expr] : llvm::enumerate(maps[2].getResults())) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
      iteration[dim.getPosition()] = at[i];
      continue;
    }
    auto sum = cast<AffineBinaryOpExpr>(expr);
    // The index of a grouped convolution is group * size + feature. If a group has one output
    // feature, folding has removed the addition, and the index is group * size.
    if (sum.getKind() != AffineExprKind::Add) {
      iteration[cast<AffineDimExpr>(sum.getLHS()).getPosition()] = floorDiv(at[i], affine(sum.getRHS(), {}));
      continue;
    }
    Index size = constant(1); // group * 1 has been folded to group
    AffineExpr outer = sum.getLHS();
    if (auto product = dyn_cast<AffineBinaryOpExpr>(outer)) {
      outer = product.getLHS();
      size = affine(product.getRHS(), {});
    }
    iteration[cast<AffineDimExpr>(outer).getPosition()] = floorDiv(at[i], size);
    iteration[cast<AffineDimExpr>(sum.getRHS()).getPosition()] = mod(at[i], size);
  }
  SmallVector<unsigned> innerDims;
  for (auto [d, is] : llvm::enumerate(summed))
    if (is) {
      innerDims.push_back(d);
      inner.push_back(extents[d]);
    }
  bool uniform = llvm::all_of(at, [](const Index &i) { return i.uniform(); });
  Value zero = constantElement(graph::getElementType(op->getResult(0)), 0);
  if (!uniform)
    zero = broadcast(zero);
  Type sumType = getElementTypeOrSelf(zero.getType());
  auto merge = [&](ValueRange x, ValueRange y) { return SmallVector<Value>(1, addElements(x[0], y[0])); };
  const BlockedSum total(*this, {zero}, merge);
  return total.nest(inner, 1, 25, zero, [&](ArrayRef<Index> k, ValueRange carried) -> SmallVector<Value> {
    for (auto [i, d] : llvm::enumerate(innerDims))
      iteration[d] = k[i];
    auto operandAt = [&](unsigned i) {
      return llvm::map_to_vector(maps[i].getResults(), [&](AffineExpr e) { return affine(e, iteration); });
    };
    SmallVector<Value> factors;
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      Value read = this->read(operand, operandAt(i % 2));
      factors.push_back(
          extendOperand(b, loc, uniform ? read : broadcast(read), graph::getElementType(operand), sumType));
    }
    Value sum = carried[0];
    for (auto [left, right] : graph::termPairs(graph::termsOf(op)))
      sum = multiplyAdd(sum, factors[2 * left], factors[2 * right + 1]);
    return {sum};
  })[0];
}

Value ElementEmitter::cumulated(graph::PrefixScanOpInterface op, ArrayRef<Index> at) {
  // Scan all preceding elements again for each element. This quadratic form is used only in kernels
  // that have other ops as well; LoopEngine.cpp emits a kernel with a single prefix scan as one
  // sweep.
  int64_t dim = op.getCumulatedDim();
  Value operand = op->getOperand(0);
  bool uniform = llvm::all_of(at, [](const Index &i) { return i.uniform(); });
  int64_t width = uniform ? 0 : lanes;
  SmallVector<Value> state = op.initial(b, loc, width);
  Value zero = constantElement(graph::getElementType(op->getResult(0)), 0);
  state.push_back(width ? broadcast(zero) : zero);
  Index length = extent(operand, dim), target = at[dim];
  SmallVector<Value> last =
      loopNest({graph::getDims(operand)[dim]}, state, 1, [&](ArrayRef<Index> inner, ValueRange carried) {
        SmallVector<Index> from(at);
        from[dim] = op.runsBackward() ? sub(sub(length, constant(1)), inner[0]) : inner[0];
        Value element = read(operand, from);
        SmallVector<Value> next(carried.drop_back());
        Value out = op.step(b, loc, next, width ? broadcast(element) : element);
        Value here = compare(arith::CmpIPredicate::eq, from[dim], target);
        next.push_back(selectElement(here, out, carried.back()));
        return next;
      });
  return last.back();
}

ScratchEmission::ScratchEmission(OpBuilder &b, Location loc)
    : b(b), mark(UnrealizedConversionCastOp::create(b, loc, TypeRange{b.getIndexType()}, ValueRange{})) {}

Value ScratchEmission::any(Type type) {
  return UnrealizedConversionCastOp::create(b, mark->getLoc(), TypeRange{type}, ValueRange{}).getResult(0);
}

llvm::iterator_range<Block::iterator> ScratchEmission::ops() {
  return {std::next(mark->getIterator()), b.getInsertionPoint()};
}

ScratchEmission::~ScratchEmission() {
  for (bool isLast = false; !isLast;) {
    Operation *last = &*std::prev(b.getInsertionPoint());
    isLast = last == mark;
    last->dropAllUses();
    last->erase();
  }
}

} // namespace hewn::codegen

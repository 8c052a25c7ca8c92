// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/ContractEngine.h"
#include "dialects/Plan/Schedule.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using hewn::graph::ContractOpInterface;
using hewn::graph::ContractRoles;
using hewn::graph::contractRoles;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn::codegen {

ContractOpInterface tiledContraction(KernelFunction &k) {
  ContractOpInterface found;
  for (Operation &op : k.kernel.getBody().front().without_terminator()) {
    if (auto contraction = dyn_cast<ContractOpInterface>(op)) {
      if (found)
        return {};
      found = contraction;
    } else if (!isa<graph::ElementwiseOpInterface, graph::MoveOpInterface, graph::ConstantOp>(op)) {
      return {};
    }
  }
  if (!found || !graph::getElementType(found->getResult(0)).isF32() || !contractRoles(found))
    return {};
  Value left = found->getOperand(0), right = found->getOperand(1), result = found->getResult(0);
  if (!k.inputs.contains(left) || !k.inputs.contains(right))
    return {};
  ContractRoles roles = *contractRoles(found);
  const Buffer &rhs = k.inputs.find(right)->second, &lhs = k.inputs.find(left)->second;
  std::optional<unsigned> column = graph::resultWith(found.getIndexingMaps()[1], roles.column);
  bool packed = column && rhs.blockDim == int64_t(*column), contiguous = column && rhs.strides[*column].is(1);
  if (lhs.blockDim >= 0 || (!packed && !(contiguous && rhs.blockDim < 0)))
    return {};
  // Columns beyond a group's own would be read from the next one.
  Dims extents = found.getIterationDims(graph::getDims);
  for (unsigned d : roles.batch)
    if (packed && !extents[d].is(1) && graph::resultWith(found.getIndexingMaps()[1], d) == column &&
        (!extents[roles.column].constant() || *extents[roles.column].constant() % rhs.block != 0))
      return {};
  for (Value output : k.results)
    if (graph::getDims(output) != graph::getDims(result))
      return {};
  return found;
}

namespace {

class ContractEmitter {
public:
  ContractEmitter(KernelFunction &k, OpBuilder &b, ContractOpInterface op)
      : k(k), b(b), op(op), maps(op.getIndexingMaps()), extents(op.getIterationDims(graph::getDims)),
        roles(*contractRoles(op)), lhs(k.inputs.find(op->getOperand(0))->second),
        rhs(k.inputs.find(op->getOperand(1))->second), e(b, k.loc(), vectorLanes(k.kernel), k.symbols, k.inputs),
        iteration(extents.size()) {}

  void run() {
    Dims rowExtents = pick(roles.rows);
    rowCount = graph::numElements(rowExtents);
    packed = rhs.blockDim >= 0;
    plan::ScheduleAttr schedule = k.kernel.getScheduleAttr();
    if (!schedule)
      schedule = plan::chooseSchedule(k.kernel, rowCount, extents[roles.column]);
    m = schedule.getM();
    n = packed ? rhs.block : schedule.getN();
    vectors = n / e.lanes;
    DimExpr columns = extents[roles.column];
    columnsAreWhole = columns.constant() && *columns.constant() % n == 0;
    Dims outer = pick(roles.batch);
    outer.push_back(columns.ceilDiv(n));
    outer.push_back(rowCount.ceilDiv(m));
    for (Index &index : iteration)
      index = e.constant(0);
    e.loopNest(outer, {}, 1, [&](ArrayRef<Index> at, ValueRange) -> SmallVector<Value> {
      for (auto [d, index] : llvm::zip(roles.batch, at))
        iteration[d] = index;
      tile(e.mul(at[at.size() - 2], e.constant(n)), e.mul(at.back(), e.constant(m)));
      return {};
    });
  }

private:
  KernelFunction &k;
  OpBuilder &b;
  ContractOpInterface op;
  SmallVector<AffineMap> maps;
  Dims extents;
  ContractRoles roles;
  const Buffer &lhs, &rhs;
  KernelElements e;
  SmallVector<Index> iteration;
  DimExpr rowCount;
  int64_t m = 1, n = 1, vectors = 1;
  bool packed = false, columnsAreWhole = false;

  Location loc() { return k.loc(); }
  Dims pick(ArrayRef<unsigned> dims) {
    return llvm::map_to_vector<4>(dims, [&](unsigned d) { return extents[d]; });
  }

  Index affine(AffineExpr expr, ArrayRef<Index> at) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      return at[dim.getPosition()];
    if (auto number = dyn_cast<AffineConstantExpr>(expr))
      return e.constant(number.getValue());
    auto binary = cast<AffineBinaryOpExpr>(expr);
    Index l = affine(binary.getLHS(), at), r = affine(binary.getRHS(), at);
    return expr.getKind() == AffineExprKind::Add ? e.add(l, r) : e.mul(l, r);
  }

  /// Distance in `buffer` between neighbours along iteration dim `d`; the maps are linear.
  DimExpr strideAlong(const Buffer &buffer, AffineMap map, unsigned d) {
    DimExpr stride(0);
    for (auto [i, expr] : llvm::enumerate(map.getResults()))
      if (expr.isFunctionOfDim(d) && !buffer.dims[i].is(1))
        stride = stride + buffer.strides[i] * DimExpr(factor(expr, d));
    return stride;
  }
  static int64_t factor(AffineExpr expr, unsigned d) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      return dim.getPosition() == d;
    if (isa<AffineConstantExpr>(expr))
      return 0;
    auto binary = cast<AffineBinaryOpExpr>(expr);
    if (expr.getKind() == AffineExprKind::Add)
      return factor(binary.getLHS(), d) + factor(binary.getRHS(), d);
    auto right = dyn_cast<AffineConstantExpr>(binary.getRHS());
    return right ? factor(binary.getLHS(), d) * right.getValue() : 0;
  }

  /// The offset in `buffer` at `at`, without the lanes' part.
  Index offset(const Buffer &buffer, AffineMap map, ArrayRef<Index> at) {
    Index sum = e.constant(0);
    for (auto [i, expr] : llvm::enumerate(map.getResults())) {
      if (buffer.dims[i].is(1))
        continue;
      Index index = affine(expr, at), stride = e.expression(buffer.strides[i]);
      if (int64_t(i) == buffer.blockDim) // a tile starts at a block
        index = e.floorDiv(index, e.constant(buffer.block));
      sum = e.add(sum, e.mul(index, stride));
    }
    return sum;
  }

  /// The buffer from an offset on, so that inner loops add one index to a fixed pointer.
  Value from(const Buffer &buffer, Index start) {
    auto type = MemRefType::get({ShapedType::kDynamic}, cast<MemRefType>(buffer.memref.getType()).getElementType(),
                                StridedLayoutAttr::get(b.getContext(), ShapedType::kDynamic, {1}));
    // Nobody reads the size; a dynamic one promises nothing about the accesses.
    OpFoldResult size = e.expression(graph::numElements(buffer.dims)).base;
    return memref::ReinterpretCastOp::create(b, loc(), type, buffer.memref, OpFoldResult(start.base),
                                             ArrayRef<OpFoldResult>{size}, ArrayRef<OpFoldResult>{b.getIndexAttr(1)});
  }

  /// Splits a flat row number into the row dims.
  void setRow(SmallVectorImpl<Index> &at, Index row) {
    for (unsigned i = roles.rows.size(); i-- > 0;) {
      unsigned d = roles.rows[i];
      if (i == 0) {
        at[d] = row;
      } else if (extents[d].is(1)) {
        at[d] = e.constant(0);
      } else {
        Index extent = e.expression(extents[d]);
        at[d] = e.mod(row, extent);
        row = e.floorDiv(row, extent);
      }
    }
  }

  struct KLoop {
    DimExpr extent, left, right; // strides in the operands
  };

  /// The summed dims as loops, outermost first in the right operand's memory; neighbours that lie alike in both are
  /// one.
  SmallVector<KLoop> kLoops() {
    SmallVector<KLoop> loops;
    SmallVector<unsigned> order(roles.summed);
    SmallVector<int64_t> memory = memoryOrder(op->getOperand(1));
    auto place = [&](unsigned d) {
      std::optional<unsigned> result = graph::resultWith(maps[1], d);
      return result ? llvm::find(memory, int64_t(*result)) - memory.begin() : 0;
    };
    llvm::stable_sort(order, [&](unsigned x, unsigned y) { return place(x) < place(y); });
    for (unsigned d : order) {
      if (extents[d].is(1))
        continue;
      KLoop loop{extents[d], strideAlong(lhs, maps[0], d), strideAlong(rhs, maps[1], d)};
      if (!loops.empty() && loops.back().left == loop.left * loop.extent &&
          loops.back().right == loop.right * loop.extent) {
        loop.extent = loop.extent * loops.back().extent;
        loops.back() = loop;
      } else {
        loops.push_back(loop);
      }
    }
    return loops;
  }

  void tile(Index firstColumn, Index firstRow) {
    // Rows past the end repeat the last one: what is stored twice is the same.
    SmallVector<SmallVector<Index>> rows;
    SmallVector<Value> left;
    Index lastRow = e.sub(e.expression(rowCount), e.constant(1));
    bool rowsAreWhole = rowCount.constant() && *rowCount.constant() % m == 0;
    for (int64_t r = 0; r < m; ++r) {
      Index row = e.add(firstRow, e.constant(r));
      if (!rowsAreWhole && r > 0)
        row = e.min(row, lastRow);
      SmallVector<Index> at(iteration);
      setRow(at, row);
      left.push_back(from(lhs, offset(lhs, maps[0], at)));
      at[roles.column] = firstColumn;
      rows.push_back(std::move(at));
    }
    Value right = from(rhs, offset(rhs, maps[1], rows[0]));
    SmallVector<Value> masks(vectors);
    if (!columnsAreWhole)
      for (int64_t j = 0; j < vectors; ++j) {
        Index rest = e.sub(e.expression(extents[roles.column]), e.add(firstColumn, e.constant(j * e.lanes)));
        masks[j] = vector::CreateMaskOp::create(b, loc(), VectorType::get({e.lanes}, b.getI1Type()), rest.base);
      }
    SmallVector<Value> sums = sumOfProducts(left, right, masks);
    epilogue(rows, firstColumn, sums, masks);
  }

  SmallVector<Value> sumOfProducts(ArrayRef<Value> left, Value right, ArrayRef<Value> masks) {
    auto vectorType = VectorType::get({e.lanes}, b.getF32Type());
    Value zero = arith::ConstantOp::create(b, loc(), b.getZeroAttr(vectorType));
    SmallVector<Value> sums(m * vectors, zero);
    SmallVector<KLoop> loops = kLoops();
    Dims counts = llvm::map_to_vector<4>(loops, [](const KLoop &l) { return l.extent; });
    return e.loopNest(counts, sums, 4, [&](ArrayRef<Index> at, ValueRange carried) {
      Index leftOffset = e.constant(0), rightOffset = e.constant(0);
      for (auto [loop, index] : llvm::zip(loops, at)) {
        leftOffset = e.add(leftOffset, e.mul(index, e.expression(loop.left)));
        rightOffset = e.add(rightOffset, e.mul(index, e.expression(loop.right)));
      }
      SmallVector<Value> columns, next;
      for (int64_t j = 0; j < vectors; ++j) {
        Value address = e.add(rightOffset, e.constant(j * e.lanes)).base;
        // Packed panels are padded with zeros; a plain matrix ends where it ends.
        columns.push_back(
            packed || columnsAreWhole
                ? Value(vector::LoadOp::create(b, loc(), vectorType, right, address))
                : Value(vector::MaskedLoadOp::create(b, loc(), vectorType, right, address, masks[j], zero)));
      }
      for (int64_t r = 0; r < m; ++r) {
        Value scalar = memref::LoadOp::create(b, loc(), left[r], leftOffset.base);
        Value spread = vector::BroadcastOp::create(b, loc(), vectorType, scalar);
        for (int64_t j = 0; j < vectors; ++j)
          next.push_back(vector::FMAOp::create(b, loc(), spread, columns[j], carried[r * vectors + j]));
      }
      return next;
    });
  }

  void epilogue(ArrayRef<SmallVector<Index>> rows, Index firstColumn, ArrayRef<Value> sums, ArrayRef<Value> masks) {
    struct Store {
      unsigned output;
      SmallVector<Index> at;
      Value element, mask;
    };
    SmallVector<Store> stores;
    for (int64_t r = 0; r < m; ++r)
      for (int64_t j = 0; j < vectors; ++j) {
        SmallVector<Index> point(rows[r]);
        point[roles.column] = e.add(firstColumn, {e.constant(j * e.lanes).base, 1});
        SmallVector<Index> at =
            llvm::map_to_vector(maps[2].getResults(), [&](AffineExpr x) { return affine(x, point); });
        e.setMask(masks[j]);
        e.bind(op->getResult(0), sums[r * vectors + j]);
        for (auto [o, result] : llvm::enumerate(k.results))
          stores.push_back({unsigned(o), at, e.read(result, at), masks[j]});
      }
    // All rows are read before any is written: a repeated row must not see its own result.
    for (const Store &store : stores) {
      e.setMask(store.mask);
      e.write(k.outputs[store.output], store.at, store.element);
    }
    e.setMask({});
  }
};

} // namespace

void emitContraction(KernelFunction &k, OpBuilder &b, ContractOpInterface op) { ContractEmitter(k, b, op).run(); }

} // namespace hewn::codegen

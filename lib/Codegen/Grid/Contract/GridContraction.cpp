// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Grid/Contract/GridContraction.h"
#include "dialects/Graph/Contract/ContractRoles.h"
#include "lib/Codegen/Grid/Loops/GridWide.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "hewn-lower-kernels"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Index;

namespace hewn::codegen {

GridContraction::GridContraction(KernelFunction &k, OpBuilder &b, const GridTiles &tiles, int64_t threads)
    : k(k), b(b), tiles(tiles), op(tiles.op), e(b, k.loc(), /*lanes=*/0, k.symbols, k.inputs), grid(k, e, threads),
      iteration(tiles.extents.size(), e.constant(0)), rows(tiles.count(tiles.rows)),
      columns(tiles.count(tiles.columns)), depth(tiles.count(tiles.summed)), batch(tiles.count(tiles.batch)) {}

void GridContraction::set(ArrayRef<unsigned> list, Index linear) {
  for (auto [d, index] : llvm::zip(list, e.unravel(linear, tiles.dims(list))))
    iteration[d] = index;
}

Value GridContraction::readOperand(KernelElements &elements, unsigned operand) {
  SmallVector<Index> at = llvm::map_to_vector(tiles.maps[operand].getResults(),
                                              [&](AffineExpr expr) { return elements.affine(expr, iteration); });
  return elements.read(op->getOperand(operand), at);
}

//===------------------------------------------------------------------------------------------------------------------===//
// One by one
//===------------------------------------------------------------------------------------------------------------------===//

GridContraction::Results GridContraction::results(KernelElements &elements, Value sum) {
  Results made;
  made.at = llvm::map_to_vector(tiles.maps[2].getResults(),
                                [&](AffineExpr expr) { return elements.affine(expr, iteration); });
  if (tiles.parts > 1) {
    made.at.insert(made.at.begin(), part);
    made.values = {sum};
    return made;
  }
  elements.bind(op->getResult(0), sum);
  made.values = llvm::map_to_vector(k.results, [&](Value result) { return elements.read(result, made.at); });
  elements.unbind(op->getResult(0));
  return made;
}

void GridContraction::write(KernelElements &elements, const Results &results) {
  for (auto [buffer, value] : llvm::zip(k.outputs, results.values))
    elements.write(buffer, results.at, value);
}

void GridContraction::store(Value sum, Index row, Index column) {
  Value inside = e.logicalAnd(e.compare(arith::CmpIPredicate::slt, row, e.expression(rows)),
                              e.compare(arith::CmpIPredicate::slt, column, e.expression(columns)));
  auto branch = scf::IfOp::create(b, loc(), inside, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenBlock()->getTerminator());
  set(tiles.rows, row);
  set(tiles.columns, column);
  write(e, results(e, sum));
}

//===------------------------------------------------------------------------------------------------------------------===//
// Neighbours
//===------------------------------------------------------------------------------------------------------------------===//

static int64_t bytesOf(const Buffer &buffer) { return storageType(buffer.elementType).getIntOrFloatBitWidth() / 8; }

/// The dim of `buffer` that is the result's dim `dim`, of `rank`, and may be none: operands are broadcast to a result's last dims.
static int64_t ownDim(const Buffer &buffer, unsigned dim, unsigned rank) {
  return int64_t(dim) + int64_t(buffer.dims.size()) - int64_t(rank);
}

SmallVector<Value> GridContraction::readBeside() {
  llvm::SetVector<Value> found;
  for (Operation &other : k.kernel.getBody().front().without_terminator())
    if (&other != op.getOperation() && tiles.parts == 1 && isa<graph::ElementwiseOpInterface>(other))
      for (Value operand : other.getOperands())
        if (!operand.getDefiningOp<graph::ConstantOp>())
          found.insert(operand);
  found.remove(op->getResult(0));
  return found.takeVector();
}

GridContraction::Neighbours GridContraction::neighbours(int64_t most) {
  auto single = [&](StringRef why) {
    LDBG() << k.kernel.getName() << ": elements are stored one by one: " << why;
    return Neighbours();
  };
  if (tiles.columns.empty())
    return single("there is one column");
  unsigned last = tiles.columns.back();
  std::optional<unsigned> dim = graph::resultWith(tiles.maps[2], last);
  if (!tiles.extents[last].divideExactly(DimExpr(2)) || !dim || !isa<AffineDimExpr>(tiles.maps[2].getResult(*dim)))
    return single("columns are not known to be even");
  unsigned rank = tiles.maps[2].getNumResults();
  int64_t largest = 1;
  for (const Buffer &buffer : k.outputs) {
    int64_t own = ownDim(buffer, *dim, rank);
    if (buffer.blockDim >= 0 || !buffer.strides[own].is(1))
      return single("columns are no neighbours");
    if (!linesBeginAt(buffer, own, 2))
      return single("lines begin at odd places");
    largest = std::max(largest, bytesOf(buffer));
  }
  Neighbours found{2};
  for (Value operand : readBeside()) {
    auto input = k.inputs.find(operand);
    Operation *made = operand.getDefiningOp();
    if (input == k.inputs.end()) {
      if (!isa_and_nonnull<graph::ElementwiseOpInterface, graph::ContractOpInterface>(made))
        return single("what follows reads elements that are moved");
      continue;
    }
    const Buffer &buffer = input->second;
    int64_t own = ownDim(buffer, *dim, rank);
    if (buffer.blockDim >= 0 || (own >= 0 && !buffer.dims[own].is(1) && !buffer.strides[own].is(1)))
      return single("what follows reads columns that are no neighbours");
    found.bytesRead += bytesOf(buffer);
    found.readsAsMuch |= graph::numElements(buffer.dims) == graph::numElements(graph::getDims(op->getResult(0)));
  }
  bool areMore = most * largest <= GridWide::kBytes && tiles.extents[last].divideExactly(DimExpr(most)) &&
                 llvm::all_of(k.outputs, [&](const Buffer &buffer) {
                   return linesBeginAt(buffer, ownDim(buffer, *dim, rank), most);
                 });
  if (areMore)
    found.count = most;
  return found;
}

/// Moves what is loaded between `place` and where `b` is, and what addresses are made of, to before `place`. What is stored between is
/// loaded by nobody but for itself, where a result has the memory of what is read for it.
static void loadFirst(Operation *place, OpBuilder &b) {
  SmallVector<Operation *> moved;
  llvm::DenseSet<Operation *> isMoved;
  for (auto at = b.getInsertionPoint(); &*--at != place;) {
    bool isWanted = isa<vector::LoadOp, memref::LoadOp>(*at) ||
                    llvm::any_of(at->getUsers(), [&](Operation *user) { return isMoved.contains(user); });
    if (!isWanted)
      continue;
    if (at->getNumRegions() > 0) // what is loaded depends on what is branched on
      return;
    moved.push_back(&*at);
    isMoved.insert(&*at);
  }
  for (Operation *each : llvm::reverse(moved))
    each->moveBefore(place);
}

void GridContraction::align(Operation *from, int64_t count) {
  std::optional<unsigned> dim = graph::resultWith(tiles.maps[2], tiles.columns.back());
  llvm::DenseSet<Value> aligned;
  for (auto &[value, buffer] : k.inputs)
    if (linesBeginAt(buffer, ownDim(buffer, *dim, tiles.maps[2].getNumResults()), count))
      aligned.insert(buffer.memref);
  auto bytes = [&](VectorType type) {
    return std::min<int64_t>(type.getNumElements() * type.getElementTypeBitWidth() / 8, GridWide::kBytes);
  };
  for (Operation &each : llvm::make_range(from->getIterator(), b.getInsertionPoint()))
    each.walk([&](Operation *access) {
      if (auto load = dyn_cast<vector::LoadOp>(access); load && aligned.contains(load.getBase()))
        load.setAlignment(bytes(load.getVectorType()));
      if (auto store = dyn_cast<vector::StoreOp>(access)) // as `neighbours` has found
        store.setAlignment(bytes(store.getVectorType()));
    });
}

void GridContraction::storeNeighbours(ArrayRef<Place> places, const Neighbours &found, const Whole &whole,
                                      llvm::function_ref<Value(size_t)> sums, Operation *before) {
  auto kept = [&](bool isWhole, Index at, const DimExpr &end, int64_t width) {
    return isWhole || found.bytesRead == 0 ? at : e.min(at, e.sub(e.expression(end), e.constant(width)));
  };
  auto isInside = [&](bool isWhole, Index at, const DimExpr &end) {
    return isWhole ? Value() : e.compare(arith::CmpIPredicate::slt, at, e.expression(end));
  };
  Operation *mark = arith::ConstantIndexOp::create(b, loc(), 0);
  for (auto [i, place] : llvm::enumerate(places)) {
    KernelElements elements(b, loc(), found.count, k.symbols, k.inputs);
    set(tiles.rows, kept(whole.rows, place.row, rows, 1));
    set(tiles.columns, kept(whole.columns, place.column, columns, found.count));
    iteration[tiles.columns.back()].stride = 1;
    Results made = results(elements, sums(i));
    OpBuilder::InsertionGuard guard(b);
    Value inside = e.logicalAnd(isInside(whole.rows, place.row, rows), isInside(whole.columns, place.column, columns));
    if (inside)
      b.setInsertionPoint(scf::IfOp::create(b, loc(), inside, /*withElseRegion=*/false).thenBlock()->getTerminator());
    write(elements, made);
  }
  align(mark, found.count);
  loadFirst(before ? before : mark, b);
  e.forget();
  mark->erase();
}

} // namespace hewn::codegen

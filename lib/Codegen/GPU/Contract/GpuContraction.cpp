// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/GPU/Contract/GpuContraction.h"
#include "dialects/Graph/Contract/ContractRoles.h"
#include "lib/Codegen/GPU/Loops/GpuWide.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "hewn-lower-kernels"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Index;

namespace hewn::codegen {

GpuContraction::GpuContraction(KernelContext &k, OpBuilder &b, const GpuTiles &tiles, int64_t threads)
    : k(k), b(b), tiles(tiles), op(tiles.op), e(b, k.loc(), /*lanes=*/0, k.symbols, k.inputs), gpu(k, e, threads),
      iteration(tiles.extents.size(), e.constant(0)), rows(tiles.count(tiles.rows)),
      columns(tiles.count(tiles.columns)), depth(tiles.count(tiles.summed)), batch(tiles.count(tiles.batch)) {}

void GpuContraction::set(ArrayRef<unsigned> list, Index linear) {
  for (auto [d, index] : llvm::zip(list, e.unravel(linear, tiles.dims(list))))
    iteration[d] = index;
}

Value GpuContraction::readOperand(ElementEmitter &elements, unsigned operand) {
  SmallVector<Index> at = llvm::map_to_vector(tiles.maps[operand].getResults(),
                                              [&](AffineExpr expr) { return elements.affine(expr, iteration); });
  return elements.read(op->getOperand(operand), at);
}

//===----------------------------------------------------------------------------------------===//
// Single elements
//===----------------------------------------------------------------------------------------===//

GpuContraction::Results GpuContraction::results(ElementEmitter &elements, Value sum) {
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

void GpuContraction::write(ElementEmitter &elements, const Results &results) {
  for (auto [buffer, value] : llvm::zip(k.outputs, results.values))
    elements.write(buffer, results.at, value);
}

void GpuContraction::store(Value sum, Index row, Index column) {
  Value inside = e.logicalAnd(e.compare(arith::CmpIPredicate::slt, row, e.expression(rows)),
                              e.compare(arith::CmpIPredicate::slt, column, e.expression(columns)));
  auto branch = scf::IfOp::create(b, loc(), inside, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenBlock()->getTerminator());
  set(tiles.rows, row);
  set(tiles.columns, column);
  write(e, results(e, sum));
}

//===----------------------------------------------------------------------------------------===//
// Vectors of neighbouring columns
//===----------------------------------------------------------------------------------------===//

static int64_t bytesOf(const Buffer &buffer) { return storageType(buffer.elementType).getIntOrFloatBitWidth() / 8; }

/// Returns the dim of `buffer` that corresponds to dim `dim` of a result of rank `rank`. The value
/// is negative if the buffer has no such dim, since operands are broadcast along the leading dims.
static int64_t ownDim(const Buffer &buffer, unsigned dim, unsigned rank) {
  return int64_t(dim) + int64_t(buffer.dims.size()) - int64_t(rank);
}

SmallVector<Value> GpuContraction::readBeside() {
  llvm::SetVector<Value> found;
  for (Operation &other : k.kernel.getBody().front().without_terminator())
    if (&other != op.getOperation() && tiles.parts == 1 && isa<graph::ElementwiseOpInterface>(other))
      for (Value operand : other.getOperands())
        if (!operand.getDefiningOp<graph::ConstantOp>())
          found.insert(operand);
  found.remove(op->getResult(0));
  return found.takeVector();
}

GpuContraction::Neighbours GpuContraction::neighbours(int64_t most) {
  auto single = [&](StringRef why) {
    LDBG() << k.kernel.getName() << ": results are stored element by element: " << why;
    return Neighbours();
  };
  if (tiles.columns.empty())
    return single("there is one column");
  unsigned last = tiles.columns.back();
  std::optional<unsigned> dim = graph::resultWith(tiles.maps[2], last);
  if (!tiles.extents[last].divideExactly(DimExpr(2)) || !dim || !isa<AffineDimExpr>(tiles.maps[2].getResult(*dim)))
    return single("the number of columns is not known to be even");
  unsigned rank = tiles.maps[2].getNumResults();
  int64_t largest = 1;
  for (const Buffer &buffer : k.outputs) {
    int64_t own = ownDim(buffer, *dim, rank);
    if (buffer.blockDim >= 0 || !buffer.strides[own].is(1))
      return single("columns are not contiguous in a result");
    if (!linesBeginAt(buffer, own, 2))
      return single("rows of a result begin at odd offsets");
    largest = std::max(largest, bytesOf(buffer));
  }
  Neighbours found{2};
  for (Value operand : readBeside()) {
    auto input = k.inputs.find(operand);
    Operation *made = operand.getDefiningOp();
    if (input == k.inputs.end()) {
      if (!isa_and_nonnull<graph::ElementwiseOpInterface, graph::ContractOpInterface>(made))
        return single("the epilogue reads the result of an indexing op");
      continue;
    }
    const Buffer &buffer = input->second;
    int64_t own = ownDim(buffer, *dim, rank);
    if (buffer.blockDim >= 0 || (own >= 0 && !buffer.dims[own].is(1) && !buffer.strides[own].is(1)))
      return single("columns are not contiguous in an operand of the epilogue");
    found.bytesRead += bytesOf(buffer);
    found.readsAsMuch |= graph::numElements(buffer.dims) == graph::numElements(graph::getDims(op->getResult(0)));
  }
  bool areMore = most * largest <= GpuWide::kBytes && tiles.extents[last].divideExactly(DimExpr(most)) &&
                 llvm::all_of(k.outputs, [&](const Buffer &buffer) {
                   return linesBeginAt(buffer, ownDim(buffer, *dim, rank), most);
                 });
  if (areMore)
    found.count = most;
  return found;
}

/// Hoists the loads between `place` and the insertion point of `b`, with their address
/// computations, to before `place`. This is correct because no load reads a result that is stored
/// in between. (A result may reuse the memory of an operand, but then each store follows the load
/// of the same element.)
static void loadFirst(Operation *place, OpBuilder &b) {
  SmallVector<Operation *> moved;
  llvm::DenseSet<Operation *> isMoved;
  for (auto at = b.getInsertionPoint(); &*--at != place;) {
    bool isWanted = isa<vector::LoadOp, memref::LoadOp>(*at) ||
                    llvm::any_of(at->getUsers(), [&](Operation *user) { return isMoved.contains(user); });
    if (!isWanted)
      continue;
    if (at->getNumRegions() > 0) // a loaded value depends on a branch: do not hoist the loads
      return;
    moved.push_back(&*at);
    isMoved.insert(&*at);
  }
  for (Operation *each : llvm::reverse(moved))
    each->moveBefore(place);
}

void GpuContraction::align(Operation *from, int64_t count) {
  std::optional<unsigned> dim = graph::resultWith(tiles.maps[2], tiles.columns.back());
  llvm::DenseSet<Value> aligned;
  for (auto &[value, buffer] : k.inputs)
    if (linesBeginAt(buffer, ownDim(buffer, *dim, tiles.maps[2].getNumResults()), count))
      aligned.insert(buffer.memref);
  auto bytes = [&](VectorType type) {
    return std::min<int64_t>(type.getNumElements() * type.getElementTypeBitWidth() / 8, GpuWide::kBytes);
  };
  for (Operation &each : llvm::make_range(from->getIterator(), b.getInsertionPoint()))
    each.walk([&](Operation *access) {
      if (auto load = dyn_cast<vector::LoadOp>(access); load && aligned.contains(load.getBase()))
        load.setAlignment(bytes(load.getVectorType()));
      // `neighbours` has verified the alignment of results
      if (auto store = dyn_cast<vector::StoreOp>(access))
        store.setAlignment(bytes(store.getVectorType()));
    });
}

void GpuContraction::storeNeighbours(ArrayRef<Place> places, const Neighbours &found, const Whole &whole,
                                     llvm::function_ref<Value(size_t)> sums, Operation *before) {
  auto kept = [&](bool isWhole, Index at, const DimExpr &end, int64_t width) {
    return isWhole || found.bytesRead == 0 ? at : e.min(at, e.sub(e.expression(end), e.constant(width)));
  };
  auto isInside = [&](bool isWhole, Index at, const DimExpr &end) {
    return isWhole ? Value() : e.compare(arith::CmpIPredicate::slt, at, e.expression(end));
  };
  Operation *mark = arith::ConstantIndexOp::create(b, loc(), 0);
  for (auto [i, place] : llvm::enumerate(places)) {
    ElementEmitter elements(b, loc(), found.count, k.symbols, k.inputs);
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

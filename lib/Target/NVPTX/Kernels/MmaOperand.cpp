// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/NVPTX/Kernels/MmaOperand.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Index;

namespace hewn::codegen {

namespace {

/// An emitter that records the location of an operand's element instead of loading it.
class ElementPlace : public ElementEmitter {
public:
  using ElementEmitter::ElementEmitter;
  Index place;  // linear index of the element in its buffer
  Value memory; // memref of the buffer
  Value inside; // false if the element is zero padding, or null if it never is

  Value read(Value tensor, ArrayRef<Index> at) override {
    auto found = buffers.find(tensor);
    if (found == buffers.end())
      return ElementEmitter::read(tensor, at);
    place = offset(found->second, at);
    memory = found->second.memref;
    return constantElement(found->second.elementType, 0);
  }
  Value readIf(Value condition, Value tensor, ArrayRef<Index> at, Value) override {
    inside = inside ? logicalAnd(inside, condition) : condition;
    return read(tensor, at);
  }
};

/// Returns the largest power of two that divides `value` and does not exceed `most`.
int64_t powerIn(int64_t value, int64_t most) { return std::min(value & -value, most); }

} // namespace

GpuOperand::GpuOperand(GpuContraction &c, unsigned operand, Type staged, int64_t width, const plan::GpuTile &tile)
    : c(c), e(c.e), operand(operand), staged(staged), width(width), bytes(staged.getIntOrFloatBitWidth() / 8),
      sliceBytes(tile.sliceBytes()), list(operand == 0 ? c.tiles.rows : c.tiles.columns),
      places(operand == 0 ? c.rows : c.columns),
      alongSum(plan::multipliesAlongSum(c.op) || (operand == 0 ? c.tiles.leftAlongSum : c.tiles.rightAlongSum)),
      forGroups(tile.byGroups), makesFactors(tile.makesFactors) {
  copied = bytesAtOnce();
  memory = c.gpu.shared(tile.buffers * room(), storageType(staged), forGroups ? c.gpu.matrixAlignment() : 16);
  if (makesFactors && operand == 1)
    secondFactors = c.gpu.shared(tile.buffers * room(), storageType(staged), c.gpu.matrixAlignment());
}

/// Returns the number of bytes per asynchronous copy: the largest of 16, 8 and 4 for which so many
/// bytes along a row of a slice are always contiguous and aligned in the operand's memory. Returns
/// 0 if the operand is not a buffer with the staged element type.
int64_t GpuOperand::bytesAtOnce() const {
  Value value = c.op->getOperand(operand);
  unsigned last = alongSum ? c.tiles.summed.back() : list.back();
  SmallVector<int64_t> lows;
  if (auto border = value.getDefiningOp<graph::PaddingOpInterface>())
    if (std::optional<SmallVector<int64_t>> widths = border.getZeroPadding()) {
      lows = *widths;
      value = border->getOperand(0);
    }
  auto found = c.k.inputs.find(value);
  if (found == c.k.inputs.end() || found->second.elementType != staged)
    return 0;
  const Buffer &buffer = found->second;
  std::optional<unsigned> dim = graph::resultWith(c.tiles.maps[operand], last);
  auto sideBySide = [&](int64_t count) {
    auto multiple = [&](const DimExpr &expr) { return expr.divideExactly(DimExpr(count)).has_value(); };
    if (!dim || !isa<AffineDimExpr>(c.tiles.maps[operand].getResult(*dim)) || !multiple(c.tiles.extents[last]) ||
        buffer.groupDim >= 0 || !multiple(buffer.dims[*dim]) || buffer.start)
      return false;
    if (!lows.empty() && (lows[*dim] != 0 || !(graph::getDims(c.op->getOperand(operand))[*dim] == buffer.dims[*dim])))
      return false;
    if (buffer.blockDim >= 0 ? buffer.blockDim != int64_t(*dim) || buffer.block % count != 0
                             : !buffer.strides[*dim].is(1))
      return false;
    for (auto [d, stride] : llvm::enumerate(buffer.strides))
      if (!buffer.dims[d].is(1) && !(d == *dim && buffer.blockDim < 0) && !multiple(stride))
        return false;
    return true;
  };
  for (int64_t size : {16, 8})
    if (sideBySide(size / bytes))
      return size;
  return bytes == 4 || sideBySide(4 / bytes) ? 4 : 0;
}

//===----------------------------------------------------------------------------------------===//
// Addresses in shared memory
//===----------------------------------------------------------------------------------------===//

int64_t GpuOperand::panel() const {
  constexpr int64_t bytesOfPanel = 128;
  return forGroups && !alongSum ? powerIn(width, bytesOfPanel / bytes) : line();
}

/// Returns the swizzle key of a row of a slice, which is XORed to the indices of the row's chunks.
Index GpuOperand::key(Index line) {
  int64_t groups = powerIn(panel() / chunkElements(), 8);
  if (groups == 1)
    return e.constant(0);
  // The key depends on the rows that the lanes of a warp read at the same time, which must be in
  // different banks. If lanes read single elements, they read four rows, at eight neighbouring
  // elements. If they read chunks, they read eight rows.
  if (readsElements())
    return e.mul(e.mod(line, e.constant(groups / 2)), e.constant(2));
  return e.mod(e.floorDiv(line, e.constant(8 / groups)), e.constant(groups));
}

Index GpuOperand::swizzled(Index chunk, Index key) {
  return {arith::XOrIOp::create(c.b, c.loc(), chunk.base, key.base)};
}

Index GpuOperand::elementAt(Index line, Index inner) {
  Index size = e.constant(chunkElements()), inPanel = inner, start = e.mul(line, e.constant(panel()));
  if (panel() != this->line()) {
    inPanel = e.mod(inner, e.constant(panel()));
    start = e.add(start, e.mul(e.floorDiv(inner, e.constant(panel())), e.constant(panel() * depth())));
  }
  Index chunk = swizzled(e.floorDiv(inPanel, size), key(line));
  return e.add(start, e.add(e.mul(chunk, size), e.mod(inPanel, size)));
}

int64_t GpuOperand::parts() const {
  int64_t chunks = room() / each();
  return (chunks + c.gpu.threads - 1) / c.gpu.threads;
}

std::pair<Index, Index> GpuOperand::partAt(int64_t part) {
  int64_t inLine = line() / each();
  Index thread{c.gpu.thread}, count = e.constant(inLine);
  if (c.gpu.threads % inLine == 0)
    return {e.add(e.floorDiv(thread, count), e.constant(part * (c.gpu.threads / inLine))),
            e.mul(e.mod(thread, count), e.constant(each()))};
  Index linear = e.add(thread, e.constant(part * c.gpu.threads));
  return {e.floorDiv(linear, count), e.mul(e.mod(linear, count), e.constant(each()))};
}

/// Emits `body` for each copy that this thread executes. If the number of copies is not a multiple
/// of the threads, only some threads execute the last one.
void GpuOperand::overParts(llvm::function_ref<void(int64_t part)> body) {
  int64_t chunks = room() / each();
  for (int64_t part = 0; part < parts(); ++part) {
    int64_t rest = chunks - part * c.gpu.threads;
    if (rest >= c.gpu.threads) {
      body(part);
      continue;
    }
    Value has = e.compare(arith::CmpIPredicate::slt, {c.gpu.thread}, e.constant(rest));
    auto branch = scf::IfOp::create(c.b, c.loc(), has, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(c.b);
    c.b.setInsertionPoint(branch.thenBlock()->getTerminator());
    body(part);
  }
}

//===----------------------------------------------------------------------------------------===//
// Staging in shared memory
//===----------------------------------------------------------------------------------------===//

/// Sets the indices of the reduction dims to element `inSlice` of slice `slice`. If the slice size
/// divides the last reduction dim, the indices of the other dims do not depend on the thread.
void GpuOperand::setSummed(Index slice, Index inSlice) {
  graph::Dims dims = c.tiles.dims(c.tiles.summed);
  if (std::optional<int64_t> last = dims.back().constant(); last && *last % depth() == 0) {
    dims.back() = DimExpr(*last / depth());
    SmallVector<Index> at = c.e.unravel(slice, dims);
    at.back() = e.add(e.mul(at.back(), e.constant(depth())), inSlice);
    for (auto [d, index] : llvm::zip(c.tiles.summed, at))
      c.iteration[d] = index;
    return;
  }
  c.set(c.tiles.summed, e.add(e.mul(slice, e.constant(depth())), inSlice));
}

/// Returns a condition that is true if the operand's element is in range along K and along the rows
/// (or columns).
Value GpuOperand::exists(Index slice, Index place, Index inSlice) {
  std::optional<int64_t> depthKnown = c.depth.constant(), placesKnown = places.constant();
  Value inSum = e.compare(arith::CmpIPredicate::slt, slice, endSlice);
  if (!depthKnown || *depthKnown % depth() != 0)
    inSum = e.logicalAnd(inSum, e.compare(arith::CmpIPredicate::slt, e.add(e.mul(slice, e.constant(depth())), inSlice),
                                          e.expression(c.depth)));
  if (placesKnown && *placesKnown % width == 0)
    return inSum;
  return e.logicalAnd(inSum, e.compare(arith::CmpIPredicate::slt, place, e.expression(places)));
}

void GpuOperand::copy(int64_t part, Index slice, Index buffer) {
  auto [line, inner] = partAt(part);
  Index inSlice = alongSum ? inner : line, place = e.add(firstPlace, alongSum ? line : inner);
  c.set(list, place);
  setSummed(slice, inSlice);
  ElementPlace found(c.b, c.loc(), /*lanes=*/0, c.k.symbols, c.k.inputs);
  c.readOperand(found, operand);
  Value inside = exists(slice, place, inSlice);
  if (found.inside)
    inside = e.logicalAnd(inside, found.inside);
  Index size = e.constant(bytes);
  Index to = e.add(e.mul(buffer, e.constant(room() * bytes)), e.mul(elementAt(line, inner), size));
  c.gpu.copy(e.add(c.gpu.address(memory), to), e.add(c.gpu.address(found.memory), e.mul(found.place, size)), copied,
             inside);
}

Value GpuOperand::compute(int64_t part, Index slice) {
  auto [line, inner] = partAt(part);
  Index inSlice = alongSum ? inner : line, place = e.add(firstPlace, alongSum ? line : inner);
  Value inside = exists(slice, place, inSlice);
  int64_t rest = room() - part * c.gpu.threads;
  if (rest < c.gpu.threads)
    inside = e.logicalAnd(inside, e.compare(arith::CmpIPredicate::slt, {c.gpu.thread}, e.constant(rest)));
  e.forget();
  Type type = isa<FloatType>(staged) ? Type(c.b.getF32Type()) : graph::computeType(staged);
  auto branch = scf::IfOp::create(c.b, c.loc(), type, inside, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(c.b);
  c.b.setInsertionPointToStart(branch.thenBlock());
  c.set(list, place);
  setSummed(slice, inSlice);
  scf::YieldOp::create(c.b, c.loc(), c.readOperand(e, operand));
  c.b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(c.b, c.loc(), e.constantElement(type, 0));
  e.forget();
  return branch.getResult(0);
}

SmallVector<Value> GpuOperand::bring(Index slice, Index buffer) {
  SmallVector<Value> computed;
  if (copied)
    overParts([&](int64_t part) { copy(part, slice, buffer); });
  else
    for (int64_t part = 0; part < parts(); ++part)
      computed.push_back(compute(part, slice));
  return computed;
}

void GpuOperand::put(ArrayRef<Value> computed, Index buffer) {
  if (copied)
    return;
  Index start = e.mul(buffer, e.constant(room()));
  overParts([&](int64_t part) {
    auto [line, inner] = partAt(part);
    Value value = computed[part];
    // The truncation to the staged type is exact: the operand's elements were extended from this
    // type.
    if (isa<FloatType>(staged) && value.getType() != staged)
      value = arith::TruncFOp::create(c.b, c.loc(), staged, value);
    c.gpu.storeShared(value, memory, e.add(start, elementAt(line, inner)).base);
  });
}

void GpuOperand::fetchFrom(const TmaOperand &box) {
  SmallVector<int64_t> sizes = {panel(), alongSum ? width : depth()};
  sizes.resize(box.extents.size(), 1);
  rank = unsigned(sizes.size());
  block = box.block;
  tensor = addBox(c.k, box, bytes, /*rounds=*/staged.isF32() && !makesFactors, sizes);
}

void GpuOperand::fetch(Index slice, Index buffer, Index batch, Index mbarrier) {
  Index inSum = e.mul(slice, e.constant(depth()));
  Index to = e.add(c.gpu.address(memory), e.mul(buffer, e.constant(room() * bytes)));
  // Start one TMA load for each panel of the slice.
  for (int64_t start = 0; start < line(); start += panel()) {
    Index place = e.add(firstPlace, e.constant(start));
    SmallVector<Index> at = {alongSum ? inSum : place, alongSum ? place : inSum};
    if (block)
      at = {e.mod(place, e.constant(block)), inSum, e.floorDiv(place, e.constant(block))};
    else if (rank > 2)
      at.push_back(batch);
    c.gpu.fetch(e.add(to, e.constant(start * depth() * bytes)), tensor, at, mbarrier);
  }
}

void GpuOperand::split(Tf32Split &factors, Index buffer, Index worker, int64_t workers) {
  constexpr int64_t ahead = 2; // number of chunks that a thread loads before it splits them
  auto type = VectorType::get({chunkElements()}, staged);
  Index start = e.mul(buffer, e.constant(room()));
  // Emits the split of this thread's chunks [first, first + count).
  auto some = [&](Index first, int64_t count) {
    SmallVector<Index> at;
    SmallVector<Value> numbers;
    for (int64_t i = 0; i < count; ++i) {
      Index chunk = e.add(e.mul(e.add(first, e.constant(i)), e.constant(workers)), worker);
      at.push_back(e.add(start, e.mul(chunk, e.constant(chunkElements()))));
      numbers.push_back(vector::LoadOp::create(c.b, c.loc(), type, memory, at.back().base));
    }
    for (auto [place, chunk] : llvm::zip(at, numbers)) {
      SmallVector<Value> words;
      for (int64_t i = 0; i < chunkElements(); ++i)
        words.push_back(vector::ExtractOp::create(c.b, c.loc(), chunk, i));
      Tf32Split::Fragment made = factors.fragment(words);
      for (auto [words, to] : {std::pair(&made.high, memory), std::pair(&made.low, secondFactors)}) {
        SmallVector<Value> values = llvm::map_to_vector(
            *words, [&](Value word) -> Value { return arith::BitcastOp::create(c.b, c.loc(), staged, word); });
        Value all = vector::FromElementsOp::create(c.b, c.loc(), type, values);
        vector::StoreOp::create(c.b, c.loc(), all, to, place.base).setAlignment(16);
      }
    }
    for (Value number : numbers)
      number.getDefiningOp<vector::LoadOp>().setAlignment(16);
  };
  int64_t chunks = room() / chunkElements(), each = chunks / workers, together = each / ahead * ahead;
  auto loop = scf::ForOp::create(c.b, c.loc(), e.constant(0).base, e.constant(together).base, e.constant(ahead).base);
  {
    OpBuilder::InsertionGuard guard(c.b);
    c.b.setInsertionPoint(loop.getBody()->getTerminator());
    e.forget();
    some({loop.getInductionVar()}, ahead);
    e.forget();
  }
  if (together < each)
    some(e.constant(together), each - together);
  if (chunks % workers == 0)
    return;
  Value has = e.compare(arith::CmpIPredicate::slt, worker, e.constant(chunks % workers));
  auto branch = scf::IfOp::create(c.b, c.loc(), has, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(c.b);
  c.b.setInsertionPoint(branch.thenBlock()->getTerminator());
  some(e.constant(each), 1);
}

//===----------------------------------------------------------------------------------------===//
// Loads for the matrix instructions
//===----------------------------------------------------------------------------------------===//

GpuBuilder::Matrix GpuOperand::matrix(Index buffer, Index base, int64_t step, bool second) {
  constexpr int64_t linesOfBlock = 8; // rows after which the swizzle pattern repeats
  GpuBuilder::Matrix matrix;
  matrix.alongSum = alongSum;
  matrix.lineBytes = panel() * bytes;
  matrix.blockStride = linesOfBlock * matrix.lineBytes;
  matrix.panelStride = alongSum ? 0 : panel() * depth() * bytes;
  // If the rows of the slice are along M or N, the rows of a warpgroup, or the columns of a tile,
  // begin at the start of a panel.
  Index start = e.mul(base, e.constant(depth() * bytes));
  int64_t inSlice = alongSum ? step * kStepBytes : step * (kStepBytes / bytes) * matrix.lineBytes;
  start = e.add(e.add(start, e.mul(buffer, e.constant(room() * bytes))), e.constant(inSlice));
  matrix.address = e.add(c.gpu.address(second ? secondFactors : memory), start);
  return matrix;
}

SmallVector<Value> GpuOperand::left(Index buffer, Index base, int64_t offset, int64_t step) {
  return readsElements() ? wordsByElement(buffer, base, offset, step, true) : words(buffer, base, offset, step, true);
}

SmallVector<Value> GpuOperand::right(Index buffer, Index base, int64_t offset, int64_t step) {
  return readsElements() ? wordsByElement(buffer, base, offset, step, false) : words(buffer, base, offset, step, false);
}

/// Loads a fragment with ldmatrix, which loads four matrices of 8 rows by 16 bytes. For a left
/// operand, the second matrix has the next eight rows and the third the next bytes along K. For a
/// right operand, the second matrix has the next bytes along K and the third the next eight
/// columns.
SmallVector<Value> GpuOperand::words(Index buffer, Index base, int64_t offset, int64_t step, bool isLeft) {
  Index lane = e.mod({c.gpu.thread}, e.constant(c.gpu.warp)), eight = e.constant(8);
  Index matrix = e.floorDiv(lane, eight), row = e.mod(lane, eight);
  Index low = e.mod(matrix, e.constant(2)), high = e.floorDiv(matrix, e.constant(2));
  Index inPlaces = isLeft ? low : high, inSum = isLeft ? high : low;
  // Add the address offsets that depend on the lane before the uniform ones. The lane's offsets do
  // not depend on the slice, so their sum can be hoisted out of the loop over slices.
  Index own, fixed, size = e.constant(line() * bytes), sixteen = e.constant(16);
  if (alongSum) {
    Index chunk = swizzled(e.add(inSum, e.constant(step * 2)), key(row));
    own = e.add(e.mul(e.add(e.add(base, e.mul(inPlaces, eight)), row), size), e.mul(chunk, sixteen));
    fixed = e.constant(offset * line() * bytes);
  } else {
    Index chunk = e.add(e.floorDiv(e.add(base, e.constant(offset)), eight), inPlaces);
    own = e.add(e.mul(e.add(e.mul(inSum, eight), row), size), e.mul(swizzled(chunk, key(row)), sixteen));
    fixed = e.constant(step * (kStepBytes / bytes) * line() * bytes);
  }
  Index start = e.add(c.gpu.address(memory), e.mul(buffer, e.constant(room() * bytes)));
  return c.gpu.ldmatrix(e.add(e.add(start, own), fixed), /*transposed=*/!alongSum);
}

SmallVector<Value> GpuOperand::wordsByElement(Index buffer, Index base, int64_t offset, int64_t step, bool isLeft) {
  Index lane = e.mod({c.gpu.thread}, e.constant(c.gpu.warp)), four = e.constant(4);
  Index group = e.floorDiv(lane, four), inGroup = e.mod(lane, four);
  Index start = e.mul(buffer, e.constant(room()));
  SmallVector<Value> list;
  for (int64_t i = 0; i < 4; ++i) {
    int64_t inPlaces = (isLeft ? i % 2 : i / 2) * 8, inSum = (isLeft ? i / 2 : i % 2) * 4;
    Index place = e.add(base, e.add(group, e.constant(offset + inPlaces)));
    // For loads of single elements, the swizzle pattern repeats after four rows, so the swizzle key
    // depends only on the lane's index in its quad.
    Index chunk = swizzled(e.floorDiv(place, four), key(inGroup));
    Index own = e.add(e.mul(inGroup, e.constant(line())), e.add(e.mul(chunk, four), e.mod(place, four)));
    Index at = e.add(e.add(start, own), e.constant((step * 8 + inSum) * line()));
    Value element = c.gpu.loadShared(staged, memory, at.base);
    list.push_back(arith::BitcastOp::create(c.b, c.loc(), c.b.getI32Type(), element));
  }
  return list;
}

} // namespace hewn::codegen

// SPDX-License-Identifier: Apache-2.0
//
// Contractions of floats by the matrix instruction of a warp (Grid::product), whose factors have eleven significant bits.
//
// A float32 is the sum of two such numbers but for its last two bits. Of the four products of two sums the three largest are
// taken: errors stay at what float32's own sums leave. The largest has an accumulator of its own: it alone is the answer
// where it is infinite or no number, since then the corrections say nothing. (Of numbers below 2^-115 the second factor is a
// denormal, which has less bits: what is lost there is below 2^-138.) Numbers that come from narrower types, or
// where the user allows it, take one product.
//
// A block of eight warps makes a tile, two warps high and four wide. While it multiplies one slice of the operands from
// shared memory, the next one is on its way: two buffers, one barrier a slice. Rows of the buffers are padded so that the
// lanes of a warp, which read eight rows by four columns, fall into different banks.
#include "lib/Codegen/Contract/ContractForm.h"
#include "lib/Codegen/Grid/GridContraction.h"
#include "lib/Codegen/Grid/GridEngine.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn::codegen {

namespace {

constexpr int64_t kWarpsHigh = 2, kWarpsWide = 4, kWarp = 32, kThreads = kWarpsHigh * kWarpsWide * kWarp;
/// Summed elements of a slice, and of one instruction.
constexpr int64_t kDepth = 16, kStep = 8;
/// Rows and columns of one instruction's result.
constexpr int64_t kFragmentRows = 16, kFragmentColumns = 8;
/// Elements that are brought at once.
constexpr int64_t kLanes = 4;

/// Reads of whole vectors: a condition that holds for all lanes or none is a branch.
class VectorElements : public KernelElements {
public:
  using KernelElements::KernelElements;
  Value readIf(Value inside, Value tensor, ArrayRef<Index> at, Value fill) override {
    if (isa<VectorType>(inside.getType()))
      return KernelElements::readIf(inside, tensor, at, fill);
    Value otherwise = spread(fill);
    auto branch = scf::IfOp::create(b, loc, otherwise.getType(), inside, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    forget();
    scf::YieldOp::create(b, loc, spread(read(tensor, at)));
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, loc, otherwise);
    forget();
    return branch.getResult(0);
  }
};

/// One operand on its way to the warps.
struct Side {
  unsigned operand = 0;
  ArrayRef<unsigned> list; // its own iteration dims
  bool alongSum = false;   // in memory, and so in shared memory
  bool vectors = false;    // it is brought a vector at a time
  int64_t width = 0;       // of the tile
  DimExpr extent;
  Index first;
  Value memory;
  /// Elements between lines of a buffer, and of all of it.
  int64_t line() const { return alongSum ? kDepth + 4 : width + 8; }
  int64_t room() const { return (alongSum ? width : kDepth) * line(); }
  int64_t elements() const { return width * kDepth; }
  bool exact = false; // its numbers are factors
  bool two = false;   // its numbers are sums of two factors
};

class GridMatrixEmitter : GridContraction {
public:
  GridMatrixEmitter(KernelFunction &k, OpBuilder &b, const GridTiles &tiles)
      : GridContraction(k, b, tiles, kThreads), wide(b, k.loc(), kLanes, k.symbols, k.inputs) {}

  void run() {
    plan::ScheduleAttr schedule = k.kernel.getScheduleAttr();
    if (!schedule)
      schedule = plan::chooseTile(k.kernel, rows * batch, columns);
    fragmentsHigh = std::max<int64_t>(schedule.getM() / (kWarpsHigh * kFragmentRows), 1);
    fragmentsWide = std::max<int64_t>(schedule.getN() / (kWarpsWide * kFragmentColumns), 1);
    left = side(0, tiles.rows, tiles.leftAlongSum, fragmentsHigh * kWarpsHigh * kFragmentRows, rows);
    right = side(1, tiles.columns, tiles.rightAlongSum, fragmentsWide * kWarpsWide * kFragmentColumns, columns);
    Index thread{grid.thread}, warp = e.floorDiv(thread, e.constant(kWarp)), lane = e.mod(thread, e.constant(kWarp));
    group = e.floorDiv(lane, e.constant(4));
    inGroup = e.mod(lane, e.constant(4));
    warpRow = e.mul(e.mod(warp, e.constant(kWarpsHigh)), e.constant(fragmentsHigh * kFragmentRows));
    warpColumn = e.mul(e.floorDiv(warp, e.constant(kWarpsHigh)), e.constant(fragmentsWide * kFragmentColumns));

    Dims counts = {batch, columns.ceilDiv(right.width), rows.ceilDiv(left.width)};
    grid.overBlocks(graph::numElements(counts), [&](Index item) {
      SmallVector<Index> at = grid.unravel(item, counts);
      set(tiles.batch, at[0]);
      left.first = e.mul(at[2], e.constant(left.width));
      right.first = e.mul(at[1], e.constant(right.width));
      finish(multiply());
    });
    k.function.walk([&](vector::LoadOp load) { // by how `side` has chosen
      int64_t bytes = load.getVectorType().getElementTypeBitWidth() / 8 * kLanes;
      load.setAlignment(bytes);
    });
  }

private:
  VectorElements wide;
  int64_t fragmentsHigh = 1, fragmentsWide = 1;
  Side left, right;
  Index group, inGroup, warpRow, warpColumn;

  bool corrects() const { return left.two || right.two; }
  size_t sums() const { return size_t(fragmentsHigh * fragmentsWide * 4); }

  Side side(unsigned operand, ArrayRef<unsigned> list, bool alongSum, int64_t width, const DimExpr &extent) {
    Side made;
    made.operand = operand;
    made.list = list;
    made.alongSum = alongSum;
    made.width = width;
    made.extent = extent;
    made.vectors = comesInVectors(operand, alongSum ? ArrayRef(tiles.summed) : list);
    made.exact = !graph::getElementType(op->getOperand(operand)).isF32();
    made.two = !made.exact && plan::gridOf(k.kernel).getProducts() > 1;
    made.memory = grid.shared(2 * made.room(), b.getF32Type());
    return made;
  }

  /// Whether `kLanes` neighbours along the last dim of `list` lie side by side in the operand, at a multiple of their size: the
  /// operand is memory (perhaps in a border of zeros), and all other strides are multiples too.
  bool comesInVectors(unsigned operand, ArrayRef<unsigned> list) {
    Value value = op->getOperand(operand);
    AffineMap map = tiles.maps[operand];
    unsigned last = list.back();
    auto multiple = [](const DimExpr &expr) { return expr.constant() && *expr.constant() % kLanes == 0; };
    SmallVector<int64_t> lows;
    if (auto border = value.getDefiningOp<graph::MoveOpInterface>())
      if (std::optional<SmallVector<int64_t>> widths = border.getZeroBorder()) {
        lows = *widths;
        value = border->getOperand(0);
      }
    auto found = k.inputs.find(value);
    std::optional<unsigned> dim = graph::resultWith(map, last);
    if (found == k.inputs.end() || !dim || !isa<AffineDimExpr>(map.getResult(*dim)) || !multiple(tiles.extents[last]))
      return false;
    const Buffer &buffer = found->second;
    int64_t bits = buffer.elementType.isF32() ? 32 : buffer.elementType.isF16() || buffer.elementType.isBF16() ? 16 : 0;
    if (!bits || buffer.groupDim >= 0 || !multiple(buffer.dims[*dim]))
      return false;
    if (!lows.empty() && (lows[*dim] != 0 || !(graph::getDims(op->getOperand(operand))[*dim] == buffer.dims[*dim])))
      return false;
    for (auto [d, stride] : llvm::enumerate(buffer.strides)) {
      if (buffer.dims[d].is(1))
        continue;
      bool innermost = buffer.blockDim >= 0 ? int64_t(d) == buffer.blockDim : d == *dim && stride.is(1);
      if (innermost ? d != *dim || (buffer.blockDim >= 0 && buffer.block % kLanes != 0) : !multiple(stride))
        return false;
    }
    return buffer.blockDim >= 0 ? buffer.blockDim == int64_t(*dim) : buffer.strides[*dim].is(1);
  }

  //===----------------------------------------------------------------------------------------------------------------===//
  // Operands
  //===----------------------------------------------------------------------------------------------------------------===//

  struct Brought {
    Value value;
    Index to; // in a buffer
  };

  /// This thread's part of the slice that begins at `firstSummed`; zero beyond the operand's ends.
  SmallVector<Brought> bring(const Side &from, Index firstSummed) {
    KernelElements &elements = from.vectors ? static_cast<KernelElements &>(wide) : e;
    int64_t each = from.vectors ? kLanes : 1, inLine = (from.alongSum ? kDepth : from.width) / each;
    Type type = from.vectors ? Type(VectorType::get({kLanes}, b.getF32Type())) : Type(b.getF32Type());
    SmallVector<Brought> list;
    for (int64_t step = 0; step * each < from.elements(); step += kThreads) {
      Index linear = e.add({grid.thread}, e.constant(step));
      Index line = e.floorDiv(linear, e.constant(inLine)),
            inner = e.mul(e.mod(linear, e.constant(inLine)), e.constant(each));
      Index inSide = from.alongSum ? line : inner, inSum = from.alongSum ? inner : line;
      Index position = e.add(from.first, inSide), summed = e.add(firstSummed, inSum);
      Value inside = e.logicalAnd(e.compare(arith::CmpIPredicate::slt, position, e.expression(from.extent)),
                                  e.compare(arith::CmpIPredicate::slt, summed, e.expression(depth)));
      if (from.elements() < each * kThreads) // not every thread has a part
        inside = e.logicalAnd(inside, e.compare(arith::CmpIPredicate::slt, linear, e.constant(from.elements() / each)));
      Index to = e.add(e.mul(line, e.constant(from.line())), inner);
      e.forget();
      wide.forget();
      auto branch = scf::IfOp::create(b, loc(), type, inside, /*withElseRegion=*/true);
      list.push_back({branch.getResult(0), to});
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      set(from.list, position);
      set(tiles.summed, summed);
      if (from.vectors)
        iteration[from.alongSum ? tiles.summed.back() : from.list.back()].stride = 1;
      Value element = readOperand(elements, from.operand);
      scf::YieldOp::create(b, loc(), from.vectors ? elements.spread(element) : element);
      b.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(b, loc(), Value(arith::ConstantOp::create(b, loc(), b.getZeroAttr(type))));
      e.forget();
      wide.forget();
    }
    return list;
  }

  void put(const Side &to, ArrayRef<Brought> list, Index buffer) {
    for (auto [step, part] : llvm::enumerate(list)) {
      Index at = e.add(e.mul(buffer, e.constant(to.room())), part.to);
      int64_t each = to.vectors ? kLanes : 1;
      auto write = [&] {
        if (to.vectors)
          vector::StoreOp::create(b, loc(), part.value, to.memory, at.base, /*nontemporal=*/false,
                                  llvm::MaybeAlign(16));
        else
          grid.storeShared(part.value, to.memory, at.base);
      };
      if (to.elements() >= each * kThreads) {
        write();
        continue;
      }
      Value has = e.compare(arith::CmpIPredicate::slt, {grid.thread}, e.constant(to.elements() / each));
      auto branch = scf::IfOp::create(b, loc(), has, /*withElseRegion=*/false);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(branch.thenBlock()->getTerminator());
      write();
    }
  }

  //===----------------------------------------------------------------------------------------------------------------===//
  // Products
  //===----------------------------------------------------------------------------------------------------------------===//

  Value bits(int64_t value) { return arith::ConstantOp::create(b, loc(), b.getI32IntegerAttr(int32_t(value))); }

  /// A number as the sum of two factors (the second null where one is enough), as bits.
  std::pair<Value, Value> factors(Value x, const Side &from) {
    Value word = arith::BitcastOp::create(b, loc(), b.getI32Type(), x);
    if (from.exact)
      return {word, Value()};
    auto leading = [&](Value w) -> Value { return arith::AndIOp::create(b, loc(), w, bits(int32_t(0xffffe000))); };
    auto rounded = [&](Value w) { return leading(arith::AddIOp::create(b, loc(), w, bits(0x1000))); };
    // What would be rounded to infinity is cut off instead, and so is what is infinite or no number.
    Value size = arith::AndIOp::create(b, loc(), word, bits(0x7fffffff));
    Value large = arith::CmpIOp::create(b, loc(), arith::CmpIPredicate::uge, size, bits(0x7f7ff000));
    Value high = arith::SelectOp::create(b, loc(), large, leading(word), rounded(word));
    if (!from.two)
      return {high, Value()};
    Value rest = arith::SubFOp::create(b, loc(), x, arith::BitcastOp::create(b, loc(), b.getF32Type(), high));
    Value low = arith::BitcastOp::create(b, loc(), b.getI32Type(), rest);
    return {high, arith::SelectOp::create(b, loc(), large, leading(low), rounded(low))};
  }

  using Factors = SmallVector<std::pair<Value, Value>>;

  /// This lane's factors of a fragment: at (`side`, `summed`) pairs counted from the fragment's first ones.
  Factors load(const Side &from, Index buffer, Index first, int64_t step,
               ArrayRef<std::pair<int64_t, int64_t>> places) {
    Factors list;
    Index base = e.mul(buffer, e.constant(from.room()));
    for (auto [inSide, inSum] : places) {
      Index s = e.add(e.add(first, group), e.constant(inSide)), d = e.add(inGroup, e.constant(step + inSum));
      Index line = from.alongSum ? s : d, inner = from.alongSum ? d : s;
      Index at = e.add(base, e.add(e.mul(line, e.constant(from.line())), inner));
      list.push_back(factors(grid.loadShared(b.getF32Type(), from.memory, at.base), from));
    }
    return list;
  }

  static SmallVector<Value> firsts(const Factors &list) {
    return llvm::map_to_vector(list, [](auto &pair) { return pair.first; });
  }
  static SmallVector<Value> seconds(const Factors &list) {
    return llvm::map_to_vector(list, [](auto &pair) { return pair.second; });
  }

  /// The accumulators, then those of the corrections, after one slice from `buffer`.
  SmallVector<Value> products(SmallVector<Value> all, Index buffer) {
    for (int64_t step = 0; step < kDepth; step += kStep) {
      std::vector<Factors> lefts, rights;
      for (int64_t i = 0; i < fragmentsHigh; ++i)
        lefts.push_back(
            load(left, buffer, e.add(warpRow, e.constant(i * kFragmentRows)), step, {{0, 0}, {8, 0}, {0, 4}, {8, 4}}));
      for (int64_t j = 0; j < fragmentsWide; ++j)
        rights.push_back(
            load(right, buffer, e.add(warpColumn, e.constant(j * kFragmentColumns)), step, {{0, 0}, {0, 4}}));
      for (int64_t i = 0; i < fragmentsHigh; ++i)
        for (int64_t j = 0; j < fragmentsWide; ++j) {
          size_t at = size_t(i * fragmentsWide + j) * 4;
          auto add = [&](ArrayRef<Value> l, ArrayRef<Value> r, size_t to) {
            SmallVector<Value> sum = grid.product(l, r, ArrayRef(all).slice(to, 4));
            llvm::copy(sum, all.begin() + to);
          };
          if (left.two)
            add(seconds(lefts[i]), firsts(rights[j]), sums() + at);
          if (right.two)
            add(firsts(lefts[i]), seconds(rights[j]), sums() + at);
          add(firsts(lefts[i]), firsts(rights[j]), at);
        }
    }
    return all;
  }

  SmallVector<Value> multiply() {
    Index zero = e.constant(0), one = e.constant(1), size = e.constant(kDepth);
    e.forget();
    for (Side *operand : {&left, &right})
      put(*operand, bring(*operand, zero), zero);
    grid.barrier();
    SmallVector<Value> start((corrects() ? 2 : 1) * sums(), e.constantElement(b.getF32Type(), 0));
    auto loop = scf::ForOp::create(b, loc(), zero.base, e.expression(depth).base, size.base, start);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    e.forget();
    Index summed{loop.getInductionVar()}, next = e.add(summed, size);
    Index buffer = e.mod(e.floorDiv(summed, size), e.constant(2));
    SmallVector<Brought> nextLeft = bring(left, next), nextRight = bring(right, next);
    SmallVector<Value> all = products(SmallVector<Value>(loop.getRegionIterArgs()), buffer);
    put(left, nextLeft, e.sub(one, buffer));
    put(right, nextRight, e.sub(one, buffer));
    grid.barrier();
    scf::YieldOp::create(b, loc(), all);
    e.forget();
    return llvm::map_to_vector(loop.getResults(), [](OpResult r) { return Value(r); });
  }

  /// The sums to where the kernel wants them. A lane has two neighbours in each of two rows of a fragment.
  void finish(ArrayRef<Value> all) {
    for (int64_t i = 0; i < fragmentsHigh; ++i)
      for (int64_t j = 0; j < fragmentsWide; ++j)
        for (int64_t r = 0; r < 4; ++r) {
          size_t at = size_t(i * fragmentsWide + j) * 4 + size_t(r);
          Value sum = all[at];
          if (corrects()) {
            Value word = arith::AndIOp::create(b, loc(), arith::BitcastOp::create(b, loc(), b.getI32Type(), sum),
                                               bits(0x7fffffff));
            Value isFinite = arith::CmpIOp::create(b, loc(), arith::CmpIPredicate::ult, word, bits(0x7f800000));
            sum = arith::SelectOp::create(b, loc(), isFinite, arith::AddFOp::create(b, loc(), sum, all[sums() + at]),
                                          sum);
          }
          Index row = e.add(e.add(warpRow, group), e.constant(i * kFragmentRows + r / 2 * 8));
          Index column =
              e.add(e.add(warpColumn, e.mul(inGroup, e.constant(2))), e.constant(j * kFragmentColumns + r % 2));
          store(sum, e.add(left.first, row), e.add(right.first, column));
        }
  }
};

} // namespace

bool takesMatrix(KernelFunction &k, const GridTiles &tiles) {
  auto narrow = [](Type type) { return type.isF32() || type.isF16() || type.isBF16(); };
  // Fewer rows or columns have a form of their own; a slice's worth of sums.
  constexpr int64_t leastSide = 9, leastSum = 16;
  if (!plan::gridOf(k.kernel).getProducts() || !narrow(graph::getElementType(tiles.op->getResult(0))))
    return false;
  auto has = [&](ArrayRef<unsigned> list, int64_t least) {
    return graph::numElements(tiles.dims(list)).constant().value_or(least) >= least;
  };
  if (!has(tiles.rows, leastSide) || !has(tiles.columns, leastSide) || !has(tiles.summed, leastSum))
    return false;
  return llvm::all_of(tiles.op->getOperands(), [&](Value v) { return narrow(graph::getElementType(v)); });
}

void emitGridMatrix(KernelFunction &k, OpBuilder &b, const GridTiles &tiles) { GridMatrixEmitter(k, b, tiles).run(); }

} // namespace hewn::codegen

// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Contract/ContractEngine.h"
#include "dialects/Graph/Analysis/Cost.h"
#include "lib/Codegen/Contract/MatrixUnit.h"
#include "lib/Codegen/Tasks.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using hewn::graph::Clip;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn::codegen {

namespace {

/// The most accumulators of a tile, many more than any machine has registers: a schedule by hand must end somewhere.
constexpr int64_t kMostVectors = 1024;

/// Tiles [first, last] along the tiled row that are the same code: `m` rows, and for each place in the clipped window the
/// rows that are inside the source (empty: all, everywhere).
struct RowVariant {
  int64_t first = 0, last = 0, m = 1;
  SmallVector<SmallVector<bool>> inside;
  bool sameCode(const RowVariant &other) const { return m == other.m && inside == other.inside; }
};

/// The columns of a panel: vectors, and which lanes of each exist (null: all).
struct Panel {
  int64_t vectors = 1;
  SmallVector<Value> masks;
};

class ContractEmitter {
public:
  ContractEmitter(KernelFunction &k, OpBuilder &b, const ContractForm &form)
      : k(k), b(b), form(form), op(form.op),
        e(b, k.loc(), plan::contractLanes(k.kernel, form.shape()), k.symbols, k.inputs),
        iteration(form.extents.size()) {}

  LogicalResult run() {
    plan::ScheduleAttr byHand = k.kernel.getScheduleAttr();
    plan::ScheduleAttr schedule =
        byHand ? byHand : plan::chooseSchedule(k.kernel, form.shape(), packed() ? form.rhs.block : 0);
    m = schedule.getM();
    n = byHand && packed() ? form.rhs.block : schedule.getN();
    if (form.matrix && !fillsTiles(m))
      m = plan::chooseSchedule(k.kernel, form.shape(), n).getM();
    if (n % e.lanes != 0 || n / e.lanes > kMostVectors / m)
      return k.kernel.emitOpError("@") << k.kernel.getName() << " has a schedule of " << m << " rows by " << n
                                       << " columns: n must be a multiple of " << e.lanes << ", and there may be "
                                       << kMostVectors << " accumulators of so many at most";
    columns = form.extents[form.roles.column];
    heavy = llvm::any_of(k.kernel.getBody().front().without_terminator(), graph::isTranscendental);
    variants = rowVariants();
    for (Index &index : iteration)
      index = e.constant(0);

    // A panel of columns serves all rows before the next one is taken; where both operands run along the columns there is
    // nothing to keep, and a line is read from end to end.
    SmallVector<unsigned> outer(form.roles.batch);
    if (form.roles.columnInLeft)
      llvm::append_range(outer, form.outerRows);
    size_t panelAt = outer.size();
    Dims counts = extentsOf(outer);
    counts.push_back(columns.ceilDiv(n));
    if (!form.roles.columnInLeft) {
      llvm::append_range(outer, form.outerRows);
      llvm::append_range(counts, extentsOf(form.outerRows));
    }
    counts.push_back(form.rows.ceilDiv(m));
    overTasks(k, e, counts, vectorWork(graph::numElements(form.extents), e.lanes * form.group(), 1),
              [&](ArrayRef<Index> at) {
                unsigned next = 0;
                for (unsigned i = 0; i + 1 < at.size(); ++i)
                  if (i != panelAt)
                    iteration[outer[next++]] = at[i];
                overPanels(at[panelAt], at.back());
              });
    return success();
  }

private:
  KernelFunction &k;
  OpBuilder &b;
  const ContractForm &form;
  graph::ContractOpInterface op;
  KernelElements e;
  SmallVector<Index> iteration;
  DimExpr columns;
  int64_t m = 1, n = 1;
  bool heavy = false;
  SmallVector<RowVariant> variants;

  Location loc() { return k.loc(); }
  VectorType sumType() {
    return VectorType::get({e.lanes}, graph::computeType(graph::getElementType(op->getResult(0))));
  }
  Dims extentsOf(ArrayRef<unsigned> dims) {
    return llvm::map_to_vector<4>(dims, [&](unsigned d) { return form.extents[d]; });
  }

  /// Whether so many rows are whole tiles of the matrix unit, and there are as many.
  bool fillsTiles(int64_t count) {
    int64_t most = plan::MatrixAttr(form.matrix).getRows();
    return count > 0 && (count <= most || count % most == 0) && count <= form.rows.constant().value_or(count);
  }

  //===----------------------------------------------------------------------------------------------------------------===//
  // Which code a tile gets
  //===----------------------------------------------------------------------------------------------------------------===//

  void overPanels(Index panel, Index tile) {
    Index firstColumn = e.mul(panel, e.constant(n));
    std::optional<int64_t> count = columns.constant();
    int64_t vectors = n / e.lanes;
    auto withColumns = [&](std::optional<int64_t> rest) { // the panel's columns, where they are known
      Panel chosen;
      chosen.vectors = rest ? (*rest + e.lanes - 1) / e.lanes : vectors;
      chosen.masks.resize(chosen.vectors);
      for (int64_t j = 0; j < chosen.vectors; ++j)
        if (!rest || *rest < (j + 1) * e.lanes) {
          Index left = rest ? e.constant(*rest - j * e.lanes)
                            : e.sub(e.expression(columns), e.add(firstColumn, e.constant(j * e.lanes)));
          chosen.masks[j] =
              vector::CreateMaskOp::create(b, loc(), VectorType::get({e.lanes}, b.getI1Type()), left.base);
        }
      overRows(chosen, firstColumn, tile);
    };
    if (!count)
      return withColumns(std::nullopt);
    int64_t rest = *count % n, whole = *count / n;
    if (rest == 0)
      return withColumns(n);
    if (whole == 0)
      return withColumns(rest);
    Value isLast = e.compare(arith::CmpIPredicate::eq, panel, e.constant(whole));
    e.branch(isLast, [&] { withColumns(rest); }, [&] { withColumns(n); });
  }

  /// The kinds of tile along the tiled row, in order; empty where their number is known only when run.
  SmallVector<RowVariant> rowVariants() {
    SmallVector<RowVariant> variants;
    std::optional<int64_t> rows = form.rows.constant();
    if (!rows)
      return variants;
    const Clip *clip = form.tiledClip();
    for (int64_t t = 0; t * m < *rows; ++t) {
      RowVariant variant{t, t, std::min(m, *rows - t * m), {}};
      if (clip) {
        bool all = true;
        int64_t extent = *clip->extent.constant();
        for (int64_t w = 0; w < *form.extents[clip->summed].constant(); ++w) {
          variant.inside.emplace_back();
          for (int64_t r = 0; r < variant.m; ++r) {
            int64_t position = (t * m + r) * clip->stride + w * clip->dilation - clip->low;
            variant.inside.back().push_back(position >= 0 && position < extent);
            all &= variant.inside.back().back();
          }
        }
        if (all)
          variant.inside.clear();
      }
      if (!variants.empty() && variants.back().sameCode(variant))
        variants.back().last = t;
      else
        variants.push_back(std::move(variant));
    }
    return variants;
  }

  void overRows(const Panel &panel, Index firstColumn, Index tile) {
    if (form.matrix)
      return overMatrixRows(panel, firstColumn, tile);
    if (variants.empty()) {
      Index first = e.mul(tile, e.constant(m));
      return unknownRows(panel, firstColumn, first, e.sub(e.expression(form.rows), first), m);
    }
    choose(variants, panel, firstColumn, tile);
  }

  /// Whole tiles of a matrix unit: the last one starts early enough to be whole, and stores what is new. Where there are not
  /// enough rows for one, which is known only when run, vectors do it.
  void overMatrixRows(const Panel &panel, Index firstColumn, Index tile) {
    Index rows = e.expression(form.rows), start = e.mul(tile, e.constant(m));
    auto whole = [&] {
      Index first = e.min(start, e.sub(rows, e.constant(m)));
      emitMatrixTile(panel, firstColumn, first, e.sub(start, first));
    };
    if (form.rows.constant())
      return whole();
    plan::ContractShape shape = form.shape();
    shape.matrix = {};
    shape.columns = DimExpr(n);
    int64_t most = plan::chooseSchedule(k.kernel, shape, n).getM();
    e.branch(e.compare(arith::CmpIPredicate::sge, rows, e.constant(m)), whole, [&] {
      e.forEach(e.constant(0), rows, most,
                [&](Index first) { unknownRows(panel, firstColumn, first, e.sub(rows, first), most); });
    });
  }

  /// As many rows as there are, up to `most`: a full tile, one row (a batch of one is what most models run on), or half a
  /// tile or a whole one that repeats its last row.
  void unknownRows(const Panel &panel, Index firstColumn, Index first, Index rest, int64_t most) {
    auto tile = [&](int64_t rows, bool all) {
      emitTile(panel, RowVariant{0, 0, rows, {}}, firstColumn, first, all ? std::nullopt : std::optional(rest));
    };
    auto atLeast = [&](int64_t rows) { return e.compare(arith::CmpIPredicate::sge, rest, e.constant(rows)); };
    int64_t half = most / 2;
    auto some = [&] {
      if (half < 2)
        return tile(most, false);
      e.branch(atLeast(half + 1), [&] { tile(most, false); }, [&] { tile(half, false); });
    };
    auto notFull = [&] { e.branch(atLeast(2), some, [&] { tile(1, true); }); };
    if (most == 1)
      return tile(1, true);
    e.branch(atLeast(most), [&] { tile(most, true); }, notFull);
  }

  /// The code of the variant that `tile` falls into: the longest run last, without a test of its own.
  void choose(ArrayRef<RowVariant> variants, const Panel &panel, Index firstColumn, Index tile) {
    if (variants.size() == 1) {
      const RowVariant &only = variants[0];
      Index first = only.first == only.last ? e.constant(only.first * m) : e.mul(tile, e.constant(m));
      return emitTile(panel, only, firstColumn, first, {});
    }
    const RowVariant *test = variants.begin();
    for (const RowVariant &variant : variants)
      if (variant.last - variant.first < test->last - test->first)
        test = &variant;
    SmallVector<RowVariant> others;
    for (const RowVariant &variant : variants)
      if (&variant != test)
        others.push_back(variant);
    Value inside = e.logicalAnd(e.compare(arith::CmpIPredicate::sge, tile, e.constant(test->first)),
                                e.compare(arith::CmpIPredicate::sle, tile, e.constant(test->last)));
    if (test->first == test->last)
      inside = e.compare(arith::CmpIPredicate::eq, tile, e.constant(test->first));
    e.branch(
        inside, [&] { choose(*test, panel, firstColumn, tile); }, [&] { choose(others, panel, firstColumn, tile); });
  }

  //===----------------------------------------------------------------------------------------------------------------===//
  // One tile
  //===----------------------------------------------------------------------------------------------------------------===//

  /// `variant.m` rows from `first` on by the panel; `rest`, where given, is how many of them exist.
  void emitTile(const Panel &panel, const RowVariant &variant, Index first, Index firstRow, std::optional<Index> rest) {
    SmallVector<Index> rows; // from the first one
    for (int64_t r = 0; r < variant.m; ++r) {
      Index row = e.constant(r);
      if (rest && r > 0) // rows past the end repeat the last one, and are not stored
        row = e.min(row, e.sub(*rest, e.constant(1)));
      rows.push_back(row);
    }
    SmallVector<Index> outside(iteration);
    iteration[form.roles.column] = first;
    if (form.tiled)
      iteration[*form.tiled] = firstRow;
    SmallVector<Value> sums = sumOfProducts(panel, variant, rows);
    if (heavy)
      spilledEpilogue(panel, variant, first, firstRow, rest, sums);
    else
      epilogue(panel, rows, first, firstRow, rest, sums);
    iteration = std::move(outside);
  }

  /// `m` rows from `firstRow` on by a matrix unit, through memory beside the stack's top; rows before `fresh` are not stored.
  void emitMatrixTile(const Panel &panel, Index firstColumn, Index firstRow, Index fresh) {
    SmallVector<Index> outside(iteration);
    iteration[form.roles.column] = firstColumn;
    iteration[*form.tiled] = firstRow;
    MatrixUnit unit(b, loc(), form.matrix);
    int64_t most = plan::MatrixAttr(form.matrix).getRows(), rows = std::min(m, most);
    int64_t down = m / rows, across = panel.vectors, width = across * e.lanes;
    Index left = offset(form.lhs, form.maps[0], iteration), right = offset(form.rhs, form.maps[1], iteration);
    Index rowStride = e.expression(form.rowStride),
          wordStride = e.constant((packed() ? form.rhs.block : n) * form.group());
    SmallVector<KLoop> loops = kLoops(plan::MatrixAttr(form.matrix).getDepth());
    Dims counts = llvm::map_to_vector<4>(loops, [](const KLoop &l) { return l.extent; });
    SmallVector<Value> sums;
    for (int64_t i = 0; i < down * across; ++i) // one each: tiles can't be copied
      sums.push_back(unit.zero(rows));
    sums = e.loopNest(counts, sums, 1, [&](ArrayRef<Index> indices, ValueRange carried) {
      Index leftAt = left, rightAt = right;
      for (auto [loop, index] : llvm::zip(loops, indices)) {
        leftAt = e.add(leftAt, e.mul(index, e.expression(loop.left)));
        rightAt = e.add(rightAt, e.mul(index, e.expression(loop.right)));
      }
      SmallVector<Value> lefts, next(carried);
      for (int64_t i = 0; i < down; ++i) {
        Index at = e.add(leftAt, e.mul(e.constant(i * rows), rowStride));
        lefts.push_back(unit.load(rows, form.lhs.memref, at, rowStride));
      }
      for (int64_t j = 0; j < across; ++j) {
        Index at = e.add(rightAt, rightDistance(j));
        Value tile = unit.load(most, form.rhs.memref, at, wordStride);
        for (int64_t i = 0; i < down; ++i)
          next[i * across + j] = unit.product(rows, next[i * across + j], lefts[i], tile);
      }
      return next;
    });
    Value scratch = scratchOf(m * width);
    for (int64_t i = 0; i < down; ++i)
      for (int64_t j = 0; j < across; ++j)
        unit.store(sums[i * across + j], rows, scratch, e.constant(i * rows * width + j * e.lanes), e.constant(width));
    epilogueFrom(scratch, panel, firstColumn, firstRow, fresh, e.constant(m));
    iteration = std::move(outside);
  }

  bool packed() const { return form.rhs.blockDim >= 0; }
  /// From the tile's first column to vector `j` in the right operand: the vectors of a tile may lie in several panels.
  Index rightDistance(int64_t j) {
    int64_t first = j * e.lanes, block = packed() ? form.rhs.block : n;
    if (first < block)
      return e.constant(first * form.group());
    Index stride = e.expression(form.rhs.strides[form.rhs.blockDim]);
    return e.add(e.mul(stride, e.constant(first / block)), e.constant(first % block * form.group()));
  }

  /// The offset in `buffer` at `at`.
  Index offset(const Buffer &buffer, AffineMap map, ArrayRef<Index> at, ArrayRef<Clip> clips = {}) {
    Index sum = buffer.start ? Index{buffer.start} : e.constant(0);
    for (auto [i, expr] : llvm::enumerate(map.getResults())) {
      if (buffer.dims[i].is(1) && llvm::none_of(clips, [&](const Clip &c) { return c.operandDim == i; }))
        continue;
      Index index = e.affine(expr, at), stride = e.expression(buffer.strides[i]);
      for (const Clip &clip : clips)
        if (clip.operandDim == i)
          index = e.sub(index, e.constant(clip.low));
      if (int64_t(i) == buffer.blockDim) {
        if (n % buffer.block != 0) // a tile may begin inside of a panel
          sum = e.add(sum, e.mul(e.mod(index, e.constant(buffer.block)), e.constant(buffer.group)));
        index = e.floorDiv(index, e.constant(buffer.block));
      }
      if (int64_t(i) == buffer.groupDim)
        index = e.floorDiv(index, e.constant(buffer.group));
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

  struct KLoop {
    DimExpr extent, left, right; // strides in the operands
  };

  /// The summed dims that no clip has, outermost first in the right operand's memory; neighbours that lie alike in both
  /// are one. A step along the grouped dim is `step` elements.
  SmallVector<KLoop> kLoops(int64_t step) {
    SmallVector<KLoop> loops;
    SmallVector<unsigned> order;
    for (unsigned d : form.roles.summed)
      if (llvm::none_of(form.clips, [&](const Clip &c) { return c.summed == d; }))
        order.push_back(d);
    SmallVector<int64_t> memory = memoryOrder(op->getOperand(1));
    auto place = [&](unsigned d) {
      std::optional<unsigned> result = graph::resultWith(form.maps[1], d);
      return result ? llvm::find(memory, int64_t(*result)) - memory.begin() : 0;
    };
    llvm::stable_sort(order, [&](unsigned x, unsigned y) { return place(x) < place(y); });
    for (unsigned d : order) {
      if (form.extents[d].is(1))
        continue;
      KLoop loop{form.extents[d], ContractForm::strideAlong(form.lhs, form.maps[0], d),
                 ContractForm::strideAlong(form.rhs, form.maps[1], d)};
      if (form.grouped == d) // the right operand's stride is a group's already
        loop = {loop.extent.floorDiv(step), loop.left * DimExpr(step), loop.right * DimExpr(step / form.group())};
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

  SmallVector<Value> sumOfProducts(const Panel &panel, const RowVariant &variant, ArrayRef<Index> rows) {
    Value zero = arith::ConstantOp::create(b, loc(), b.getZeroAttr(sumType()));
    SmallVector<Value> sums(variant.m * panel.vectors, zero);
    SmallVector<const Clip *> loops;
    for (const Clip &clip : form.clips)
      if (&clip != form.tiledClip())
        loops.push_back(&clip);
    return clippedLoops(loops, panel, variant, rows, std::move(sums));
  }

  /// Loops over the places of outer windows that are inside, then the tile's own window place by place.
  SmallVector<Value> clippedLoops(ArrayRef<const Clip *> loops, const Panel &panel, const RowVariant &variant,
                                  ArrayRef<Index> rows, SmallVector<Value> sums) {
    if (loops.empty()) {
      const Clip *clip = form.tiledClip();
      if (!clip)
        return innerLoops(panel, {}, rows, std::move(sums));
      Index outside = iteration[clip->summed];
      for (int64_t w = 0; w < *form.extents[clip->summed].constant(); ++w) {
        SmallVector<bool> inside(variant.m, true);
        if (!variant.inside.empty())
          inside = variant.inside[w];
        if (llvm::none_of(inside, [](bool is) { return is; }))
          continue;
        iteration[clip->summed] = e.constant(w);
        sums = innerLoops(panel, inside, rows, std::move(sums));
      }
      iteration[clip->summed] = outside;
      return sums;
    }
    // row * stride + w * dilation - low in [0, extent)
    const Clip &clip = *loops.front();
    Index start = e.sub(e.mul(iteration[clip.row], e.constant(clip.stride)), e.constant(clip.low));
    Index dilation = e.constant(clip.dilation), up = e.constant(clip.dilation - 1);
    Index low = e.max(e.floorDiv(e.sub(up, start), dilation), e.constant(0));
    Index high = e.min(e.floorDiv(e.add(e.sub(e.expression(clip.extent), start), up), dilation),
                       e.expression(form.extents[clip.summed]));
    auto loop = scf::ForOp::create(b, loc(), low.base, high.base, e.constant(1).base, sums);
    Index outside = iteration[clip.summed];
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      e.forget();
      iteration[clip.summed] = {loop.getInductionVar()};
      SmallVector<Value> carried(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
      scf::YieldOp::create(b, loc(), clippedLoops(loops.drop_front(), panel, variant, rows, std::move(carried)));
      iteration[clip.summed] = outside;
    }
    e.forget();
    return llvm::to_vector(llvm::map_range(loop.getResults(), [](OpResult r) { return Value(r); }));
  }

  /// The left operand's element, or group of them, in every lane.
  Value spreadScalar(Value left, Index position, VectorType type) {
    if (!form.dot)
      return vector::BroadcastOp::create(b, loc(), type, memref::LoadOp::create(b, loc(), left, position.base));
    auto group = VectorType::get({form.group()}, cast<MemRefType>(left.getType()).getElementType());
    auto word = VectorType::get({1}, b.getI32Type());
    Value bits =
        vector::BitCastOp::create(b, loc(), word, vector::LoadOp::create(b, loc(), group, left, position.base));
    bits = vector::ExtractOp::create(b, loc(), bits, ArrayRef<int64_t>{0});
    bits = vector::BroadcastOp::create(b, loc(), VectorType::get({e.lanes}, b.getI32Type()), bits);
    return vector::BitCastOp::create(b, loc(), type, bits);
  }

  /// sum + x * y, lane by lane.
  Value product(Value x, Value y, Value sum) {
    bool isFloat = isa<FloatType>(sumType().getElementType());
    if (!form.dot) {
      if (isFloat)
        return vector::FMAOp::create(b, loc(), x, y, sum);
      return arith::AddIOp::create(b, loc(), arith::MulIOp::create(b, loc(), x, y), sum);
    }
    plan::DotAttr dot = form.dot;
    SmallVector<Value> operands = {x, y};
    if (dot.getAccumulates())
      operands.insert(operands.begin(), sum);
    Value result = LLVM::CallIntrinsicOp::create(b, loc(), sum.getType(), dot.getIntrinsic(), operands).getResult(0);
    if (dot.getAccumulates())
      return result;
    return isFloat ? arith::AddFOp::create(b, loc(), result, sum).getResult()
                   : arith::AddIOp::create(b, loc(), result, sum).getResult();
  }

  /// What a step of the innermost loop asks for of the next panel: `step` elements behind the step before, from `first` behind the
  /// tile's own first column on.
  struct Ahead {
    Index first;
    int64_t step;
  };

  /// Weights that no cache has kept come one panel ahead, a part by each tile of rows: a core waits less for memory that it
  /// asked for while it had other work. Not where few tiles share a panel: they wait for memory anyhow.
  std::optional<Ahead> fetchAhead(ArrayRef<DimExpr> counts) {
    constexpr int64_t fewest = 4;
    if (!packed() || !form.tiled || form.tiledClip() || counts.size() != 1 || n % form.rhs.block != 0)
      return std::nullopt;
    std::optional<int64_t> rows = form.rows.constant(), depth = counts[0].constant(), width = columns.constant(),
                           stride = form.rhs.strides[form.rhs.blockDim].constant();
    plan::TargetAttr target = plan::targetOf(k.kernel);
    if (!rows || !depth || !width || !stride || !target || !isa<BlockArgument>(op->getOperand(1)))
      return std::nullopt;
    int64_t tiles = llvm::divideCeil(*rows, m), panels = llvm::divideCeil(*width, n);
    int64_t panel = *stride * (n / form.rhs.block), bytes = graph::elementBytes(op->getOperand(1));
    if (tiles < fewest || panels * panel * bytes <= target.getL2Bytes())
      return std::nullopt;
    int64_t step = llvm::divideCeil(panel, tiles * *depth);
    Index tile = e.floorDiv(iteration[*form.tiled], e.constant(m));
    Index isLast = e.floorDiv(e.add(iteration[form.roles.column], e.constant(n)), e.constant(panels * n)); // 0 or 1
    Index next = e.mul(e.sub(e.constant(1), isLast), e.constant(panel));
    return Ahead{e.add(next, e.mul(tile, e.constant(*depth * step))), step};
  }

  /// The products over the summed dims that have no border, for the rows in `inside` (empty: all).
  SmallVector<Value> innerLoops(const Panel &panel, ArrayRef<bool> inside, ArrayRef<Index> rows,
                                SmallVector<Value> sums) {
    // A lane holds one element of the sums' type or a group of narrower ones.
    int64_t width = form.group();
    auto stored = [](const Buffer &buffer) { return cast<MemRefType>(buffer.memref.getType()).getElementType(); };
    auto leftType = VectorType::get({e.lanes * width}, stored(form.lhs));
    auto vectorType = VectorType::get({e.lanes * width}, stored(form.rhs));
    bool shared = form.roles.columnInLeft;
    // Distances count from the first row that is read: the ones before it may lie outside of the operand.
    int64_t base = 0;
    while (!inside.empty() && !inside[base])
      ++base;
    SmallVector<Index> at(iteration);
    if (form.tiled)
      at[*form.tiled] = e.add(at[*form.tiled], rows[base]);
    Value left = from(form.lhs, offset(form.lhs, form.maps[0], at, form.clips));
    Value right = from(form.rhs, offset(form.rhs, form.maps[1], iteration));
    SmallVector<Index> distance;
    for (const Index &row : rows)
      distance.push_back(e.mul(e.sub(row, rows[base]), e.expression(form.rowStride)));
    SmallVector<KLoop> loops = kLoops(form.group());
    Dims counts = llvm::map_to_vector<4>(loops, [](const KLoop &l) { return l.extent; });
    std::optional<Ahead> ahead = fetchAhead(counts);
    auto load = [&](Value memref, Index position, int64_t j, bool mayPass) -> Value {
      Value address = position.base;
      if (mayPass || !panel.masks[j])
        return vector::LoadOp::create(b, loc(), vectorType, memref, address);
      Value zero = arith::ConstantOp::create(b, loc(), b.getZeroAttr(vectorType));
      return vector::MaskedLoadOp::create(b, loc(), vectorType, memref, address, panel.masks[j], zero);
    };
    auto products = [&](ArrayRef<Index> indices, ValueRange carried) {
      Index leftOffset = e.constant(0), rightOffset = e.constant(0);
      for (auto [loop, index] : llvm::zip(loops, indices)) {
        leftOffset = e.add(leftOffset, e.mul(index, e.expression(loop.left)));
        rightOffset = e.add(rightOffset, e.mul(index, e.expression(loop.right)));
      }
      if (ahead) {
        Index place = e.add(ahead->first, e.mul(indices.back(), e.constant(ahead->step)));
        memref::PrefetchOp::create(b, loc(), right, ValueRange(place.base), /*isWrite=*/false, /*localityHint=*/2,
                                   /*isDataCache=*/true);
      }
      SmallVector<Value> vectors, next(carried);
      for (int64_t j = 0; j < panel.vectors; ++j) // packed panels are padded with zeros
        vectors.push_back(load(right, e.add(rightOffset, rightDistance(j)), j, packed()));
      for (size_t r = 0; r < rows.size(); ++r) {
        if (!inside.empty() && !inside[r])
          continue;
        Index position = e.add(leftOffset, distance[r]);
        Value spread;
        if (!shared)
          spread = spreadScalar(left, position, leftType);
        for (int64_t j = 0; j < panel.vectors; ++j) {
          Value &sum = next[r * panel.vectors + j];
          Value factor = shared ? load(left, e.add(position, e.constant(j * e.lanes)), j, false) : spread;
          sum = product(factor, vectors[j], sum);
        }
      }
      return next;
    };
    if (!shared || counts.empty())
      return e.loopNest(counts, sums, 4, products);
    // The innermost window of channels is short: straight code lets neighbouring rows share what they load.
    return e.loopNest(ArrayRef(counts).drop_back(), sums, 1, [&](ArrayRef<Index> outer, ValueRange carried) {
      return e.loopNest(counts.back(), carried, 16, [&](ArrayRef<Index> last, ValueRange inner) {
        SmallVector<Index> indices(outer);
        indices.push_back(last[0]);
        return products(indices, inner);
      });
    });
  }

  //===----------------------------------------------------------------------------------------------------------------===//
  // What is done with the sums
  //===----------------------------------------------------------------------------------------------------------------===//

  SmallVector<Index> resultIndex(Index column, Index row) {
    SmallVector<Index> point(iteration);
    point[form.roles.column] = column;
    if (form.tiled)
      point[*form.tiled] = row;
    return llvm::map_to_vector(form.maps[2].getResults(), [&](AffineExpr x) { return e.affine(x, point); });
  }

  void epilogue(const Panel &panel, ArrayRef<Index> rows, Index firstColumn, Index firstRow, std::optional<Index> rest,
                ArrayRef<Value> sums) {
    struct Store {
      unsigned output;
      SmallVector<Index> at;
      Value element, mask;
    };
    SmallVector<Store> stores;
    for (auto [r, row] : llvm::enumerate(rows))
      for (int64_t j = 0; j < panel.vectors; ++j) {
        SmallVector<Index> at =
            resultIndex(e.add(firstColumn, {e.constant(j * e.lanes).base, 1}), e.add(firstRow, row));
        e.setMask(panel.masks[j]);
        e.bind(op->getResult(0), sums[r * panel.vectors + j]);
        for (auto [o, result] : llvm::enumerate(k.results))
          stores.push_back({unsigned(o), at, e.read(result, at), panel.masks[j]});
      }
    // A repeated row is not written: where the result lies over an operand it may have seen its own.
    size_t each = stores.size() / rows.size();
    for (size_t r = 0; r < rows.size(); ++r) {
      OpBuilder::InsertionGuard guard(b);
      if (rest && r > 0) {
        Value exists = e.compare(arith::CmpIPredicate::slt, e.constant(int64_t(r)), *rest);
        b.setInsertionPointToStart(scf::IfOp::create(b, loc(), exists, /*withElseRegion=*/false).thenBlock());
        e.forget();
      }
      for (const Store &store : ArrayRef(stores).slice(r * each, each)) {
        e.setMask(store.mask);
        e.write(k.outputs[store.output], store.at, store.element);
      }
      if (rest && r > 0)
        e.forget();
    }
    e.setMask({});
    e.unbind(op->getResult(0));
  }

  /// The same by way of memory: an epilogue of many instructions would be copied for each accumulator, and spill them all.
  /// The tile is stored beside the stack's top, and a loop over its rows takes it up again from L1.
  void spilledEpilogue(const Panel &panel, const RowVariant &variant, Index firstColumn, Index firstRow,
                       std::optional<Index> rest, ArrayRef<Value> sums) {
    Value scratch = scratchOf(variant.m * panel.vectors * e.lanes);
    for (auto [i, sum] : llvm::enumerate(sums))
      vector::StoreOp::create(b, loc(), sum, scratch, e.constant(int64_t(i) * e.lanes).base);
    Index count = e.constant(variant.m);
    if (rest)
      count = e.min(count, *rest);
    epilogueFrom(scratch, panel, firstColumn, firstRow, e.constant(0), count);
  }

  /// Memory for so many sums, on the stack.
  Value scratchOf(int64_t count) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&k.function.front());
    return memref::AllocaOp::create(b, loc(), MemRefType::get({count}, sumType().getElementType()),
                                    b.getI64IntegerAttr(64));
  }

  /// The epilogue of rows `begin` to `end` of a tile in memory.
  void epilogueFrom(Value scratch, const Panel &panel, Index firstColumn, Index firstRow, Index begin, Index end) {
    int64_t width = panel.vectors * e.lanes;
    e.forEach(begin, end, 1, [&](Index row) {
      for (int64_t j = 0; j < panel.vectors; ++j) {
        Index place = e.add(e.mul(row, e.constant(width)), e.constant(j * e.lanes));
        e.setMask(panel.masks[j]);
        e.bind(op->getResult(0), vector::LoadOp::create(b, loc(), sumType(), scratch, place.base));
        SmallVector<Index> at =
            resultIndex(e.add(firstColumn, {e.constant(j * e.lanes).base, 1}), e.add(firstRow, row));
        SmallVector<Value> elements = llvm::map_to_vector(k.results, [&](Value result) { return e.read(result, at); });
        for (auto [output, element] : llvm::zip(k.outputs, elements))
          e.write(output, at, element);
      }
    });
    e.setMask({});
    e.unbind(op->getResult(0));
  }
};

} // namespace

LogicalResult emitContraction(KernelFunction &k, OpBuilder &b, const ContractForm &form) {
  return ContractEmitter(k, b, form).run();
}

} // namespace hewn::codegen

// SPDX-License-Identifier: Apache-2.0
#include "lib/Schedule/Schedule.h"
#include "dialects/Graph/Contract/PackedWeights.h"
#include "dialects/Graph/Contract/Winograd.h"
#include "lib/Schedule/ScheduleModel.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;

namespace hewn::plan {

DotProductAttr findDot(graph::ContractOpInterface op) {
  return findDot(op, graph::getElementType(op->getOperand(0)), graph::getElementType(op->getOperand(1)),
                 graph::getElementType(op->getResult(0)));
}

SmallVector<OperandTypes, 2> byteProducts(Operation *op) {
  SmallVector<OperandTypes, 2> found;
  auto add = [&](auto instruction) {
    Type left = instruction.getLeft(), right = instruction.getRight();
    bool known = llvm::any_of(found, [&](OperandTypes t) { return t.left == left && t.right == right; });
    if (!known && isa<IntegerType>(left) && left.getIntOrFloatBitWidth() == 8 && isa<IntegerType>(right) &&
        instruction.getSum().isSignlessInteger(32))
      found.push_back({left, right});
  };
  TargetAttr target = targetOf(op);
  if (target && target.getDots())
    llvm::for_each(target.getDots().getAsRange<DotProductAttr>(), add);
  if (target && target.getMatrices())
    llvm::for_each(target.getMatrices().getAsRange<MatrixUnitAttr>(), add);
  if (found.empty())
    found.push_back(
        {IntegerType::get(op->getContext(), 8, IntegerType::Unsigned), IntegerType::get(op->getContext(), 8)});
  return found;
}

Eligibility fills(graph::ContractOpInterface op, MatrixUnitAttr matrix) {
  std::optional<graph::ContractRoles> roles = graph::contractRoles(op);
  bool hasTiles = roles && !roles->columnInLeft && !roles->rows.empty();
  graph::Dims extents = op.getIterationDims(graph::getDims);
  std::optional<unsigned> k = hasTiles ? graph::plainSummedDim(op, *roles) : std::nullopt;
  if (!k || extents[*k].constant().value_or(1) % matrix.getDepth() != 0)
    return Eligibility::no("K is not a multiple of the matrix unit's depth");
  std::optional<int64_t> rows = contractShape(op, *roles).rows.constant();
  // If the number of rows is dynamic, a kernel for the matrix unit also needs a variant with
  // dot-product instructions, for runs with fewer rows.
  bool pays =
      rows ? *rows >= matrix.getMinRows() : bool(findDot(op, matrix.getLeft(), matrix.getRight(), matrix.getSum()));
  return pays ? Eligibility::yes() : Eligibility::no("the GEMM has too few rows to gain from the matrix unit");
}

MatrixUnitAttr findMatrix(graph::ContractOpInterface op) {
  MatrixUnitAttr matrix = findMatrix(op, graph::getElementType(op->getOperand(0)),
                                     graph::getElementType(op->getOperand(1)), graph::getElementType(op->getResult(0)));
  return matrix && fills(op, matrix) ? matrix : MatrixUnitAttr();
}

int64_t groupSize(graph::ContractOpInterface op) {
  constexpr int64_t lane = 32;
  return findDot(op) || findMatrix(op) ? lane / graph::getElementType(op->getOperand(1)).getIntOrFloatBitWidth() : 1;
}

graph::PackedWeightsOpInterface decoderOf(graph::ContractOpInterface op) {
  return supports(op, KernelFeature::PackedWeights) ? graph::rightDecoder(op) : graph::PackedWeightsOpInterface();
}

/// Returns the dot-product instruction for weights of at most 8 bits and signed int8 slices, or
/// null if the target has none. An instruction with unsigned weights is preferred.
static DotProductAttr findInt8SliceDot(Operation *op) {
  Builder b(op->getContext());
  for (auto sign : {IntegerType::Unsigned, IntegerType::Signless})
    if (DotProductAttr dot = findDot(op, IntegerType::get(op->getContext(), 8, sign), b.getI8Type(), b.getI32Type()))
      return dot;
  return {};
}

/// Sets `slices.dot` to an instruction that adds up pairs of products in 16 bits, and
/// `slices.widen` to one that extends the 16-bit sums to 32 bits. Does nothing if the target lacks
/// these instructions, if weights may have more bits than an instruction allows, or if a 16-bit
/// accumulator could overflow after one such sum for each weight that is packed in a byte.
static void findPairs(Operation *op, Int8Slices &slices) {
  Builder b(op->getContext());
  Type i16 = b.getI16Type();
  DotProductAttr pairs = findDot(op, IntegerType::get(op->getContext(), 8, IntegerType::Unsigned), b.getI8Type(), i16),
                 widen = findDot(op, i16, i16, b.getI32Type());
  if (pairs && pairs.getLeftBits() && slices.largestCode() >> pairs.getLeftBits())
    return;
  if (pairs && widen && !widen.getAccumulates() && slices.sumsInPairs() >= 8 / slices.code.bits) {
    slices.dot = pairs;
    slices.widen = widen;
  }
}

OrReason<Int8Slices> int8SlicesFor(graph::ContractOpInterface op, graph::WeightEncoding code) {
  constexpr int64_t longestSegment = 512, shortBlock = 64, fewRows = 3;
  Int8Slices slices;
  slices.code = code;
  slices.count = code.roundsData ? 1 : Int8Slices::maxCount;
  slices.dot = findInt8SliceDot(op);
  if (!slices.dot || !slices.dot.getAccumulates())
    findPairs(op, slices);
  graph::ContractRoles roles = *graph::contractRoles(op);
  std::optional<int64_t> depth = op.getIterationDims(graph::getDims)[roles.summed.front()].constant();
  // With short quantization blocks, a kernel with int8 slices applies a scale often. That costs
  // more than the slices save, compared with weights that are dequantized once for many rows.
  if (code.block < shortBlock && !code.roundsData &&
      contractShape(op, roles).rows.constant().value_or(0) > Int8Slices::rows)
    return Eligibility::no("with many rows, short quantization blocks cost more than int8 slices save");
  if (!slices.dot || (!slices.dot.getAccumulates() && !slices.widen))
    return Eligibility::no("the target has no dot-product instruction for 8-bit integers");
  TargetAttr target = targetOf(op);
  if (code.tableInBytes && (code.bits != 4 || !target.getPermuteBytesIntrinsic()))
    return Eligibility::no("the target has no byte lookup instruction for the weights' table");
  // If the accumulators of int8 slices have 16 bits, a pair of products takes three instructions
  // for each of the three slices. Dequantizing a weight takes one instruction for all rows
  // together, which is cheaper if there are more than three rows.
  if (slices.widen && slices.count > 1 && contractShape(op, roles).rows.constant().value_or(fewRows + 1) > fewRows)
    return Eligibility::no("with many rows, 16-bit sums of three int8 slices are slower than dequantization");
  if (!depth || code.block % Int8Slices::atOnce != 0)
    return Eligibility::no("K is dynamic, or the quantization block is not a multiple of 16 elements");
  if (contractLanes(op, contractShape(op, roles)) != vectorLanes(op))
    return Eligibility::no("the columns do not fill the target's vectors");
  slices.segmentDepth = std::min(code.block, longestSegment);
  slices.segmentsPerBlock = llvm::divideCeil(code.block, slices.segmentDepth);
  slices.blocks = llvm::divideCeil(*depth, code.block);
  return slices;
}

OrReason<Int8Slices> int8SlicesOf(graph::ContractOpInterface op) {
  graph::PackedWeightsOpInterface decoder = decoderOf(op);
  if (decoder && graph::tableOf(decoder) && !decoder.getCode().tableInBytes)
    return Eligibility::no("the weights' lookup table has floats that are not multiples of a scale");
  return decoder ? int8SlicesFor(op, decoder.getCode())
                 : OrReason<Int8Slices>(Eligibility::no("its weights are floats"));
}

bool leavesOutBorder(graph::ContractOpInterface op, graph::IndexingOpInterface border) {
  // padding is not folded: a Winograd convolution handles its padding tile by tile
  if (graph::winogradTile(op->getOperand(1).getType()))
    return graph::clipsOf(op, border).has_value();
  std::optional<graph::ContractRoles> roles = rolesOf(op);
  return roles && !findMatrix(op) &&
         graph::leavesOutBorder(op, border, *roles, /*whenRun=*/supports(op, KernelFeature::DynamicPadding));
}

std::optional<graph::ContractRoles> rolesOf(graph::ContractOpInterface op) {
  Type sum = graph::getElementType(op->getResult(0));
  bool ofOneType =
      llvm::all_of(op->getOperands(), [&](Value operand) { return graph::getElementType(operand) == sum; });
  if (ofOneType && supports(op, KernelFeature::GroupedLanes) && groupSize(op) == 1)
    if (std::optional<graph::ContractRoles> roles = graph::groupedLanes(op);
        roles && roles->perGroup < vectorLanes(op) && vectorLanes(op) % roles->perGroup == 0)
      return roles;
  return graph::contractRoles(op);
}

VectorCostsAttr costsOf(Operation *op) {
  TargetAttr target = targetOf(op);
  if (auto costs = target ? dyn_cast_or_null<VectorCostsAttr>(target.getVectorCosts()) : VectorCostsAttr())
    return costs;
  // Costs for modules without a target, which tests use. These round numbers describe no real
  // target.
  return VectorCostsAttr::get(
      op->getContext(), /*l2LoadCost=*/200, /*l2MissCost=*/200, /*loadCost=*/10, /*broadcastCost=*/10,
      /*fmaLatencyCost=*/400, /*minAccumulators=*/8, /*attentionRows=*/4, /*fmasPerCycle=*/1, /*memoryBytesPerCycle=*/8,
      /*cacheLineBytes=*/64, /*prefetchDistanceBytes=*/1024, /*forkJoinInstructions=*/8000,
      /*launchOverheadBytes=*/20000,
      /*l3ByteCost=*/50, /*laneLoadCost=*/200, /*widenCost=*/50);
}

int64_t contractLanes(Operation *op, const ContractShape &shape) {
  int64_t lanes = vectorLanes(op), columns = shape.columns.constant().value_or(0);
  TargetAttr target = targetOf(op);
  if (!target || !target.getDoubleRateHalfVectors() || shape.grouped || shape.matrix)
    return lanes;
  int64_t rest = columns % lanes;
  return rest > 0 && rest <= lanes / 2 ? lanes / 2 : lanes;
}

int64_t decodedColumnBytes(graph::ContractOpInterface op, const graph::ContractRoles &roles) {
  graph::Dims extents = op.getIterationDims(graph::getDims);
  bool toFloats = decoderOf(op) && !int8SlicesOf(op);
  return toFloats ? extents[roles.summed.front()].constant().value_or(0) * int64_t(sizeof(float)) : 0;
}

ContractShape contractShape(graph::ContractOpInterface op, const graph::ContractRoles &roles) {
  graph::Dims extents = op.getIterationDims(graph::getDims);
  AffineMap left = op.getIndexingMaps()[0];
  ContractShape shape{graph::DimExpr(1), extents[roles.column], 0, roles.columnInLeft,
                      graph::elementBytes(op->getResult(0))};
  shape.decoded = bool(decoderOf(op));
  shape.widens = graph::widensRight(op);
  if (roles.group)
    shape.columns = shape.columns * extents[*roles.group];
  bool windowed = llvm::any_of(left.getResults(), [](AffineExpr e) { return isa<AffineBinaryOpExpr>(e); });
  if (roles.rows.empty())
    return shape;
  unsigned tiled = graph::tiledRow(op, roles);
  if (windowed)
    shape.rows = extents[tiled];
  else
    for (unsigned d : roles.rows)
      shape.rows = shape.rows * extents[d];
  if (std::optional<unsigned> i = graph::resultWith(left, tiled))
    if (std::optional<unsigned> k = graph::plainSummedDim(op, roles))
      shape.rowBytes = extents[*k].constant().value_or(0) * graph::factorOf(left.getResult(*i), tiled) *
                       graph::elementBytes(op->getOperand(0));
  return shape;
}

int64_t columnsFor(const ContractShape &shape) { return shape.columns.constant().value_or(int64_t(1) << 20); }
int64_t rowsFor(const ContractShape &shape) {
  int64_t rows = std::min<int64_t>(shape.rows.constant().value_or(int64_t(1) << 12), int64_t(1) << 16);
  return std::max<int64_t>(rows, 1);
}

namespace {

/// Converts a cost parameter, which is in hundredths of a vector FMA, to vector FMAs.
double products(int64_t hundredths) { return double(hundredths) / 100; }

/// Returns true if the m rows of the left operand that a K step loads do not evict each other from
/// the L1 cache. Rows are `rowBytes` apart, so several of them may map to one cache set; their
/// number must not exceed the number of ways of the set. If the set has more than two ways, one of
/// them is left for the packed panel.
bool fitsWays(int64_t m, int64_t rowBytes, TargetAttr target, VectorCostsAttr costs) {
  if (rowBytes == 0 || !target || target.getL1Ways() == 0)
    return true;
  int64_t line = costs.getCacheLineBytes(), sets = target.getL1Bytes() / target.getL1Ways() / line;
  if (rowBytes % line != 0 || sets == 0)
    return true;
  int64_t distinct = sets / std::gcd(rowBytes / line, sets);
  constexpr int64_t few = 2; // a cache with at most this many ways has none left for the panel
  int64_t ways = target.getL1Ways(), own = ways > few ? ways - 1 : ways;
  return (m + distinct - 1) / distinct <= own;
}

/// Returns the cycles that a register tile takes for one K step, summed over all `rows` rows, for
/// `vectors` vectors of columns. An FMA takes `each` cycles; the time of loads that the FMAs do not
/// hide is added.
double cyclesPerDepth(VectorCostsAttr costs, int64_t m, int64_t vectors, int64_t rows, double each, bool widens) {
  double panel = products(costs.getL2LoadCost()), step = products(costs.getFmaLatencyCost());
  double load = products(costs.getLoadCost() + (widens ? costs.getWidenCost() : 0)),
         spread = products(costs.getBroadcastCost());
  auto tile = [&](int64_t r) {
    // The time of the multiply-adds is limited by the FMA rate, by the rate at which L2 delivers
    // the panel (if m is small), or by the latency of an FMA (with few accumulators).
    double multiply = std::max<double>({r * vectors * each, panel * vectors * each, step});
    return multiply + load * vectors * each + spread * r;
  };
  return double(rows / m) * tile(m) + (rows % m ? tile(rows % m) : 0);
}

/// Returns the usual limit of a tile's columns, in vectors: an eighth of the number of registers,
/// or half as many more if the vectors have half the target's width.
int64_t mostVectorsOf(int64_t registers, bool halves) {
  return std::max<int64_t>(2, registers / 8 * (halves ? 3 : 2) / 2);
}

/// Returns the limit of a tile's columns, in vectors. With one or two rows, the usual limit gives
/// too few independent accumulators to hide the latency of an FMA, so the limit is higher, as long
/// as a K step does not read more bytes of a panel than are prefetched. A kernel that dequantizes
/// its weights keeps the usual limit, because dequantization needs registers, too.
int64_t mostVectorsOf(Operation *op, const ContractShape &shape, int64_t registers, int64_t lanes) {
  // number of accumulators that two FMA pipes with a latency of four cycles need, and maximum
  // number of panel bytes per K step
  constexpr int64_t inFlight = 8, runBytes = 256;
  int64_t usual = mostVectorsOf(registers, lanes < vectorLanes(op));
  int64_t rows = shape.decoded ? inFlight : shape.rows.constant().value_or(inFlight);
  int64_t wanted = llvm::divideCeil(inFlight, std::max<int64_t>(rows, 1));
  int64_t bytes = lanes * std::max<int64_t>(shape.sumBytes, 1);
  return std::max(usual, std::min({wanted, registers / 2, runBytes / bytes}));
}

/// Returns the maximum number of vector accumulators for a row of a depthwise convolution: enough
/// to hide the latency of an addition, or more if registers are available.
int64_t maxAccumulatorsOf(int64_t registers, VectorCostsAttr costs) {
  return std::max(costs.getMinAccumulators(), registers * 7 / 16);
}

/// Returns the number of vector registers. If accumulator lanes have more than 32 bits, an
/// accumulator needs several registers, and the number is divided accordingly.
int64_t registersFor(Operation *op, const ContractShape &shape) {
  TargetAttr target = targetOf(op);
  int64_t registers = target ? target.getVectorRegisters() : 16;
  return registers * 4 / std::max<int64_t>(shape.sumBytes, 4);
}

/// Returns all register tiles that the registers and packed panels allow, those with the largest
/// number of columns first.
SmallVector<ContractTile> vectorTiles(Operation *op, const ContractShape &shape, int64_t block) {
  TargetAttr target = targetOf(op);
  int64_t lanes = contractLanes(op, shape), registers = registersFor(op, shape);
  int64_t columns = columnsFor(shape), rows = rowsFor(shape);
  double each = lanes < vectorLanes(op) ? 0.5 : 1; // cycles of an FMA on vectors of this width
  int64_t mostVectors = mostVectorsOf(op, shape, registers, lanes);
  VectorCostsAttr costs = costsOf(op);
  // A panel of weights that is dequantized once for many rows should stay in L2 while the rows use
  // it. If only half of the panel fits, tiles have half of the panel's columns, but at least two
  // vectors: with one vector, a tile has too few accumulators.
  constexpr int64_t mostRows = 14;
  bool isCut = block % (2 * lanes) == 0 && block > 2 * lanes && rows > mostRows;
  auto isFar = [&](int64_t n) { return isCut && target && shape.decodedBytes * n > target.getL2Bytes() / 2; };
  // If the kernel extends a 16-bit right operand, the cost model favors tiles with one vector of
  // columns and many rows. These tiles have too few accumulators as well, so they are excluded.
  bool tooNarrow = shape.widens && !block && mostVectors > 1 && columns > lanes;
  auto suits = [&](int64_t vectors) {
    int64_t n = vectors * lanes;
    bool stays = vectors <= 2 || !isFar(n);
    if (block && n <= block)
      return stays && (n == block || ((block > mostVectors * lanes || isFar(block)) && block % n == 0));
    return stays && (!block || n % block == 0) && (vectors == 1 ? !tooNarrow : n - lanes < columns);
  };
  SmallVector<ContractTile> all;
  for (int64_t vectors = mostVectors; vectors >= 1; --vectors) {
    if (!suits(vectors))
      continue;
    // The registers of a tile hold the accumulators, one vector of the panel for each vector of
    // columns, and one broadcast scalar of the left operand. If the target has FMAs by lane, a
    // vector of K elements of each row replaces the scalar.
    bool lines = target && target.getHasFmaByLane();
    int64_t most =
        std::min<int64_t>(lines ? (registers - vectors) / (vectors + 1) : (registers - vectors - 1) / vectors, 14);
    // in a tile with one row, the panel is a memory operand of the FMA and needs no registers
    if (vectors + 2 <= registers)
      most = std::max<int64_t>(most, 1);
    for (int64_t m = 1; m <= std::min(most, rows); ++m) {
      if (!fitsWays(m, shape.rowBytes, target, costs))
        continue;
      // Counts only vectors that contain columns: the kernel skips the other vectors of the last
      // panel.
      int64_t vectorColumns = (columns + lanes - 1) / lanes;
      double cycles =
          double(vectorColumns / vectors) * cyclesPerDepth(costs, m, vectors, rows, each, shape.widens) +
          (vectorColumns % vectors ? cyclesPerDepth(costs, m, vectorColumns % vectors, rows, each, shape.widens) : 0);
      all.push_back({m, vectors * lanes, cycles});
    }
  }
  return all;
}

} // namespace

ContractTile chooseContractTile(Operation *op, const ContractShape &shape, int64_t block) {
  return ScheduleModel::of(op).contractTile(op, shape, block);
}

ContractTile registerTile(Operation *op, const ContractShape &shape, int64_t block) {
  int64_t lanes = contractLanes(op, shape), registers = registersFor(op, shape);
  if (MatrixUnitAttr matrix = shape.matrix) {
    // Half of the matrix unit's registers hold tiles of accumulators. These form two rows of tiles,
    // so that each operand tile is used twice. If the contraction does not have enough rows, they
    // form one row of tiles.
    int64_t rows = shape.rows.constant().value_or(2 * matrix.getRows());
    bool square = rows >= 2 * matrix.getRows();
    int64_t tiles = std::max(matrix.getRegisters() / (square ? 4 : 2), block / matrix.getColumns());
    int64_t m =
        square && 2 * tiles <= matrix.getRegisters() / 2 ? 2 * matrix.getRows() : std::min(rows, matrix.getRows());
    return {m, tiles * matrix.getColumns()};
  }
  int64_t columns = columnsFor(shape), rows = rowsFor(shape);
  if (shape.columnInLeft) {
    // In a depthwise convolution, each row has an accumulator of its own. The tile has enough rows
    // to hide the latency of an addition, and all tiles have about the same size.
    int64_t most = maxAccumulatorsOf(registers, costsOf(op)), tiles = (rows + most - 1) / most;
    return {(rows + tiles - 1) / tiles, lanes, double(rows) * double(llvm::divideCeil(columns, lanes))};
  }
  if (block > mostVectorsOf(op, shape, registers, lanes) * lanes && rows == 1)
    // A register tile with a single row covers all columns of the packed panel if there are enough
    // registers for the accumulators.
    for (int64_t n = block; n >= lanes; n -= lanes)
      if (block % n == 0 && n / lanes <= registers / 2)
        return {1, n, double(llvm::divideCeil(columns, lanes))};
  ContractTile best{1, lanes};
  for (const ContractTile &tile : vectorTiles(op, shape, block))
    if (best.cyclesPerDepth == 0 || tile.cyclesPerDepth < best.cyclesPerDepth)
      best = tile;
  return best;
}

SmallVector<ContractTile> contractTiles(Operation *op, const ContractShape &shape, int64_t block) {
  // Register tiles are candidates for `hewn tune` if their expected time is less than the best time
  // multiplied by this factor, which exceeds the observed errors of the cost model.
  constexpr double withinReach = 1.5;
  ContractTile chosen = chooseContractTile(op, shape, block);
  SmallVector<ContractTile> others;
  if (shape.matrix || !supports(op, KernelFeature::MeasuredSchedules))
    return {chosen};
  int64_t registers = registersFor(op, shape), lanes = contractLanes(op, shape);
  std::optional<int64_t> rows = shape.rows.constant();
  if (shape.columnInLeft) {
    // The candidates for the number of rows m divide the rows into tiles of equal size.
    for (int64_t m = std::min(registers - 2, rows.value_or(registers)); m >= 1; --m)
      if (!rows || llvm::divideCeil(*rows, llvm::divideCeil(*rows, m)) == uint64_t(m))
        others.push_back({m, lanes, chosen.cyclesPerDepth});
    llvm::stable_sort(others, [&](const ContractTile &a, const ContractTile &b) {
      return std::abs(a.m - chosen.m) < std::abs(b.m - chosen.m);
    });
  } else {
    if (block > lanes && shape.rows.is(1))
      for (int64_t n = block; n >= lanes; n -= lanes)
        if (block % n == 0 && n / lanes <= registers - 2)
          others.push_back({1, n, chosen.cyclesPerDepth});
    SmallVector<ContractTile> tiles = vectorTiles(op, shape, block);
    llvm::stable_sort(tiles,
                      [](const ContractTile &a, const ContractTile &b) { return a.cyclesPerDepth < b.cyclesPerDepth; });
    llvm::copy_if(tiles, std::back_inserter(others),
                  [&](const ContractTile &tile) { return tile.cyclesPerDepth <= withinReach * chosen.cyclesPerDepth; });
  }
  SmallVector<ContractTile> all = {chosen};
  for (const ContractTile &tile : others)
    if (llvm::none_of(all, [&](const ContractTile &known) { return known.m == tile.m && known.n == tile.n; }))
      all.push_back(tile);
  return all;
}

int64_t packingLanes(Operation *op) {
  auto module = op->getParentOfType<ModuleOp>();
  auto lanes = module ? module->getAttrOfType<IntegerAttr>(kPackingLanesAttr) : IntegerAttr();
  return lanes ? std::max<int64_t>(0, lanes.getInt()) : 0;
}

int64_t choosePanel(Operation *op, const ContractShape &shape) {
  int64_t lanes = packingLanes(op);
  if (!lanes)
    return chooseContractTile(op, shape).n;
  if (!shape.rows.is(1))
    return lanes;
  // A GEMV is limited by the memory bandwidth of the packed panels, which is highest for long
  // contiguous reads: a panel has up to four vectors of columns. All panels have the same width,
  // chosen so that little padding is needed.
  constexpr int64_t most = 4;
  int64_t vectors = llvm::divideCeil(shape.columns.constant().value_or(most * lanes), lanes);
  int64_t panels = llvm::divideCeil(vectors, most);
  return int64_t(llvm::divideCeil(vectors, panels)) * lanes;
}

int64_t attentionRows(Operation *op, int64_t columns, int64_t columnBytes) {
  // A task of fused attention holds the scores of a few tiles of rows in a stack buffer, which may
  // fill a third of the L2 cache. It reads the keys and values once for all of these rows.
  constexpr int64_t mostOfAStack = 160 << 10;
  TargetAttr target = targetOf(op);
  int64_t tile = costsOf(op).getAttentionRows();
  int64_t room = std::min<int64_t>(mostOfAStack, target ? target.getL2Bytes() / 3 : 64 << 10);
  int64_t tiles = std::min<int64_t>(room / (columnBytes * std::max<int64_t>(columns, 1) * tile), 4);
  return tiles * tile;
}

graph::DimExpr rowStride(Operation *op, const graph::DimExpr &elements, int64_t bytesEach) {
  int64_t lineElements = std::max<int64_t>(costsOf(op).getCacheLineBytes() / bytesEach, 1);
  graph::DimExpr lines = elements.ceilDiv(lineElements);
  return (lines + graph::DimExpr(1) - lines.mod(2)) * graph::DimExpr(lineElements);
}

int64_t attentionRowsInMemory(Operation *op, const graph::DimExpr &rows) {
  // In fused attention, two tiles of rows share each read of the keys and values, so these are read
  // half as often.
  int64_t most = 2 * costsOf(op).getAttentionRows();
  return std::min(most, rows.constant().value_or(most));
}

} // namespace hewn::plan

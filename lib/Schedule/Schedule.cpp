// SPDX-License-Identifier: Apache-2.0
#include "lib/Schedule/Schedule.h"
#include "dialects/Graph/Contract/CodedWeights.h"
#include "dialects/Graph/Contract/Winograd.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;

namespace hewn::plan {

DotAttr findDot(graph::ContractOpInterface op) {
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
    llvm::for_each(target.getDots().getAsRange<DotAttr>(), add);
  if (target && target.getMatrices())
    llvm::for_each(target.getMatrices().getAsRange<MatrixAttr>(), add);
  if (found.empty())
    found.push_back(
        {IntegerType::get(op->getContext(), 8, IntegerType::Unsigned), IntegerType::get(op->getContext(), 8)});
  return found;
}

Verdict fills(graph::ContractOpInterface op, MatrixAttr matrix) {
  std::optional<graph::ContractRoles> roles = graph::contractRoles(op);
  bool hasTiles = roles && !roles->columnInLeft && !roles->rows.empty();
  graph::Dims extents = op.getIterationDims(graph::getDims);
  std::optional<unsigned> k = hasTiles ? graph::plainSummedDim(op, *roles) : std::nullopt;
  if (!k || extents[*k].constant().value_or(1) % matrix.getDepth() != 0)
    return Verdict::no("its sums are no whole tiles of the matrix unit");
  std::optional<int64_t> rows = contractShape(op, *roles).rows.constant();
  // Where they may be few when run there are vectors for them, or no matrix unit.
  bool pays =
      rows ? *rows >= matrix.getMinRows() : bool(findDot(op, matrix.getLeft(), matrix.getRight(), matrix.getSum()));
  return pays ? Verdict::yes() : Verdict::no("its rows are so few that vectors multiply them as fast");
}

MatrixAttr findMatrix(graph::ContractOpInterface op) {
  MatrixAttr matrix = findMatrix(op, graph::getElementType(op->getOperand(0)), graph::getElementType(op->getOperand(1)),
                                 graph::getElementType(op->getResult(0)));
  return matrix && fills(op, matrix) ? matrix : MatrixAttr();
}

int64_t groupSize(graph::ContractOpInterface op) {
  constexpr int64_t lane = 32;
  return findDot(op) || findMatrix(op) ? lane / graph::getElementType(op->getOperand(1)).getIntOrFloatBitWidth() : 1;
}

graph::CodedOpInterface decoderOf(graph::ContractOpInterface op) {
  return gridOf(op) ? graph::CodedOpInterface() : graph::rightDecoder(op);
}

/// The instruction that sums products of codes of 8 bits or less and of limbs, which have a sign; null: none. Codes rather have none.
static DotAttr findLimbDot(Operation *op) {
  Builder b(op->getContext());
  for (auto sign : {IntegerType::Unsigned, IntegerType::Signless})
    if (DotAttr dot = findDot(op, IntegerType::get(op->getContext(), 8, sign), b.getI8Type(), b.getI32Type()))
      return dot;
  return {};
}

/// The same by sums of pairs of products, of which there must be room for those of a word at least.
static void findPairs(Operation *op, Limbs &limbs) {
  Builder b(op->getContext());
  Type i16 = b.getI16Type();
  DotAttr pairs = findDot(op, IntegerType::get(op->getContext(), 8, IntegerType::Unsigned), b.getI8Type(), i16),
          widen = findDot(op, i16, i16, b.getI32Type());
  if (pairs && widen && !widen.getAccumulates() && limbs.sumsInPairs() >= 8 / limbs.code.bits) {
    limbs.dot = pairs;
    limbs.widen = widen;
  }
}

Found<Limbs> limbsFor(graph::ContractOpInterface op, graph::Code code) {
  constexpr int64_t longestSegment = 512, shortBlock = 64, fewRows = 3;
  Limbs limbs;
  limbs.code = code;
  limbs.count = code.roundsData ? 1 : Limbs::maxCount;
  limbs.dot = findLimbDot(op);
  if (!limbs.dot || !limbs.dot.getAccumulates())
    findPairs(op, limbs);
  graph::ContractRoles roles = *graph::contractRoles(op);
  std::optional<int64_t> depth = op.getIterationDims(graph::getDims)[roles.summed.front()].constant();
  // Sums of short blocks cost more than is gained where many rows could share weights in full.
  if (code.block < shortBlock && !code.roundsData && contractShape(op, roles).rows.constant().value_or(0) > Limbs::rows)
    return Verdict::no("sums of short blocks cost more than many rows gain by limbs");
  if (gridOf(op) || !limbs.dot || (!limbs.dot.getAccumulates() && !limbs.widen))
    return Verdict::no("the machine has no instruction that adds products of bytes to sums");
  TargetAttr target = targetOf(op);
  if (code.tableInBytes && (code.bits != 4 || !target.getPermuteBytesIntrinsic()))
    return Verdict::no("the machine has no instruction that looks up bytes in a table");
  // A pair takes three instructions of three limbs each, a float that was decoded for several rows one.
  if (limbs.widen && limbs.count > 1 && contractShape(op, roles).rows.constant().value_or(fewRows + 1) > fewRows)
    return Verdict::no("sums of pairs of three limbs cost more than many rows gain by them");
  if (!depth || code.block % Limbs::atOnce != 0)
    return Verdict::no("its blocks of weights are no whole vectors of bytes");
  if (contractLanes(op, contractShape(op, roles)) != vectorLanes(op))
    return Verdict::no("its columns do not fill the machine's vectors");
  limbs.segmentDepth = std::min(code.block, longestSegment);
  limbs.segmentsPerBlock = llvm::divideCeil(code.block, limbs.segmentDepth);
  limbs.blocks = llvm::divideCeil(*depth, code.block);
  return limbs;
}

Found<Limbs> limbsOf(graph::ContractOpInterface op) {
  graph::CodedOpInterface decoder = decoderOf(op);
  if (decoder && graph::tableOf(decoder) && !decoder.getCode().tableInBytes)
    return Verdict::no("its weights are looked up in a table of floats, and no multiples of a scale");
  return decoder ? limbsFor(op, decoder.getCode()) : Found<Limbs>(Verdict::no("its weights are floats"));
}

bool leavesOutBorder(graph::ContractOpInterface op, graph::MoveOpInterface border) {
  if (graph::winogradTile(op->getOperand(1).getType())) // whose tiles are masked one by one
    return graph::clipsOf(op, border).has_value();
  std::optional<graph::ContractRoles> roles = rolesOf(op);
  return roles && !findMatrix(op) && graph::leavesOutBorder(op, border, *roles, /*whenRun=*/!gridOf(op));
}

std::optional<graph::ContractRoles> rolesOf(graph::ContractOpInterface op) {
  Type sum = graph::getElementType(op->getResult(0));
  bool ofOneType =
      llvm::all_of(op->getOperands(), [&](Value operand) { return graph::getElementType(operand) == sum; });
  if (ofOneType && !gridOf(op) && groupSize(op) == 1)
    if (std::optional<graph::ContractRoles> roles = graph::groupedLanes(op);
        roles && roles->perGroup < vectorLanes(op) && vectorLanes(op) % roles->perGroup == 0)
      return roles;
  return graph::contractRoles(op);
}

VectorCostsAttr costsOf(Operation *op) {
  TargetAttr target = targetOf(op);
  if (target && target.getCosts())
    return target.getCosts();
  // Texts of tests; figures that are round and no machine's.
  return VectorCostsAttr::get(
      op->getContext(), /*l2LoadCost=*/200, /*l2MissCost=*/200, /*loadCost=*/10, /*broadcastCost=*/10,
      /*fmaLatencyCost=*/400, /*minAccumulators=*/8, /*chainRows=*/4, /*fmasPerCycle=*/1, /*memoryBytesPerCycle=*/8,
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
  bool toFloats = decoderOf(op) && !limbsOf(op);
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

namespace {

/// Hundredths of a product of a vector, as products.
double products(int64_t hundredths) { return double(hundredths) / 100; }

/// Rows of one k that fall into one set of L1 push each other out when they are more than its ways, of which the panel takes one where there are several.
bool fitsWays(int64_t m, int64_t rowBytes, TargetAttr target, VectorCostsAttr costs) {
  if (rowBytes == 0 || !target || target.getL1Ways() == 0)
    return true;
  int64_t line = costs.getCacheLineBytes(), sets = target.getL1Bytes() / target.getL1Ways() / line;
  if (rowBytes % line != 0 || sets == 0)
    return true;
  int64_t distinct = sets / std::gcd(rowBytes / line, sets);
  constexpr int64_t few = 2; // of which none is to spare
  int64_t ways = target.getL1Ways(), own = ways > few ? ways - 1 : ways;
  return (m + distinct - 1) / distinct <= own;
}

/// Cycles for one k over all rows and `vectors` of columns, a product of which takes `each` cycles, plus what loads cost beside
/// them.
double cyclesPerDepth(VectorCostsAttr costs, int64_t m, int64_t vectors, int64_t rows, double each, bool widens) {
  double panel = products(costs.getL2LoadCost()), step = products(costs.getFmaLatencyCost());
  double load = products(costs.getLoadCost() + (widens ? costs.getWidenCost() : 0)),
         spread = products(costs.getBroadcastCost());
  auto tile = [&](int64_t r) {
    // Below some rows the panel does not come from L2 as fast as it is used; few accumulators wait for each other.
    double multiply = std::max<double>({r * vectors * each, panel * vectors * each, step});
    return multiply + load * vectors * each + spread * r;
  };
  return double(rows / m) * tile(m) + (rows % m ? tile(rows % m) : 0);
}

/// Columns of a tile, in vectors: what an eighth of the registers holds. Narrower vectors leave room for half as many more.
int64_t mostVectorsOf(int64_t registers, bool halves) {
  return std::max<int64_t>(2, registers / 8 * (halves ? 3 : 2) / 2);
}

/// The same for products of one or two rows, where a tile of that width has too few independent accumulators to hide the latency of an FMA: wider
/// then. At most as many bytes of a panel at each step of the sum as are prefetched, and no wider where decoding the weights takes registers.
int64_t mostVectorsOf(Operation *op, const ContractShape &shape, int64_t registers, int64_t lanes) {
  constexpr int64_t inFlight = 8, runBytes = 256; // two pipes, of four cycles each
  int64_t usual = mostVectorsOf(registers, lanes < vectorLanes(op));
  int64_t rows = shape.decoded ? inFlight : shape.rows.constant().value_or(inFlight);
  int64_t wanted = llvm::divideCeil(inFlight, std::max<int64_t>(rows, 1));
  int64_t bytes = lanes * std::max<int64_t>(shape.sumBytes, 1);
  return std::max(usual, std::min({wanted, registers / 2, runBytes / bytes}));
}

/// Sums of a row of windows, one a vector: enough to hide an addition's latency, more where there are registers for them.
int64_t maxAccumulatorsOf(int64_t registers, VectorCostsAttr costs) {
  return std::max(costs.getMinAccumulators(), registers * 7 / 16);
}

/// Registers for vectors of the lanes' type, of 32 bits each.
int64_t registersFor(Operation *op, const ContractShape &shape) {
  TargetAttr target = targetOf(op);
  int64_t registers = target ? target.getVectorRegisters() : 16;
  return registers * 4 / std::max<int64_t>(shape.sumBytes, 4);
}

/// Columns and rows that the model reckons with: where they are known only when run, many.
int64_t columnsFor(const ContractShape &shape) { return shape.columns.constant().value_or(int64_t(1) << 20); }
int64_t rowsFor(const ContractShape &shape) {
  int64_t rows = std::min<int64_t>(shape.rows.constant().value_or(int64_t(1) << 12), int64_t(1) << 16);
  return std::max<int64_t>(rows, 1);
}

/// All tiles of vectors that the registers and the panels have room for, of many columns first.
SmallVector<ContractTile> vectorTiles(Operation *op, const ContractShape &shape, int64_t block) {
  TargetAttr target = targetOf(op);
  int64_t lanes = contractLanes(op, shape), registers = registersFor(op, shape);
  int64_t columns = columnsFor(shape), rows = rowsFor(shape);
  double each = lanes < vectorLanes(op) ? 0.5 : 1; // cycles of a vector
  int64_t mostVectors = mostVectorsOf(op, shape, registers, lanes);
  VectorCostsAttr costs = costsOf(op);
  // A panel that is decoded once for many rows stays in L2 while they read it, if a half is enough for that: tiles of less than two vectors have
  // too few accumulators.
  constexpr int64_t mostRows = 14;
  bool isCut = block % (2 * lanes) == 0 && block > 2 * lanes && rows > mostRows;
  auto isFar = [&](int64_t n) { return isCut && target && shape.decodedBytes * n > target.getL2Bytes() / 2; };
  // The same where what widening takes would make tiles narrow and long.
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
    // Accumulators, a vector of each column, one scalar spread over lanes; or factors of each row, whose lanes are taken.
    bool lines = target && target.getHasFmaByLane();
    int64_t most =
        std::min<int64_t>(lines ? (registers - vectors) / (vectors + 1) : (registers - vectors - 1) / vectors, 14);
    if (vectors + 2 <= registers) // with one row the FMA takes the panel as its memory operand
      most = std::max<int64_t>(most, 1);
    for (int64_t m = 1; m <= std::min(most, rows); ++m) {
      if (!fitsWays(m, shape.rowBytes, target, costs))
        continue;
      // The last panel leaves out vectors that have no columns.
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
  int64_t lanes = contractLanes(op, shape), registers = registersFor(op, shape);
  if (MatrixAttr matrix = shape.matrix) {
    // Half of the unit's registers are tiles of sums: in two rows, so that each operand's tile serves twice; in one where rows fill
    // but that.
    int64_t rows = shape.rows.constant().value_or(2 * matrix.getRows());
    bool square = rows >= 2 * matrix.getRows();
    int64_t tiles = std::max(matrix.getRegisters() / (square ? 4 : 2), block / matrix.getColumns());
    int64_t m =
        square && 2 * tiles <= matrix.getRegisters() / 2 ? 2 * matrix.getRows() : std::min(rows, matrix.getRows());
    return {m, tiles * matrix.getColumns()};
  }
  int64_t columns = columnsFor(shape), rows = rowsFor(shape);
  if (gridOf(op)) {
    // A block's tile; narrow matrices are not padded to it.
    constexpr int64_t side = 64, least = 8;
    auto fit = [&](int64_t extent) { return std::clamp(int64_t(llvm::PowerOf2Ceil(extent)), least, side); };
    return {fit(rows), block ? block : fit(columns)};
  }
  if (shape.columnInLeft) {
    // A chain of sums a row: enough of them to hide the latency of an addition, and of a length that divides the line.
    int64_t most = maxAccumulatorsOf(registers, costsOf(op)), tiles = (rows + most - 1) / most;
    return {(rows + tiles - 1) / tiles, lanes, double(rows) * double(llvm::divideCeil(columns, lanes))};
  }
  if (block > mostVectorsOf(op, shape, registers, lanes) * lanes && rows == 1)
    // One row reads the panel as it lies, as far as there are registers for the sums.
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
  // The model has been seen to err by less than this.
  constexpr double withinReach = 1.5;
  ContractTile chosen = chooseContractTile(op, shape, block);
  SmallVector<ContractTile> others;
  if (shape.matrix || gridOf(op))
    return {chosen};
  int64_t registers = registersFor(op, shape), lanes = contractLanes(op, shape);
  std::optional<int64_t> rows = shape.rows.constant();
  if (shape.columnInLeft) {
    // Lines of equal parts.
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
  // One row is as fast as the panels come from memory, and that is fastest in long runs; equal ones, to pad little.
  constexpr int64_t most = 4;
  int64_t vectors = llvm::divideCeil(shape.columns.constant().value_or(most * lanes), lanes);
  int64_t panels = llvm::divideCeil(vectors, most);
  return int64_t(llvm::divideCeil(vectors, panels)) * lanes;
}

Verdict gridTakesChain(const graph::Chain &chain) {
  constexpr int64_t longest = 128;
  GridAttr grid = gridOf(chain.first);
  graph::ContractOpInterface first = chain.first;
  std::optional<graph::ContractRoles> roles = graph::contractRoles(first);
  std::optional<unsigned> summed = roles ? graph::plainSummedDim(first, *roles) : std::nullopt;
  if (!grid || !grid.getMmasPerProduct() || !summed)
    return Verdict::no("the machine has no matrix instruction for such products");
  std::optional<int64_t> depth = first.getIterationDims(graph::getDims)[*summed].constant(),
                         width = graph::getDims(chain.second->getResult(0)).back().constant();
  if (!depth || !width)
    return Verdict::no("how long the lines of its factors are is known only when run");
  return *depth <= longest && *width <= longest
             ? Verdict::yes()
             : Verdict::no("lines of its factors are too long for sums in registers");
}

int64_t chainRows(Operation *op, int64_t columns, int64_t columnBytes) {
  // A tile of rows, or several: what is on the stack may fill a third of the cache. The factors stream by, once for all of the rows.
  constexpr int64_t mostOfAStack = 160 << 10;
  TargetAttr target = targetOf(op);
  int64_t tile = costsOf(op).getChainRows();
  int64_t room = std::min<int64_t>(mostOfAStack, target ? target.getL2Bytes() / 3 : 64 << 10);
  int64_t tiles = std::min<int64_t>(room / (columnBytes * std::max<int64_t>(columns, 1) * tile), 4);
  return tiles * tile;
}

graph::DimExpr rowStride(Operation *op, const graph::DimExpr &elements, int64_t bytesEach) {
  int64_t lineElements = std::max<int64_t>(costsOf(op).getCacheLineBytes() / bytesEach, 1);
  graph::DimExpr lines = elements.ceilDiv(lineElements);
  return (lines + graph::DimExpr(1) - lines.mod(2)) * graph::DimExpr(lineElements);
}

int64_t chainRowsInMemory(Operation *op, const graph::DimExpr &rows) {
  // Two tiles of rows, so that the right operands are read half as often.
  int64_t most = 2 * costsOf(op).getChainRows();
  return std::min(most, rows.constant().value_or(most));
}

} // namespace hewn::plan

// SPDX-License-Identifier: Apache-2.0
#include "dialects/Plan/Plan.h"
#include "dialects/Plan/Subviews.h"

#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "dialects/Plan/PlanDialect.cpp.inc"
#include "dialects/Plan/PlanEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Plan/PlanAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Plan/PlanOps.cpp.inc"

namespace hewn::plan {

void PlanDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Plan/PlanAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Plan/PlanOps.cpp.inc"
      >();
}

//===------------------------------------------------------------------------------------------------------------------===//
// What attributes may say: passes and engines divide by these sizes, and trust these types.
//===------------------------------------------------------------------------------------------------------------------===//

using Emit = llvm::function_ref<InFlightDiagnostic()>;

/// Threads of the smallest blocks that kernels have, and of most.
static constexpr int64_t kUsualThreads = 256;
/// Tiles of a matrix unit that a kernel holds at once.
static constexpr int64_t kFewestTiles = 8;

static unsigned bitsOf(Type type) { return type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : 0; }

/// Elements of 8 or 16 bits, alike in both operands, and sums of 32: a lane holds whole groups.
static LogicalResult verifyProducts(Emit emitError, Type left, Type right, Type sum) {
  if ((bitsOf(left) != 8 && bitsOf(left) != 16) || bitsOf(right) != bitsOf(left))
    return emitError() << "left and right must be types of 8 or 16 bits, both alike";
  if (bitsOf(sum) != 32)
    return emitError() << "sum must be a type of 32 bits";
  return success();
}

LogicalResult DotAttr::verify(Emit emitError, Type left, Type right, Type sum, StringAttr, bool accumulates, bool) {
  bool ofPairs = bitsOf(left) == 8 && bitsOf(right) == 8 && bitsOf(sum) == 16;
  if (ofPairs && accumulates)
    return emitError() << "sums of 16 bits are of two products, and of nothing that was before";
  return ofPairs ? success() : verifyProducts(emitError, left, right, sum);
}

/// A parameter's name and value.
using Parameter = std::pair<StringRef, int64_t>;

/// Each is at least so much; an error names the first one that is not.
static LogicalResult verifyAtLeast(Emit emitError, int64_t least, ArrayRef<Parameter> parameters) {
  for (auto [name, value] : parameters)
    if (value < least)
      return emitError() << name << " must be at least " << least << ", and is " << value;
  return success();
}

LogicalResult MatrixAttr::verify(Emit emitError, Type left, Type right, Type sum, int64_t rows, int64_t columns,
                                 int64_t depth, int64_t registers, Type, StringAttr, StringAttr, StringAttr, StringAttr,
                                 int64_t relativeRate, int64_t minRows) {
  if (failed(verifyAtLeast(emitError, 1,
                           {{"rows", rows},
                            {"columns", columns},
                            {"depth", depth},
                            {"relativeRate", relativeRate},
                            {"minRows", minRows}})))
    return failure();
  if (registers < kFewestTiles)
    return emitError() << "registers must be at least " << kFewestTiles
                       << ", four for sums and as many for what is multiplied";
  return verifyProducts(emitError, left, right, sum);
}

LogicalResult VectorCostsAttr::verify(Emit emitError, int64_t l2LoadCost, int64_t l2MissCost, int64_t loadCost,
                                      int64_t broadcastCost, int64_t fmaLatencyCost, int64_t minAccumulators,
                                      int64_t chainRows, int64_t fmasPerCycle, int64_t memoryBytesPerCycle,
                                      int64_t cacheLineBytes, int64_t prefetchDistanceBytes,
                                      int64_t forkJoinInstructions, int64_t launchOverheadBytes, int64_t l3ByteCost,
                                      int64_t laneLoadCost, int64_t widenCost) {
  if (failed(verifyAtLeast(emitError, 0,
                           {{"l2LoadCost", l2LoadCost},
                            {"l2MissCost", l2MissCost},
                            {"loadCost", loadCost},
                            {"broadcastCost", broadcastCost},
                            {"fmaLatencyCost", fmaLatencyCost},
                            {"prefetchDistanceBytes", prefetchDistanceBytes},
                            {"forkJoinInstructions", forkJoinInstructions},
                            {"launchOverheadBytes", launchOverheadBytes},
                            {"l3ByteCost", l3ByteCost},
                            {"laneLoadCost", laneLoadCost},
                            {"widenCost", widenCost}})) ||
      failed(verifyAtLeast(emitError, 1,
                           {{"minAccumulators", minAccumulators},
                            {"chainRows", chainRows},
                            {"fmasPerCycle", fmasPerCycle},
                            {"memoryBytesPerCycle", memoryBytesPerCycle}})))
    return failure();
  if (cacheLineBytes < 4 || !llvm::isPowerOf2_64(uint64_t(cacheLineBytes)))
    return emitError() << "cacheLineBytes must be a power of two of at least 4";
  return success();
}

LogicalResult GridLimitsAttr::verify(Emit emitError, int64_t registers, int64_t threads, int64_t maxThreadRegisters,
                                     int64_t registerGranularity, int64_t maxBlockThreads, int64_t reservedBlockBytes,
                                     int64_t staticSharedBytes, int64_t maxArguments) {
  if (failed(verifyAtLeast(emitError, 1,
                           {{"registers", registers},
                            {"threads", threads},
                            {"maxThreadRegisters", maxThreadRegisters},
                            {"registerGranularity", registerGranularity},
                            {"maxArguments", maxArguments}})) ||
      failed(verifyAtLeast(emitError, kUsualThreads, {{"maxBlockThreads", maxBlockThreads}})))
    return failure();
  return verifyAtLeast(emitError, 0,
                       {{"reservedBlockBytes", reservedBlockBytes}, {"staticSharedBytes", staticSharedBytes}});
}

LogicalResult GridCostsAttr::verify(Emit emitError, int64_t mmaProductsPerCycle, int64_t warpgroupProductsPerCycle,
                                    int64_t threadProductsPerCycle, int64_t instructionsPerCycle,
                                    int64_t memoryBytesPerCycle, int64_t l2BytesPerCycle, int64_t sharedBytesPerCycle,
                                    int64_t sectorBytes, int64_t megahertz, int64_t launchCycles,
                                    int64_t gridBarrierCycles, int64_t blockOverheadCycles, int64_t sliceOverheadCycles,
                                    int64_t termOverheadCycles, int64_t fetchLatencyCycles, int64_t tileOverheadCycles,
                                    int64_t splitOverheadCycles, int64_t memoryLatencyCycles,
                                    int64_t threadBytesInFlight, int64_t latencyHidingThreads,
                                    int64_t jointProductCycles) {
  if (failed(verifyAtLeast(emitError, 1,
                           {{"mmaProductsPerCycle", mmaProductsPerCycle},
                            {"threadProductsPerCycle", threadProductsPerCycle},
                            {"instructionsPerCycle", instructionsPerCycle},
                            {"memoryBytesPerCycle", memoryBytesPerCycle},
                            {"l2BytesPerCycle", l2BytesPerCycle},
                            {"sharedBytesPerCycle", sharedBytesPerCycle},
                            {"sectorBytes", sectorBytes},
                            {"megahertz", megahertz},
                            {"memoryLatencyCycles", memoryLatencyCycles},
                            {"threadBytesInFlight", threadBytesInFlight},
                            {"latencyHidingThreads", latencyHidingThreads}})))
    return failure();
  return verifyAtLeast(emitError, 0,
                       {{"warpgroupProductsPerCycle", warpgroupProductsPerCycle},
                        {"launchCycles", launchCycles},
                        {"gridBarrierCycles", gridBarrierCycles},
                        {"blockOverheadCycles", blockOverheadCycles},
                        {"sliceOverheadCycles", sliceOverheadCycles},
                        {"termOverheadCycles", termOverheadCycles},
                        {"fetchLatencyCycles", fetchLatencyCycles},
                        {"jointProductCycles", jointProductCycles},
                        {"tileOverheadCycles", tileOverheadCycles},
                        {"splitOverheadCycles", splitOverheadCycles}});
}

LogicalResult GridAttr::verify(Emit emitError, int64_t processors, int64_t warpSize, int64_t sharedBytes,
                               int64_t processorSharedBytes, int64_t mmasPerProduct, GridLimitsAttr, GridCostsAttr) {
  if (warpSize < 1 || warpSize > kUsualThreads || !llvm::isPowerOf2_64(uint64_t(warpSize)))
    return emitError() << "warpSize must be a power of two of at most " << kUsualThreads;
  if (failed(verifyAtLeast(emitError, 1, {{"processors", processors}})))
    return failure();
  return verifyAtLeast(emitError, 0,
                       {{"sharedBytes", sharedBytes},
                        {"processorSharedBytes", processorSharedBytes},
                        {"mmasPerProduct", mmasPerProduct}});
}

LogicalResult TargetAttr::verify(Emit emitError, int64_t vectorBytes, int64_t vectorRegisters, int64_t l1Bytes,
                                 int64_t l1Ways, int64_t l2Bytes, int64_t l3Bytes, VectorCostsAttr, ArrayAttr dots,
                                 ArrayAttr matrices, GridAttr, bool, StringAttr, bool, StringAttr, StringAttr, bool,
                                 bool) {
  if (vectorBytes < 1 || vectorBytes > 1024 || !llvm::isPowerOf2_64(uint64_t(vectorBytes)))
    return emitError() << "vectorBytes must be a power of two of at most 1024";
  if (vectorRegisters < 1 || vectorRegisters > 1024)
    return emitError() << "vectorRegisters must be 1 to 1024";
  if (l1Bytes < 0 || l1Ways < 0 || l2Bytes < 0 || l3Bytes < 0)
    return emitError() << "sizes of caches must not be negative";
  if (dots && !llvm::all_of(dots, llvm::IsaPred<DotAttr>))
    return emitError() << "dots must be #plan.dot attributes";
  if (matrices && !llvm::all_of(matrices, llvm::IsaPred<MatrixAttr>))
    return emitError() << "matrices must be #plan.matrix attributes";
  return success();
}

/// The most accumulators of a tile, many more than any machine has registers: a schedule by hand must end somewhere.
static constexpr int64_t kMaxAccumulators = 1024;

/// Rows by columns of a tile whose columns lie in vectors of so many lanes.
static LogicalResult verifyTile(Emit emitError, int64_t m, int64_t n, int64_t lanes) {
  if (m < 1 || n < 1 || lanes < 1)
    return emitError() << "m, n and lanes must be at least 1";
  if (n % lanes != 0 || n / lanes > kMaxAccumulators / m)
    return emitError() << "a tile of " << m << " by " << n << ": n must be a multiple of " << lanes
                       << " lanes, and there may be " << kMaxAccumulators << " accumulators at most";
  return success();
}

LogicalResult ContractAttr::verify(Emit emitError, int64_t m, int64_t n, int64_t lanes, Unit unit, int64_t vectorRows,
                                   int64_t limbs, int64_t cycles) {
  if (vectorRows < 0 || limbs < 0 || cycles < 0)
    return emitError() << "vectorRows, limbs and cycles must not be negative";
  if (unit != Unit::Matrix && vectorRows > 0)
    return emitError() << "vectorRows are those of a kernel whose unit is matrix";
  if (unit != Unit::Vectors && limbs > 0)
    return emitError() << "limbs are multiplied by vectors";
  if (vectorRows > kMaxAccumulators)
    return emitError() << "vectorRows must be at most " << kMaxAccumulators;
  return verifyTile(emitError, m, n, lanes);
}

LogicalResult WinogradAttr::verify(Emit emitError, int64_t block, int64_t m, int64_t n, int64_t lanes, int64_t stride,
                                   int64_t slots, int64_t panels) {
  constexpr int64_t most = 1 << 20;
  if (std::min({block, stride, slots, panels}) < 1 || std::max({block, stride, slots, panels}) > most)
    return emitError() << "block, stride, slots and panels must be 1 to " << most;
  if (failed(verifyTile(emitError, m, n, lanes)))
    return failure();
  if (block % m != 0)
    return emitError() << "block must be a multiple of m";
  return success();
}

LogicalResult ChainAttr::verify(Emit emitError, int64_t rows, int64_t slots, Attribute head, Attribute middle,
                                Attribute tail) {
  constexpr int64_t most = 1 << 12;
  if (rows < 1 || slots < 0 || std::max(rows, slots) > most)
    return emitError() << "rows must be 1 to " << most << ", and slots at most as many";
  if (!llvm::all_of(ArrayRef{head, middle, tail}, llvm::IsaPred<ContractAttr, LoopsAttr>))
    return emitError() << "head, middle and tail must be #plan.contract or #plan.loops";
  return success();
}

/// The most elements that a thread makes at once: its code is as long.
static constexpr int64_t kMaxThreadCount = 1 << 8;

/// Each is at most so much; an error names the first one that is not.
static LogicalResult verifyAtMost(Emit emitError, int64_t most, ArrayRef<Parameter> parameters) {
  for (auto [name, value] : parameters)
    if (value > most)
      return emitError() << name << " must be at most " << most << ", and is " << value;
  return success();
}

/// Each is 1 to `most`.
static LogicalResult verifyCounts(Emit emitError, int64_t most, ArrayRef<Parameter> parameters) {
  return failure(failed(verifyAtLeast(emitError, 1, parameters)) || failed(verifyAtMost(emitError, most, parameters)));
}

LogicalResult GridTileAttr::verify(Emit emitError, int64_t m, int64_t n, int64_t splits, int64_t buffers, bool,
                                   int64_t cycles) {
  if (m < 1 || n < 1 || splits < 1)
    return emitError() << "m, n and splits must be at least 1";
  if (buffers < 0 || cycles < 0)
    return emitError() << "buffers and cycles must not be negative";
  return verifyAtMost(emitError, kMaxGridCount, {{"m", m}, {"n", n}, {"splits", splits}});
}

LogicalResult GridContractAttr::verify(Emit emitError, GridForm form, int64_t m, int64_t n, int64_t splits,
                                       int64_t buffers, int64_t warpsM, int64_t warpsN, bool groups, bool fetches,
                                       int64_t blocks, int64_t cycles) {
  if (failed(verifyCounts(emitError, kMaxGridCount, {{"m", m}, {"n", n}, {"splits", splits}})) ||
      failed(verifyAtLeast(emitError, 0, {{"blocks", blocks}, {"cycles", cycles}})) ||
      failed(verifyAtMost(emitError, kMaxGridCount, {{"blocks", blocks}})))
    return failure();
  if (form == GridForm::Matrix) {
    if (failed(verifyCounts(emitError, kMaxThreadCount, {{"warpsM", warpsM}, {"warpsN", warpsN}})) ||
        failed(verifyAtLeast(emitError, 2, {{"buffers", buffers}})) ||
        failed(verifyAtMost(emitError, kMaxThreadCount, {{"buffers", buffers}})))
      return failure();
    if (fetches != (blocks > 0) || (fetches && !groups))
      return emitError() << "a grid_contract that fetches is of groups, and of so many blocks; others are not";
    return success();
  }
  if (splits != 1 || buffers != 0 || warpsM != 0 || warpsN != 0 || groups || fetches || blocks != 0)
    return emitError() << "splits, buffers, warpsM, warpsN, groups, fetches and blocks are those of the form matrix";
  return success();
}

LogicalResult GridChainAttr::verify(Emit emitError, int64_t warpsM, int64_t warpsN, int64_t columns, Type factors,
                                    bool online, int64_t splitTiles, int64_t blocks, int64_t rowTiles) {
  if (failed(
          verifyCounts(emitError, kMaxThreadCount, {{"warpsM", warpsM}, {"warpsN", warpsN}, {"columns", columns}})) ||
      failed(verifyAtLeast(emitError, 0, {{"splitTiles", splitTiles}, {"blocks", blocks}})) ||
      failed(verifyAtMost(emitError, kMaxGridCount, {{"splitTiles", splitTiles}, {"blocks", blocks}})))
    return failure();
  if (!factors.isF32() && !factors.isF16() && !factors.isBF16())
    return emitError() << "factors must be f32, f16 or bf16";
  if ((splitTiles > 0) != (blocks > 0))
    return emitError() << "splitTiles and blocks are given both, or none of them";
  if (!online && (warpsN > 1 || splitTiles > 0))
    return emitError() << "only rows that are made online share their columns between warps, or blocks";
  if (rowTiles != 1 && (rowTiles != 2 || !online || factors.isF32() || warpsN > 1))
    return emitError() << "rowTiles is 1, or 2 where rows of narrow factors are made online, by a warp each";
  return success();
}

LogicalResult GridRowsAttr::verify(Emit emitError, int64_t rowThreads, int64_t threads, int64_t width) {
  if (failed(verifyCounts(emitError, kMaxGridCount, {{"rowThreads", rowThreads}, {"threads", threads}})) ||
      failed(verifyCounts(emitError, kMaxThreadCount, {{"width", width}})))
    return failure();
  if (threads % rowThreads != 0)
    return emitError() << "threads must be a multiple of rowThreads";
  if (width > 1 && rowThreads == 1)
    return emitError() << "rows of one thread each are read one element at a time";
  return success();
}

LogicalResult GridCumulateAttr::verify(Emit emitError, int64_t lineThreads, int64_t threads, int64_t elements) {
  if (failed(verifyCounts(emitError, kMaxGridCount, {{"lineThreads", lineThreads}, {"threads", threads}})) ||
      failed(verifyCounts(emitError, kMaxThreadCount, {{"elements", elements}})))
    return failure();
  if (lineThreads != 1 && lineThreads != threads)
    return emitError() << "a line is one thread's, or all threads' of a block";
  if (lineThreads == 1 && elements != 1)
    return emitError() << "lines of one thread each are swept one element at a time";
  return success();
}

LogicalResult GridTransposeAttr::verify(Emit emitError, int64_t tile, int64_t threads) {
  if (failed(verifyCounts(emitError, kMaxThreadCount, {{"tile", tile}})) ||
      failed(verifyCounts(emitError, kMaxGridCount, {{"threads", threads}})))
    return failure();
  if (threads % tile != 0 || tile % (threads / tile) != 0)
    return emitError() << "threads must be whole lines of a tile, of which a tile has whole numbers";
  return success();
}

LogicalResult GridMapAttr::verify(Emit emitError, int64_t threads, DenseI64ArrayAttr widths) {
  if (failed(verifyCounts(emitError, kMaxGridCount, {{"threads", threads}})))
    return failure();
  for (int64_t width : widths.asArrayRef())
    if (failed(verifyCounts(emitError, kMaxThreadCount, {{"width", width}})))
      return failure();
  return success();
}

bool isOfGrid(Attribute schedule) {
  return isa<GridTileAttr, GridContractAttr, GridChainAttr, GridRowsAttr, GridCumulateAttr, GridTransposeAttr,
             GridMapAttr>(schedule);
}

LogicalResult KernelOp::verify() {
  if (getBody().front().empty())
    return emitOpError("has no body");
  Block &body = getBody().front();
  auto yield = dyn_cast<graph::YieldOp>(body.back());
  if (!yield || yield->getOperandTypes() != TypeRange(getFunctionType().getResults()))
    return emitOpError("does not end with a graph.yield of its results");
  if (!llvm::all_of(body.getArgumentTypes(), llvm::IsaPred<RankedTensorType>) ||
      !llvm::all_of(yield->getOperandTypes(), llvm::IsaPred<RankedTensorType>))
    return emitOpError("takes or gives what is no tensor");
  for (Attribute symbol : getSymbols())
    if (!isa<StringAttr>(symbol))
      return emitOpError() << "has " << symbol << " among its symbols, which is no name";
  Attribute schedule = getScheduleAttr();
  if (schedule && !isOfGrid(schedule) && !isa<ContractAttr, WinogradAttr, ChainAttr, LoopsAttr>(schedule))
    return emitOpError("has a schedule that is none: ") << schedule;
  return success();
}

LogicalResult BoxAttr::verify(Emit emitError, int64_t argument, int64_t bytes, ArrayAttr extents, ArrayAttr strides,
                              DenseI64ArrayAttr sizes, bool rounds) {
  constexpr size_t mostDims = 5;
  if (argument < 0 || bytes < 1)
    return emitError() << "argument must not be negative, and bytes at least 1";
  if (extents.empty() || extents.size() > mostDims || strides.size() + 1 != extents.size() ||
      size_t(sizes.size()) != extents.size())
    return emitError() << "a box has 1 to " << mostDims << " extents, as many sizes, and strides of all but one";
  auto isExpression = [](Attribute attr) { return graph::DimExpr::fromAttr(attr).has_value(); };
  if (!llvm::all_of(extents, isExpression) || !llvm::all_of(strides, isExpression))
    return emitError() << "extents and strides must be integers or expressions";
  if (rounds && bytes != 4)
    return emitError() << "only float32s are rounded";
  if (!llvm::all_of(sizes.asArrayRef(), [](int64_t size) { return size > 0; }))
    return emitError() << "sizes must be at least 1";
  return success();
}

LogicalResult AssembleOp::verify() {
  int64_t rank = getOutput().getType().getRank(), length = 0;
  if (getSubviews().empty() || int64_t(getDim()) >= rank)
    return emitOpError("needs subviews, and a dim of theirs");
  graph::Assembly assembly = formOf(*this);
  bool oneEach = int64_t(assembly.steps.size()) == rank && assembly.numInterleaved() == int64_t(getSubviews().size()) &&
                 llvm::all_of(assembly.steps, [](int64_t step) { return step > 0; });
  if (assembly.isInterleaved() && !oneEach)
    return emitOpError("needs a positive step for each dim, and as many subviews as their product");
  for (auto [number, value] : llvm::enumerate(getSubviews())) {
    Value subview = value;
    auto type = cast<RankedTensorType>(subview.getType());
    if (type.getRank() != rank || type.getElementType() != getOutput().getType().getElementType() ||
        (!assembly.isInterleaved() && type.isDynamicDim(assembly.dim)))
      return emitOpError("has subviews that don't fit, or of unknown length along the dim");
    if (!isa_and_nonnull<LaunchOp>(subview.getDefiningOp()) ||
        subview.getDefiningOp()->getBlock() != (*this)->getBlock())
      return emitOpError("has subviews that no launch beside it makes");
    if (llvm::count_if(subview.getUses(), [](OpOperand &use) { return isa<AssembleOp>(use.getOwner()); }) != 1)
      return emitOpError("has a subview that is another's, too");
    if (subview.hasNUsesOrMore(kMaxSubviewReaders + 1))
      return emitOpError("has a subview that is read more than ") << kMaxSubviewReaders << " times";
    if (!fillsWhole(type, getOutput().getType(), assembly, int64_t(number)))
      return emitOpError("has a subview that does not lie in memory as its result does: ") << type;
    length += type.getDimSize(assembly.dim);
  }
  if (!assembly.isInterleaved() && getOutput().getType().getDimSize(assembly.dim) != length)
    return emitOpError("is not as long as its subviews");
  return success();
}

LogicalResult LaunchOp::verify() {
  for (Attribute symbol : getSymbols())
    if (!graph::DimExpr::fromAttr(symbol))
      return emitOpError("has symbols that are no expressions: ") << symbol;
  return success();
}

LogicalResult PlaceAttr::verify(Emit emitError, PlaceKind kind, std::optional<graph::DimExpr> offset) {
  bool hasOffset =
      llvm::is_contained({PlaceKind::Arena, PlaceKind::Output, PlaceKind::Slice, PlaceKind::Subview}, kind);
  if (hasOffset != offset.has_value())
    return emitError() << "a place of the kind " << stringifyPlaceKind(kind)
                       << (hasOffset ? " has an offset" : " has no offset");
  return success();
}

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  auto build = [](Builder &b, ArrayRef<Type> inputs, ArrayRef<Type> outputs, function_interface_impl::VariadicFlag,
                  std::string &) { return b.getFunctionType(inputs, outputs); };
  return function_interface_impl::parseFunctionOp(parser, result, /*allowVariadic=*/false,
                                                  getFunctionTypeAttrName(result.name), build,
                                                  getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void KernelOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
                                           getArgAttrsAttrName(), getResAttrsAttrName());
}

} // namespace hewn::plan

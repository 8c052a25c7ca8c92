// SPDX-License-Identifier: Apache-2.0
#include "dialects/Plan/Plan.h"
#include "dialects/Plan/Subviews.h"

#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "dialects/Plan/PlanDialect.cpp.inc"
#include "dialects/Plan/PlanEnums.cpp.inc"
#include "dialects/Plan/TargetInterfaces.cpp.inc"

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
// Verifiers of attributes. They are strict because passes and kernel generators divide by these
// sizes and rely on these types without further checks.
//===------------------------------------------------------------------------------------------------------------------===//

using Emit = llvm::function_ref<InFlightDiagnostic()>;

/// Usual number of threads per GPU block. No generated kernel has smaller blocks.
static constexpr int64_t kUsualThreads = 256;
/// Number of tile registers of a matrix unit that generated kernels use. A matrix unit must have at
/// least as many.
static constexpr int64_t kFewestTiles = 8;

static unsigned bitsOf(Type type) { return type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : 0; }

/// Checks the types of a dot-product instruction or matrix unit: both operands must have elements
/// of 8 or 16 bits and of equal width, and accumulators must have 32 bits. A 32-bit lane then holds
/// a whole number of elements.
static LogicalResult verifyProducts(Emit emitError, Type left, Type right, Type sum) {
  if ((bitsOf(left) != 8 && bitsOf(left) != 16) || bitsOf(right) != bitsOf(left))
    return emitError() << "left and right must be types of 8 or 16 bits, of equal width";
  if (bitsOf(sum) != 32)
    return emitError() << "sum must be a type of 32 bits";
  return success();
}

/// Name and value of an integer parameter of an attribute, for error messages of verifiers.
using Parameter = std::pair<StringRef, int64_t>;

/// Checks that all given attribute parameters are at least `least`. The error names the first
/// smaller one.
static LogicalResult verifyAtLeast(Emit emitError, int64_t least, ArrayRef<Parameter> parameters) {
  for (auto [name, value] : parameters)
    if (value < least)
      return emitError() << name << " must be at least " << least << ", and is " << value;
  return success();
}

LogicalResult DotProductAttr::verify(Emit emitError, Type left, Type right, Type sum, StringAttr, bool accumulates,
                                     bool, int64_t issueRate, int64_t leftBits) {
  if (failed(verifyAtLeast(emitError, 0, {{"issueRate", issueRate}, {"leftBits", leftBits}})))
    return failure();
  bool ofPairs = bitsOf(left) == 8 && bitsOf(right) == 8 && bitsOf(sum) == 16;
  if (ofPairs && accumulates)
    return emitError() << "a dot product with a 16-bit sum must not accumulate";
  return ofPairs ? success() : verifyProducts(emitError, left, right, sum);
}

LogicalResult MatrixUnitAttr::verify(Emit emitError, Type left, Type right, Type sum, int64_t rows, int64_t columns,
                                     int64_t depth, int64_t registers, Type, StringAttr, StringAttr, StringAttr,
                                     StringAttr, int64_t relativeRate, int64_t minRows) {
  if (failed(verifyAtLeast(emitError, 1,
                           {{"rows", rows},
                            {"columns", columns},
                            {"depth", depth},
                            {"relativeRate", relativeRate},
                            {"minRows", minRows}})))
    return failure();
  if (registers < kFewestTiles)
    return emitError() << "registers must be at least " << kFewestTiles
                       << ", four for accumulators and four for operands";
  return verifyProducts(emitError, left, right, sum);
}

LogicalResult VectorCostsAttr::verify(Emit emitError, int64_t l2LoadCost, int64_t l2MissCost, int64_t loadCost,
                                      int64_t broadcastCost, int64_t fmaLatencyCost, int64_t minAccumulators,
                                      int64_t attentionRows, int64_t fmasPerCycle, int64_t memoryBytesPerCycle,
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
                            {"attentionRows", attentionRows},
                            {"fmasPerCycle", fmasPerCycle},
                            {"memoryBytesPerCycle", memoryBytesPerCycle}})))
    return failure();
  if (cacheLineBytes < 4 || !llvm::isPowerOf2_64(uint64_t(cacheLineBytes)))
    return emitError() << "cacheLineBytes must be a power of two of at least 4";
  return success();
}

LogicalResult GpuLimitsAttr::verify(Emit emitError, int64_t registers, int64_t threads, int64_t maxThreadRegisters,
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

LogicalResult GpuCostsAttr::verify(Emit emitError, int64_t mmaProductsPerCycle, int64_t warpgroupProductsPerCycle,
                                   int64_t threadProductsPerCycle, int64_t instructionsPerCycle,
                                   int64_t memoryBytesPerCycle, int64_t l2BytesPerCycle, int64_t sharedBytesPerCycle,
                                   int64_t sectorBytes, int64_t megahertz, int64_t launchCycles,
                                   int64_t gridBarrierCycles, int64_t blockOverheadCycles, int64_t sliceOverheadCycles,
                                   int64_t termOverheadCycles, int64_t fetchLatencyCycles, int64_t tileOverheadCycles,
                                   int64_t splitOverheadCycles, int64_t memoryLatencyCycles,
                                   int64_t threadBytesInFlight, int64_t latencyHidingThreads,
                                   int64_t persistentMmaCycles) {
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
                        {"persistentMmaCycles", persistentMmaCycles},
                        {"tileOverheadCycles", tileOverheadCycles},
                        {"splitOverheadCycles", splitOverheadCycles}});
}

/// Verifies the bytes of a vector of a target.
static LogicalResult verifyVectorBytes(Emit emitError, int64_t bytes) {
  if (bytes < 1 || bytes > 1024 || !llvm::isPowerOf2_64(uint64_t(bytes)))
    return emitError() << "vectorBytes must be a power of two of at most 1024";
  return success();
}

LogicalResult GpuAttr::verify(Emit emitError, int64_t vectorBytes, int64_t l2Bytes, int64_t processors,
                              int64_t warpSize, int64_t sharedBytes, int64_t processorSharedBytes,
                              int64_t mmasPerProduct, GpuLimitsAttr, GpuCostsAttr) {
  if (warpSize < 1 || warpSize > kUsualThreads || !llvm::isPowerOf2_64(uint64_t(warpSize)))
    return emitError() << "warpSize must be a power of two of at most " << kUsualThreads;
  if (failed(verifyAtLeast(emitError, 1, {{"processors", processors}})))
    return failure();
  if (failed(verifyVectorBytes(emitError, vectorBytes)))
    return failure();
  return verifyAtLeast(emitError, 0,
                       {{"l2Bytes", l2Bytes},
                        {"sharedBytes", sharedBytes},
                        {"processorSharedBytes", processorSharedBytes},
                        {"mmasPerProduct", mmasPerProduct}});
}

LogicalResult CpuAttr::verify(Emit emitError, int64_t vectorBytes, int64_t vectorRegisters, int64_t l1Bytes,
                              int64_t l1Ways, int64_t l2Bytes, int64_t l3Bytes, VectorCostsAttr, ArrayAttr dots,
                              ArrayAttr matrices, bool, StringAttr, bool, StringAttr, StringAttr, bool, bool) {
  if (failed(verifyVectorBytes(emitError, vectorBytes)))
    return failure();
  if (vectorRegisters < 1 || vectorRegisters > 1024)
    return emitError() << "vectorRegisters must be 1 to 1024";
  if (l1Bytes < 0 || l1Ways < 0 || l2Bytes < 0 || l3Bytes < 0)
    return emitError() << "cache sizes must not be negative";
  if (dots && !llvm::all_of(dots, llvm::IsaPred<DotProductAttr>))
    return emitError() << "dots must be #plan.dot_product attributes";
  if (matrices && !llvm::all_of(matrices, llvm::IsaPred<MatrixUnitAttr>))
    return emitError() << "matrices must be #plan.matrix_unit attributes";
  return success();
}

/// Maximum number of accumulators in a register tile, far above the number of registers of any
/// target. It limits the code size of schedules that users write.
static constexpr int64_t kMaxAccumulators = 1024;

/// Verifies the register tile of a schedule: m rows by n columns, whose rows are in vectors of
/// `lanes` lanes.
static LogicalResult verifyTile(Emit emitError, int64_t m, int64_t n, int64_t lanes) {
  if (m < 1 || n < 1 || lanes < 1)
    return emitError() << "m, n and lanes must be at least 1";
  if (n % lanes != 0 || n / lanes > kMaxAccumulators / m)
    return emitError() << "a tile of " << m << " by " << n << ": n must be a multiple of " << lanes
                       << " lanes, and there may be " << kMaxAccumulators << " accumulators at most";
  return success();
}

LogicalResult ContractAttr::verify(Emit emitError, int64_t m, int64_t n, int64_t lanes, Unit unit, int64_t vectorRows,
                                   int64_t slices, int64_t cycles) {
  if (vectorRows < 0 || slices < 0 || cycles < 0)
    return emitError() << "vectorRows, int8Slices and cycles must not be negative";
  if (unit != Unit::Matrix && vectorRows > 0)
    return emitError() << "vectorRows requires the unit 'matrix'";
  if (unit != Unit::Vectors && slices > 0)
    return emitError() << "int8Slices requires the unit 'vectors'";
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

LogicalResult AttentionAttr::verify(Emit emitError, int64_t rows, int64_t slots, Attribute head, Attribute middle,
                                    Attribute tail) {
  constexpr int64_t most = 1 << 12;
  if (rows < 1 || slots < 0 || std::max(rows, slots) > most)
    return emitError() << "rows must be 1 to " << most << ", and slots at most as many";
  if (!llvm::all_of(ArrayRef{head, middle, tail}, llvm::IsaPred<ContractAttr, LoopsAttr>))
    return emitError() << "head, middle and tail must be #plan.contract or #plan.loops";
  return success();
}

/// Maximum number of elements that a GPU thread computes at once. The code size of a thread is
/// proportional to this number.
static constexpr int64_t kMaxThreadCount = 1 << 8;

/// Checks that all given attribute parameters are at most `most`. The error names the first larger
/// one.
static LogicalResult verifyAtMost(Emit emitError, int64_t most, ArrayRef<Parameter> parameters) {
  for (auto [name, value] : parameters)
    if (value > most)
      return emitError() << name << " must be at most " << most << ", and is " << value;
  return success();
}

/// Checks that all given attribute parameters are from 1 to `most`.
static LogicalResult verifyCounts(Emit emitError, int64_t most, ArrayRef<Parameter> parameters) {
  return failure(failed(verifyAtLeast(emitError, 1, parameters)) || failed(verifyAtMost(emitError, most, parameters)));
}

LogicalResult GpuTileAttr::verify(Emit emitError, int64_t m, int64_t n, int64_t splits, int64_t buffers, bool,
                                  int64_t cycles) {
  if (m < 1 || n < 1 || splits < 1)
    return emitError() << "m, n and splits must be at least 1";
  if (buffers < 0 || cycles < 0)
    return emitError() << "buffers and cycles must not be negative";
  return verifyAtMost(emitError, kMaxGridCount, {{"m", m}, {"n", n}, {"splits", splits}});
}

LogicalResult GpuContractAttr::verify(Emit emitError, GpuForm form, int64_t m, int64_t n, int64_t splits,
                                      int64_t buffers, int64_t warpsM, int64_t warpsN, bool groups, bool fetches,
                                      int64_t blocks, int64_t cycles) {
  if (failed(verifyCounts(emitError, kMaxGridCount, {{"m", m}, {"n", n}, {"splits", splits}})) ||
      failed(verifyAtLeast(emitError, 0, {{"blocks", blocks}, {"cycles", cycles}})) ||
      failed(verifyAtMost(emitError, kMaxGridCount, {{"blocks", blocks}})))
    return failure();
  if (form == GpuForm::Matrix) {
    if (failed(verifyCounts(emitError, kMaxThreadCount, {{"warpsM", warpsM}, {"warpsN", warpsN}})) ||
        failed(verifyAtLeast(emitError, 2, {{"buffers", buffers}})) ||
        failed(verifyAtMost(emitError, kMaxThreadCount, {{"buffers", buffers}})))
      return failure();
    if (fetches != (blocks > 0) || (fetches && !groups))
      return emitError() << "fetches requires groups and blocks, and blocks requires fetches";
    return success();
  }
  if (splits != 1 || buffers != 0 || warpsM != 0 || warpsN != 0 || groups || fetches || blocks != 0)
    return emitError() << "splits, buffers, warpsM, warpsN, groups, fetches and blocks require the form 'matrix'";
  return success();
}

LogicalResult GpuAttentionAttr::verify(Emit emitError, int64_t warpsM, int64_t warpsN, int64_t columns, Type factors,
                                       bool online, int64_t splitTiles, int64_t blocks, int64_t rowTiles) {
  if (failed(
          verifyCounts(emitError, kMaxThreadCount, {{"warpsM", warpsM}, {"warpsN", warpsN}, {"columns", columns}})) ||
      failed(verifyAtLeast(emitError, 0, {{"splitTiles", splitTiles}, {"blocks", blocks}})) ||
      failed(verifyAtMost(emitError, kMaxGridCount, {{"splitTiles", splitTiles}, {"blocks", blocks}})))
    return failure();
  if (!factors.isF32() && !factors.isF16() && !factors.isBF16())
    return emitError() << "factors must be f32, f16 or bf16";
  if ((splitTiles > 0) != (blocks > 0))
    return emitError() << "splitTiles and blocks must both be positive or both be 0";
  if (!online && (warpsN > 1 || splitTiles > 0))
    return emitError() << "warpsN > 1 and splitTiles require online";
  if (rowTiles != 1 && (rowTiles != 2 || !online || factors.isF32() || warpsN > 1))
    return emitError() << "rowTiles must be 1, or 2 with online, 16-bit factors and warpsN = 1";
  return success();
}

LogicalResult GpuRowsAttr::verify(Emit emitError, int64_t rowThreads, int64_t threads, int64_t width) {
  if (failed(verifyCounts(emitError, kMaxGridCount, {{"rowThreads", rowThreads}, {"threads", threads}})) ||
      failed(verifyCounts(emitError, kMaxThreadCount, {{"width", width}})))
    return failure();
  if (threads % rowThreads != 0)
    return emitError() << "threads must be a multiple of rowThreads";
  if (width > 1 && rowThreads == 1)
    return emitError() << "width must be 1 if rowThreads is 1";
  return success();
}

LogicalResult GpuCumulateAttr::verify(Emit emitError, int64_t lineThreads, int64_t threads, int64_t elements) {
  if (failed(verifyCounts(emitError, kMaxGridCount, {{"lineThreads", lineThreads}, {"threads", threads}})) ||
      failed(verifyCounts(emitError, kMaxThreadCount, {{"elements", elements}})))
    return failure();
  if (lineThreads != 1 && lineThreads != threads)
    return emitError() << "lineThreads must be 1 or equal to threads";
  if (lineThreads == 1 && elements != 1)
    return emitError() << "elements must be 1 if lineThreads is 1";
  return success();
}

LogicalResult GpuTransposeAttr::verify(Emit emitError, int64_t tile, int64_t threads) {
  if (failed(verifyCounts(emitError, kMaxThreadCount, {{"tile", tile}})) ||
      failed(verifyCounts(emitError, kMaxGridCount, {{"threads", threads}})))
    return failure();
  if (threads % tile != 0 || tile % (threads / tile) != 0)
    return emitError() << "threads must be a multiple of tile, and threads / tile must divide tile";
  return success();
}

LogicalResult GpuMapAttr::verify(Emit emitError, int64_t threads, DenseI64ArrayAttr widths) {
  if (failed(verifyCounts(emitError, kMaxGridCount, {{"threads", threads}})))
    return failure();
  for (int64_t width : widths.asArrayRef())
    if (failed(verifyCounts(emitError, kMaxThreadCount, {{"width", width}})))
      return failure();
  return success();
}

bool isOfGpu(Attribute schedule) {
  return isa<GpuTileAttr, GpuContractAttr, GpuAttentionAttr, GpuRowsAttr, GpuCumulateAttr, GpuTransposeAttr,
             GpuMapAttr>(schedule);
}

bool KernelOp::isLowered() {
  Block &body = getBody().front();
  return body.getNumArguments() == 0 && !body.empty() && llvm::all_of(body, llvm::IsaPred<SymbolOpInterface>);
}

func::FuncOp KernelOp::getEntry() { return isLowered() ? lookupSymbol<func::FuncOp>(getSymName()) : func::FuncOp(); }

LogicalResult KernelOp::verifyBody() {
  if (isLowered() || TypeRange(getFunctionType().getInputs()) == getBody().front().getArgumentTypes())
    return success();
  return emitOpError("has a body with arguments of other types than its inputs");
}

static LogicalResult verifyGraph(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  auto yield = dyn_cast<graph::YieldOp>(body.back());
  if (!yield || yield->getOperandTypes() != TypeRange(kernel.getFunctionType().getResults()))
    return kernel.emitOpError("does not end with a graph.yield of its results");
  Attribute schedule = kernel.getScheduleAttr();
  if (schedule && !isOfGpu(schedule) && !isa<ContractAttr, WinogradAttr, AttentionAttr, LoopsAttr>(schedule))
    return kernel.emitOpError("has a schedule of an unknown kind: ") << schedule;
  return success();
}

LogicalResult KernelOp::verify() {
  if (getBody().front().empty())
    return emitOpError("has no body");
  FunctionType type = getFunctionType();
  if (!llvm::all_of(type.getInputs(), llvm::IsaPred<RankedTensorType>) ||
      !llvm::all_of(type.getResults(), llvm::IsaPred<RankedTensorType>))
    return emitOpError("has an argument or result that is not a ranked tensor");
  for (Attribute symbol : getSymbols())
    if (!isa<StringAttr>(symbol))
      return emitOpError() << "has " << symbol << " in its symbols, which is not a string";
  if (!isLowered())
    return verifyGraph(*this);
  func::FuncOp entry = getEntry();
  if (!entry || entry.isExternal())
    return emitOpError("is lowered, but has no entry function @") << getSymName();
  if (entry.getNumArguments() < 1 + type.getNumInputs() + type.getNumResults() + getSymbols().size())
    return emitOpError("has an entry function with fewer arguments than context, inputs, results and symbols");
  return success();
}

LogicalResult TmaTileAttr::verify(Emit emitError, int64_t argument, int64_t bytes, ArrayAttr extents, ArrayAttr strides,
                                  DenseI64ArrayAttr sizes, bool rounds) {
  constexpr size_t mostDims = 5;
  if (argument < 0 || bytes < 1)
    return emitError() << "argument must be at least 0, and bytes at least 1";
  if (extents.empty() || extents.size() > mostDims || strides.size() + 1 != extents.size() ||
      size_t(sizes.size()) != extents.size())
    return emitError() << "a TMA tile must have 1 to " << mostDims << " extents, as many sizes, and one stride less";
  auto isExpression = [](Attribute attr) { return graph::DimExpr::fromAttr(attr).has_value(); };
  if (!llvm::all_of(extents, isExpression) || !llvm::all_of(strides, isExpression))
    return emitError() << "extents and strides must be integers or expressions";
  if (rounds && bytes != 4)
    return emitError() << "rounds requires elements of 4 bytes";
  if (!llvm::all_of(sizes.asArrayRef(), [](int64_t size) { return size > 0; }))
    return emitError() << "sizes must be at least 1";
  return success();
}

LogicalResult AssembleOp::verify() {
  int64_t rank = getOutput().getType().getRank(), length = 0;
  if (getSubviews().empty() || int64_t(getDim()) >= rank)
    return emitOpError("needs at least one subview, and a dim below the rank of the result");
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
      return emitOpError(
          "has a subview whose rank or element type differs from the result's, or whose length is dynamic");
    if (!isa_and_nonnull<LaunchOp>(subview.getDefiningOp()) ||
        subview.getDefiningOp()->getBlock() != (*this)->getBlock())
      return emitOpError("has a subview that is not the result of a launch in the same block");
    if (llvm::count_if(subview.getUses(), [](OpOperand &use) { return isa<AssembleOp>(use.getOwner()); }) != 1)
      return emitOpError("has a subview that is an operand of another plan.assemble");
    if (subview.hasNUsesOrMore(kMaxSubviewReaders + 1))
      return emitOpError("has a subview with more than ") << kMaxSubviewReaders << " uses";
    if (!fillsWhole(type, getOutput().getType(), assembly, int64_t(number)))
      return emitOpError("has a subview whose layout differs from its part of the result: ") << type;
    length += type.getDimSize(assembly.dim);
  }
  if (!assembly.isInterleaved() && getOutput().getType().getDimSize(assembly.dim) != length)
    return emitOpError("has a result whose length is not the sum of the subviews' lengths");
  return success();
}

LogicalResult LaunchOp::verify() {
  for (Attribute symbol : getSymbols())
    if (!graph::DimExpr::fromAttr(symbol))
      return emitOpError("has a symbol value that is not an expression: ") << symbol;
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel)
    return success(); // tests of single passes leave kernels out
  FunctionType type = kernel.getFunctionType();
  if (getInputs().getTypes() != TypeRange(type.getInputs()) || getResultTypes() != TypeRange(type.getResults()) ||
      getSymbols().size() != kernel.getSymbols().size())
    return emitOpError() << "does not match the operands, results and symbols of '" << getKernel() << "'";
  return success();
}

LogicalResult BufferAttr::verify(Emit emitError, BufferKind kind, std::optional<graph::DimExpr> offset) {
  bool hasOffset =
      llvm::is_contained({BufferKind::Arena, BufferKind::Output, BufferKind::Slice, BufferKind::Subview}, kind);
  if (hasOffset != offset.has_value())
    return emitError() << "a buffer of kind '" << stringifyBufferKind(kind)
                       << (hasOffset ? "' needs an offset" : "' must not have an offset");
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
  if (!isLowered())
    return function_interface_impl::printFunctionOp(printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
                                                    getArgAttrsAttrName(), getResAttrsAttrName());
  printer << ' ';
  printer.printSymbolName(getSymName());
  call_interface_impl::printFunctionSignature(printer, getArgumentTypes(), getArgAttrsAttr(), /*isVariadic=*/false,
                                              getResultTypes(), getResAttrsAttr(), /*body=*/nullptr,
                                              /*printEmptyResult=*/false);
  function_interface_impl::printFunctionAttributes(
      printer, *this, {getFunctionTypeAttrName(), getArgAttrsAttrName(), getResAttrsAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/true);
}

} // namespace hewn::plan

// SPDX-License-Identifier: Apache-2.0
//
// Analytic cost model of register tiles: chooses a schedule from the target's registers and caches
// and from the dims of a contraction. It follows "Analytical Modeling Is Enough for
// High-Performance BLIS" (Low et al. 2016).
#ifndef HEWN_LIB_SCHEDULE_SCHEDULE_H
#define HEWN_LIB_SCHEDULE_SCHEDULE_H

#include "dialects/Graph/Analysis/Dims.h"
#include "dialects/Graph/Contract/FusedAttention.h"
#include "dialects/Plan/Target.h"
#include "lib/Support/Remarks.h"

namespace hewn::plan {

/// Maximum number of scratch memory slots for the tasks of a kernel, and maximum number of threads
/// that share a kernel.
inline constexpr int64_t kScratchSlots = 16;

/// Returns the target's dot-product instruction for the element types of this contraction, or null.
DotProductAttr findDot(graph::ContractOpInterface op);

/// Element types of the two operands of a contraction.
struct OperandTypes {
  mlir::Type left, right;
};
/// Returns the pairs of 8-bit integer types that the target multiplies and accumulates in 32 bits:
/// those of its dot-product instructions, then those of its matrix units, each once. For a target
/// without such instructions, and for a GPU, which supports all pairs, returns the usual pair of
/// quantized models: unsigned activations and signed weights.
llvm::SmallVector<OperandTypes, 2> byteProducts(mlir::Operation *op);

/// Returns yes if the contraction can use the matrix unit and is faster with it: K must be a
/// multiple of the unit's K depth, and the number of rows must be dynamic or at least the unit's
/// minimum. If it is dynamic, the target must also have a dot-product instruction of these types,
/// for runs with fewer rows.
Eligibility fills(graph::ContractOpInterface op, MatrixUnitAttr matrix);
/// Returns the matrix unit that this contraction uses, or null if no unit supports its types and
/// dims.
MatrixUnitAttr findMatrix(graph::ContractOpInterface op);

/// Returns the number of adjacent K elements that the contraction's instruction multiplies and adds
/// in one lane: 1 for FMAs in the accumulator type.
int64_t groupSize(graph::ContractOpInterface op);

/// Returns the op that dequantizes the contraction's right operand, if the kernel dequantizes it on
/// the fly. Returns null otherwise.
graph::PackedWeightsOpInterface decoderOf(graph::ContractOpInterface op);

/// How a kernel multiplies floats by packed low-bit weights in int8. Activations are split into
/// signed 8-bit slices, scaled by the largest element of a segment of a row. Three slices are as
/// accurate as float32; the kernel uses one slice if the model allows that. The integer
/// accumulation is exact.
struct Int8Slices {
  /// The instruction that multiplies weights (which may be unsigned) by int8 slices (which are
  /// signed).
  DotProductAttr dot;
  /// The instruction that extends 16-bit accumulators to 32 bits, by a multiplication by ones, if
  /// the results of `dot` are 16-bit sums of pairs. Null if the accumulators of `dot` have 32 bits.
  DotProductAttr widen;
  /// Returns the number of results of `dot` that a 16-bit accumulator can add up without overflow,
  /// if each byte of a lane holds one weight. Returns 0 if a single result may overflow.
  int64_t sumsInPairs() const {
    constexpr int64_t room = (1 << 15) - 1, largestSlice = 128;
    return room / (2 * largestSlice * largestCode());
  }
  /// Returns the largest value of a weight in a multiplication.
  int64_t largestCode() const {
    return code.tableInBytes ? graph::WeightEncoding::tableHighest - graph::WeightEncoding::tableLowest
                             : (int64_t(1) << code.bits) - 1;
  }
  /// Returns the offset that makes the stored low-bit weights unsigned: the midpoint for integers;
  /// for entries of a lookup table, minus the smallest entry.
  int64_t middle() const {
    return code.tableInBytes ? -graph::WeightEncoding::tableLowest : int64_t(1) << (code.bits - 1);
  }
  graph::WeightEncoding code;
  /// Returns the amount that is subtracted from unsigned 8-bit weights before the multiplication,
  /// if the instruction requires a signed left operand; otherwise 0.
  int64_t lessByte() const {
    return code.bits == 8 && !dot.getLeft().isUnsignedInteger() ? int64_t(1) << (code.bits - 1) : 0;
  }
  /// Sizes of the activation segments that share a scale. `segmentDepth`: number of K elements in a
  /// segment of a row. `segmentsPerBlock`: number of segments in a quantization block. `blocks`:
  /// number of quantization blocks along K. The last segment and the last block may be shorter.
  int64_t segmentDepth = 0, segmentsPerBlock = 0, blocks = 0;
  int64_t count = 3;
  static constexpr int64_t maxCount = 3, elementsInFloat = 4;
  /// Number of activation elements that are split into int8 slices at a time.
  static constexpr int64_t atOnce = 16;
  /// Size of the header in a task's buffer for a segment of an activation row, in floats. The
  /// header contains the scale, the scaled sum of the elements and, for each slice, minus its sum
  /// times the midpoint of the weights. The slices follow the header.
  static constexpr int64_t header = llvm::alignTo(2 + maxCount, elementsInFloat);
  int64_t segmentFloats() const { return header + segmentDepth / elementsInFloat * count; }
  int64_t rowFloats() const { return segmentFloats() * segmentsPerBlock * blocks; }
  /// Number of activation rows whose int8 slices a task holds in its buffer at a time.
  static constexpr int64_t rows = 32;
};
/// Returns the int8 slices for a contraction whose weights have the encoding `code`, or the reason
/// why its activations are not split into slices.
OrReason<Int8Slices> int8SlicesFor(graph::ContractOpInterface op, graph::WeightEncoding code);
/// Returns the int8 slices for a contraction that dequantizes its weights, or the reason why its
/// activations are not split into slices.
OrReason<Int8Slices> int8SlicesOf(graph::ContractOpInterface op);

/// Returns the roles of a contraction's dims on this target: graph::groupedLanes if a group has
/// fewer columns than a vector has lanes, otherwise graph::contractRoles.
std::optional<graph::ContractRoles> rolesOf(graph::ContractOpInterface op);

/// Returns true if zero padding of the input is folded into the contraction
/// (graph::leavesOutBorder). A contraction on a matrix unit does not fold it, because the unit
/// loads full tiles. A contraction on a GPU folds it for static sizes only.
bool leavesOutBorder(graph::ContractOpInterface op, graph::IndexingOpInterface border);

/// Returns the cost parameters of vector code on the target. If the module has no target, returns
/// round numbers that describe no real target.
VectorCostsAttr costsOf(mlir::Operation *op);

/// The properties of a contraction that the cost model uses.
struct ContractShape {
  /// `rows`: number of rows of the contraction that can share a tile because they have the same
  /// distance in memory: all rows of a matrix, or the pixels of one row of a convolution's result.
  /// `columns`: number of columns of the contraction.
  graph::DimExpr rows, columns;
  /// Distance in bytes between adjacent rows of the contraction's left operand; 0 if unknown.
  int64_t rowBytes = 0;
  /// True if the left operand of the contraction also has the column dim, as in a depthwise
  /// convolution, so that it is loaded as vectors instead of broadcast scalars.
  bool columnInLeft = false;
  /// Number of bytes in a vector lane of the contraction's accumulators.
  int64_t sumBytes = 4;
  /// True if each vector lane of an operand holds a group of adjacent 8-bit or 16-bit K elements.
  bool grouped = false;
  /// The matrix unit that the contraction uses, or null if it uses vectors.
  MatrixUnitAttr matrix = {};
  /// `decoded`: true if the kernel dequantizes the weights. `decodedBytes`: number of bytes of a
  /// column of weights after dequantization (see decodedColumnBytes), or 0 if the choice of the
  /// tile should not depend on it.
  bool decoded = false;
  int64_t decodedBytes = 0;
  /// True if the right operand of the contraction has a 16-bit float type and the kernel extends it
  /// to float32 after loading it.
  bool widens = false;
};

/// Returns the number of lanes of the vectors that a contraction of this shape uses: vectorLanes,
/// or half of it if that leaves fewer lanes without a column.
int64_t contractLanes(mlir::Operation *op, const ContractShape &shape);

/// Returns the number of bytes that a column of weights has after the kernel dequantizes it to
/// float. Returns 0 if the kernel dequantizes none, or if K is dynamic.
int64_t decodedColumnBytes(graph::ContractOpInterface op, const graph::ContractRoles &roles);

/// Returns the shape, for the cost model, of a contraction whose left operand has its channels
/// innermost.
ContractShape contractShape(graph::ContractOpInterface op, const graph::ContractRoles &roles);

/// A register tile of a contraction: m rows by n columns. `cyclesPerDepth`: expected time of one K
/// step for all rows and columns of the contraction, in units of one vector FMA; 0 if unknown.
struct ContractTile {
  int64_t m, n;
  double cyclesPerDepth = 0;
};

/// Returns the register tile for a contraction. `n` is a multiple of `contractLanes`. If the right
/// operand is packed in panels of `block` columns, n is a multiple of `block`, or a divisor of it
/// if the panel was packed for a target with more registers.
ContractTile chooseContractTile(mlir::Operation *op, const ContractShape &shape, int64_t block = 0);
/// Returns the register tile of kernels that are loops of vector instructions.
ContractTile registerTile(mlir::Operation *op, const ContractShape &shape, int64_t block);
/// Return the number of columns and of rows of a contraction for the cost models, which assume a
/// large number for dynamic dims.
int64_t columnsFor(const ContractShape &shape);
int64_t rowsFor(const ContractShape &shape);

/// Returns the register tiles that `hewn tune` should measure: the chosen tile first, then the
/// tiles whose expected time is close to that of the chosen one, the fastest first.
llvm::SmallVector<ContractTile> contractTiles(mlir::Operation *op, const ContractShape &shape, int64_t block = 0);

/// Returns the number of columns in a packed panel of a constant right operand: the columns of a
/// tile or, if the module's constants are shared by several targets, a number that suits all of
/// them.
int64_t choosePanel(mlir::Operation *op, const ContractShape &shape);
/// Returns the number of lanes of the longest vectors among the targets that share the module's
/// constants, or 0 if the constants are not shared.
int64_t packingLanes(mlir::Operation *op);

/// Returns the number of rows of scores that a task of fused attention holds on its stack. A row
/// has `columns` columns, of which each takes `columnBytes` bytes. Returns 0 if not even one tile
/// of rows fits the stack buffer and the cache.
int64_t attentionRows(mlir::Operation *op, int64_t columns, int64_t columnBytes);

/// Returns the distance in elements at which a kernel should store rows of `elements` elements. The
/// distance is an odd number of cache lines, so that adjacent rows, which kernels use together, map
/// to different cache sets.
graph::DimExpr rowStride(mlir::Operation *op, const graph::DimExpr &elements, int64_t bytesEach);

/// Returns the number of rows of scores that a task of fused attention holds in scratch memory at a
/// time, if they do not fit the stack.
int64_t attentionRowsInMemory(mlir::Operation *op, const graph::DimExpr &rows);

} // namespace hewn::plan

#endif

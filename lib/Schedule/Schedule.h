// SPDX-License-Identifier: Apache-2.0
//
// The analytic model of register tiles: from the machine's registers and caches and the sizes to a schedule (the reasoning of
// "Analytical Modeling Is Enough for High-Performance BLIS", Low et al. 2016).
#ifndef HEWN_LIB_SCHEDULE_SCHEDULE_H
#define HEWN_LIB_SCHEDULE_SCHEDULE_H

#include "dialects/Graph/Analysis/Dims.h"
#include "dialects/Graph/Contract/Chain.h"
#include "dialects/Plan/Target.h"
#include "lib/Support/Remarks.h"

namespace hewn::plan {

/// Slots of the memory that kernels have for their tasks: as many threads as may share a kernel.
inline constexpr int64_t kScratchSlots = 16;

/// The target's instruction for this contraction's types; null where it has none or is computed in its own type.
DotAttr findDot(graph::ContractOpInterface op);

/// The types of two operands.
struct OperandTypes {
  mlir::Type left, right;
};
/// The integers of 8 bits whose products the target sums in 32: those of its dots, then of its matrix units, each once. A target without
/// such an instruction, whose operands are widened, and a grid, which multiplies any two, have the one that quantized models come
/// with mostly: data without a sign, weights with one.
llvm::SmallVector<OperandTypes, 2> byteProducts(mlir::Operation *op);

/// Whether a contraction of these sizes can run on the unit and should: the summed dim is a multiple of its depth, and the rows
/// fill a tile, or may when run; then the machine must have vectors for the same products, for when they do not.
Verdict fills(graph::ContractOpInterface op, MatrixAttr matrix);
/// The matrix unit that this contraction runs on: its types have one, and it fills it; null otherwise.
MatrixAttr findMatrix(graph::ContractOpInterface op);

/// Neighbours along the sum that a lane of what this contraction runs on takes at once; 1: it is computed in its own type.
int64_t groupSize(graph::ContractOpInterface op);

/// The op that makes the contraction's right operand of a code, where the contraction decodes it as it goes; null: not so.
graph::CodedOpInterface decoderOf(graph::ContractOpInterface op);

/// How a contraction multiplies quantized weights as the integers that they are: activations are split into signed limbs of 8 bits,
/// which are scaled by the largest element of their segment of a row. Three limbs are as exact as a float; one, where the model allows
/// that. Sums of products of limbs are exact.
struct Limbs {
  /// The instruction, of codes and limbs: these have a sign, codes need none.
  DotAttr dot;
  /// Where its sums are of pairs and have 16 bits: the one that makes sums of 32 bits of them, which multiplies them by ones. Null: its
  /// sums have 32 bits.
  DotAttr widen;
  /// How many sums of pairs have room in 16 bits: of as many codes in each byte of a lane. 0: none for certain.
  int64_t sumsInPairs() const {
    constexpr int64_t room = (1 << 15) - 1, largestLimb = 128;
    int64_t largestCode =
        code.tableInBytes ? graph::Code::tableHighest - graph::Code::tableLowest : (int64_t(1) << code.bits) - 1;
    return room / (2 * largestLimb * largestCode);
  }
  /// What stands for zero: of codes the middle one, of a table's numbers, which are multiplied without a sign, what is added to them.
  int64_t middle() const { return code.tableInBytes ? -graph::Code::tableLowest : int64_t(1) << (code.bits - 1); }
  graph::Code code;
  /// What codes are multiplied less by: a whole byte without a sign is no operand of an instruction whose left one has it.
  int64_t lessByte() const {
    return code.bits == 8 && !dot.getLeft().isUnsignedInteger() ? int64_t(1) << (code.bits - 1) : 0;
  }
  /// Elements of a segment, and segments of a block; the last one may be shorter.
  int64_t segmentDepth = 0, segmentsPerBlock = 0, blocks = 0;
  int64_t count = 3;
  static constexpr int64_t maxCount = 3, elementsInFloat = 4;
  /// Elements that limbs are made of at a time.
  static constexpr int64_t atOnce = 16;
  /// What a task keeps of a segment of a row, in floats: a header (scale, scaled sum of the elements, for each limb minus the sum times
  /// the middle code), then the limbs.
  static constexpr int64_t header = llvm::alignTo(2 + maxCount, elementsInFloat);
  int64_t segmentFloats() const { return header + segmentDepth / elementsInFloat * count; }
  int64_t rowFloats() const { return segmentFloats() * segmentsPerBlock * blocks; }
  /// Rows that a task has limbs of at a time.
  static constexpr int64_t rows = 32;
};
/// The limbs of a contraction of vectors by weights of such a code, or why its rows are not split into any.
Found<Limbs> limbsFor(graph::ContractOpInterface op, graph::Code code);
/// The same for the code that it decodes.
Found<Limbs> limbsOf(graph::ContractOpInterface op);

/// The roles of a contraction's dims on this machine: graph::groupedLanes where groups are narrower than a vector of it, else
/// graph::contractRoles.
std::optional<graph::ContractRoles> rolesOf(graph::ContractOpInterface op);

/// Whether the contraction leaves out the border of zeros (graph::leavesOutBorder): not where it runs on a matrix unit, which
/// reads whole tiles, nor on a grid of threads where sizes are known only when run.
bool leavesOutBorder(graph::ContractOpInterface op, graph::MoveOpInterface border);

/// What vector code costs on the machine; where the module names none, on one that is none in particular.
VectorCostsAttr costsOf(mlir::Operation *op);

/// What the model looks at.
struct ContractShape {
  /// Rows that lie evenly spaced and may share a tile: those of one line of a window, all of a matrix.
  graph::DimExpr rows, columns;
  /// Bytes between neighbours of them in the left operand; 0 where that is not known.
  int64_t rowBytes = 0;
  /// Lanes run along the left operand too, so that it gives vectors and not scalars.
  bool columnInLeft = false;
  /// Bytes of a lane.
  int64_t sumBytes = 4;
  /// Whether lanes hold groups of narrower elements.
  bool grouped = false;
  /// What it runs on; null: vectors.
  MatrixAttr matrix = {};
  /// Whether the columns are decoded before they are used; bytes of one that is decoded to floats (`decodedColumnBytes`), where tiles are chosen by it.
  bool decoded = false;
  int64_t decodedBytes = 0;
  /// Whether columns are of a narrower float, and are widened when they have been read.
  bool widens = false;
};

/// Lanes of the vectors that a contraction of this shape uses: vectorLanes, or half of them where that wastes less.
int64_t contractLanes(mlir::Operation *op, const ContractShape &shape);

/// Bytes of a column of weights that come as codes and are decoded to floats; 0 where none are, or as many as only a run tells.
int64_t decodedColumnBytes(graph::ContractOpInterface op, const graph::ContractRoles &roles);

/// The shape of a contraction whose left operand lies with its channels innermost.
ContractShape contractShape(graph::ContractOpInterface op, const graph::ContractRoles &roles);

/// A tile of m rows by n columns, and what the model expects of it: the cycles that all rows and columns take for one step along the sum,
/// at one product of a vector each; 0 where it can't tell.
struct ContractTile {
  int64_t m, n;
  double cyclesPerDepth = 0;
};

/// The tile for a contraction. `n` is a multiple of `contractLanes`. With `block` given, the right operand is packed in panels of so
/// many columns, and n is one or several of them, or a part of one that was made for a machine with more room in its registers.
ContractTile chooseContractTile(mlir::Operation *op, const ContractShape &shape, int64_t block = 0);

/// The tiles that a search over schedules may try: the one that is chosen first, then others in the order of what the model expects of
/// them, as far as that is within reach of the best.
llvm::SmallVector<ContractTile> contractTiles(mlir::Operation *op, const ContractShape &shape, int64_t block = 0);

/// Columns in a panel of a constant right operand: those of a tile, or where several machines share the constant, as many
/// as all of them read well.
int64_t choosePanel(mlir::Operation *op, const ContractShape &shape);
/// The lanes of the widest machine of those that share constants; 0 where the constants are one machine's.
int64_t packingLanes(mlir::Operation *op);

/// Whether a grid's matrix instruction takes a chain: lines of its factors are of known length, and short enough for sums in
/// registers.
Verdict gridTakesChain(const graph::Chain &chain);

/// Rows of scores that a task of a chain (graph::Chain) holds on its stack, for so many columns of so many bytes; 0 where not
/// even a few fit there, or beside the operands in the cache.
int64_t chainRows(mlir::Operation *op, int64_t columns, int64_t columnBytes);

/// Elements between rows of `elements` each that are used together: an odd number of cache lines, so that neighbours don't fall
/// into one set of the cache.
graph::DimExpr rowStride(mlir::Operation *op, const graph::DimExpr &elements, int64_t bytesEach);

/// Rows of a chain that a task has in scratch memory at a time, where a stack won't do.
int64_t chainRowsInMemory(mlir::Operation *op, const graph::DimExpr &rows);

} // namespace hewn::plan

#endif

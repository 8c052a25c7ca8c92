// SPDX-License-Identifier: Apache-2.0
//
// Fused attention on GPUs: two GEMMs with row-wise ops between them
// (dialects/Graph/Contract/FusedAttention.h) in one kernel.
#ifndef HEWN_LIB_TARGET_NVPTX_KERNELS_ATTENTION_GPUATTENTION_H
#define HEWN_LIB_TARGET_NVPTX_KERNELS_ATTENTION_GPUATTENTION_H

#include "lib/Target/NVPTX/Kernels/Attention/AttentionPartials.h"
#include "lib/Target/NVPTX/Kernels/Attention/AttentionTile.h"
#include "lib/Target/NVPTX/Kernels/Attention/OnlineRows.h"
#include "lib/Target/NVPTX/Kernels/Tf32Split.h"

namespace hewn::codegen {

/// Base class of the attention kernels.
///
/// A warp has 16 or 32 rows of scores. It computes the scores of some columns at a time with matrix
/// instructions, and keeps the accumulators of the second GEMM in registers. k and v are staged in
/// shared memory:
///
///     copy the first tile of k
///     for tile:  wait; barrier;  copy the tile of v;  scores = q k;
///                wait; barrier;  copy the next tile of k;
///                weights from scores;  accumulators += weights v
///
/// A softmax is computed online (OnlineRows.h), in one pass over the columns. Other row-wise ops
/// take several passes: one for each reduction that depends on another's result, which recomputes
/// the scores, and one for the second GEMM. Scores are never stored in memory.
///
/// For small M, several warps of a block share rows and split the columns. At the end, they combine
/// their accumulators in shared memory, always in the same order. Several blocks may split the
/// columns as well (AttentionPartials.h).
///
/// A lane holds scores in the accumulator layout of the MMA: pairs of neighbouring columns. The
/// left operand of a TF32 MMA has columns that are four apart instead. Since the order of summation
/// is free, the kernel permutes the rows of v so that the scores' layout fits.
///
/// If all operands and the weights have one 16-bit float type, the MMA multiplies this type, and
/// weights are rounded to it. The accumulator layout then equals the layout of a left operand.
class GpuAttention {
public:
  static constexpr int64_t kInstructionRows = plan::GpuAttentionSpread::kInstructionRows, kFragment = 8;

  /// `memory` is the scratch memory for partial results, if the schedule splits columns over
  /// blocks.
  GpuAttention(KernelContext &k, mlir::OpBuilder &b, const graph::FusedAttention &attention,
               plan::GpuAttentionAttr schedule, const std::optional<Buffer> &memory);
  virtual ~GpuAttention() = default;
  void run();

protected:
  KernelContext &k;
  mlir::OpBuilder &b;
  const graph::FusedAttention &attention;
  const plan::GpuAttentionSpread spread;
  const int64_t depth, width; // K of the first GEMM, N of the second
  ElementEmitter e;
  GpuBuilder gpu;
  const mlir::Type factors; // MMA operand type
  Tf32Split products;
  AttentionPartials parts;
  AttentionGemm first, second;
  graph::Dims space;
  AttentionTile queries, keys, values;
  graph::Index group, inGroup, warpHigh, warpWide, warpColumn;
  /// Index of the block's row tile, and of its column split. `hasAll` is true in the block that has
  /// the combined result of all splits; it is null if every block has its final result.
  graph::Index item, part;
  mlir::Value hasAll;
  llvm::SmallVector<graph::Index> batch;
  /// Indices of this lane's rows (two of each 16 rows), and conditions that are true if a row
  /// exists.
  llvm::SmallVector<graph::Index> row;
  llvm::SmallVector<mlir::Value> exists;

  mlir::Location loc() { return k.loc(); }
  int64_t tile() const { return spread.tile(); }
  size_t numRows() const { return size_t(2 * spread.rowTiles); }
  size_t numSums() const { return size_t((width + 7) / 8 * 4 * spread.rowTiles); }
  mlir::Value number(double value) { return e.constantElement(b.getF32Type(), value); }

  /// Emits the loops over the columns. Returns the accumulators of the second GEMM for this lane's
  /// rows.
  virtual llvm::SmallVector<mlir::Value> sumsOfRows() = 0;

  using Step = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::ValueRange states, llvm::ArrayRef<mlir::Value> scores, graph::Index firstColumn)>;
  /// Emits a loop over the column tiles that carries states and emits `step` for each tile. If
  /// `adds` is true, the loop also stages v, so that `step` may call `addValues`.
  llvm::SmallVector<mlir::Value> overTiles(llvm::ArrayRef<mlir::Value> start, bool adds, Step step);
  /// Emits the MMAs that multiply `weights` by the tile of v in shared memory. Returns `sums` plus
  /// the products.
  llvm::SmallVector<mlir::Value> addValues(llvm::ArrayRef<mlir::Value> sums, llvm::ArrayRef<mlir::Value> weights);

  /// For score or accumulator `i` of a lane: `rowOf` is the lane's row that it is in, `columnOf`
  /// its column, `hasColumn` a condition that is true if that column exists (null if all do), and
  /// `placeOf` its index. A lane has four values of each 16 rows by eight columns.
  size_t rowOf(size_t i) const { return i / 4 % size_t(spread.rowTiles) * 2 + i % 4 / 2; }
  int64_t ownColumn(size_t i) const { return int64_t(i) / (4 * spread.rowTiles) * kFragment + int64_t(i) % 2; }
  graph::Index columnOf(size_t i, graph::Index firstColumn);
  mlir::Value hasColumn(size_t i, graph::Index firstColumn);
  /// Returns true if the number of columns is statically a multiple of the tile's columns.
  bool fillsTiles() const;
  llvm::SmallVector<graph::Index> placeOf(size_t i, graph::Index column);
  /// Returns the element at `at` of `tensor`, a value of the row-wise ops, given the score at `at`.
  mlir::Value readAt(mlir::Value tensor, mlir::Value score, llvm::ArrayRef<graph::Index> at);
  /// Merges the reduction states of a row that the four lanes of a quad have. All four get the
  /// result.
  llvm::SmallVector<mlir::Value> meet(graph::ReduceOpInterface reduce, llvm::SmallVector<mlir::Value> states);

private:
  /// The warp's rows of q, resident in registers if their elements are 16-bit floats and the rows
  /// are short. Empty otherwise.
  llvm::SmallVector<Tf32Split::Fragment> kept;

  bool keepsQueries() const { return !factors.isF32() && depth <= plan::kShortLine; }

  void keepQueries();
  Tf32Split::Fragment narrowQuery(int64_t step, int64_t sixteen);
  llvm::SmallVector<mlir::Value> scores();
  llvm::SmallVector<mlir::Value> narrowScores();
  llvm::SmallVector<mlir::Value> addNarrowValues(llvm::ArrayRef<mlir::Value> sums, llvm::ArrayRef<mlir::Value> weights);
  void write(llvm::ArrayRef<mlir::Value> sums, size_t i, size_t count);
  void finish(llvm::ArrayRef<mlir::Value> sums);
};

/// Emit the kernel in one pass, for attention with a softmax (emitOnlineAttention), or in several
/// passes, for any row-wise ops (emitAttentionPasses).
void emitOnlineAttention(KernelContext &k, mlir::OpBuilder &b, const graph::FusedAttention &attention,
                         plan::GpuAttentionAttr schedule, const std::optional<Buffer> &memory,
                         const OnlineRows &online);
void emitAttentionPasses(KernelContext &k, mlir::OpBuilder &b, const graph::FusedAttention &attention,
                         plan::GpuAttentionAttr schedule);

} // namespace hewn::codegen

#endif

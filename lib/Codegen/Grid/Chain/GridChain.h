// SPDX-License-Identifier: Apache-2.0
//
// Two products with rows between them (dialects/Graph/Contract/Chain.h: attention) in one kernel.
//
// A warp has sixteen rows of scores, or two times sixteen, of which it makes some columns at a time, by its matrix instruction, and keeps the sums of
// the second product in registers. The second factors come through shared memory:
//
//     bring lines 0 of k
//     for tile:  wait; barrier;  bring the tile's lines of v;  scores = q k;  wait; barrier;  bring the next tile's of k;
//                weights from scores;  sums += weights v
//
// A softmax between them is computed as it comes (OnlineRows.h): one pass. Anything else takes a pass for each reduction that needs
// another's result, in which the scores are made again, and one for the second product. No score is ever in memory.
//
// Where rows are few, the warps of a block share them and divide the columns; their sums meet in shared memory at the end, always
// in the same order. So may several blocks: ChainParts.h.
//
// Lanes hold scores as the instruction leaves them, two neighbouring columns each. As a left factor they would have to be columns
// four apart; since a sum has no order, the lines of v are taken in that other order instead.
//
// Where all operands and the weights are of one narrow float, they are the factors, and weights are rounded to it: they lie in lanes as a
// left factor does already.
#ifndef HEWN_LIB_CODEGEN_GRID_CHAIN_GRIDCHAIN_H
#define HEWN_LIB_CODEGEN_GRID_CHAIN_GRIDCHAIN_H

#include "lib/Codegen/Grid/Chain/ChainParts.h"
#include "lib/Codegen/Grid/Chain/GridLines.h"
#include "lib/Codegen/Grid/Chain/OnlineRows.h"
#include "lib/Codegen/Grid/Contract/GridFactors.h"

namespace hewn::codegen {

class GridChain {
public:
  static constexpr int64_t kInstructionRows = plan::GridChainSpread::kInstructionRows, kFragment = 8;

  /// `memory`: in which parts of columns meet, where the schedule splits them.
  GridChain(KernelFunction &k, mlir::OpBuilder &b, const graph::Chain &chain, plan::GridChainAttr schedule,
            const std::optional<Buffer> &memory);
  virtual ~GridChain() = default;
  void run();

protected:
  KernelFunction &k;
  mlir::OpBuilder &b;
  const graph::Chain &chain;
  const plan::GridChainSpread spread;
  const int64_t depth, width; // summed by the first product, columns of the second
  KernelElements e;
  Grid grid;
  const mlir::Type factors; // of the matrix instruction
  GridFactors products;
  ChainParts parts;
  ChainProduct first, second;
  graph::Dims space;
  GridLines queries, keys, values;
  graph::Index group, inGroup, warpHigh, warpWide, warpColumn;
  /// The block's rows, and which part of their columns; whether it has what all parts give (null: it does).
  graph::Index item, part;
  mlir::Value hasAll;
  llvm::SmallVector<graph::Index> batch;
  /// This lane's rows: two of each sixteen.
  llvm::SmallVector<graph::Index> row;
  llvm::SmallVector<mlir::Value> exists;

  mlir::Location loc() { return k.loc(); }
  int64_t tile() const { return spread.tile(); }
  size_t numRows() const { return size_t(2 * spread.rowTiles); }
  size_t numSums() const { return size_t((width + 7) / 8 * 4 * spread.rowTiles); }
  mlir::Value number(double value) { return e.constantElement(b.getF32Type(), value); }

  /// The second product's sums of this lane's rows, which begin here.
  virtual llvm::SmallVector<mlir::Value> sumsOfRows() = 0;

  using Step = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::ValueRange states, llvm::ArrayRef<mlir::Value> scores, graph::Index firstColumn)>;
  /// `step` for every tile of the rows. Where it `adds`, v's lines are there too when it calls `addValues`.
  llvm::SmallVector<mlir::Value> overTiles(llvm::ArrayRef<mlir::Value> start, bool adds, Step step);
  /// `sums` plus weights times the lines in shared memory.
  llvm::SmallVector<mlir::Value> addValues(llvm::ArrayRef<mlir::Value> sums, llvm::ArrayRef<mlir::Value> weights);

  /// Of score or sum `i` of a lane, of which four of each sixteen rows are of the same eight columns: which of its rows it is in, its
  /// column, whether there is one (null: always), its place.
  size_t rowOf(size_t i) const { return i / 4 % size_t(spread.rowTiles) * 2 + i % 4 / 2; }
  int64_t ownColumn(size_t i) const { return int64_t(i) / (4 * spread.rowTiles) * kFragment + int64_t(i) % 2; }
  graph::Index columnOf(size_t i, graph::Index firstColumn);
  mlir::Value hasColumn(size_t i, graph::Index firstColumn);
  /// Whether columns are whole tiles, whatever the sizes.
  bool fillsTiles() const;
  llvm::SmallVector<graph::Index> placeOf(size_t i, graph::Index column);
  /// The value of `tensor` made of one score.
  mlir::Value readAt(mlir::Value tensor, mlir::Value score, llvm::ArrayRef<graph::Index> at);
  /// A row's states of four neighbouring lanes, merged.
  llvm::SmallVector<mlir::Value> meet(graph::ReduceOpInterface reduce, llvm::SmallVector<mlir::Value> states);

private:
  /// The warp's rows of q as factors, where they are narrow and have so few words that they stay in registers.
  llvm::SmallVector<GridFactors::Fragment> kept;

  bool keepsQueries() const { return !factors.isF32() && depth <= plan::kShortLine; }

  void keepQueries();
  GridFactors::Fragment narrowQuery(int64_t step, int64_t sixteen);
  llvm::SmallVector<mlir::Value> scores();
  llvm::SmallVector<mlir::Value> narrowScores();
  llvm::SmallVector<mlir::Value> addNarrowValues(llvm::ArrayRef<mlir::Value> sums, llvm::ArrayRef<mlir::Value> weights);
  void write(llvm::ArrayRef<mlir::Value> sums, size_t i, size_t count);
  void finish(llvm::ArrayRef<mlir::Value> sums);
};

/// With a softmax between, in one pass; and of any rows.
void emitOnlineChain(KernelFunction &k, mlir::OpBuilder &b, const graph::Chain &chain, plan::GridChainAttr schedule,
                     const std::optional<Buffer> &memory, const OnlineRows &online);
void emitChainPasses(KernelFunction &k, mlir::OpBuilder &b, const graph::Chain &chain, plan::GridChainAttr schedule);

} // namespace hewn::codegen

#endif

// SPDX-License-Identifier: Apache-2.0
//
// What the files of the contraction engine share: one kernel being emitted.
//
// ContractEngine.cpp chooses which code a tile of the result gets, ContractTile.cpp emits a tile's sums of products
// (ContractDecode.cpp where weights come in few bits), ContractEpilogue.cpp what is done with them.
#ifndef HEWN_LIB_CODEGEN_CONTRACT_CONTRACTEMITTER_H
#define HEWN_LIB_CODEGEN_CONTRACT_CONTRACTEMITTER_H

#include "lib/Codegen/Contract/ContractForm.h"
#include "lib/Codegen/Contract/MatrixUnit.h"
#include "lib/Codegen/KernelFunction.h"

namespace hewn::codegen {

/// Tiles [first, last] along the tiled row that are the same code: `m` rows, and for each place in the clipped window the
/// rows that are inside the source (empty: all, everywhere).
struct RowVariant {
  int64_t first = 0, last = 0, m = 1;
  llvm::SmallVector<llvm::SmallVector<bool>> inside;
  bool sameCode(const RowVariant &other) const { return m == other.m && inside == other.inside; }
};

/// The columns of a panel: vectors, and which lanes of each exist (null: all).
struct Panel {
  int64_t vectors = 1;
  llvm::SmallVector<mlir::Value> masks;
};

/// Emits the kernel of a contraction into its function. One object emits one kernel, once.
class ContractEmitter {
public:
  ContractEmitter(KernelFunction &k, mlir::OpBuilder &b, const ContractForm &given, plan::ContractAttr schedule)
      : k(k), b(b), form(given), op(given.op), schedule(schedule),
        e(b, k.loc(), schedule.getLanes(), k.symbols, k.inputs), iteration(form.extents.size()) {}

  /// `memory`: the kernel's scratch memory, if it has some.
  void run(const std::optional<Buffer> &memory);

private:
  KernelFunction &k;
  mlir::OpBuilder &b;
  ContractForm form;
  graph::ContractOpInterface op;
  plan::ContractAttr schedule;
  KernelElements e;
  llvm::SmallVector<graph::Index> iteration;
  graph::DimExpr columns;
  int64_t m = 1, n = 1;
  bool heavy = false;
  /// The terms of both sides that vectors multiply.
  std::pair<unsigned, unsigned> pair = {0, 0};
  llvm::SmallVector<RowVariant> variants;

  mlir::Location loc() { return k.loc(); }

  mlir::VectorType sumType() {
    return mlir::VectorType::get({e.lanes}, graph::computeType(graph::getElementType(op->getResult(0))));
  }

  graph::Dims extentsOf(llvm::ArrayRef<unsigned> dims) {
    return llvm::map_to_vector<4>(dims, [&](unsigned d) { return form.extents[d]; });
  }

  // Which code a tile gets (ContractEngine.cpp)

  void overPanels(graph::Index panel, graph::Index tile);
  /// `body` gets the columns of a panel and the first of them: once for whole panels, and once for a last one that is shorter.
  void withPanel(graph::Index panel, llvm::function_ref<void(const Panel &, graph::Index)> body);
  /// The kinds of tile along the tiled row, in order; empty where their number is known only when run.
  llvm::SmallVector<RowVariant> rowVariants();
  void overRows(const Panel &panel, graph::Index firstColumn, graph::Index tile);
  /// Whole tiles of a matrix unit: the last one starts early enough to be whole, and stores what is new. Where there are not
  /// enough rows for one, which is known only when run, vectors do it.
  void overMatrixRows(const Panel &panel, graph::Index firstColumn, graph::Index tile);
  /// As many rows as there are, up to `most`: a full tile, one row (a batch of one is what most models run on), or half a
  /// tile or a whole one that repeats its last row.
  void unknownRows(const Panel &panel, graph::Index firstColumn, graph::Index first, graph::Index rest, int64_t most);
  /// The code of the variant that `tile` falls into: the longest run last, without a test of its own.
  void choose(llvm::ArrayRef<RowVariant> variants, const Panel &panel, graph::Index firstColumn, graph::Index tile);

  // One tile (ContractTile.cpp)

  /// `variant.m` rows from `first` on by the panel; `rest`, where given, is how many of them exist.
  void emitTile(const Panel &panel, const RowVariant &variant, graph::Index first, graph::Index firstRow,
                std::optional<graph::Index> rest);
  /// `m` rows from `firstRow` on by a matrix unit, through memory beside the stack's top; rows before `fresh` are not stored.
  void emitMatrixTile(const Panel &panel, graph::Index firstColumn, graph::Index firstRow, graph::Index fresh);

  // Weights that come as a code (ContractDecode.cpp)

  /// The kernel, where it decodes. Rows of one tile take codes as they go; where there are more, they share a panel of weights in
  /// `panels`, the kernel's scratch memory.
  void runDecoding(const Buffer &panels);
  /// The nest over all rows for a panel of columns, which tiles of rows are in.
  void overAllRows(graph::Index panel);
  /// The panel's weights to `memory` from `start` on, rows of `n`.
  void decodePanel(graph::Index panel, const Buffer &memory, graph::Index start);
  /// What codes are multiplied by and what is added, for the rows of a block: vectors, as those of the panel.
  struct Block {
    llvm::SmallVector<mlir::Value> factor, addend;
  };
  /// What is done with a panel's codes. `open` gives the state of a block's loop, from that of the loop over blocks, and `close` the
  /// next state of that from the block's last; `at` takes a summed index and the codes there, as mantissas.
  struct CodeVisitor {
    llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange)> open;
    llvm::function_ref<void(graph::Index, llvm::ArrayRef<mlir::Value>, const Block &, llvm::SmallVector<mlir::Value> &)>
        at;
    llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange, mlir::ValueRange, const Block &)> close;
  };
  /// Visits `vectors` vectors of columns from the one of `iteration` on.
  llvm::SmallVector<mlir::Value> overCodes(int64_t vectors, mlir::ValueRange state, const CodeVisitor &visitor);
  /// The sums of a tile's products. Of few rows those of a block are scaled when they are whole, which is less work than scaling each
  /// weight.
  llvm::SmallVector<mlir::Value> codedProducts(const Panel &panel, llvm::ArrayRef<graph::Index> rows,
                                               llvm::SmallVector<mlir::Value> sums);

  // Weights that come as a code, by integers (ContractDigits.cpp)

  /// The kernel, where it decodes and the machine multiplies digits of the left operand: each task makes these for some rows at a time, in
  /// `memory`.
  void runDigits(const Buffer &memory, const plan::Digits &digits);
  /// Writes the digits of `count` rows from `first` on.
  void writeDigits(const plan::Digits &digits, graph::Index first, graph::Index count, mlir::Value memory);
  /// Those of one piece of a row, `depth` elements of `left`, to `memory` from `to` on.
  void writePiece(const plan::Digits &digits, mlir::Value left, graph::Index at, int64_t depth, mlir::Value memory,
                  graph::Index to);
  /// Vectors of columns that a tile of digits has, of so many sums for each.
  int64_t vectorsBeside(int64_t sums);
  /// All rows from `first` on by a panel, where `count` have digits.
  void overDigitRows(const plan::Digits &digits, graph::Index panel, graph::Index first, graph::Index count,
                     mlir::Value memory);
  /// The sums of `rows` rows, from the one that `row` counts in `memory` on, by `panel.vectors` vectors of columns, from vector
  /// `firstVector` of the panel on.
  llvm::SmallVector<mlir::Value> digitProducts(const plan::Digits &digits, const Panel &panel, int64_t firstVector,
                                               int64_t rows, graph::Index row, mlir::Value memory);

  /// One step of a matrix unit over the depth: the products of all pairs of terms, from `leftAt` and `rightAt` on, added to the tiles of
  /// `sums`, which lie row by row, `across` in each.
  void addProducts(MatrixUnit &unit, int64_t across, graph::Index leftAt, graph::Index rightAt,
                   llvm::MutableArrayRef<mlir::Value> sums);

  bool packed() const { return form.rhs.blockDim >= 0; }
  /// From the tile's first column to vector `j` in the right operand, or what lies as it does: the vectors of a tile may lie in
  /// several panels.
  graph::Index rightDistance(int64_t j) { return rightDistance(form.rhs, j); }
  graph::Index rightDistance(const Buffer &buffer, int64_t j);
  /// The offset in `buffer` at `at`.
  graph::Index offset(const Buffer &buffer, mlir::AffineMap map, llvm::ArrayRef<graph::Index> at,
                      llvm::ArrayRef<graph::Clip> clips = {});
  /// A buffer like `memref` from an offset on, so that inner loops add one index to a fixed pointer.
  mlir::Value from(const Buffer &buffer, mlir::Value memref, graph::Index start);
  mlir::Value from(const Buffer &buffer, graph::Index start) { return from(buffer, buffer.memref, start); }

  struct KLoop {
    graph::DimExpr extent, left, right; // strides in the operands
  };
  /// The summed dims that no clip has, outermost first in the right operand's memory; neighbours that lie alike in both
  /// are one. A step along the grouped dim is `step` elements.
  llvm::SmallVector<KLoop> kLoops(int64_t step);
  llvm::SmallVector<mlir::Value> sumOfProducts(const Panel &panel, const RowVariant &variant,
                                               llvm::ArrayRef<graph::Index> rows);
  /// Loops over the places of outer windows that are inside, then the tile's own window place by place.
  llvm::SmallVector<mlir::Value> clippedLoops(llvm::ArrayRef<const graph::Clip *> loops, const Panel &panel,
                                              const RowVariant &variant, llvm::ArrayRef<graph::Index> rows,
                                              llvm::SmallVector<mlir::Value> sums);
  /// From row `base` of a tile to each of its rows in the left operand.
  llvm::SmallVector<graph::Index> rowDistances(llvm::ArrayRef<graph::Index> rows, int64_t base);
  /// The left operand's element, or group of them, in every lane.
  mlir::Value spreadScalar(mlir::Value left, graph::Index position, mlir::VectorType type);
  /// How many steps of the innermost loop have their factors in one register, from which products take them lane by lane; 1: each is
  /// spread by itself.
  int64_t stepsInLine(llvm::ArrayRef<KLoop> loops, mlir::Type leftType);
  /// The left operand's elements, or groups of them, of so many steps; and that of one of these steps, in every lane.
  mlir::Value lineOfFactors(mlir::Value left, graph::Index position, int64_t steps);
  mlir::Value factorInLine(mlir::Value line, int64_t step, mlir::VectorType type);
  /// Where the factors of a step are in both operands.
  std::pair<graph::Index, graph::Index> offsetsAt(llvm::ArrayRef<KLoop> loops, llvm::ArrayRef<graph::Index> indices,
                                                  int64_t steps);
  /// In the lanes of each group the channel of that number of the group's; where there is but one, the channels.
  mlir::Value channelOfGroups(mlir::Value channels, int64_t channel);
  /// sum + x * y, lane by lane.
  mlir::Value product(mlir::Value x, mlir::Value y, mlir::Value sum);

  /// What a step of the innermost loop asks for of the next panel: `step` elements behind the step before, from `first` behind the
  /// tile's own first column on.
  struct Ahead {
    graph::Index first;
    int64_t step;
    /// Bytes of a step, and of a line of the cache.
    int64_t stepBytes, lineBytes;
    /// Whether the `i`-th of several steps in a row asks for a line that the one before has not asked for.
    bool asksAt(int64_t i) const { return i == 0 || i * stepBytes / lineBytes != (i - 1) * stepBytes / lineBytes; }
  };
  /// Weights that no cache has kept come one panel ahead, a part by each tile of rows: a core waits less for memory that it
  /// asked for while it had other work. Not where few tiles share a panel: they wait for memory anyhow.
  std::optional<Ahead> fetchAhead(llvm::ArrayRef<graph::DimExpr> counts);
  /// The loops over the sum, those of `counts`, in chains of so few terms that float sums lose little: each chain begins at zero, and is
  /// added to what there was. Sums of integers, and of lengths that only a run tells, are one chain. Each of `products` is of `steps` terms.
  llvm::SmallVector<mlir::Value> chainsOfSums(
      llvm::ArrayRef<graph::DimExpr> counts, int64_t steps, llvm::SmallVector<mlir::Value> sums,
      llvm::function_ref<llvm::SmallVector<mlir::Value>(llvm::ArrayRef<graph::Index>, mlir::ValueRange)> products);
  /// A chain for each point of `outer`. `cuts`: its last loop and `inner`'s run over one dim.
  llvm::SmallVector<mlir::Value> chainsOfSums(
      llvm::ArrayRef<graph::DimExpr> outer, llvm::ArrayRef<graph::DimExpr> inner, bool cuts, int64_t unrollLimit,
      llvm::SmallVector<mlir::Value> sums,
      llvm::function_ref<llvm::SmallVector<mlir::Value>(llvm::ArrayRef<graph::Index>, mlir::ValueRange)> products);
  /// The products over the summed dims that have no border, for the rows in `inside` (empty: all).
  llvm::SmallVector<mlir::Value> innerLoops(const Panel &panel, llvm::ArrayRef<bool> inside,
                                            llvm::ArrayRef<graph::Index> rows, llvm::SmallVector<mlir::Value> sums);

  // What is done with the sums (ContractEpilogue.cpp)

  llvm::SmallVector<graph::Index> resultIndex(graph::Index column, graph::Index row);
  void epilogue(const Panel &panel, llvm::ArrayRef<graph::Index> rows, graph::Index firstColumn, graph::Index firstRow,
                std::optional<graph::Index> rest, llvm::ArrayRef<mlir::Value> sums);
  /// The same by way of memory: an epilogue of many instructions would be copied for each accumulator, and spill them all.
  /// The tile is stored beside the stack's top, and a loop over its rows takes it up again from L1.
  void spilledEpilogue(const Panel &panel, const RowVariant &variant, graph::Index firstColumn, graph::Index firstRow,
                       std::optional<graph::Index> rest, llvm::ArrayRef<mlir::Value> sums);
  /// Memory for so many sums, on the stack.
  mlir::Value scratchOf(int64_t count);
  /// The epilogue of rows `begin` to `end` of a tile in memory.
  void epilogueFrom(mlir::Value scratch, const Panel &panel, graph::Index firstColumn, graph::Index firstRow,
                    graph::Index begin, graph::Index end);
};

} // namespace hewn::codegen

#endif

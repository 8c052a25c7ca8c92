// SPDX-License-Identifier: Apache-2.0
//
// One operand of a contraction on its way to the warps' matrix instruction: slices of it, in a ring of buffers in shared memory.
//
// A slice is 64 bytes along the sum of each place of a tile, 128 where it is fetched. It lies as the operand does in memory: along the sum, a line a
// place; or along the places, a line a summed element. Chunks of 16 bytes change their places (a swizzle) within a line by the line's
// number, so that lanes that read a chunk of eight lines each meet different banks, as those do that write a line. For groups of
// warps lines along the places are no longer than the 128 bytes within which their instruction knows such changes: a slice is
// then several such panels, one behind the other.
//
// Where the operand is memory, perhaps in a border of zeros, it is copied on its own, 16 bytes at a time where its sizes
// allow; anything else is computed, an element at a time. One that is a tensor of boxes (GridBox.h) may be fetched instead.
#ifndef HEWN_LIB_CODEGEN_GRID_CONTRACT_GRIDOPERAND_H
#define HEWN_LIB_CODEGEN_GRID_CONTRACT_GRIDOPERAND_H

#include "lib/Codegen/Grid/Contract/GridBox.h"
#include "lib/Codegen/Grid/Contract/GridContraction.h"
#include "lib/Codegen/Grid/Contract/GridFactors.h"
#include "lib/Schedule/GridSchedule.h"

namespace hewn::codegen {

class GridOperand {
public:
  /// Bytes along the sum of one step of the matrix instruction.
  static constexpr int64_t kStepBytes = 32;

  /// `staged`: what elements are in shared memory (float32, float16, bfloat16, integers of eight bits). `width`: places of a tile, a multiple of 32;
  /// where groups of warps multiply, from `matrix`.
  GridOperand(GridContraction &c, unsigned operand, mlir::Type staged, int64_t width, const plan::GridTile &tile);

  /// Summed elements of a slice.
  int64_t depth() const { return sliceBytes / bytes; }
  /// Bytes of a slice.
  int64_t slice() const { return room() * bytes; }
  int64_t tileWidth() const { return width; }
  const graph::DimExpr &extent() const { return places; }

  /// From now on the tile begins at place `first`, and slices from `end` on are zeros.
  void begin(graph::Index first, graph::Index end) {
    firstPlace = first;
    endSlice = end;
  }
  /// Sends slice number `slice` on its way to a buffer; zeros beyond the operand's ends. Returns what is not copied but computed,
  /// for `put`, which may come later.
  llvm::SmallVector<mlir::Value> bring(graph::Index slice, graph::Index buffer);
  void put(llvm::ArrayRef<mlir::Value> computed, graph::Index buffer);
  /// Instead of both: from now on slices are fetched from `box`; and one thread has one of batch number `batch` come, by `mbarrier`.
  void fetchFrom(const GridBox &box);
  void fetch(graph::Index slice, graph::Index buffer, graph::Index batch, graph::Index mbarrier);
  /// Of a tile that `makesFactors`: makes two factors of each float32 of a slice that has come, by `workers` threads, of which this one is
  /// number `worker`. The first ones take its place.
  void split(GridFactors &factors, graph::Index buffer, graph::Index worker, int64_t workers);

  /// This lane's words of 16 places from `base + offset` on and step number `step` of a slice: as the matrix instruction wants the
  /// left factor of 16 rows, or the right ones of twice eight columns. `base` and `offset` are multiples of 16.
  llvm::SmallVector<mlir::Value> left(graph::Index buffer, graph::Index base, int64_t offset, int64_t step);
  llvm::SmallVector<mlir::Value> right(graph::Index buffer, graph::Index base, int64_t offset, int64_t step);
  /// The matrix of the places from `base` on, a multiple of a group's rows, and step number `step` of a slice; `second`: of the
  /// second factors.
  Grid::Matrix matrix(graph::Index buffer, graph::Index base, int64_t step, bool second = false);

private:
  GridContraction &c;
  KernelElements &e;
  unsigned operand;
  mlir::Type staged;
  int64_t width, bytes, sliceBytes; // of a tile; of an element; along the sum
  llvm::ArrayRef<unsigned> list;
  graph::DimExpr places;
  bool alongSum, forGroups;
  /// Bytes that are copied at once; 0: elements are computed.
  int64_t copied = 0;
  bool makesFactors;
  mlir::Value memory, secondFactors;
  mlir::Value tensor; // from which it is fetched
  unsigned rank = 0;
  int64_t block = 0; // of places, as GridBox has it
  graph::Index firstPlace, endSlice;

  /// Elements of a line of the slice, and of one in shared memory.
  int64_t line() const { return alongSum ? depth() : width; }
  int64_t panel() const;
  int64_t room() const { return width * depth(); }
  int64_t chunkElements() const { return 16 / bytes; }
  /// Elements that a thread brings at once, and how often the block's threads do.
  int64_t each() const { return copied ? copied / bytes : 1; }
  int64_t parts() const;
  bool readsElements() const { return bytes == 4 && !alongSum; }

  int64_t bytesAtOnce() const;
  graph::Index key(graph::Index line);
  graph::Index swizzled(graph::Index chunk, graph::Index key);
  /// Where part `part` of this thread goes: line and place in it.
  std::pair<graph::Index, graph::Index> partAt(int64_t part);
  graph::Index elementAt(graph::Index line, graph::Index inner);
  void overParts(llvm::function_ref<void(int64_t part)> body);
  void setSummed(graph::Index slice, graph::Index inSlice);
  mlir::Value exists(graph::Index slice, graph::Index place, graph::Index inSlice);
  void copy(int64_t part, graph::Index slice, graph::Index buffer);
  mlir::Value compute(int64_t part, graph::Index slice);
  llvm::SmallVector<mlir::Value> words(graph::Index buffer, graph::Index base, int64_t offset, int64_t step,
                                       bool isLeft);
  llvm::SmallVector<mlir::Value> wordsByElement(graph::Index buffer, graph::Index base, int64_t offset, int64_t step,
                                                bool isLeft);
};

} // namespace hewn::codegen

#endif

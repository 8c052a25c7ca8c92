// SPDX-License-Identifier: Apache-2.0
//
// One operand of a contraction on matrix instructions: K-slices that are staged in the
// shared-memory buffers of a pipeline.
//
// A slice has 64 bytes along K for each row (or column) of the tile, or 128 bytes if TMA loads it.
// The slice keeps the operand's layout in memory: if K is innermost, a row of the slice is a row
// (or column) of the tile; otherwise, a row of the slice is one index along K. The chunks of 16
// bytes within a row are XOR-swizzled by the row's index. Lanes that load a chunk of eight rows
// each, and threads that store a row, therefore access different banks. For warpgroup MMA, rows
// along M or N have at most the 128 bytes of a swizzle pattern; a slice with longer rows consists
// of several panels of such rows.
//
// An operand in memory, possibly with zero padding, is copied asynchronously, 16 bytes at a time if
// its sizes allow it. Any other operand is computed element by element. An operand that TMA
// supports (TmaOperand.h) may be loaded by TMA instead.
#ifndef HEWN_LIB_TARGET_NVPTX_KERNELS_MMAOPERAND_H
#define HEWN_LIB_TARGET_NVPTX_KERNELS_MMAOPERAND_H

#include "lib/Codegen/GPU/Contract/GpuContraction.h"
#include "lib/Target/NVPTX/Kernels/Tf32Split.h"
#include "lib/Target/NVPTX/Kernels/TmaOperand.h"
#include "lib/Target/NVPTX/Schedule/MmaSchedule.h"

namespace hewn::codegen {

class GpuOperand {
public:
  /// Bytes along K that one matrix instruction multiplies (a step).
  static constexpr int64_t kStepBytes = 32;

  /// `staged` is the element type in shared memory: float32, float16, bfloat16 or an 8-bit integer.
  /// `width` is the number of rows (or columns) of the tile, a multiple of 32.
  GpuOperand(GpuContraction &c, unsigned operand, mlir::Type staged, int64_t width, const plan::GpuTile &tile);

  /// Returns the number of elements that a slice of the operand has along K.
  int64_t depth() const { return sliceBytes / bytes; }
  /// Returns the size in bytes of a slice of the operand.
  int64_t slice() const { return room() * bytes; }
  int64_t tileWidth() const { return width; }
  const graph::DimExpr &extent() const { return places; }

  /// Begins a tile of the operand whose first row (or column) is `first`. Slices from number `end`
  /// on are filled with zeros.
  void begin(graph::Index first, graph::Index end) {
    firstPlace = first;
    endSlice = end;
  }
  /// `bring` starts the copy of slice `slice` to the buffer `buffer`; elements out of range become
  /// zero. If the operand is computed rather than copied, `bring` returns its elements, and `put`
  /// stores them to the buffer later.
  llvm::SmallVector<mlir::Value> bring(graph::Index slice, graph::Index buffer);
  void put(llvm::ArrayRef<mlir::Value> computed, graph::Index buffer);
  /// `fetchFrom` makes TMA load the operand, as `box` describes; `fetch` then replaces `bring` and
  /// `put`. `fetch` starts the load of a slice of batch element `batch` and must be called by one
  /// thread. The loaded bytes count for `mbarrier`.
  void fetchFrom(const TmaOperand &box);
  void fetch(graph::Index slice, graph::Index buffer, graph::Index batch, graph::Index mbarrier);
  /// Splits each float32 of the slice in `buffer` into TF32 hi and lo components. The hi components
  /// replace the float32s in shared memory. `workers` threads execute the split; this thread has
  /// the index `worker` among them. Only for tiles with `makesFactors`.
  void split(Tf32Split &factors, graph::Index buffer, graph::Index worker, int64_t workers);

  /// Return the registers with which this lane takes part in the MMAs of step `step` of the slice
  /// in `buffer`, for 16 rows (or columns) from `base + offset` on: the left operand of one MMA, or
  /// the right operands of two MMAs with eight columns each. `base` and `offset` are multiples of
  /// 16.
  llvm::SmallVector<mlir::Value> left(graph::Index buffer, graph::Index base, int64_t offset, int64_t step);
  llvm::SmallVector<mlir::Value> right(graph::Index buffer, graph::Index base, int64_t offset, int64_t step);
  /// Returns the shared-memory matrix that warpgroup MMA reads: the rows (or columns) from `base`
  /// on, at step `step` of the slice in `buffer`. `base` is a multiple of a warpgroup's rows. If
  /// `second` is true, returns the matrix of TF32 lo components.
  GpuBuilder::Matrix matrix(graph::Index buffer, graph::Index base, int64_t step, bool second = false);

private:
  GpuContraction &c;
  ElementEmitter &e;
  unsigned operand;
  mlir::Type staged;
  // Number of rows (or columns) of the operand's tile; bytes of an element; bytes of a slice along
  // K.
  int64_t width, bytes, sliceBytes;
  llvm::ArrayRef<unsigned> list;
  graph::DimExpr places;
  bool alongSum, forGroups;
  /// Number of bytes per asynchronous copy of the operand; 0 if its elements are computed.
  int64_t copied = 0;
  bool makesFactors;
  mlir::Value memory, secondFactors;
  mlir::Value tensor; // kernel argument from which TMA loads
  unsigned rank = 0;
  int64_t block = 0; // rows (or columns) of a block, see TmaOperand::block
  graph::Index firstPlace, endSlice;

  /// `line` is the number of elements in a row of the slice, `panel` that in a row of a panel.
  int64_t line() const { return alongSum ? depth() : width; }
  int64_t panel() const;
  int64_t room() const { return width * depth(); }
  int64_t chunkElements() const { return 16 / bytes; }
  /// `each` is the number of elements per copy, `parts` the number of copies per thread.
  int64_t each() const { return copied ? copied / bytes : 1; }
  int64_t parts() const;
  bool readsElements() const { return bytes == 4 && !alongSum; }

  int64_t bytesAtOnce() const;
  graph::Index key(graph::Index line);
  graph::Index swizzled(graph::Index chunk, graph::Index key);
  /// Returns where this thread's copy number `part` begins: the row of the slice, and the element
  /// in the row.
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

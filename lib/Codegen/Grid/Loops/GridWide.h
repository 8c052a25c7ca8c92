// SPDX-License-Identifier: Apache-2.0
//
// Several neighbouring elements by one thread, so that memory is read and written 16 bytes at once. Only loads and stores are of
// vectors: a leaf's lanes are bound one after the other, and everything between is evaluated by elements.
#ifndef HEWN_LIB_CODEGEN_GRID_LOOPS_GRIDWIDE_H
#define HEWN_LIB_CODEGEN_GRID_LOOPS_GRIDWIDE_H

#include "lib/Codegen/KernelFunction.h"

namespace hewn::codegen {

/// Bytes of an element of a kind that vectors are converted of as a whole; 0: of another.
int64_t vectorBytes(mlir::Type type);
/// Whether neighbours along each dim are as far from each other everywhere, from the memory's beginning on.
bool isEven(const Buffer &buffer);
/// Whether all lines along dim `own` of the buffer, all elements where that is none of its dims, begin at multiples of `count`.
bool linesBeginAt(const Buffer &buffer, int64_t own, int64_t count);
/// Says of the vector just loaded that it lies at a multiple of its size.
void alignLoad(mlir::OpBuilder &b);

class GridWide {
public:
  /// Bytes that a thread reads or writes at once, at most.
  static constexpr int64_t kBytes = 16;

  /// For results of dims `space`, `lanes` neighbours along dim `dim`: nullopt where ops do more than combine elements at the same place
  /// (and reduce them), or where a result does not lie that way, at multiples of the vectors, or these would be too long. Without
  /// `lanes`, as many as there may be.
  static std::optional<GridWide> along(KernelFunction &k, const graph::Dims &space, unsigned dim,
                                       llvm::ArrayRef<unsigned> results, std::optional<int64_t> lanes = std::nullopt);

  int64_t lanes() const { return count; }
  /// `body` for each lane, `at` being the first one's place, with the leaves of that lane bound.
  void overLanes(KernelElements &e, llvm::ArrayRef<graph::Index> at,
                 llvm::function_ref<void(llvm::ArrayRef<graph::Index>)> body) const;
  /// Stores a lane each of `values`, elements of result number `result`.
  void write(KernelElements &e, unsigned result, llvm::ArrayRef<graph::Index> at,
             llvm::ArrayRef<mlir::Value> values) const;

private:
  KernelFunction *k = nullptr;
  unsigned dim = 0;
  int64_t count = 0;
  llvm::SmallVector<mlir::Value> leaves;

  llvm::SmallVector<graph::Index> vectorAt(llvm::ArrayRef<graph::Index> at, size_t rank) const;
};

} // namespace hewn::codegen

#endif

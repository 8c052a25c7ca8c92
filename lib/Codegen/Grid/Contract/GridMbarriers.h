// SPDX-License-Identifier: Apache-2.0
//
// A ring of buffers between a thread that has them filled and warps that read them, with two mbarriers each: one where readers wait
// until it is full, one where the other waits until all of them have read it. Both sides count turns from 0; stage n uses buffer
// n % buffers for the (n / buffers)-th time, and that is the phase of its mbarriers. Where other warps make something of what has come,
// a third mbarrier is where readers wait until they have.
#ifndef HEWN_LIB_CODEGEN_GRID_CONTRACT_GRIDGATES_H
#define HEWN_LIB_CODEGEN_GRID_CONTRACT_GRIDGATES_H

#include "lib/Codegen/Grid/Grid.h"

namespace hewn::codegen {

class GridMbarriers {
public:
  /// `readers`, `makers`: warps. By all threads of the block, before anything else; waits at a barrier.
  GridMbarriers(Grid &grid, KernelElements &e, int64_t buffers, int64_t readers, int64_t makers = 0);

  struct Stage {
    graph::Index buffer, parity, full, empty, made;
  };
  Stage stage(graph::Index number);
  /// The filling side: until the buffer is free; then `bytes` are expected, which come by the stage's mbarrier `full`.
  void beginFilling(const Stage &stage, int64_t bytes);
  /// The reading side: until the buffer is full; and, by one thread of each warp, when it has been read.
  void waitUntilFull(const Stage &stage);
  void hasRead(const Stage &stage);
  /// By one thread of each warp that makes something of it, when it has; and by readers, until all have.
  void hasMade(const Stage &stage);
  void waitUntilMade(const Stage &stage);

private:
  static constexpr int64_t kMbarrier = 8; // bytes
  Grid &grid;
  KernelElements &e;
  int64_t buffers;
  mlir::Value memory;
};

} // namespace hewn::codegen

#endif

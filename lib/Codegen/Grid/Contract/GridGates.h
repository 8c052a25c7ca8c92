// SPDX-License-Identifier: Apache-2.0
//
// A ring of buffers between a thread that has them filled and warps that read them, with two gates each: one where readers wait
// until it is full, one where the other waits until all of them have read it. Both sides count turns from 0; turn n uses buffer
// n % buffers for the (n / buffers)-th time, and that is the phase of its gates. Where other warps make something of what has come,
// a third gate is where readers wait until they have.
#ifndef HEWN_LIB_CODEGEN_GRID_CONTRACT_GRIDGATES_H
#define HEWN_LIB_CODEGEN_GRID_CONTRACT_GRIDGATES_H

#include "lib/Codegen/Grid/Grid.h"

namespace hewn::codegen {

class GridGates {
public:
  /// `readers`, `makers`: warps. By all threads of the block, before anything else; waits at a barrier.
  GridGates(Grid &grid, KernelElements &e, int64_t buffers, int64_t readers, int64_t makers = 0);

  struct Turn {
    graph::Index buffer, parity, full, empty, made;
  };
  Turn turn(graph::Index number);
  /// The filling side: until the buffer is free; then `bytes` are expected, which come by the turn's gate `full`.
  void beginFilling(const Turn &turn, int64_t bytes);
  /// The reading side: until the buffer is full; and, by one thread of each warp, when it has been read.
  void waitUntilFull(const Turn &turn);
  void hasRead(const Turn &turn);
  /// By one thread of each warp that makes something of it, when it has; and by readers, until all have.
  void hasMade(const Turn &turn);
  void waitUntilMade(const Turn &turn);

private:
  static constexpr int64_t kGate = 8; // bytes
  Grid &grid;
  KernelElements &e;
  int64_t buffers;
  mlir::Value memory;
};

} // namespace hewn::codegen

#endif

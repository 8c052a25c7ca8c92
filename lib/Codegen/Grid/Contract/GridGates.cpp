// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Grid/Contract/GridGates.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using hewn::graph::Index;

namespace hewn::codegen {

GridGates::GridGates(Grid &grid, KernelElements &e, int64_t buffers, int64_t readers, int64_t makers)
    : grid(grid), e(e), buffers(buffers), memory(grid.shared((makers > 0 ? 3 : 2) * buffers, e.b.getI64Type(), kGate)) {
  Value isFirst = e.compare(arith::CmpIPredicate::eq, {grid.thread}, e.constant(0));
  auto branch = scf::IfOp::create(e.b, e.loc, isFirst, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(e.b);
    e.b.setInsertionPoint(branch.thenBlock()->getTerminator());
    int64_t arrivals[] = {1, readers, makers};
    for (int64_t i = 0; i < (makers > 0 ? 3 : 2) * buffers; ++i)
      grid.makeGate(e.add(grid.address(memory), e.constant(i * kGate)), arrivals[i / buffers]);
    grid.gatesAreReady();
    e.forget();
  }
  grid.barrier();
}

GridGates::Turn GridGates::turn(Index number) {
  Turn turn;
  turn.buffer = e.mod(number, e.constant(buffers));
  turn.parity = e.mod(e.floorDiv(number, e.constant(buffers)), e.constant(2));
  turn.full = e.add(grid.address(memory), e.mul(turn.buffer, e.constant(kGate)));
  turn.empty = e.add(turn.full, e.constant(buffers * kGate));
  turn.made = e.add(turn.empty, e.constant(buffers * kGate));
  return turn;
}

void GridGates::beginFilling(const Turn &turn, int64_t bytes) {
  // The phase before this one; before the first it has ended.
  grid.waitAtGate(turn.empty, e.sub(e.constant(1), turn.parity));
  grid.expect(turn.full, bytes);
}

void GridGates::waitUntilFull(const Turn &turn) { grid.waitAtGate(turn.full, turn.parity); }
void GridGates::hasRead(const Turn &turn) { grid.arrive(turn.empty); }
void GridGates::hasMade(const Turn &turn) { grid.arrive(turn.made); }
void GridGates::waitUntilMade(const Turn &turn) { grid.waitAtGate(turn.made, turn.parity); }

} // namespace hewn::codegen

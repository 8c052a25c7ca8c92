// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Grid/Contract/GridMbarriers.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using hewn::graph::Index;

namespace hewn::codegen {

GridMbarriers::GridMbarriers(Grid &grid, KernelElements &e, int64_t buffers, int64_t readers, int64_t makers)
    : grid(grid), e(e), buffers(buffers),
      memory(grid.shared((makers > 0 ? 3 : 2) * buffers, e.b.getI64Type(), kMbarrier)) {
  Value isFirst = e.compare(arith::CmpIPredicate::eq, {grid.thread}, e.constant(0));
  auto branch = scf::IfOp::create(e.b, e.loc, isFirst, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(e.b);
    e.b.setInsertionPoint(branch.thenBlock()->getTerminator());
    int64_t arrivals[] = {1, readers, makers};
    for (int64_t i = 0; i < (makers > 0 ? 3 : 2) * buffers; ++i)
      grid.initMbarrier(e.add(grid.address(memory), e.constant(i * kMbarrier)), arrivals[i / buffers]);
    grid.fenceMbarrierInits();
    e.forget();
  }
  grid.barrier();
}

GridMbarriers::Stage GridMbarriers::stage(Index number) {
  Stage stage;
  stage.buffer = e.mod(number, e.constant(buffers));
  stage.parity = e.mod(e.floorDiv(number, e.constant(buffers)), e.constant(2));
  stage.full = e.add(grid.address(memory), e.mul(stage.buffer, e.constant(kMbarrier)));
  stage.empty = e.add(stage.full, e.constant(buffers * kMbarrier));
  stage.made = e.add(stage.empty, e.constant(buffers * kMbarrier));
  return stage;
}

void GridMbarriers::beginFilling(const Stage &stage, int64_t bytes) {
  // The phase before this one; before the first it has ended.
  grid.waitForMbarrier(stage.empty, e.sub(e.constant(1), stage.parity));
  grid.expect(stage.full, bytes);
}

void GridMbarriers::waitUntilFull(const Stage &stage) { grid.waitForMbarrier(stage.full, stage.parity); }
void GridMbarriers::hasRead(const Stage &stage) { grid.arrive(stage.empty); }
void GridMbarriers::hasMade(const Stage &stage) { grid.arrive(stage.made); }
void GridMbarriers::waitUntilMade(const Stage &stage) { grid.waitForMbarrier(stage.made, stage.parity); }

} // namespace hewn::codegen

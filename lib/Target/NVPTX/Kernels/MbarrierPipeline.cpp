// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/NVPTX/Kernels/MbarrierPipeline.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using hewn::graph::Index;

namespace hewn::codegen {

MbarrierPipeline::MbarrierPipeline(GpuBuilder &gpu, ElementEmitter &e, int64_t buffers, int64_t readers, int64_t makers)
    : gpu(gpu), e(e), buffers(buffers),
      memory(gpu.shared((makers > 0 ? 3 : 2) * buffers, e.b.getI64Type(), kMbarrier)) {
  Value isFirst = e.compare(arith::CmpIPredicate::eq, {gpu.thread}, e.constant(0));
  auto branch = scf::IfOp::create(e.b, e.loc, isFirst, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(e.b);
    e.b.setInsertionPoint(branch.thenBlock()->getTerminator());
    int64_t arrivals[] = {1, readers, makers};
    for (int64_t i = 0; i < (makers > 0 ? 3 : 2) * buffers; ++i)
      gpu.initMbarrier(e.add(gpu.address(memory), e.constant(i * kMbarrier)), arrivals[i / buffers]);
    gpu.fenceMbarrierInits();
    e.forget();
  }
  gpu.barrier();
}

MbarrierPipeline::Stage MbarrierPipeline::stage(Index number) {
  Stage stage;
  stage.buffer = e.mod(number, e.constant(buffers));
  stage.parity = e.mod(e.floorDiv(number, e.constant(buffers)), e.constant(2));
  stage.full = e.add(gpu.address(memory), e.mul(stage.buffer, e.constant(kMbarrier)));
  stage.empty = e.add(stage.full, e.constant(buffers * kMbarrier));
  stage.made = e.add(stage.empty, e.constant(buffers * kMbarrier));
  return stage;
}

void MbarrierPipeline::beginFilling(const Stage &stage, int64_t bytes) {
  // Wait until consumers have released the previous contents of the buffer. In the first phase,
  // this wait returns at once, because the buffer is free.
  gpu.waitForMbarrier(stage.empty, e.sub(e.constant(1), stage.parity));
  gpu.expect(stage.full, bytes);
}

void MbarrierPipeline::waitUntilFull(const Stage &stage) { gpu.waitForMbarrier(stage.full, stage.parity); }
void MbarrierPipeline::hasRead(const Stage &stage) { gpu.arrive(stage.empty); }
void MbarrierPipeline::hasMade(const Stage &stage) { gpu.arrive(stage.made); }
void MbarrierPipeline::waitUntilMade(const Stage &stage) { gpu.waitForMbarrier(stage.made, stage.parity); }

} // namespace hewn::codegen

// SPDX-License-Identifier: Apache-2.0
//
// Multi-stage pipeline of shared-memory buffers between one producer thread, which starts TMA
// loads, and the consumer warps.
//
// Each buffer has two mbarriers: consumers wait on `full`, the producer waits on `empty`. The
// producer and the consumers count stages from 0: stage n uses buffer n % buffers, and n / buffers
// is the phase of its mbarriers. If other warps transform the loaded data, consumers wait for them
// on a third mbarrier, `made`.
#ifndef HEWN_LIB_TARGET_NVPTX_KERNELS_MBARRIERPIPELINE_H
#define HEWN_LIB_TARGET_NVPTX_KERNELS_MBARRIERPIPELINE_H

#include "lib/Codegen/GPU/GpuBuilder.h"

namespace hewn::codegen {

class MbarrierPipeline {
public:
  /// `readers` is the number of warps that consume the data, `makers` the number of warps that
  /// transform it. All threads of the block must execute the constructor's code, which ends with a
  /// barrier, before they use the pipeline.
  MbarrierPipeline(GpuBuilder &gpu, ElementEmitter &e, int64_t buffers, int64_t readers, int64_t makers = 0);

  struct Stage {
    graph::Index buffer, parity, full, empty, made;
  };
  Stage stage(graph::Index number);
  /// For the producer: waits until the stage's buffer is free, then makes its mbarrier `full`
  /// expect `bytes` bytes.
  void beginFilling(const Stage &stage, int64_t bytes);
  /// For consumers: waits until the stage's buffer is full. `hasRead` releases the buffer; one
  /// thread of each consumer warp must call it.
  void waitUntilFull(const Stage &stage);
  void hasRead(const Stage &stage);
  /// For transforming warps: reports that the data is transformed. One thread of each transforming
  /// warp must call it. Consumers wait for all of them with `waitUntilMade`.
  void hasMade(const Stage &stage);
  void waitUntilMade(const Stage &stage);

private:
  static constexpr int64_t kMbarrier = 8; // size of an mbarrier in bytes
  GpuBuilder &gpu;
  ElementEmitter &e;
  int64_t buffers;
  mlir::Value memory;
};

} // namespace hewn::codegen

#endif

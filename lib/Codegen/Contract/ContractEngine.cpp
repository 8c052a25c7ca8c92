// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Contract/ContractEngine.h"
#include "lib/Codegen/Contract/ContractSchedule.h"
#include "lib/Codegen/Contract/Sums/DequantizingMma.h"
#include "lib/Codegen/Contract/Sums/Int8SliceMma.h"
#include "lib/Codegen/Contract/TileLoops.h"

using namespace mlir;

namespace hewn::codegen {

LogicalResult emitContraction(KernelContext &k, OpBuilder &b, plan::ContractAttr schedule,
                              const std::optional<Buffer> &memory) {
  OrReason<ContractForm> form = contractForm(k, schedule.getUnit());
  if (!form)
    return refuse(k, schedule) << ", but is not a contraction that can be tiled this way: " << form.why();
  if (failed(verifyContraction(k, *form, schedule, memory)))
    return failure();
  ElementEmitter e(b, k.loc(), schedule.getLanes(), k.symbols, k.inputs);
  ContractKernel c(k, b, e, *form, schedule);
  if (schedule.getInt8Slices() > 0)
    emitByInt8Slices(c, *memory, *plan::int8SlicesOf(c.op));
  else if (!contractScratch(k, *form, schedule).empty())
    emitDecoding(c, *memory);
  else
    TileLoops(c).run();
  return success();
}

} // namespace hewn::codegen

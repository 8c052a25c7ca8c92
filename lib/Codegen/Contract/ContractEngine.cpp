// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Contract/ContractEngine.h"
#include "lib/Codegen/Contract/ContractSchedule.h"
#include "lib/Codegen/Contract/Sums/CodedSums.h"
#include "lib/Codegen/Contract/Sums/LimbSums.h"
#include "lib/Codegen/Contract/TileLoops.h"

using namespace mlir;

namespace hewn::codegen {

LogicalResult emitContraction(KernelFunction &k, OpBuilder &b, plan::ContractAttr schedule,
                              const std::optional<Buffer> &memory) {
  Found<ContractForm> form = contractForm(k, schedule.getUnit());
  if (!form)
    return refuse(k, schedule) << ", and is no contraction that the machine tiles so: " << form.why();
  if (failed(verifyContraction(k, *form, schedule, memory)))
    return failure();
  KernelElements e(b, k.loc(), schedule.getLanes(), k.symbols, k.inputs);
  ContractKernel c(k, b, e, *form, schedule);
  if (schedule.getLimbs() > 0)
    emitByLimbs(c, *memory, *plan::limbsOf(c.op));
  else if (!contractScratch(k, *form, schedule).empty())
    emitDecoding(c, *memory);
  else
    TileLoops(c).run();
  return success();
}

} // namespace hewn::codegen

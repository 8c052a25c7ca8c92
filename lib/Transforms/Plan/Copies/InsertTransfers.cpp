// SPDX-License-Identifier: Apache-2.0
//
// Inserts transfers between host and device memory (see Passes.td).
#include "lib/Schedule/Schedule.h"
#include "lib/Schedule/ScheduleModel.h"
#include "lib/Transforms/Plan/Copies/Memories.h"
#include "lib/Transforms/Plan/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace hewn {
#define GEN_PASS_DEF_INSERTTRANSFERSPASS
#include "lib/Transforms/Plan/Passes.h.inc"
} // namespace hewn

using namespace mlir;
using namespace hewn;
using namespace hewn::plan;

namespace {

struct InsertTransfers : public hewn::impl::InsertTransfersPassBase<InsertTransfers> {
  void runOnOperation() override {
    auto program = getOperation().lookupSymbol<func::FuncOp>(kProgramName);
    if (!supports(getOperation(), KernelFeature::SeparateMemory) || !program || program.isDeclaration())
      return;
    SmallVector<OpOperand *> crossing;
    program.getBody().walk([&](Operation *op) {
      for (OpOperand &operand : op->getOpOperands()) {
        Memory from = memoryOf(operand.get()), to = memoryWanted(operand);
        if (from != Memory::Both && to != Memory::Both && from != to)
          crossing.push_back(&operand);
      }
    });
    DenseMap<Value, Value> copies;
    for (OpOperand *operand : crossing) {
      Value &copy = copies[operand->get()];
      if (!copy)
        copy = copyOf(operand->get(), memoryWanted(*operand));
      operand->set(copy);
    }
  }

  static Value copyOf(Value value, Memory to) {
    OpBuilder b(value.getContext());
    b.setInsertionPointAfterValue(value);
    auto copy =
        CopyOp::create(b, value.getLoc(), value.getType(), value, to == Memory::Host ? CopyTo::Host : CopyTo::Device);
    graph::setResultDims(copy, {graph::getDims(value)});
    return copy.getOutput();
  }
};

} // namespace

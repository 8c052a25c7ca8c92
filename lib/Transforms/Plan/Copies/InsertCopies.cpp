// SPDX-License-Identifier: Apache-2.0
//
// Copies values between the host's memory and the device's.
//
//     %1 = plan.launch @k(%0) ...                       %1 = plan.launch @k(%0) ...
//     %v, %i = graph.top_k %1, %k ...             →     %2 = plan.copy %1 to host : ...
//                                                       %v, %i = graph.top_k %2, %k ...
//
// A value is copied once, right behind the op that makes it, whoever reads it. Each copy to the host waits for the device:
// models without parts of the runtime and without control flow have none.
//
// Machines whose kernels run where the program does have one memory; their programs are left alone.
#include "lib/Schedule/Schedule.h"
#include "lib/Transforms/Plan/Copies/Memories.h"
#include "lib/Transforms/Plan/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace hewn {
#define GEN_PASS_DEF_INSERTCOPIESPASS
#include "lib/Transforms/Plan/Passes.h.inc"
} // namespace hewn

using namespace mlir;
using namespace hewn;
using namespace hewn::plan;

namespace {

struct InsertCopies : public hewn::impl::InsertCopiesPassBase<InsertCopies> {
  void runOnOperation() override {
    auto program = getOperation().lookupSymbol<func::FuncOp>(kProgramName);
    if (!gridOf(getOperation()) || !program || program.isDeclaration())
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

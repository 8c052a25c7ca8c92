// SPDX-License-Identifier: Apache-2.0
//
// Assigns a buffer to every value of the program (see Passes.td and MemoryPlan.h).
#include "lib/Transforms/Plan/MemoryPlan.h"
#include "lib/Transforms/Plan/Passes.h"

namespace hewn {
#define GEN_PASS_DEF_PLANMEMORYPASS
#include "lib/Transforms/Plan/Passes.h.inc"
} // namespace hewn

using namespace mlir;
using namespace hewn;
using namespace hewn::plan;

namespace {

struct PlanMemory : public hewn::impl::PlanMemoryPassBase<PlanMemory> {
  void runOnOperation() override {
    auto program = getOperation().lookupSymbol<func::FuncOp>(kProgramName);
    if (!program || program.isDeclaration())
      return;
    MemoryPlan plan(program);
    plan.collect();
    plan.pack();
    plan.write();
    plan.emitRemarks(getArgument());
  }
};

} // namespace

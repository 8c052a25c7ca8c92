// SPDX-License-Identifier: Apache-2.0
//
// Gives every value of the program a place.
//
// Before:
//     %1 = plan.launch @k0(%0) symbols [] : (tensor<8xf32>) -> tensor<8xf32>
//     %2 = plan.launch @k1(%1) symbols [] : (tensor<8xf32>) -> tensor<8xf32>
//     return %2
// After:
//     %1 = plan.launch @k0(%0) symbols [] {plan.places = [#plan.place<arena, 0>]} ...
//     %2 = plan.launch @k1(%1) symbols [] {plan.places = [#plan.place<output, 0>]} ...
// and the function has `plan.arena_bytes`, where all sizes are static `plan.max_live`, and else, where offsets refer to them,
// `plan.arena_levels`.
//
// How: MemoryPlan.h.
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

// SPDX-License-Identifier: Apache-2.0
#include "lib/Compiler/Stages/Passes.h"
#include "lib/Compiler/Artifact.h"
#include "lib/Compiler/Stages/StageWeights.h"
#include "lib/Target/Targets.h"

using namespace mlir;

namespace hewn {
#define GEN_PASS_DEF_LOADWEIGHTSPASS
#define GEN_PASS_DEF_SAVEWEIGHTSPASS
#define GEN_PASS_DEF_ADDVARIANTSPASS
#include "lib/Compiler/Stages/Passes.h.inc"

namespace {

/// Reports an error of the pass, and consumes it. Returns true if there is none.
bool report(ModuleOp module, llvm::Error error) {
  if (!error)
    return true;
  emitError(UnknownLoc::get(module.getContext())) << llvm::toString(std::move(error));
  return false;
}

struct LoadWeightsPass : impl::LoadWeightsPassBase<LoadWeightsPass> {
  using LoadWeightsPassBase::LoadWeightsPassBase;
  void runOnOperation() override {
    if (!report(getOperation(), loadWeights(getOperation(), file)))
      signalPassFailure();
  }
};

struct SaveWeightsPass : impl::SaveWeightsPassBase<SaveWeightsPass> {
  using SaveWeightsPassBase::SaveWeightsPassBase;
  void runOnOperation() override {
    if (!report(getOperation(), saveWeights(getOperation(), file)))
      signalPassFailure();
  }
};

struct AddVariantsPass : impl::AddVariantsPassBase<AddVariantsPass> {
  using AddVariantsPassBase::AddVariantsPassBase;
  void runOnOperation() override {
    auto machines = target::findAll(target);
    if (!machines)
      return fail(llvm::toString(machines.takeError()));
    if (getOperation().getOps<ModuleOp>().empty())
      nestProgram();
    Artifact artifact = Artifact::of(getOperation());
    if (std::string problem = artifact.problem(); !problem.empty())
      return fail(problem);
    artifact.addVariants(*machines, precision);
  }

  void fail(const llvm::Twine &why) {
    emitError(UnknownLoc::get(&getContext())) << why;
    signalPassFailure();
  }

  /// Wraps the content and the attributes of the module in a nested module.
  void nestProgram() {
    ModuleOp outer = getOperation(), program = ModuleOp::create(outer.getLoc());
    program.getBodyRegion().takeBody(outer.getBodyRegion());
    program->setAttrs(outer->getAttrDictionary());
    outer->setAttrs(DictionaryAttr::get(&getContext()));
    outer.getBodyRegion().emplaceBlock();
    outer.push_back(program);
  }
};

} // namespace

} // namespace hewn

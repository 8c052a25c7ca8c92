// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/NVPTX/NVPTXGates.h"
#include "lib/Codegen/Grid/GridFunctions.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"

using namespace llvm;

namespace hewn::nvptx {

namespace {

/// What each function is, its arguments in turn as $0, $1, ...: addresses in shared memory as 32 bits.
struct Text {
  StringRef name;
  const char *text, *constraints;
};

const Text texts[] = {
    {codegen::kGridGateInit, "mbarrier.init.shared::cta.b64 [$0], $1;", "r,r"},
    {codegen::kGridGatesReady, "fence.mbarrier_init.release.cluster;", ""},
    {codegen::kGridGateArrive, "mbarrier.arrive.release.cta.shared::cta.b64 _, [$0];", "r"},
    {codegen::kGridGateExpect, "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [$0], $1;", "r,r"},
    // A try waits for some time; labels are the block's own.
    {codegen::kGridGateWait,
     "{ .reg .pred ended; AGAIN: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 ended, [$0], $1; "
     "@!ended bra AGAIN; }",
     "r,r"},
    {"hewn.grid.fetch.2",
     "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [$0], [$1, {$2, $3}], [$4];",
     "r,l,r,r,r"},
    {"hewn.grid.fetch.3",
     "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [$0], [$1, {$2, $3, $4}], [$5];",
     "r,l,r,r,r,r"},
};

} // namespace

void useGateInstructions(Module &module, Function &kernel) {
  for (Argument &argument : kernel.args())
    if (argument.hasByValAttr())
      argument.addAttr(Attribute::get(module.getContext(), "nvvm.grid_constant"));
  for (const Text &text : texts) {
    Function *function = module.getFunction(text.name);
    if (!function)
      continue;
    for (User *user : make_early_inc_range(function->users())) {
      auto *call = cast<CallInst>(user);
      IRBuilder<> b(call);
      SmallVector<Value *> arguments;
      SmallVector<Type *> types;
      for (Value *argument : call->args()) {
        bool isAddress = argument->getType()->isIntegerTy(64);
        arguments.push_back(isAddress ? b.CreateTrunc(argument, b.getInt32Ty()) : argument);
        types.push_back(arguments.back()->getType());
      }
      std::string constraints = text.constraints;
      constraints += constraints.empty() ? "~{memory}" : ",~{memory}";
      auto *type = FunctionType::get(b.getVoidTy(), types, /*isVarArg=*/false);
      b.CreateCall(InlineAsm::get(type, text.text, constraints, /*hasSideEffects=*/true), arguments);
      call->eraseFromParent();
    }
    function->eraseFromParent();
  }
}

} // namespace hewn::nvptx

// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Emit/SharedMemory.h"
#include "lib/Codegen/GPU/GpuBuilder.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace hewn::codegen {

/// Returns the functions that use the variable.
static SmallSetVector<Function *, 4> usersOf(GlobalVariable &variable) {
  SmallSetVector<Function *, 4> found;
  SmallVector<User *> users(variable.users());
  while (!users.empty()) {
    User *user = users.pop_back_val();
    auto *instruction = dyn_cast<Instruction>(user);
    if (!instruction) {
      append_range(users, user->users());
      continue;
    }
    found.insert(instruction->getFunction());
  }
  return found;
}

void shareMemoryOfParts(Module &module, StringRef kernel) {
  const DataLayout &layout = module.getDataLayout();
  struct Place {
    GlobalVariable *variable;
    uint64_t offset;
  };
  SmallVector<Place> places;
  MapVector<Function *, uint64_t> used;
  SmallVector<GlobalVariable *> kept; // variables that several phases use
  uint64_t most = 0;
  Align alignment(16);
  for (GlobalVariable &variable : make_early_inc_range(module.globals())) {
    if (variable.getAddressSpace() != unsigned(kSharedSpace))
      continue;
    SmallSetVector<Function *, 4> users = usersOf(variable);
    if (users.size() > 1)
      kept.push_back(&variable);
    if (users.empty())
      variable.eraseFromParent();
    if (users.size() != 1)
      continue;
    Function *user = users[0];
    Align own = variable.getAlign().valueOrOne();
    uint64_t offset = alignTo(used[user], own);
    places.push_back({&variable, offset});
    used[user] = offset + layout.getTypeAllocSize(variable.getValueType());
    most = std::max(most, used[user]);
    alignment = std::max(alignment, own);
  }
  // Place variables of several phases after the overlapped memory, so that they persist.
  for (GlobalVariable *variable : kept) {
    Align own = variable->getAlign().valueOrOne();
    uint64_t offset = alignTo(most, own);
    places.push_back({variable, offset});
    most = offset + layout.getTypeAllocSize(variable->getValueType());
    alignment = std::max(alignment, own);
  }
  if (places.empty())
    return;
  Type *byte = Type::getInt8Ty(module.getContext());
  auto *type = ArrayType::get(byte, most);
  auto *all =
      new GlobalVariable(module, type, /*isConstant=*/false, places[0].variable->getLinkage(), UndefValue::get(type),
                         kernel + "_shared", nullptr, GlobalValue::NotThreadLocal, unsigned(kSharedSpace));
  all->setAlignment(alignment);
  for (Place &place : places) {
    Constant *offset = ConstantInt::get(Type::getInt64Ty(module.getContext()), place.offset);
    place.variable->replaceAllUsesWith(ConstantExpr::getInBoundsGetElementPtr(byte, all, offset));
    place.variable->eraseFromParent();
  }
}

} // namespace hewn::codegen

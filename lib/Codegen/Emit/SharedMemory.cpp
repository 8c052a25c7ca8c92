// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Emit/SharedMemory.h"
#include "lib/Codegen/Grid/Grid.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace hewn::codegen {

/// The only function that uses it; null: there are several, or none.
static Function *userOf(GlobalVariable &variable) {
  Function *found = nullptr;
  SmallVector<User *> users(variable.users());
  while (!users.empty()) {
    User *user = users.pop_back_val();
    auto *instruction = dyn_cast<Instruction>(user);
    if (!instruction) {
      append_range(users, user->users());
      continue;
    }
    if (found && found != instruction->getFunction())
      return nullptr;
    found = instruction->getFunction();
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
  uint64_t most = 0;
  Align alignment(16);
  for (GlobalVariable &variable : module.globals()) {
    if (variable.getAddressSpace() != unsigned(kSharedSpace))
      continue;
    Function *user = userOf(variable);
    if (!user)
      continue;
    Align own = variable.getAlign().valueOrOne();
    uint64_t offset = alignTo(used[user], own);
    places.push_back({&variable, offset});
    used[user] = offset + layout.getTypeAllocSize(variable.getValueType());
    most = std::max(most, used[user]);
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

// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/NVPTX/NVPTXGroups.h"
#include "lib/Codegen/Grid/GridFunctions.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"

using namespace llvm;

namespace hewn::nvptx {

namespace {

/// An instruction that changes `sums`, registers that it names $0, $1, ..., and reads `others`, which come behind twice as many.
/// Returns the sums as a struct.
Value *changeSums(IRBuilder<> &b, const Twine &text, ArrayRef<Value *> sums, ArrayRef<Value *> others,
                  StringRef constraints) {
  std::string all;
  Type *element = sums[0]->getType();
  for (size_t i = 0; i < sums.size(); ++i)
    all += element->isIntegerTy() ? "=r," : "=f,";
  for (size_t i = 0; i < sums.size(); ++i)
    all += std::to_string(i) + ",";
  SmallVector<Type *> results(sums.size(), element), types = results;
  SmallVector<Value *> arguments(sums);
  for (Value *other : others) {
    types.push_back(other->getType());
    arguments.push_back(other);
  }
  auto *type = FunctionType::get(StructType::get(b.getContext(), results), types, /*isVarArg=*/false);
  InlineAsm *instruction =
      InlineAsm::get(type, text.str(), (all + constraints + ",~{memory}").str(), /*hasSideEffects=*/true);
  CallInst *call = b.CreateCall(instruction, arguments);
  call->addFnAttr(Attribute::Convergent);
  return call;
}

/// What says where a matrix is: its address, of which the machine knows 18 bits, within its form.
Value *descriptor(IRBuilder<> &b, Value *address, Value *form) {
  return b.CreateOr(b.CreateLShr(b.CreateAnd(address, b.getInt64(0x3ffff)), b.getInt64(4)), form);
}

SmallVector<Value *> argumentsFrom(CallInst *call, unsigned first) {
  SmallVector<Value *> list;
  for (Value *argument : drop_begin(call->args(), first))
    list.push_back(argument);
  return list;
}

/// TYPE.LEFT.RIGHT.n, as Grid.h names it.
Value *product(IRBuilder<> &b, CallInst *call, StringRef name) {
  SmallVector<StringRef> parts;
  name.split(parts, '.');
  // The left matrix: an address and its form, or four words.
  bool inRegisters = parts[1] == "r";
  SmallVector<Value *> sums = argumentsFrom(call, inRegisters ? 6 : 4);
  std::string registers;
  for (size_t i = 0; i < sums.size(); ++i)
    registers += (i ? ", $" : "$") + std::to_string(i);
  // Float32s and integers have one form.
  bool words = parts[0] == "f32", bytes = sums[0]->getType()->isIntegerTy();
  std::string types = bytes   ? (".s32." + parts[0].take_front(2) + "." + parts[0].drop_front(2)).str()
                      : words ? ".f32.tf32.tf32"
                              : (".f32." + parts[0] + "." + parts[0]).str();
  auto turned = [&](StringRef form) { return words || bytes || form == "r" ? "" : form == "m" ? ", 1" : ", 0"; };
  size_t first = 2 * sums.size();
  std::string left = "$" + std::to_string(first), right = "$" + std::to_string(first + (inRegisters ? 4 : 1));
  if (inRegisters)
    left = "{" + left + ", $" + std::to_string(first + 1) + ", $" + std::to_string(first + 2) + ", $" +
           std::to_string(first + 3) + "}";
  std::string text = ("{ .reg .pred adds; setp.ne.b32 adds, 1, 0; wgmma.mma_async.sync.aligned.m64n" + parts[3] +
                      (bytes   ? "k32"
                       : words ? "k8"
                               : "k16") +
                      types + " {" + registers + "}, " + left + ", " + right + ", adds" + (bytes ? "" : ", 1, 1") +
                      turned(parts[1]) + turned(parts[2]) + "; }")
                         .str();
  auto argument = [&](unsigned i) { return call->getArgOperand(i); };
  if (inRegisters)
    return changeSums(b, text, sums,
                      {argument(0), argument(1), argument(2), argument(3), descriptor(b, argument(4), argument(5))},
                      "r,r,r,r,l");
  return changeSums(b, text, sums, {descriptor(b, argument(0), argument(2)), descriptor(b, argument(1), argument(3))},
                    "l,l");
}

Value *wait(IRBuilder<> &b, CallInst *call) {
  SmallVector<Value *> sums = argumentsFrom(call, 1);
  return changeSums(b, "wgmma.wait_group.sync.aligned $" + Twine(2 * sums.size()) + ";", sums, {call->getArgOperand(0)},
                    "n");
}

} // namespace

bool isGroupFunction(const Function &function) {
  return function.getName().starts_with(codegen::kGridGroupProduct) ||
         function.getName().starts_with(codegen::kGridGroupWait) || function.getName() == codegen::kGridGroupPublish;
}

void useGroupInstructions(Module &module) {
  for (Function &function : make_early_inc_range(module)) {
    if (!isGroupFunction(function))
      continue;
    StringRef name = function.getName();
    for (User *user : make_early_inc_range(function.users())) {
      auto *call = cast<CallInst>(user);
      IRBuilder<> b(call);
      Value *made;
      if (name == codegen::kGridGroupPublish)
        made = b.CreateCall(InlineAsm::get(FunctionType::get(b.getVoidTy(), false), "fence.proxy.async.shared::cta;",
                                           "~{memory}", /*hasSideEffects=*/true));
      else if (name.consume_front(codegen::kGridGroupProduct))
        made = product(b, call, name);
      else
        made = wait(b, call);
      name = function.getName();
      call->replaceAllUsesWith(made);
      call->eraseFromParent();
    }
    function.eraseFromParent();
  }
}

} // namespace hewn::nvptx

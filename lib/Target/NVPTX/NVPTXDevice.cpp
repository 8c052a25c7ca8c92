// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/NVPTX/NVPTXDevice.h"
#include "lib/Codegen/Grid/Grid.h"
#include "lib/Codegen/Grid/GridFunctions.h"
#include "lib/Codegen/Math/Device/DeviceMath.h"
#include "lib/Target/NVPTX/NVPTXGates.h"
#include "lib/Target/NVPTX/NVPTXGroups.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include <map>

using namespace llvm;

namespace hewn::nvptx {

namespace {

/// What each function of the grid is on this machine.
struct Instruction {
  StringRef name;
  Intrinsic::ID intrinsic;
};

const Instruction instructions[] = {
    {codegen::kGridThread, Intrinsic::nvvm_read_ptx_sreg_tid_x},
    {codegen::kGridBlock, Intrinsic::nvvm_read_ptx_sreg_ctaid_x},
    {codegen::kGridBlocks, Intrinsic::nvvm_read_ptx_sreg_nctaid_x},
    {codegen::kGridBarrier, Intrinsic::nvvm_barrier_cta_sync_aligned_all},
    {codegen::kGridBarrierSome, Intrinsic::nvvm_barrier_cta_sync_aligned_count},
    {codegen::kGridWarpMeet, Intrinsic::nvvm_bar_warp_sync},
    {codegen::kGridShuffle, Intrinsic::nvvm_shfl_sync_bfly_i32},
    {codegen::kGridProduct, Intrinsic::nvvm_mma_m16n8k8_row_col_tf32},
    {"hewn.grid.product.f16", Intrinsic::nvvm_mma_m16n8k16_row_col_f32_f32},
    {"hewn.grid.product.bf16", Intrinsic::nvvm_mma_m16n8k16_row_col_bf16},
    {"hewn.grid.product.u8.u8", Intrinsic::nvvm_mma_m16n8k32_row_col_u8},
    {"hewn.grid.product.u8.s8", Intrinsic::nvvm_mma_m16n8k32_row_col_u8_s8},
    {"hewn.grid.product.s8.u8", Intrinsic::nvvm_mma_m16n8k32_row_col_s8_u8},
    {"hewn.grid.product.s8.s8", Intrinsic::nvvm_mma_m16n8k32_row_col_s8},
    {codegen::kGridLines, Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_b16},
    {codegen::kGridLinesTurned, Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16},
    {codegen::kGridCopy16, Intrinsic::nvvm_cp_async_cg_shared_global_16_s},
    {codegen::kGridCopy8, Intrinsic::nvvm_cp_async_ca_shared_global_8_s},
    {codegen::kGridCopy4, Intrinsic::nvvm_cp_async_ca_shared_global_4_s},
    {codegen::kGridCopiesClose, Intrinsic::nvvm_cp_async_commit_group},
    {codegen::kGridCopiesWait, Intrinsic::nvvm_cp_async_wait_group},
    {codegen::kGridGroupBegin, Intrinsic::nvvm_wgmma_fence_sync_aligned},
    {codegen::kGridGroupClose, Intrinsic::nvvm_wgmma_commit_group_sync_aligned},
    {codegen::kGridRegistersKeep, Intrinsic::nvvm_setmaxnreg_dec_sync_aligned_u32},
    {codegen::kGridRegistersTake, Intrinsic::nvvm_setmaxnreg_inc_sync_aligned_u32},
};

/// The instruction, of which some are overloaded by the memory that they read.
Function *declare(Module &module, Intrinsic::ID intrinsic) {
  SmallVector<Type *> types;
  if (Intrinsic::isOverloaded(intrinsic))
    types.push_back(PointerType::get(module.getContext(), codegen::kSharedSpace));
  return Intrinsic::getOrInsertDeclaration(&module, intrinsic, types);
}

/// Calls of the grid's functions become instructions. Theirs have the same arguments, but for addresses and words that they take
/// as pointers and vectors.
void useInstructions(Module &module) {
  for (const Instruction &instruction : instructions) {
    Function *function = module.getFunction(instruction.name);
    if (!function)
      continue;
    Function *callee = declare(module, instruction.intrinsic);
    for (User *user : make_early_inc_range(function->users())) {
      auto *call = cast<CallInst>(user);
      IRBuilder<> b(call);
      SmallVector<Value *> arguments;
      for (auto [argument, type] : zip(call->args(), callee->getFunctionType()->params()))
        arguments.push_back(b.CreateBitOrPointerCast(argument, type));
      CallInst *made = b.CreateCall(callee, arguments);
      call->replaceAllUsesWith(made);
      call->eraseFromParent();
    }
    function->eraseFromParent();
  }
}

/// Keeps the assembler from unrolling loops over products of matrices, which are as long as their registers allow, and gives
/// a block all registers that it wants: left alone, it spills some to run more blocks at once.
void keepLoops(Module &module, Function &kernel) {
  struct Loops {
    DominatorTree dominators;
    LoopInfo loops;
    explicit Loops(Function &function) : dominators(function), loops(dominators) {}
  };
  std::map<Function *, Loops> known;
  for (Function &function : module) {
    StringRef name = function.getName();
    if (!name.starts_with(codegen::kGridProduct) && !name.starts_with(codegen::kGridGroupProduct))
      continue;
    kernel.addFnAttr("nvvm.minctasm", "1");
    for (User *user : function.users()) {
      auto *call = cast<CallInst>(user);
      Function *caller = call->getFunction();
      if (Loop *loop = known.try_emplace(caller, *caller).first->second.loops.getLoopFor(call->getParent()))
        if (!findStringMetadataForLoop(loop, "llvm.loop.unroll.disable"))
          addStringMetadataToLoop(loop, "llvm.loop.unroll.disable");
    }
  }
}

/// Counters of all blocks. LLVM has atomic operations, but loses the order of those that add: the text is the machine's.
void useCounters(Module &module) {
  auto replace = [&](StringRef name, StringRef text, StringRef constraints) {
    Function *function = module.getFunction(name);
    if (!function)
      return;
    for (User *user : make_early_inc_range(function->users())) {
      auto *call = cast<CallInst>(user);
      IRBuilder<> b(call);
      SmallVector<Value *> arguments(call->args());
      CallInst *made = b.CreateCall(
          InlineAsm::get(function->getFunctionType(), text, constraints, /*hasSideEffects=*/true), arguments);
      call->replaceAllUsesWith(made);
      call->eraseFromParent();
    }
    function->eraseFromParent();
  };
  replace(codegen::kGridCounterAdd, "atom.acq_rel.gpu.global.add.u32 $0, [$1], $2;", "=r,l,r,~{memory}");
  replace(codegen::kGridCounterRead, "ld.acquire.gpu.global.u32 $0, [$1];", "=r,l,~{memory}");
}

/// Parts of a kernel get pointers to global memory, as LLVM knows of a kernel's own arguments alone.
void tellMemory(Module &module) {
  constexpr unsigned globalSpace = 1;
  SmallVector<Function *> parts;
  for (Function &function : module)
    if (function.hasFnAttribute(codegen::kPartAttr))
      parts.push_back(&function);
  for (Function *part : parts) {
    Function &function = *part;
    Type *there = PointerType::get(module.getContext(), globalSpace);
    SmallVector<Type *> types;
    for (Argument &argument : function.args())
      types.push_back(argument.getType()->isPointerTy() ? there : argument.getType());
    auto *type = FunctionType::get(function.getReturnType(), types, /*isVarArg=*/false);
    Function *made = Function::Create(type, function.getLinkage(), "", module);
    made->copyAttributesFrom(&function);
    made->takeName(&function);
    made->splice(made->begin(), &function);
    IRBuilder<> b(&made->getEntryBlock(), made->getEntryBlock().getFirstInsertionPt());
    for (auto [argument, own] : zip(function.args(), made->args()))
      argument.replaceAllUsesWith(argument.getType()->isPointerTy() ? b.CreateAddrSpaceCast(&own, argument.getType())
                                                                    : &own);
    for (User *user : make_early_inc_range(function.users())) {
      auto *call = cast<CallInst>(user);
      b.SetInsertPoint(call);
      SmallVector<Value *> arguments;
      for (auto [argument, wanted] : zip(call->args(), types))
        arguments.push_back(wanted == there ? b.CreateAddrSpaceCast(argument, there) : argument.get());
      b.CreateCall(made, arguments);
      call->eraseFromParent();
    }
    function.eraseFromParent();
  }
}

/// The kernel's shared memory as what it is given when launched: a variable from outside, of no size.
void takeShared(Module &module, Function &kernel) {
  SmallVector<GlobalVariable *> shared; // before there is another one
  for (GlobalVariable &variable : module.globals())
    if (variable.getAddressSpace() == codegen::kSharedSpace)
      shared.push_back(&variable);
  for (GlobalVariable *variable : shared) {
    auto *type = ArrayType::get(Type::getInt8Ty(module.getContext()), 0);
    auto *given =
        new GlobalVariable(module, type, /*isConstant=*/false, GlobalValue::ExternalLinkage, nullptr,
                           kernel.getName() + "_given", nullptr, GlobalValue::NotThreadLocal, codegen::kSharedSpace);
    given->setAlignment(variable->getAlign());
    variable->replaceAllUsesWith(given);
    variable->eraseFromParent();
  }
}

/// Bytes of arguments that a kernel may have, before PTX 8.1 and since.
constexpr uint64_t kFewArguments = 4352, kMaxArguments = 32764;

/// Of a kernel in PTX: pointers and numbers have eight bytes, what is passed as it is says how many.
uint64_t argumentBytes(StringRef text) {
  uint64_t bytes = 0;
  StringRef list = text.split(".entry").second.split("\n)").first;
  while (!list.empty()) {
    auto [line, rest] = list.split('\n');
    list = rest;
    if (!line.contains(".param"))
      continue;
    uint64_t size = 8, align = 8;
    if (auto [before, count] = line.split('['); !count.empty()) {
      count.consumeInteger(10, size);
      before.split(".align ").second.split(' ').first.getAsInteger(10, align);
    }
    bytes = alignTo(bytes, align) + size;
  }
  return bytes;
}

class NVPTXDevice : public codegen::Device {
public:
  Error link(Module &module, Function &kernel) const override {
    uint64_t bytes = 0;
    for (Argument &argument : kernel.args())
      bytes += argument.hasByValAttr() ? 64 + argument.getPassPointeeByValueCopySize(module.getDataLayout()) : 8;
    if (bytes > kMaxArguments)
      return createStringError("it takes " + std::to_string(kernel.arg_size()) +
                               " arguments, which the device has no room for: split the op's inputs");
    if (Error error = codegen::linkDeviceMath(module, kernel.getName()))
      return error;
    for (Function &function : module) {
      if (function.isDeclaration() && !function.isIntrinsic() &&
          !function.getName().starts_with(codegen::kGridFunctions))
        return createStringError("it calls " + function.getName() + ", which the device does not have");
    }
    return Error::success();
  }

  void finish(Module &module, Function &kernel, int64_t threads, int64_t sharedBytes) const override {
    if (sharedBytes > 0)
      takeShared(module, kernel);
    keepLoops(module, kernel);
    tellMemory(module);
    useGroupInstructions(module);
    useGateInstructions(module, kernel);
    useCounters(module);
    useInstructions(module);
    kernel.setCallingConv(CallingConv::PTX_Kernel);
    kernel.addFnAttr("nvvm.reqntid", std::to_string(threads));
    kernel.setVisibility(GlobalValue::DefaultVisibility); // PTX knows no hidden symbols
  }

  std::string join(const std::vector<StringRef> &kernels) const override {
    std::string text;
    StringSet<> heads; // there once, for all kernels
    bool hasMany = any_of(kernels, [](StringRef kernel) { return argumentBytes(kernel) > kFewArguments; });
    for (StringRef kernel : kernels) {
      while (!kernel.empty()) {
        auto [line, rest] = kernel.split('\n');
        kernel = rest;
        bool head = line.starts_with(".version") || line.starts_with(".target") || line.starts_with(".address_size");
        if ((head && !heads.insert(line).second) || line.starts_with("//"))
          continue;
        if (hasMany && line.starts_with(".version 7"))
          line = ".version 8.1";
        text += line;
        text += '\n';
      }
    }
    return text;
  }

  std::string language(StringRef text) const override {
    return ("PTX " + text.split(".version ").second.split('\n').first).str();
  }

  std::string table() const override { return "hewn_device_cuda"; }
};

} // namespace

const codegen::Device &device() {
  static const NVPTXDevice one;
  return one;
}

} // namespace hewn::nvptx

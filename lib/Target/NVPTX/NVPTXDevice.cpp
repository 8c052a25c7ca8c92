// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/NVPTX/NVPTXDevice.h"
#include "lib/Codegen/GPU/GpuBuilder.h"
#include "lib/Codegen/GPU/SimtFunctions.h"
#include "lib/Codegen/Math/Device/DeviceMath.h"
#include "lib/Target/NVPTX/NVPTXTarget.h"
#include "lib/Target/NVPTX/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

using namespace llvm;

namespace hewn::nvptx {

namespace {

/// Returns the text of the inline PTX if `call` is inline assembly, otherwise "".
StringRef textOf(const CallInst &call) {
  const auto *text = dyn_cast<InlineAsm>(call.getCalledOperand());
  return text ? StringRef(text->getAsmString()) : StringRef();
}

/// Returns true if the LLVM instruction is a warp or warpgroup MMA.
bool isMatrixProduct(const CallInst &call) {
  if (textOf(call).contains(kWgmmaText))
    return true;
  switch (call.getIntrinsicID()) {
  case Intrinsic::nvvm_mma_m16n8k8_row_col_tf32:
  case Intrinsic::nvvm_mma_m16n8k16_row_col_f32_f32:
  case Intrinsic::nvvm_mma_m16n8k16_row_col_bf16:
  case Intrinsic::nvvm_mma_m16n8k32_row_col_u8:
  case Intrinsic::nvvm_mma_m16n8k32_row_col_u8_s8:
  case Intrinsic::nvvm_mma_m16n8k32_row_col_s8_u8:
  case Intrinsic::nvvm_mma_m16n8k32_row_col_s8:
    return true;
  default:
    return false;
  }
}

/// Disables unrolling of loops with MMAs, whose bodies already use all available registers.
void keepLoops(Module &module) {
  for (Function &function : module) {
    SmallVector<CallInst *> products;
    for (Instruction &instruction : instructions(function))
      if (auto *call = dyn_cast<CallInst>(&instruction); call && isMatrixProduct(*call))
        products.push_back(call);
    if (products.empty())
      continue;
    DominatorTree dominators(function);
    LoopInfo loops(dominators);
    for (CallInst *call : products)
      if (Loop *loop = loops.getLoopFor(call->getParent()))
        if (!findStringMetadataForLoop(loop, "llvm.loop.unroll.disable"))
          addStringMetadataToLoop(loop, "llvm.loop.unroll.disable");
  }
}

/// Adds two markers that MLIR cannot express or that LLVM needs. Inline PTX of wgmma becomes
/// convergent, because MLIR's inline assembly op has no such attribute. Kernel arguments that are
/// TMA descriptors become grid constants, so that ptxas does not copy them to local memory.
void tellWarpgroups(Module &module, Function &kernel) {
  for (Argument &argument : kernel.args())
    if (argument.hasByValAttr())
      argument.addAttr(Attribute::get(module.getContext(), "nvvm.grid_constant"));
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (auto *call = dyn_cast<CallInst>(&instruction); call && textOf(*call).contains("wgmma."))
        call->addFnAttr(Attribute::Convergent);
}

/// Gives pointer arguments of the phase functions of a persistent kernel the address space of
/// global memory. LLVM infers this address space for arguments of kernels only.
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

/// Replaces the kernel's shared memory by an external array of size 0, whose size the launch sets
/// (dynamic shared memory).
void takeShared(Module &module, Function &kernel) {
  SmallVector<GlobalVariable *> shared; // collected before new variables are added
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

/// Limits of the size of a GPU kernel's arguments in bytes: one for PTX versions before 8.1, and
/// one for later versions.
constexpr uint64_t kFewArguments = 4352, kMaxArguments = 32764;

/// Returns the size of a kernel's arguments in bytes. A pointer or an integer has eight bytes. For
/// an argument that is passed by value, the PTX text contains the size.
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

/// Number of resident threads per multiprocessor that is enough to hide the latency of loads, if
/// each thread has several loads outstanding.
constexpr int64_t kEnoughThreads = 512;

class NVPTXDevice : public codegen::Device {
public:
  void registerDialects(mlir::DialectRegistry &registry) const override { nvptx::registerDialects(registry); }

  void addLowering(mlir::OpPassManager &pm) const override { pm.addPass(createLowerToNVVMPass()); }

  Error link(Module &module, Function &kernel) const override {
    uint64_t bytes = 0;
    for (Argument &argument : kernel.args())
      bytes += argument.hasByValAttr() ? 64 + argument.getPassPointeeByValueCopySize(module.getDataLayout()) : 8;
    if (bytes > kMaxArguments)
      return createStringError("it takes " + std::to_string(kernel.arg_size()) +
                               " arguments, more than the device supports: split the op's inputs");
    if (Error error = codegen::linkDeviceMath(module, kernel.getName()))
      return error;
    for (Function &function : module) {
      if (function.isDeclaration() && !function.isIntrinsic() &&
          // calls of simt functions are allowed, because the emulator defines these functions
          !function.getName().starts_with(codegen::kSimtFunctions))
        return createStringError("it calls " + function.getName() + ", which the device does not have");
    }
    return Error::success();
  }

  void finish(Module &module, Function &kernel, const Block &block) const override {
    if (block.sharedBytes > 0)
      takeShared(module, kernel);
    keepLoops(module);
    tellMemory(module);
    tellWarpgroups(module, kernel);
    kernel.setCallingConv(CallingConv::PTX_Kernel);
    kernel.addFnAttr("nvvm.reqntid", std::to_string(block.threads));
    // Limits the number of resident blocks that ptxas assumes for the kernel. Otherwise ptxas
    // reserves registers for more blocks: it spills accumulators of MMAs and delays loads, so that
    // a thread has only two instead of eight outstanding loads.
    int64_t blocks = block.registers > 0 || block.meets ? 1 : std::max<int64_t>(1, kEnoughThreads / block.threads);
    Attribute together = kernel.getFnAttribute(codegen::kTogetherAttr);
    kernel.addFnAttr("nvvm.minctasm", together.isValid() ? together.getValueAsString().str() : std::to_string(blocks));
    kernel.setVisibility(GlobalValue::DefaultVisibility); // PTX has no hidden symbols
  }

  StringRef stage() const override { return "ptx"; }

  std::string join(const std::vector<StringRef> &kernels) const override {
    std::string text;
    // header lines of the PTX of single kernels, each emitted once for all kernels
    StringSet<> heads;
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

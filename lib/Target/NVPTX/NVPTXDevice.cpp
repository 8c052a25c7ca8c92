// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/NVPTX/NVPTXDevice.h"
#include "lib/Codegen/Grid/Grid.h"
#include "lib/Codegen/Math/Device/DeviceMath.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"

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
    {codegen::kGridShuffle, Intrinsic::nvvm_shfl_sync_bfly_i32},
    {codegen::kGridProduct, Intrinsic::nvvm_mma_m16n8k8_row_col_tf32},
};

/// Calls of the grid's functions become instructions. Theirs have the same arguments.
void useInstructions(Module &module) {
  for (const Instruction &instruction : instructions)
    if (Function *function = module.getFunction(instruction.name)) {
      function->replaceAllUsesWith(Intrinsic::getOrInsertDeclaration(&module, instruction.intrinsic));
      function->eraseFromParent();
    }
}

class NVPTXDevice : public codegen::Device {
public:
  Error link(Module &module, Function &kernel) const override {
    if (Error error = codegen::linkDeviceMath(module, kernel.getName()))
      return error;
    for (Function &function : module) {
      if (!function.isDeclaration() || function.isIntrinsic())
        continue;
      if (!codegen::describeGridFunction(function))
        return createStringError("it calls " + function.getName() + ", which the device does not have");
    }
    return Error::success();
  }

  void finish(Module &module, Function &kernel, int64_t threads) const override {
    useInstructions(module);
    kernel.setCallingConv(CallingConv::PTX_Kernel);
    kernel.addFnAttr("nvvm.reqntid", std::to_string(threads));
    kernel.setVisibility(GlobalValue::DefaultVisibility); // PTX knows no hidden symbols
  }

  std::string join(const std::vector<StringRef> &kernels) const override {
    std::string text;
    for (StringRef kernel : kernels) {
      while (!kernel.empty()) {
        auto [line, rest] = kernel.split('\n');
        kernel = rest;
        bool head = line.starts_with(".version") || line.starts_with(".target") || line.starts_with(".address_size");
        bool first = text.find(line.str() + "\n") == std::string::npos;
        if ((head && !first) || line.starts_with("//"))
          continue;
        text += line;
        text += '\n';
      }
    }
    return text;
  }

  std::string language(const codegen::MachineSpec &machine) const override {
    StringRef version = StringRef(machine.features).drop_front(StringRef("+ptx").size());
    return ("PTX " + version.drop_back() + "." + version.take_back()).str();
  }

  std::string table() const override { return "hewn_device_cuda"; }
};

} // namespace

const codegen::Device &device() {
  static const NVPTXDevice one;
  return one;
}

} // namespace hewn::nvptx

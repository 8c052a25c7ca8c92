// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/Targets.h"
#include "lib/Target/NVPTX/NVPTXMachine.h"
#include "lib/Target/X86/X86Machine.h"

#include "llvm/ADT/StringExtras.h"

namespace hewn::target {

void initialize() {
  x86::initialize();
  nvptx::initialize();
}

std::vector<std::string> names() {
  std::vector<std::string> all = x86::targetNames();
  for (std::string &name : nvptx::targetNames())
    all.push_back(std::move(name));
  return all;
}

std::optional<codegen::MachineSpec> find(llvm::StringRef name) {
  if (std::optional<codegen::MachineSpec> machine = x86::findMachine(name))
    return machine;
  return nvptx::findMachine(name);
}

llvm::Expected<std::vector<codegen::MachineSpec>> findAll(llvm::StringRef list) {
  if (std::optional<codegen::MachineSpec> device = nvptx::findMachine(list))
    return std::vector<codegen::MachineSpec>{*device};
  auto machines = x86::findMachines(list);
  if (machines)
    return machines;
  std::string message = llvm::toString(machines.takeError());
  if (llvm::StringRef(message).contains("there are:"))
    message += "; " + llvm::join(nvptx::targetNames(), ", ");
  return llvm::createStringError(message);
}

codegen::MachineSpec baseMachine() { return x86::baseMachine(); }

plan::TargetAttr attribute(mlir::MLIRContext *context, const codegen::MachineSpec &machine, bool exact) {
  return machine.device ? nvptx::targetAttr(context, machine, exact) : x86::targetAttr(context, machine);
}

} // namespace hewn::target

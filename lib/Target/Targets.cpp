// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/Targets.h"
#include "lib/Support/Files/CacheFile.h"
#include "lib/Target/AArch64/AArch64Machine.h"
#include "lib/Target/NVPTX/NVPTXMachine.h"
#include "lib/Target/NVPTX/Passes.h"
#include "lib/Target/X86/X86Machine.h"
#include "lib/Target/X86/X86RankUpdate.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/TargetParser/Triple.h"

using llvm::StringRef;

namespace hewn::target {

void initialize() {
  x86::initialize();
  aarch64::initialize();
  nvptx::initialize();
}

void registerDialects(mlir::DialectRegistry &registry) { nvptx::registerDialects(registry); }
void registerPasses() { nvptx::registerHewnNVPTXPasses(); }

std::vector<std::string> names() {
  std::vector<std::string> all = {"host", "portable"};
  for (auto names : {x86::targetNames, aarch64::targetNames, nvptx::targetNames})
    for (std::string &name : names())
      all.push_back(std::move(name));
  return all;
}

std::optional<codegen::MachineSpec> find(StringRef name) {
  for (auto find : {x86::findMachine, aarch64::findMachine, nvptx::findMachine})
    if (std::optional<codegen::MachineSpec> machine = find(name))
      return machine;
  return std::nullopt;
}

/// Wider vectors first, then more sets: a machine that has all of another's, and more, comes before it.
static bool comesBefore(const codegen::MachineSpec &a, const codegen::MachineSpec &b) {
  return std::pair(a.vectorBytes, llvm::popcount(a.cpuFeatures)) >
         std::pair(b.vectorBytes, llvm::popcount(b.cpuFeatures));
}

llvm::Expected<std::vector<codegen::MachineSpec>> findAll(StringRef list) {
  llvm::SmallVector<StringRef> names;
  list.split(names, ',');
  std::vector<codegen::MachineSpec> found;
  for (StringRef name : names) {
    for (StringRef one : name == "portable" ? x86::portableNames() : llvm::ArrayRef(name)) {
      std::optional<codegen::MachineSpec> machine = find(one);
      if (!machine)
        return llvm::createStringError("unknown target '" + one + "'; there are: " + llvm::join(target::names(), ", ") +
                                       "; +vnni, +bf16 and others may follow a name, and commas part several");
      for (const codegen::MachineSpec &other : found) {
        if (machine->device || other.device)
          return llvm::createStringError("of the targets '" + other.name + "' and '" + machine->name +
                                         "' one is a device, and a device's artifact has code for no other target");
        if (machine->triple != other.triple)
          return llvm::createStringError("the targets '" + other.name + "' and '" + machine->name +
                                         "' are of two architectures, and an artifact is for one");
        if (machine->cpuFeatures == other.cpuFeatures)
          return llvm::createStringError("of the targets '" + other.name + "' and '" + machine->name +
                                         "' only one could ever run: they have the same instructions");
      }
      found.insert(llvm::upper_bound(found, *machine, comesBefore), *machine);
    }
  }
  return found;
}

namespace {
/// What the compiler asks of an architecture that runs programs. One row each, so that none is taken for another.
struct Architecture {
  llvm::Triple::ArchType type;
  codegen::MachineSpec (*baseMachine)();
  plan::TargetAttr (*attribute)(mlir::MLIRContext *, const codegen::MachineSpec &);
};
} // namespace

static const Architecture &architectureOf(const codegen::MachineSpec &machine) {
  static constexpr Architecture all[] = {{llvm::Triple::x86_64, x86::baseMachine, x86::targetAttr},
                                         {llvm::Triple::aarch64, aarch64::baseMachine, aarch64::targetAttr}};
  llvm::Triple::ArchType type = llvm::Triple(machine.triple).getArch();
  const Architecture *found = llvm::find_if(all, [&](const Architecture &row) { return row.type == type; });
  assert(found != std::end(all) && "each machine that find() knows has a row");
  return *found;
}

codegen::MachineSpec baseMachine(const codegen::MachineSpec &machine) {
  // What starts a device's kernels runs on a machine of the kind that compiles them.
  codegen::MachineSpec processor = machine.device ? *find("host") : machine;
  return architectureOf(processor).baseMachine();
}

std::string identity(const codegen::MachineSpec &machine) {
  constexpr size_t digits = 8;
  ContentHash hash;
  hash << machine.triple << machine.features << machine.vectorBytes;
  return machine.cpu + "/" + hash.text().substr(0, digits);
}

plan::TargetAttr attribute(mlir::MLIRContext *context, const codegen::MachineSpec &machine, Precision precision) {
  return machine.device ? nvptx::targetAttr(context, machine, precision)
                        : architectureOf(machine).attribute(context, machine);
}

static void updateByShortVectors(const RowPanel &panel, float *sums) { updateByVectors<4>(panel, sums); }

RankUpdate *rankUpdate() {
  RankUpdate *longer = x86::rankUpdate();
  return longer ? longer : updateByShortVectors;
}

} // namespace hewn::target

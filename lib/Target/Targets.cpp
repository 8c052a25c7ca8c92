// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/Targets.h"
#include "lib/Support/Files/CacheFile.h"
#include "lib/Support/Printable.h"
#include "lib/Target/AArch64/AArch64Target.h"
#include "lib/Target/NVPTX/NVPTXTarget.h"
#include "lib/Target/NVPTX/Passes.h"
#include "lib/Target/X86/X86RankUpdate.h"
#include "lib/Target/X86/X86Target.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
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

std::optional<codegen::TargetSpec> find(StringRef name) {
  for (auto find : {x86::findTarget, aarch64::findTarget, nvptx::findTarget})
    if (std::optional<codegen::TargetSpec> machine = find(name))
      return machine;
  return std::nullopt;
}

/// Order in which the loader tries the targets of a model: returns true if it tries `a` before `b`.
/// Targets with longer vectors come first, then those with more instruction sets. A target with a
/// superset of another's instruction sets comes before it.
static bool comesBefore(const codegen::TargetSpec &a, const codegen::TargetSpec &b) {
  return std::pair(a.vectorBytes, llvm::popcount(a.cpuFeatures)) >
         std::pair(b.vectorBytes, llvm::popcount(b.cpuFeatures));
}

/// Returns the end of a message about an unknown target: the name that the user may have meant, if
/// there is one. Other compilers have other names for some targets.
static std::string suggestion(StringRef name) {
  StringRef near = llvm::StringSwitch<StringRef>(name.lower())
                       .Cases({"native", "cpu", "local", "auto"}, "host")
                       .Cases({"x86", "x86_64", "x86-64", "x64", "amd64"}, "portable, for all x86-64 processors")
                       .Cases({"arm64", "armv8", "armv8-a", "arm"}, "aarch64")
                       .Cases({"cuda", "gpu", "nvidia", "nvptx"}, "sm_80 or another sm_ of the GPU")
                       .Case("avx2", "x86-64-v3")
                       .Cases({"avx512", "avx-512"}, "x86-64-v4")
                       .Case("neon", "aarch64")
                       .Default("");
  std::vector<std::string> all = target::names();
  llvm::SmallVector<StringRef> names(all.begin(), all.end());
  std::string specific = name.str() + "a"; // sm_90a for sm_90
  if (llvm::is_contained(names, specific))
    near = specific;
  if (near.empty())
    near = nearestName(name, names);
  return near.empty() ? "" : " (did you mean " + near.str() + "?)";
}

llvm::Expected<std::vector<codegen::TargetSpec>> findAll(StringRef list) {
  llvm::SmallVector<StringRef> names;
  list.split(names, ',');
  std::vector<codegen::TargetSpec> found;
  for (StringRef name : names) {
    for (StringRef one : name == "portable" ? x86::portableNames() : llvm::ArrayRef(name)) {
      std::optional<codegen::TargetSpec> machine = find(one);
      if (!machine)
        return llvm::createStringError(
            "unknown target '" + one + "'" + suggestion(one) + "; there are: " + llvm::join(target::names(), ", ") +
            "; a name may be followed by +vnni, -amx and others, and a list is separated by commas");
      for (const codegen::TargetSpec &other : found) {
        if (machine->device || other.device)
          return llvm::createStringError("targets '" + other.name + "' and '" + machine->name +
                                         "' cannot be combined: an artifact for a device has no other target");
        if (machine->triple != other.triple)
          return llvm::createStringError("targets '" + other.name + "' and '" + machine->name +
                                         "' have different architectures: an artifact supports one");
        if (machine->cpuFeatures == other.cpuFeatures)
          return llvm::createStringError("targets '" + other.name + "' and '" + machine->name +
                                         "' have the same instruction sets: remove one");
      }
      found.insert(llvm::upper_bound(found, *machine, comesBefore), *machine);
    }
  }
  return found;
}

namespace {
/// A CPU architecture: its name and the functions that its target library provides.
struct Architecture {
  llvm::Triple::ArchType type;
  codegen::TargetSpec (*baseTarget)();
  plan::TargetAttr (*attribute)(mlir::MLIRContext *, const codegen::TargetSpec &);
};
} // namespace

static const Architecture &architectureOf(const codegen::TargetSpec &machine) {
  static constexpr Architecture all[] = {{llvm::Triple::x86_64, x86::baseTarget, x86::targetAttr},
                                         {llvm::Triple::aarch64, aarch64::baseTarget, aarch64::targetAttr}};
  llvm::Triple::ArchType type = llvm::Triple(machine.triple).getArch();
  const Architecture *found = llvm::find_if(all, [&](const Architecture &row) { return row.type == type; });
  assert(found != std::end(all) && "each target that find() returns has an architecture");
  return *found;
}

codegen::TargetSpec baseTarget(const codegen::TargetSpec &machine) {
  // A device target (GPU) has no host code of its own: the code that launches its kernels is
  // compiled for the host.
  codegen::TargetSpec processor = machine.device ? *find("host") : machine;
  return architectureOf(processor).baseTarget();
}

std::string identity(const codegen::TargetSpec &machine) {
  constexpr size_t digits = 8;
  ContentHash hash;
  hash << machine.triple << machine.features << machine.vectorBytes;
  return machine.cpu + "/" + hash.text().substr(0, digits);
}

plan::TargetAttr attribute(mlir::MLIRContext *context, const codegen::TargetSpec &machine, Precision precision) {
  return machine.device ? nvptx::targetAttr(context, machine, precision)
                        : architectureOf(machine).attribute(context, machine);
}

static void updateByShortVectors(const RowPanel &panel, float *sums) { updateByVectors<4>(panel, sums); }

RankUpdate *rankUpdate() {
  RankUpdate *longer = x86::rankUpdate();
  return longer ? longer : updateByShortVectors;
}

} // namespace hewn::target

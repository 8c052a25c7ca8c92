// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/Targets.h"
#include "lib/Codegen/Emit/LinkerTool.h"
#include "lib/Codegen/Kernel/KernelGenerator.h"
#include "lib/Schedule/ScheduleModel.h"
#include "lib/Support/Files/CacheFile.h"
#include "lib/Support/Printable.h"
#include "lib/Target/AArch64/AArch64Target.h"
#include "lib/Target/NVPTX/NVPTXTarget.h"
#include "lib/Target/RISCV/RISCVTarget.h"
#include "lib/Target/WebAssembly/WebAssemblyTarget.h"
#include "lib/Target/X86/X86Target.h"

#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using llvm::StringRef;

namespace hewn::target {

/// Returns all families, in the order of their names in messages.
static llvm::ArrayRef<const Target *> families() {
  static const Target *const all[] = {&x86::family(), &aarch64::family(), &riscv::family(), &wasm::family(),
                                      &nvptx::family()};
  return all;
}

std::vector<const codegen::Platform *> platforms() {
  std::vector<const codegen::Platform *> all;
  for (const Target *family : families())
    for (const SupportedPlatform &one : family->platforms())
      if (!llvm::is_contained(all, one.platform))
        all.push_back(one.platform);
  return all;
}

void initialize() {
  for (const Target *family : families())
    family->initialize();
}

void registerDialects(mlir::DialectRegistry &registry) {
  plan::registerScheduleModels(registry);
  codegen::registerKernelGenerators(registry);
  for (const Target *family : families())
    family->registerDialects(registry);
}

void registerPasses() {
  for (const Target *family : families())
    family->registerPasses();
}

std::vector<std::string> names() {
  std::vector<std::string> all = {"host", "portable"};
  for (const Target *family : families())
    for (std::string &name : family->names())
      all.push_back(std::move(name));
  return all;
}

/// Sets the fields of `machine` that the registry determines.
static codegen::TargetSpec registered(codegen::TargetSpec machine, const Target &family,
                                      const codegen::Platform &platform) {
  machine.family = &family;
  machine.platform = &platform;
  machine.device = family.device();
  if (!machine.device)
    machine.triple = (family.architecture() + "-unknown-" + platform.system).str();
  return machine;
}

std::optional<codegen::TargetSpec> find(StringRef name) {
  auto [cpu, wanted] = name.split('@');
  for (const Target *family : families()) {
    std::optional<codegen::TargetSpec> machine = cpu == "host" ? family->host() : family->find(cpu);
    if (!machine)
      continue;
    for (const SupportedPlatform &one : family->platforms()) {
      if (name != cpu && wanted != one.platform->name)
        continue;
      // the name of a target on its default platform has no suffix
      if (one.platform != family->platforms().front().platform)
        machine->name += ("@" + one.platform->name).str();
      return registered(std::move(*machine), *family, *one.platform);
    }
  }
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
  StringRef near = llvm::is_contained({"native", "cpu", "local", "auto"}, name.lower()) ? "host" : "";
  for (const Target *family : families())
    for (const Alias &alias : family->aliases())
      if (alias.name == name.lower())
        near = alias.suggestion;
  std::vector<std::string> all = target::names();
  llvm::SmallVector<StringRef> names(all.begin(), all.end());
  std::string specific = name.str() + "a"; // sm_90a for sm_90
  if (llvm::is_contained(names, specific))
    near = specific;
  if (near.empty())
    near = nearestName(name, names);
  return near.empty() ? "" : " (did you mean " + near.str() + "?)";
}

/// Returns the targets that "portable" consists of.
static llvm::ArrayRef<StringRef> portableNames() {
  for (const Target *family : families())
    if (llvm::ArrayRef<StringRef> names = family->portable(); !names.empty())
      return names;
  return {};
}

/// Returns the error for an element of a `--target` list that `find` rejects.
static llvm::Error unknownTarget(StringRef name) {
  auto [cpu, platform] = name.split('@');
  auto names = llvm::map_to_vector(platforms(), [](const codegen::Platform *one) -> StringRef { return one->name; });
  if (name != cpu && !llvm::is_contained(names, platform))
    return llvm::createStringError("unknown platform '" + platform + "' of target '" + name +
                                   "'; there are: " + llvm::join(names, ", "));
  if (name != cpu && find(cpu))
    return llvm::createStringError("target '" + cpu + "' does not support the platform '" + platform + "'");
  return llvm::createStringError(
      "unknown target '" + cpu + "'" + suggestion(cpu) + "; there are: " + llvm::join(target::names(), ", ") +
      "; a name may be followed by +vnni, -amx and others, and a list is separated by commas");
}

llvm::Expected<std::vector<codegen::TargetSpec>> findAll(StringRef list) {
  llvm::SmallVector<std::string> names;
  for (StringRef name : llvm::split(list, ',')) {
    auto [cpu, platform] = name.split('@');
    for (StringRef one : cpu == "portable" ? portableNames() : llvm::ArrayRef(cpu))
      names.push_back((one + name.drop_front(cpu.size())).str());
  }
  std::vector<codegen::TargetSpec> found;
  for (StringRef name : names) {
    std::optional<codegen::TargetSpec> machine = find(name);
    if (!machine)
      return unknownTarget(name);
    for (const codegen::TargetSpec &other : found) {
      if (machine->device || other.device)
        return llvm::createStringError("targets '" + other.name + "' and '" + machine->name +
                                       "' cannot be combined: an artifact for a device has no other target");
      if (machine->triple != other.triple)
        return llvm::createStringError("targets '" + other.name + "' and '" + machine->name + "' have different " +
                                       (machine->family == other.family ? "platforms" : "architectures") +
                                       ": an artifact supports one");
      if (!machine->platform->hasVariants)
        return llvm::createStringError("targets '" + other.name + "' and '" + machine->name +
                                       "' cannot be combined: an artifact for the platform '" +
                                       machine->platform->name + "' has one target; compile one for each");
      if (machine->cpuFeatures == other.cpuFeatures)
        return llvm::createStringError("targets '" + other.name + "' and '" + machine->name +
                                       "' have the same instruction sets: remove one");
    }
    found.insert(llvm::upper_bound(found, *machine, comesBefore), *machine);
  }
  return found;
}

codegen::TargetSpec baseTarget(const codegen::TargetSpec &machine) {
  // A device target (GPU) has no host code of its own: the code that launches its kernels is
  // compiled for the host.
  const codegen::TargetSpec processor = machine.device ? *find("host") : machine;
  return registered(*processor.family->base(), *processor.family, *processor.platform);
}

bool isForThisMachine(const codegen::TargetSpec &machine) {
  llvm::Triple here(llvm::sys::getProcessTriple()), there(machine.triple);
  return here.getArch() == there.getArch() && here.getOS() == there.getOS() &&
         here.getEnvironment() == there.getEnvironment();
}

std::string runtimeFolder(const codegen::TargetSpec &machine) {
  return isForThisMachine(machine) ? "" : (machine.family->architecture() + "-" + machine.platform->system).str();
}

const SupportedPlatform &supportOf(const codegen::TargetSpec &machine) {
  llvm::ArrayRef<SupportedPlatform> all = machine.family->platforms();
  return *llvm::find_if(all, [&](const SupportedPlatform &one) { return one.platform == machine.platform; });
}

std::vector<const codegen::LinkerTool *> linkers() {
  std::vector<const codegen::LinkerTool *> all;
  for (const codegen::Platform *platform : platforms())
    if (!llvm::is_contained(all, &platform->linker))
      all.push_back(&platform->linker);
  return all;
}

static const codegen::LinkerTool &hostLinker() { return find("host")->platform->linker; }

StringRef libraryExtension() {
  for (const codegen::ArtifactKind &kind : hostLinker().kinds())
    if (kind.form == codegen::ArtifactForm::Library)
      return kind.extension;
  return "";
}

bool isLibrary(StringRef path) { return hostLinker().is(codegen::ArtifactForm::Library, path); }

std::vector<StringRef> deviceStages() {
  std::vector<StringRef> stages;
  for (const Target *family : families())
    if (const codegen::Device *device = family->device())
      stages.push_back(device->stage());
  return stages;
}

std::string identity(const codegen::TargetSpec &machine) {
  constexpr size_t digits = 8;
  ContentHash hash;
  hash << machine.triple << machine.features << machine.vectorBytes;
  return machine.cpu + "/" + hash.text().substr(0, digits);
}

plan::TargetAttr attribute(mlir::MLIRContext *context, const codegen::TargetSpec &machine, Precision precision) {
  return machine.family->describe(context, machine, precision);
}

static void updateByShortVectors(const RowPanel &panel, float *sums) { updateByVectors<4>(panel, sums); }

RankUpdate *rankUpdate() {
  for (const Target *family : families())
    if (RankUpdate *longer = family->rankUpdate())
      return longer;
  return updateByShortVectors;
}

} // namespace hewn::target

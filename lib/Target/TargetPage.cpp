// SPDX-License-Identifier: Apache-2.0
//
// The tables of targets and platforms (hewn help targets, docs/generated/targets.md).
#include "lib/Codegen/Emit/LinkerTool.h"
#include "lib/Target/Targets.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace hewn::target {

static std::string platformsOf(const Target &family) {
  std::vector<llvm::StringRef> names;
  for (const SupportedPlatform &one : family.platforms())
    names.push_back(one.platform->name);
  return llvm::join(names, ", ");
}

std::string page() {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "# Targets\n\n"
        "Values of `--target=CPU[@PLATFORM]`. `host` is the CPU of this machine. `portable` is a list of\n"
        "targets, of which the loader selects one. The default platform of a target is the first.\n\n"
        "| target | architecture | vectors | kernels | platforms |\n"
        "| --- | --- | --- | --- | --- |\n";
  for (const std::string &name : names())
    if (std::optional<codegen::TargetSpec> machine = name == "host" ? std::nullopt : find(name)) {
      const codegen::Device *device = machine->device;
      os << "| `" << name << "` | " << machine->family->architecture() << " | "
         << (device ? "" : std::to_string(machine->vectorBytes * 8) + " bits") << " | "
         << (device ? llvm::StringRef(device->stage()) : "object code") << " | " << platformsOf(*machine->family)
         << " |\n";
    }
  os << "\n## Platforms\n\n"
        "| platform | threads | object format | libraries | archives | objects |\n"
        "| --- | --- | --- | --- | --- | --- |\n";
  for (const codegen::Platform *platform : platforms()) {
    os << "| `" << platform->name << "` | " << (platform->hasThreads ? "yes" : "no") << " | " << platform->linker.name()
       << " |";
    for (auto form : {codegen::ArtifactForm::Library, codegen::ArtifactForm::Archive, codegen::ArtifactForm::Object}) {
      const codegen::ArtifactKind *kind =
          llvm::find_if(platform->linker.kinds(), [&](const codegen::ArtifactKind &one) { return one.form == form; });
      os << (kind == platform->linker.kinds().end() ? " |" : " `" + kind->extension.str() + "` |");
    }
    os << "\n";
  }
  return text;
}

} // namespace hewn::target

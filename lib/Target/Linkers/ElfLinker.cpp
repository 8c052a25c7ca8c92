// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/Linkers/ElfLinker.h"
#include "hewn/runtime.h"
#include "lib/Codegen/Emit/OpenBinary.h"
#include "lib/Codegen/Emit/Weights.h"
#include "lib/Target/Linkers/GlibcSymbols.h"
#include "lib/Target/Linkers/Lld.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Module.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/DynamicLibrary.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

LLD_HAS_DRIVER(elf)

using namespace llvm;
using namespace hewn::codegen;

namespace hewn::target {

ArrayRef<ArtifactKind> ElfLinker::kinds() const {
  static constexpr ArtifactKind kinds[] = {
      {ArtifactForm::Library, ".so", "lib"}, {ArtifactForm::Archive, ".a", "lib"}, {ArtifactForm::Object, ".o", ""}};
  return kinds;
}

ArrayRef<StringRef> ElfLinker::ownSymbols() const {
  static constexpr StringRef names[] = {"_GLOBAL_OFFSET_TABLE_"};
  return names;
}

static Error run(const std::vector<std::string> &arguments) {
  return runLld("ld.lld", {lld::Gnu, &lld::elf::link}, arguments);
}

/// Writes a shared library without code that has the name of a library of glibc and the symbol
/// versions of glibc 2.17. Linking against it records the dependency and the versions in the
/// artifact, and needs no C library for the target on this machine.
static Expected<std::string> makeStub(const ElfLinker &linker, const GlibcLibrary &glibc, const LinkJob &job,
                                      const ScratchFolder &scratch) {
  auto code = MemoryBuffer::getFile(job.objects.front());
  if (!code)
    return createStringError("can't read " + job.objects.front() + ": " + code.getError().message());
  std::string object = scratch.path("stub.o"), library = scratch.path(glibc.soname);
  if (Error error = linker.writeWeights(Weights(), object, "hewn_stub", (*code)->getBuffer()))
    return error;
  std::vector<std::string> arguments = {"-shared", "--build-id=none", "-soname=" + glibc.soname.str(),
                                        "-o",      library,           object};
  if (std::string versions = glibcVersionScript(glibc, job.symbolVersion); !versions.empty()) {
    Expected<std::string> script = scratch.write("versions.map", versions);
    if (!script)
      return script.takeError();
    arguments.push_back("--version-script=" + *script);
    for (const GlibcVersion &version : glibc.versions)
      for (StringRef function : split(version.functions, ' '))
        arguments.push_back("--defsym=" + function.str() + "=0");
  }
  if (Error error = run(arguments))
    return error;
  return library;
}

namespace {
using OpenElf = Opened<object::ELFObjectFileBase>;

/// The C library of this machine, which may have more functions than glibc 2.17. Custom ops for
/// this machine may call them. For other targets, there are no such libraries.
class HostLibraries {
public:
  explicit HostLibraries(const Triple &triple) {
    Triple here(sys::getProcessTriple());
    if (here.getArch() != triple.getArch() || here.getOS() != triple.getOS())
      return;
    for (const GlibcLibrary &library : glibcLibraries())
      libraries.push_back(sys::DynamicLibrary::getLibrary(library.soname.data()));
  }
  ~HostLibraries() {
    for (sys::DynamicLibrary &library : libraries)
      sys::DynamicLibrary::closeLibrary(library);
  }
  bool have(const std::string &name) const {
    return any_of(libraries, [&](const sys::DynamicLibrary &library) {
      return library.isValid() && const_cast<sys::DynamicLibrary &>(library).getAddressOfSymbol(name.c_str());
    });
  }

private:
  SmallVector<sys::DynamicLibrary> libraries;
};
} // namespace

/// Verifies that the loader can resolve all undefined symbols of the library. Code that the user
/// supplies may reference any symbol.
static Error checkUndefined(const std::string &library, const LinkJob &job) {
  StringSet<> there;
  for (const std::string &path : job.userCode) {
    file_magic magic;
    if (identify_magic(path, magic) || magic != file_magic::elf_shared_object)
      continue;
    Expected<OpenElf> open = OpenElf::open(path);
    if (!open)
      return open.takeError();
    if (Error error = visitSymbols(open->binary->getDynamicSymbolIterators(), [&](StringRef name, uint32_t flags) {
          if (!(flags & object::SymbolRef::SF_Undefined))
            there.insert(name);
        }))
      return error;
  }
  Expected<OpenElf> open = OpenElf::open(library);
  if (!open)
    return open.takeError();
  const HostLibraries known(job.triple);
  SmallVector<std::string> missing;
  if (Error error = visitSymbols(open->binary->getDynamicSymbolIterators(), [&](StringRef name, uint32_t flags) {
        bool isUndefined = (flags & object::SymbolRef::SF_Undefined) && !(flags & object::SymbolRef::SF_Weak);
        if (isUndefined && !name.empty() && !there.contains(name) && !isInGlibc(name) && !known.have(name.str()))
          missing.push_back("'" + name.str() + "'");
      }))
    return error;
  if (missing.empty())
    return Error::success();
  llvm::sort(missing);
  constexpr size_t maxListed = 8;
  std::string more = missing.size() > maxListed ? " and " + std::to_string(missing.size() - maxListed) + " more" : "";
  return createStringError("undefined symbols in the library: " + join(ArrayRef(missing).take_front(maxListed), ", ") +
                           more + "; list the libraries that custom ops call under \"link\"");
}

Error ElfLinker::linkLibrary(const LinkJob &job, StringRef name, const std::string &to,
                             const ScratchFolder &scratch) const {
  // The list of exported symbols need not name other runtime functions to keep them in the shared
  // library: the model's descriptor references all those that a loader or the typed functions need.
  std::string exports = "{ global: " + job.model + "; " + job.model + "_run; " + job.model +
                        "_arena_bytes; " HEWN_MODEL_SYMBOL "; hewn_context_*; hewn_run*; hewn_output_release; "
                        "hewn_arena_bytes; hewn_model_variant; hewn_code_name; local: *; };\n";
  Expected<std::string> script = scratch.write("exports.map", exports);
  if (!script)
    return script.takeError();
  std::vector<std::string> arguments = {
      "-shared", "--version-script=" + *script, "--gc-sections", "--strip-debug", "--hash-style=gnu", "--build-id=sha1",
      // Inside of the shared library, bind references to functions only, not to data: a program
      // that links to the library may have a copy relocation of the descriptor.
      // Bind all references when the library is loaded: if a function is missing, dlopen returns an
      // error, whereas lazy binding would end the process at the first call.
      "-Bsymbolic-functions", "-znow", "-znoexecstack", "-zrelro", "--defsym=" HEWN_MODEL_SYMBOL "=" + job.model,
      "-soname=" + name.str(), "-o", to};
  arguments.insert(arguments.end(), job.objects.begin(), job.objects.end());
  if (!job.weights.empty())
    arguments.push_back(job.weights);
  arguments.push_back(job.runtime);
  arguments.insert(arguments.end(), job.parts.begin(), job.parts.end());
  arguments.insert(arguments.end(), job.userCode.begin(), job.userCode.end());
  for (const auto &[name, address] : job.addresses)
    arguments.push_back("--defsym=" + name + "=" + std::to_string(address));
  for (const GlibcLibrary &library : glibcLibraries()) {
    Expected<std::string> stub = makeStub(*this, library, job, scratch);
    if (!stub)
      return stub.takeError();
    arguments.insert(arguments.end(), {library.always ? "--no-as-needed" : "--as-needed", *stub});
  }
  if (Error error = run(arguments))
    return error;
  return checkUndefined(to, job);
}

Error ElfLinker::linkRelocatable(ArrayRef<std::string> objects, const std::string &to) const {
  std::vector<std::string> arguments = {"-r", "--build-id=none", "-o", to};
  arguments.insert(arguments.end(), objects.begin(), objects.end());
  return run(arguments);
}

BinaryKind ElfLinker::binaryKind(StringRef content) const {
  switch (identify_magic(content)) {
  case file_magic::elf_relocatable:
    return BinaryKind::Object;
  case file_magic::elf_shared_object: // or a position-independent executable
    return BinaryKind::Library;
  case file_magic::elf:
  case file_magic::elf_executable:
  case file_magic::elf_core:
    return BinaryKind::Program;
  default:
    return BinaryKind::None;
  }
}

/// The description is a note, because notes survive `strip` and the linker's garbage collection of
/// unreferenced sections.
void ElfLinker::storeDescription(Module &module, StringRef json) const {
  LLVMContext &context = module.getContext();
  const uint32_t bytes = uint32_t(json.size());
  std::string text = json.str();
  text.resize(alignTo(text.size(), 4), '\0');
  std::string owner(HEWN_NOTE_NAME, sizeof(HEWN_NOTE_NAME));
  uint32_t ownerBytes = uint32_t(owner.size());
  owner.resize(alignTo(owner.size(), 4), '\0');
  auto number = [&](uint32_t value) { return ConstantInt::get(Type::getInt32Ty(context), value); };
  Constant *note = ConstantStruct::getAnon(context, {number(ownerBytes), number(bytes), number(HEWN_NOTE_DESCRIPTION),
                                                     ConstantDataArray::getString(context, owner, /*AddNull=*/false),
                                                     ConstantDataArray::getString(context, text, /*AddNull=*/false)});
  auto *global = new GlobalVariable(module, note->getType(), true, GlobalValue::PrivateLinkage, note, ".description");
  global->setSection(HEWN_NOTE_SECTION);
  global->setAlignment(Align(4));
  appendToCompilerUsed(module, global);
}

namespace {
using Elf = object::ELFFile<object::ELF64LE>;
using Visit = function_ref<Error(StringRef)>;

/// Visits the descriptions in a section or segment of notes.
template <typename Place> Error visitNotes(const Elf &file, const Place &place, Visit visit) {
  Error error = Error::success();
  for (const auto &note : file.notes(place, error))
    if (note.getName() == HEWN_NOTE_NAME && note.getType() == HEWN_NOTE_DESCRIPTION)
      if (Error wrong = visit(toStringRef(note.getDesc(/*Align=*/4))))
        return joinErrors(std::move(error), std::move(wrong));
  return error;
}
} // namespace

/// Reads the note sections, or the note segments if the file has no sections (stripped).
Error ElfLinker::readDescriptions(const object::Binary &binary, Visit visit) const {
  const auto *elf = dyn_cast<object::ELFObjectFile<object::ELF64LE>>(&binary);
  if (!elf)
    return createStringError("not a 64-bit little-endian ELF file, the only ELF format that hewn writes");
  const Elf &file = elf->getELFFile();
  auto sections = file.sections();
  if (!sections)
    return sections.takeError();
  for (const auto &section : *sections)
    if (section.sh_type == ELF::SHT_NOTE)
      if (Error error = visitNotes(file, section, visit))
        return error;
  if (!sections->empty())
    return Error::success();
  auto segments = file.program_headers();
  if (!segments)
    return segments.takeError();
  for (const auto &segment : *segments)
    if (segment.p_type == ELF::PT_NOTE)
      if (Error error = visitNotes(file, segment, visit))
        return error;
  return Error::success();
}

} // namespace hewn::target

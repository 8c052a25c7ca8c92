// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Emit/Link.h"
#include "hewn/runtime.h"
#include "lib/Codegen/Emit/GlibcSymbols.h"
#include "lib/Codegen/Emit/Weights.h"
#include "lib/Support/Files/OutputFile.h"
#include "lib/Support/Files/ScratchFolders.h"

#include "lld/Common/Driver.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/BinaryFormat/Magic.h"
#include "llvm/Object/Archive.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <dlfcn.h>
#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace llvm;

namespace hewn::codegen {

Expected<ScratchFolder> ScratchFolder::create() {
  Expected<std::string> path = makeScratchFolder();
  if (!path)
    return path.takeError();
  return ScratchFolder(std::move(*path));
}

ScratchFolder::~ScratchFolder() {
  if (!folder.empty())
    removeScratchFolder(folder);
}

std::string ScratchFolder::path(StringRef name) const {
  SmallString<128> path(folder);
  sys::path::append(path, name);
  return path.str().str();
}

Expected<std::string> ScratchFolder::write(StringRef name, StringRef content) const {
  std::string file = path(name);
  if (Error error = writeFile(file, content))
    return std::move(error);
  return file;
}

/// Returns the likely reason of a link that failed without a message, as on a full disk.
static std::string whySilent(ArrayRef<std::string> arguments) {
  const auto *output = llvm::find(arguments, "-o");
  StringRef path = output == arguments.end() || output + 1 == arguments.end() ? "" : StringRef(output[1]);
  StringRef folder = sys::path::parent_path(path);
  ErrorOr<sys::fs::space_info> space = sys::fs::disk_space(folder.empty() ? "." : folder);
  constexpr uint64_t little = uint64_t(16) << 20;
  if (space && space->available < little)
    return "the file system of '" + path.str() + "' has only " + std::to_string(space->available >> 10) + " kB left";
  return "the linker gave no reason";
}

/// Runs lld with these arguments. lld keeps its state in globals, so a process links one output at
/// a time. lld uses one thread: in a forked child, lld would wait forever for threads that exist
/// only in the parent.
static Error runLinker(std::vector<std::string> arguments) {
  static std::mutex oneAtATime;
  std::lock_guard<std::mutex> lock(oneAtATime);
  std::vector<const char *> list = {"ld.lld", "--threads=1"};
  for (const std::string &argument : arguments)
    list.push_back(argument.c_str());
  std::string output;
  raw_string_ostream os(output);
  lld::Result result = lld::lldMain(list, os, os, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode == 0)
    return Error::success();
  StringRef first = StringRef(output).split('\n').first;
  first.consume_front("ld.lld: error: ");
  return createStringError("linking failed: " + (first.empty() ? whySilent(arguments) : first.str()));
}

/// Writes a shared library without code that has the name of a library of glibc and the symbol
/// versions of glibc 2.17. Linking against it records the dependency and the versions in the
/// artifact, and needs no C library for the target on this machine.
static Expected<std::string> makeStub(const GlibcLibrary &glibc, StringRef triple, const ScratchFolder &scratch) {
  std::string object = scratch.path("stub.o"), library = scratch.path(glibc.soname);
  if (Error error = Weights().writeObject(object, "hewn_stub", triple))
    return error;
  std::vector<std::string> arguments = {"-shared", "--build-id=none", "-soname=" + glibc.soname.str(),
                                        "-o",      library,           object};
  if (std::string versions = glibcVersionScript(glibc, triple); !versions.empty()) {
    Expected<std::string> script = scratch.write("versions.map", versions);
    if (!script)
      return script.takeError();
    arguments.push_back("--version-script=" + *script);
    for (const GlibcVersion &version : glibc.versions)
      for (StringRef function : split(version.functions, ' '))
        arguments.push_back("--defsym=" + function.str() + "=0");
  }
  if (Error error = runLinker(std::move(arguments)))
    return error;
  return library;
}

namespace {
/// The content of a file, and the archive or object parsed from it, which references that memory.
template <typename Binary> struct Opened {
  std::unique_ptr<MemoryBuffer> buffer;
  std::unique_ptr<Binary> binary;

  static Expected<Opened> open(const std::string &path) {
    auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!buffer)
      return createStringError("can't read " + path + ": " + buffer.getError().message());
    Expected<std::unique_ptr<object::Binary>> made = object::createBinary(**buffer);
    if (!made)
      return createStringError(path + ": " + toString(made.takeError()));
    auto *binary = dyn_cast<Binary>(made->get());
    if (!binary)
      return createStringError(path + " is not a file type that the linker accepts");
    (void)made->release();
    return Opened{std::move(*buffer), std::unique_ptr<Binary>(binary)};
  }
};
using OpenArchive = Opened<object::Archive>;
using OpenObject = Opened<object::ELFObjectFileBase>;
} // namespace

/// Calls `visit` with the name and the object::SymbolRef flags of each symbol in `symbols`.
template <typename Symbols>
static Error visitSymbols(Symbols &&symbols, function_ref<void(StringRef, uint32_t)> visit) {
  for (const object::SymbolRef &symbol : symbols) {
    Expected<uint32_t> flags = symbol.getFlags();
    if (!flags)
      return flags.takeError();
    Expected<StringRef> name = symbol.getName();
    if (!name)
      return name.takeError();
    visit(*name, *flags);
  }
  return Error::success();
}

/// Adds the names of the runtime functions that the object at `path` calls to `parts`.
static Error collectParts(const std::string &path, StringSet<> &parts) {
  Expected<OpenObject> object = OpenObject::open(path);
  if (!object)
    return object.takeError();
  return visitSymbols(object->binary->symbols(), [&](StringRef name, uint32_t) {
    if (name.starts_with("hewn_part_"))
      parts.insert(name);
  });
}

Error chooseParts(LinkJob &job) {
  StringSet<> parts;
  for (const std::string &object : job.objects)
    if (Error error = collectParts(object, parts))
      return error;
  std::vector<std::string> given = std::exchange(job.parts, {});
  if (parts.empty() || job.runtime.empty())
    return Error::success();
  given.insert(given.begin(), job.runtime);
  for (const std::string &path : given) {
    Expected<OpenArchive> archive = OpenArchive::open(path);
    if (!archive)
      return archive.takeError();
    bool isNeeded = false;
    SmallVector<std::string> found;
    for (StringRef part : parts.keys()) {
      Expected<std::optional<object::Archive::Child>> member = archive->binary->findSym(part);
      if (!member)
        return member.takeError();
      if (*member)
        found.push_back(part.str());
    }
    for (const std::string &part : found)
      isNeeded |= parts.erase(part);
    if (isNeeded && path != job.runtime)
      job.parts.push_back(path);
  }
  if (parts.empty())
    return Error::success();
  return createStringError("the model needs the runtime function '" + parts.begin()->getKey() +
                           "', which this build of hewn lacks: the library that it requires was not available");
}

namespace {
/// The functions of glibc 2.17, and those of the C library of this machine, which custom ops may
/// call.
class CLibrary {
public:
  CLibrary() {
    for (const GlibcLibrary &library : glibcLibraries())
      libraries.push_back(dlopen(library.soname.data(), RTLD_LAZY | RTLD_LOCAL));
  }
  ~CLibrary() {
    for (void *library : libraries)
      if (library)
        dlclose(library);
  }
  bool has(const std::string &name) const {
    return isInGlibc(name) || any_of(libraries, [&](void *library) { return library && dlsym(library, name.c_str()); });
  }

private:
  SmallVector<void *> libraries;
};
} // namespace

static bool isShared(StringRef path) {
  file_magic magic;
  return !identify_magic(path, magic) && magic == file_magic::elf_shared_object;
}

/// Verifies that the loader can resolve all undefined symbols of the library. Code that the user
/// supplies may reference any symbol.
static Error checkUndefined(const std::string &library, const LinkJob &job) {
  StringSet<> there;
  for (const std::string &path : job.userCode) {
    if (!isShared(path))
      continue;
    Expected<OpenObject> open = OpenObject::open(path);
    if (!open)
      return open.takeError();
    if (Error error = visitSymbols(open->binary->getDynamicSymbolIterators(), [&](StringRef name, uint32_t flags) {
          if (!(flags & object::SymbolRef::SF_Undefined))
            there.insert(name);
        }))
      return error;
  }
  Expected<OpenObject> open = OpenObject::open(library);
  if (!open)
    return open.takeError();
  CLibrary known;
  SmallVector<std::string> missing;
  if (Error error = visitSymbols(open->binary->getDynamicSymbolIterators(), [&](StringRef name, uint32_t flags) {
        bool isUndefined = (flags & object::SymbolRef::SF_Undefined) && !(flags & object::SymbolRef::SF_Weak);
        if (isUndefined && !name.empty() && !there.contains(name) && !known.has(name.str()))
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

/// Runs the link with a file of the scratch folder as its output, verifies this file with `check`
/// and appends it to `output`. lld needs a file name to write to, and a failed link must not
/// publish anything.
static Error linkInto(OutputFile &output, std::vector<std::string> arguments, const ScratchFolder &scratch,
                      function_ref<Error(const std::string &)> check = {}) {
  std::string linked = scratch.path("linked");
  arguments.insert(arguments.end(), {"-o", linked});
  if (Error error = runLinker(std::move(arguments)))
    return error;
  if (check)
    if (Error error = check(linked))
      return error;
  return output.append(linked);
}

Error linkShared(const LinkJob &job, OutputFile &output, const ScratchFolder &scratch) {
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
      "-soname=" + sys::path::filename(output.path()).str()};
  arguments.insert(arguments.end(), job.objects.begin(), job.objects.end());
  if (!job.weights.empty())
    arguments.push_back(job.weights);
  arguments.push_back(job.runtime);
  arguments.insert(arguments.end(), job.parts.begin(), job.parts.end());
  arguments.insert(arguments.end(), job.userCode.begin(), job.userCode.end());
  for (const auto &[name, address] : job.addresses)
    arguments.push_back("--defsym=" + name + "=" + std::to_string(address));
  for (const GlibcLibrary &library : glibcLibraries()) {
    Expected<std::string> stub = makeStub(library, job.triple, scratch);
    if (!stub)
      return stub.takeError();
    arguments.insert(arguments.end(), {library.always ? "--no-as-needed" : "--as-needed", *stub});
  }
  return linkInto(output, std::move(arguments), scratch,
                  [&](const std::string &linked) { return checkUndefined(linked, job); });
}

Error linkObject(const LinkJob &job, OutputFile &output, const ScratchFolder &scratch) {
  std::vector<std::string> arguments = {"-r", "--build-id=none"};
  arguments.insert(arguments.end(), job.objects.begin(), job.objects.end());
  if (!job.weights.empty())
    arguments.push_back(job.weights);
  return linkInto(output, std::move(arguments), scratch);
}

Error writeArchive(const LinkJob &job, OutputFile &output, const ScratchFolder &scratch) {
  std::string one = scratch.path(job.model + ".o");
  // Link all objects of the archive into one, except the weights' object, whose data linking would
  // copy. It becomes a member of its own.
  std::vector<std::string> arguments = {"-r", "--build-id=none", "-o", one};
  arguments.insert(arguments.end(), job.objects.begin(), job.objects.end());
  if (Error error = runLinker(std::move(arguments)))
    return error;
  std::vector<NewArchiveMember> members;
  Expected<NewArchiveMember> model = NewArchiveMember::getFile(one, /*Deterministic=*/true);
  if (!model)
    return model.takeError();
  // Name the archive member without the path of the scratch folder, which differs between runs.
  model->MemberName = sys::path::filename(one);
  members.push_back(std::move(*model));
  if (!job.weights.empty()) {
    Expected<NewArchiveMember> weights = NewArchiveMember::getFile(job.weights, /*Deterministic=*/true);
    if (!weights)
      return weights.takeError();
    weights->MemberName = sys::path::filename(job.weights);
    members.push_back(std::move(*weights));
  }

  std::vector<std::string> archives = {job.runtime};
  archives.insert(archives.end(), job.parts.begin(), job.parts.end());
  for (const std::string &path : job.userCode) {
    file_magic magic;
    if (std::error_code error = identify_magic(path, magic))
      return createStringError("can't read " + path + ": " + error.message());
    if (magic == file_magic::archive)
      archives.push_back(path);
    if (magic != file_magic::elf_relocatable)
      continue;
    Expected<NewArchiveMember> member = NewArchiveMember::getFile(path, /*Deterministic=*/true);
    if (!member)
      return member.takeError();
    member->MemberName = sys::path::filename(path);
    members.push_back(std::move(*member));
  }
  std::vector<OpenArchive> open; // owns the memory of the members
  for (const std::string &path : archives) {
    Expected<OpenArchive> archive = OpenArchive::open(path);
    if (!archive)
      return archive.takeError();
    open.push_back(std::move(*archive));
    Error error = Error::success();
    for (const object::Archive::Child &child : open.back().binary->children(error)) {
      Expected<NewArchiveMember> member = NewArchiveMember::getOldMember(child, /*Deterministic=*/true);
      if (!member)
        return member.takeError();
      members.push_back(std::move(*member));
    }
    if (error)
      return error;
  }
  return writeArchiveToStream(output.stream(), members, SymtabWritingMode::NormalSymtab, object::Archive::K_GNU,
                              /*Deterministic=*/true, /*Thin=*/false);
}

} // namespace hewn::codegen

// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Emit/Link.h"
#include "hewn/runtime.h"
#include "lib/Codegen/Emit/Weights.h"

#include "lld/Common/Driver.h"
#include "llvm/Object/Archive.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace llvm;

namespace hewn::codegen {

Expected<ScratchFolder> ScratchFolder::create() {
  SmallString<128> path;
  if (std::error_code error = sys::fs::createUniqueDirectory("hewn", path))
    return createStringError("can't make a temporary folder: " + error.message());
  return ScratchFolder(path.str().str());
}

ScratchFolder::~ScratchFolder() {
  if (!folder.empty())
    (void)sys::fs::remove_directories(folder);
}

std::string ScratchFolder::path(StringRef name) const {
  SmallString<128> path(folder);
  sys::path::append(path, name);
  return path.str().str();
}

Expected<std::string> ScratchFolder::write(StringRef name, StringRef content) const {
  std::string file = path(name);
  std::error_code error;
  raw_fd_ostream os(file, error);
  if (!error) {
    os << content;
    os.close();
    error = os.error();
    os.clear_error();
  }
  if (error)
    return createStringError("can't write " + file + ": " + error.message());
  return file;
}

/// lld keeps its state in globals: one link at a time in a process.
static Error runLinker(std::vector<std::string> arguments) {
  static std::mutex oneAtATime;
  std::lock_guard<std::mutex> lock(oneAtATime);
  std::vector<const char *> list = {"ld.lld"};
  for (const std::string &argument : arguments)
    list.push_back(argument.c_str());
  std::string said;
  raw_string_ostream os(said);
  lld::Result result = lld::lldMain(list, os, os, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode == 0)
    return Error::success();
  StringRef first = StringRef(said).split('\n').first;
  first.consume_front("ld.lld: error: ");
  return createStringError("linking failed: " + first);
}

/// An empty library of this name: linking against it says "needs libm.so.6" without a C library on this machine, and
/// without asking for the version of one.
static Expected<std::string> makeStub(StringRef name, const ScratchFolder &scratch) {
  std::string object = scratch.path("stub.o"), library = scratch.path(name);
  if (Error error = Weights().writeObject(object, "hewn_stub"))
    return error;
  if (Error error = runLinker({"-shared", "--build-id=none", "-soname=" + name.str(), "-o", library, object}))
    return error;
  return library;
}

Error linkShared(const LinkJob &job, const ScratchFolder &scratch) {
  // Everything of the runtime that a loader or the typed functions need is reached from the descriptor.
  std::string exports = "{ global: " + job.model + "; " + job.model + "_run; " + job.model +
                        "_arena_bytes; " HEWN_MODEL_SYMBOL "; hewn_context_*; hewn_run*; hewn_output_release; "
                        "hewn_arena_bytes; hewn_model_variant; local: *; };\n";
  Expected<std::string> script = scratch.write("exports.map", exports);
  if (!script)
    return script.takeError();
  std::vector<std::string> arguments = {
      "-shared", "--version-script=" + *script, "--gc-sections", "--strip-debug", "--hash-style=gnu", "--build-id=none",
      // Not data: a program that is linked to the library may hold the descriptor.
      "-Bsymbolic-functions", "-znoexecstack", "-zrelro", "--defsym=" HEWN_MODEL_SYMBOL "=" + job.model,
      "-soname=" + sys::path::filename(job.output).str(), "-o", job.output};
  arguments.insert(arguments.end(), job.objects.begin(), job.objects.end());
  if (!job.weights.empty())
    arguments.push_back(job.weights);
  arguments.push_back(job.runtime);
  for (StringRef name : {"libm.so.6", "libc.so.6"}) {
    Expected<std::string> stub = makeStub(name, scratch);
    if (!stub)
      return stub.takeError();
    arguments.push_back(*stub);
  }
  return runLinker(std::move(arguments));
}

Error linkObject(const LinkJob &job) {
  std::vector<std::string> arguments = {"-r", "--build-id=none", "-o", job.output};
  arguments.insert(arguments.end(), job.objects.begin(), job.objects.end());
  if (!job.weights.empty())
    arguments.push_back(job.weights);
  return runLinker(std::move(arguments));
}

Error writeArchive(const LinkJob &job, const ScratchFolder &scratch) {
  LinkJob one = job;
  one.output = scratch.path(job.model + ".o");
  one.weights.clear(); // linking would copy them once more
  if (Error error = linkObject(one))
    return error;
  std::vector<NewArchiveMember> members;
  Expected<NewArchiveMember> model = NewArchiveMember::getFile(one.output, /*Deterministic=*/true);
  if (!model)
    return model.takeError();
  // Not with the folder: that has another name each time.
  model->MemberName = sys::path::filename(one.output);
  members.push_back(std::move(*model));
  if (!job.weights.empty()) {
    Expected<NewArchiveMember> weights = NewArchiveMember::getFile(job.weights, /*Deterministic=*/true);
    if (!weights)
      return weights.takeError();
    weights->MemberName = sys::path::filename(job.weights);
    members.push_back(std::move(*weights));
  }

  auto buffer = MemoryBuffer::getFile(job.runtime, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return createStringError("can't read " + job.runtime + ": " + buffer.getError().message());
  Expected<std::unique_ptr<object::Archive>> runtime = object::Archive::create(**buffer);
  if (!runtime)
    return runtime.takeError();
  Error error = Error::success();
  for (const object::Archive::Child &child : (*runtime)->children(error)) {
    Expected<NewArchiveMember> member = NewArchiveMember::getOldMember(child, /*Deterministic=*/true);
    if (!member)
      return member.takeError();
    members.push_back(std::move(*member));
  }
  if (error)
    return error;
  if (Error error = llvm::writeArchive(job.output, members, SymtabWritingMode::NormalSymtab, object::Archive::K_GNU,
                                       /*Deterministic=*/true, /*Thin=*/false))
    return createStringError("can't write " + job.output + ": " + toString(std::move(error)));
  return Error::success();
}

} // namespace hewn::codegen

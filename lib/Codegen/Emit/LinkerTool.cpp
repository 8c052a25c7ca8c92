// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Emit/LinkerTool.h"
#include "lib/Codegen/Emit/OpenBinary.h"
#include "lib/Support/Files/OutputFile.h"
#include "lib/Support/Files/ScratchFolders.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

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

const ArtifactKind *LinkerTool::artifactKind(StringRef path) const {
  StringRef extension = sys::path::extension(path);
  const ArtifactKind *found = find_if(kinds(), [&](const ArtifactKind &kind) { return kind.extension == extension; });
  return found == kinds().end() ? nullptr : found;
}

bool LinkerTool::is(ArtifactForm form, StringRef path) const {
  const ArtifactKind *kind = artifactKind(path);
  return kind && kind->form == form;
}

std::string LinkerTool::extensions() const {
  std::string text;
  for (auto [i, kind] : enumerate(kinds()))
    text += (i == 0 ? "" : i + 1 < kinds().size() ? ", " : " or ") + kind.extension.str();
  return text;
}

/// Adds the names of the runtime functions that the object at `path` calls to `parts`.
static Error collectParts(const std::string &path, StringSet<> &parts) {
  auto object = Opened<object::ObjectFile>::open(path);
  if (!object)
    return object.takeError();
  return visitSymbols(object->binary->symbols(), [&](StringRef name, uint32_t) {
    if (name.starts_with("hewn_part_"))
      parts.insert(name);
  });
}

Error LinkerTool::chooseParts(LinkJob &job) {
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

Error LinkerTool::link(const LinkJob &job, ArtifactForm form, OutputFile &output, const ScratchFolder &scratch) const {
  if (form == ArtifactForm::Archive)
    return writeArchive(job, output, scratch);
  // lld needs a file name to write to, and a failed link must not publish anything.
  const std::string linked = scratch.path("linked");
  std::vector<std::string> objects = job.objects;
  if (!job.weights.empty())
    objects.push_back(job.weights);
  if (Error error = form == ArtifactForm::Library
                        ? linkLibrary(job, sys::path::filename(output.path()), linked, scratch)
                        : linkRelocatable(objects, linked))
    return error;
  return output.append(linked);
}

/// Appends the file as a member without its folder, since scratch folders differ between runs.
static Error addMember(std::vector<NewArchiveMember> &members, const std::string &path) {
  Expected<NewArchiveMember> member = NewArchiveMember::getFile(path, /*Deterministic=*/true);
  if (!member)
    return member.takeError();
  member->MemberName = sys::path::filename(path);
  members.push_back(std::move(*member));
  return Error::success();
}

Error LinkerTool::writeArchive(const LinkJob &job, OutputFile &output, const ScratchFolder &scratch) const {
  const std::string one = scratch.path(job.model + ".o");
  // Link all objects of the archive into one, except the weights' object, whose data linking would
  // copy. It becomes a member of its own.
  if (Error error = linkRelocatable(job.objects, one))
    return error;
  std::vector<NewArchiveMember> members;
  if (Error error = addMember(members, one))
    return error;
  if (!job.weights.empty())
    if (Error error = addMember(members, job.weights))
      return error;
  std::vector<std::string> archives = {job.runtime};
  archives.insert(archives.end(), job.parts.begin(), job.parts.end());
  for (const std::string &path : job.userCode) {
    auto file = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!file)
      return createStringError("can't read " + path + ": " + file.getError().message());
    if (identify_magic((*file)->getBuffer()) == file_magic::archive)
      archives.push_back(path);
    else if (binaryKind((*file)->getBuffer()) == BinaryKind::Object)
      if (Error error = addMember(members, path))
        return error;
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

/// Returns the reason why an object or library cannot be linked for the triple, or "" if it can.
/// The text starts with `what`.
std::string LinkerTool::whyNotFor(const Triple &triple, MemoryBufferRef file, const std::string &what) const {
  Expected<std::unique_ptr<object::ObjectFile>> object = object::ObjectFile::createObjectFile(file);
  if (!object)
    return what + " is damaged: " + toString(object.takeError());
  Triple::ArchType arch = (*object)->getArch();
  if (arch == triple.getArch() && (*object)->is64Bit() == triple.isArch64Bit())
    return "";
  return what + " is for " + (*object)->getFileFormatName().str() + ", not for " +
         Triple::getArchTypeName(triple.getArch()).str();
}

std::string LinkerTool::whyNotArchive(const Triple &triple, MemoryBufferRef file) const {
  Expected<std::unique_ptr<object::Archive>> archive = object::Archive::create(file);
  if (!archive)
    return "it is damaged: " + toString(archive.takeError());
  std::string why;
  Error error = Error::success();
  for (const object::Archive::Child &child : (*archive)->children(error)) {
    Expected<StringRef> name = child.getName();
    Expected<MemoryBufferRef> member = child.getMemoryBufferRef();
    if (!name || !member) {
      why = "it is damaged: " + toString(joinErrors(name ? Error::success() : name.takeError(),
                                                    member ? Error::success() : member.takeError()));
      break;
    }
    // Skip members that are not objects, as linkers do.
    if (binaryKind(member->getBuffer()) == BinaryKind::Object)
      why = whyNotFor(triple, *member, "its member '" + name->str() + "'");
    if (!why.empty())
      break;
  }
  if (error) {
    std::string damage = "it is damaged: " + toString(std::move(error));
    why = why.empty() ? damage : why;
  }
  return why;
}

std::string LinkerTool::whyNotLinkable(MemoryBufferRef file, const Triple &triple) const {
  if (identify_magic(file.getBuffer()) == file_magic::archive)
    return whyNotArchive(triple, file);
  BinaryKind kind = binaryKind(file.getBuffer());
  if (kind == BinaryKind::Object || kind == BinaryKind::Library)
    return whyNotFor(triple, file, "it");
  return "it is not an object, archive or shared library";
}

} // namespace hewn::codegen

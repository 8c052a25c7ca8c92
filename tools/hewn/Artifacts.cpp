// SPDX-License-Identifier: Apache-2.0
#include "tools/hewn/Artifacts.h"
#include "hewn/runtime.h"
#include "lib/Support/JsonReader.h"

#include "llvm/BinaryFormat/Magic.h"
#include "llvm/Object/Archive.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;

namespace hewn::tool {

bool isArtifact(StringRef bytes) {
  switch (identify_magic(bytes)) {
  case file_magic::archive:
  case file_magic::elf:
  case file_magic::elf_relocatable:
  case file_magic::elf_executable:
  case file_magic::elf_shared_object:
  case file_magic::elf_core:
    return true;
  default:
    return false;
  }
}

namespace {

class Reader {
public:
  explicit Reader(ArtifactDescription &into) : into(into) {}

  Error readObject(const object::Binary &binary) {
    auto *elf = dyn_cast<object::ELFObjectFile<object::ELF64LE>>(&binary);
    if (!elf)
      return createStringError("not a 64-bit little-endian ELF file, the only format that hewn writes");
    into.architecture = Triple::getArchTypeName(elf->getArch()).str();
    return readNotes(elf->getELFFile());
  }

  Error readArchive(const object::Archive &archive) {
    if (archive.isThin())
      return createStringError("thin archives are not supported");
    Error error = Error::success();
    for (const object::Archive::Child &child : archive.children(error)) {
      Expected<MemoryBufferRef> bytes = child.getMemoryBufferRef();
      if (!bytes)
        return joinErrors(std::move(error), bytes.takeError());
      // LLVM checks the size of an archive member only when it advances to the next member.
      if (bytes->getBufferSize() > size_t(archive.getData().end() - bytes->getBufferStart()))
        return joinErrors(std::move(error), createStringError("an archive member extends past the end of the file"));
      if (identify_magic(bytes->getBuffer()) != file_magic::elf_relocatable)
        continue;
      Expected<std::unique_ptr<object::Binary>> member = child.getAsBinary();
      if (!member)
        return joinErrors(std::move(error), member.takeError());
      if (Error inside = readObject(**member))
        return joinErrors(std::move(error), std::move(inside));
    }
    return error;
  }

private:
  using File = object::ELFFile<object::ELF64LE>;

  /// Reads the note sections, or the note segments if the file has no sections (stripped).
  Error readNotes(const File &file) {
    auto sections = file.sections();
    if (!sections)
      return sections.takeError();
    for (const auto &section : *sections)
      if (section.sh_type == ELF::SHT_NOTE)
        if (Error error = readNotesOf(file, section))
          return error;
    if (!sections->empty())
      return Error::success();
    auto segments = file.program_headers();
    if (!segments)
      return segments.takeError();
    for (const auto &segment : *segments)
      if (segment.p_type == ELF::PT_NOTE)
        if (Error error = readNotesOf(file, segment))
          return error;
    return Error::success();
  }

  template <typename Place> Error readNotesOf(const File &file, const Place &place) {
    Error error = Error::success();
    for (const auto &note : file.notes(place, error))
      if (note.getName() == HEWN_NOTE_NAME && note.getType() == HEWN_NOTE_DESCRIPTION)
        if (Error wrong = readDescription(toStringRef(note.getDesc(/*Align=*/4))))
          return joinErrors(std::move(error), std::move(wrong));
    return error;
  }

  Error readDescription(StringRef text) {
    Diagnostics diagnostics;
    std::optional<JsonText> read;
    if (text.starts_with("{")) // `readJson` would treat a text without a brace as a file name
      read = readJson(text, "its description", diagnostics);
    if (!read || !read->value.getAsObject())
      return createStringError("the description of the model is damaged");
    into.models.push_back(std::move(*read->value.getAsObject()));
    return Error::success();
  }

  ArtifactDescription &into;
};

StringRef kindOf(file_magic magic) {
  switch (magic) {
  case file_magic::archive:
    return "archive";
  case file_magic::elf_relocatable:
    return "object";
  case file_magic::elf_shared_object: // or a position-independent executable
    return "library";
  default:
    return "program";
  }
}

} // namespace

Expected<ArtifactDescription> describeArtifact(MemoryBufferRef file) {
  ArtifactDescription made;
  made.kind = kindOf(identify_magic(file.getBuffer())).str();
  Expected<std::unique_ptr<object::Binary>> binary = object::createBinary(file);
  if (!binary)
    return binary.takeError();
  Reader reader(made);
  auto *archive = dyn_cast<object::Archive>(binary->get());
  if (Error error = archive ? reader.readArchive(*archive) : reader.readObject(**binary))
    return std::move(error);
  if (made.models.empty())
    return createStringError(
        "no description of a model found: the file was not written by hewn, or by a version that did not "
        "write descriptions (compile the model again)");
  return made;
}

} // namespace hewn::tool

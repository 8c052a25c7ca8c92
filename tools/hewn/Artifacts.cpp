// SPDX-License-Identifier: Apache-2.0
#include "tools/hewn/Artifacts.h"
#include "lib/Codegen/Emit/LinkerTool.h"
#include "lib/Support/JsonReader.h"
#include "lib/Target/Targets.h"

#include "llvm/BinaryFormat/Magic.h"
#include "llvm/Object/Archive.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;

namespace hewn::tool {

/// Returns the linker whose format the file has, or null.
static const codegen::LinkerTool *linkerOf(StringRef content) {
  for (const codegen::LinkerTool *linker : target::linkers())
    if (linker->binaryKind(content) != codegen::BinaryKind::None)
      return linker;
  return nullptr;
}

bool isArtifact(StringRef bytes) { return identify_magic(bytes) == file_magic::archive || linkerOf(bytes); }

namespace {

class Reader {
public:
  explicit Reader(ArtifactDescription &into) : into(into) {}

  Error readObject(const object::Binary &binary) {
    const codegen::LinkerTool *linker = linkerOf(binary.getData());
    auto *object = dyn_cast<object::ObjectFile>(&binary);
    if (!linker || !object)
      return Error::success(); // without a description
    into.architecture = Triple::getArchTypeName(object->getArch()).str();
    return linker->readDescriptions(binary, [&](StringRef text) { return readDescription(text); });
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
      const codegen::LinkerTool *linker = linkerOf(bytes->getBuffer());
      if (!linker || linker->binaryKind(bytes->getBuffer()) != codegen::BinaryKind::Object)
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

StringRef kindOf(StringRef content) {
  if (identify_magic(content) == file_magic::archive)
    return "archive";
  const codegen::LinkerTool *linker = linkerOf(content);
  switch (linker ? linker->binaryKind(content) : codegen::BinaryKind::Program) {
  case codegen::BinaryKind::Object:
    return "object";
  case codegen::BinaryKind::Library:
    return "library";
  default:
    return "program";
  }
}

} // namespace

Expected<ArtifactDescription> describeArtifact(MemoryBufferRef file) {
  ArtifactDescription made;
  made.kind = kindOf(file.getBuffer()).str();
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

// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Emit/UserCode.h"

#include "llvm/BinaryFormat/Magic.h"
#include "llvm/Object/Archive.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;

namespace hewn::codegen {

/// Returns the reason why an ELF file cannot be linked for the triple, or "" if it can. The text
/// starts with `what`.
static std::string whyNotFor(const Triple &triple, MemoryBufferRef file, const std::string &what) {
  Expected<std::unique_ptr<object::ObjectFile>> object = object::ObjectFile::createELFObjectFile(file);
  if (!object)
    return what + " is damaged: " + toString(object.takeError());
  Triple::ArchType arch = (*object)->getArch();
  if (arch == triple.getArch() && (*object)->is64Bit() == triple.isArch64Bit())
    return "";
  return what + " is for " + (*object)->getFileFormatName().str() + ", not for " +
         Triple::getArchTypeName(triple.getArch()).str();
}

static std::string whyNotArchive(const Triple &triple, MemoryBufferRef file) {
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
    if (identify_magic(member->getBuffer()) == file_magic::elf_relocatable)
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

std::string whyNotLinkable(MemoryBufferRef file, StringRef triple) {
  switch (identify_magic(file.getBuffer())) {
  case file_magic::archive:
    return whyNotArchive(Triple(triple), file);
  case file_magic::elf_relocatable:
  case file_magic::elf_shared_object:
    return whyNotFor(Triple(triple), file, "it");
  default:
    return "it is not an object, archive or shared library";
  }
}

} // namespace hewn::codegen

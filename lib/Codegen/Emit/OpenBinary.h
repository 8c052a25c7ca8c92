// SPDX-License-Identifier: Apache-2.0
//
// Reads the files that a link takes and writes.
#ifndef HEWN_LIB_CODEGEN_EMIT_OPENBINARY_H
#define HEWN_LIB_CODEGEN_EMIT_OPENBINARY_H

#include "llvm/BinaryFormat/Magic.h"
#include "llvm/Object/Archive.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"

namespace hewn::codegen {

/// The content of a file, and the archive or object parsed from it, which references that memory.
template <typename Binary> struct Opened {
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  std::unique_ptr<Binary> binary;

  static llvm::Expected<Opened> open(const std::string &path) {
    auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!buffer)
      return llvm::createStringError("can't read " + path + ": " + buffer.getError().message());
    llvm::Expected<std::unique_ptr<llvm::object::Binary>> made = llvm::object::createBinary(**buffer);
    if (!made)
      return llvm::createStringError(path + ": " + toString(made.takeError()));
    auto *binary = llvm::dyn_cast<Binary>(made->get());
    if (!binary)
      return llvm::createStringError(path + " is not a file type that the linker accepts");
    (void)made->release();
    return Opened{std::move(*buffer), std::unique_ptr<Binary>(binary)};
  }
};
using OpenArchive = Opened<llvm::object::Archive>;

/// Calls `visit` with the name and the object::SymbolRef flags of each symbol in `symbols`.
template <typename Symbols>
llvm::Error visitSymbols(Symbols &&symbols, llvm::function_ref<void(llvm::StringRef, uint32_t)> visit) {
  for (const llvm::object::SymbolRef &symbol : symbols) {
    llvm::Expected<uint32_t> flags = symbol.getFlags();
    if (!flags)
      return flags.takeError();
    llvm::Expected<llvm::StringRef> name = symbol.getName();
    if (!name)
      return name.takeError();
    visit(*name, *flags);
  }
  return llvm::Error::success();
}

} // namespace hewn::codegen

#endif

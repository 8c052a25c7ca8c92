// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Emit/Calls.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/IR/Module.h"
#include "llvm/Object/ObjectFile.h"

using namespace llvm;

namespace hewn::codegen {

/// Returns the names of the C99 functions to which LLVM lowers its intrinsics.
static const StringSet<> &knownNames() {
  static const StringSet<> names = [] {
    StringSet<> all = {"memcpy", "memmove", "memset", "memcmp"};
    for (StringRef name : {"acos", "asin",  "atan",  "atan2", "ceil",   "copysign", "cos",     "cosh",      "exp",
                           "exp2", "fabs",  "floor", "fma",   "fmax",   "fmin",     "fmod",    "frexp",     "ldexp",
                           "log",  "log10", "log2",  "lrint", "lround", "llrint",   "llround", "nearbyint", "pow",
                           "rint", "round", "sin",   "sinh",  "sqrt",   "tan",      "tanh",    "trunc"}) {
      all.insert(name);
      all.insert((name + "f").str());
    }
    return all;
  }();
  return names;
}

Error checkCalls(const Module &module, StringRef object, const LinkerTool &linker) {
  auto file = object::ObjectFile::createObjectFile(MemoryBufferRef(object, module.getName()));
  if (!file)
    return file.takeError();
  for (const object::SymbolRef &symbol : (*file)->symbols()) {
    Expected<uint32_t> flags = symbol.getFlags();
    if (!flags)
      return flags.takeError();
    if (!(*flags & object::SymbolRef::SF_Undefined))
      continue;
    Expected<StringRef> name = symbol.getName();
    if (!name)
      return name.takeError();
    if (!name->empty() && !module.getNamedValue(*name) && !knownNames().contains(*name) &&
        !is_contained(linker.ownSymbols(), *name))
      return createStringError("internal error: the code of " + module.getName() + " calls '" + *name +
                               "', which is neither a hewn function nor in the C library");
  }
  return Error::success();
}

} // namespace hewn::codegen

// SPDX-License-Identifier: Apache-2.0
//
// The C structs of runtime.h and services.h as LLVM types. Their layout follows from the module's
// data layout, not from the compiler's own structs: on a 32-bit target, pointers have four bytes.
#ifndef HEWN_LIB_CODEGEN_PROGRAM_RUNTIMESTRUCTS_H
#define HEWN_LIB_CODEGEN_PROGRAM_RUNTIMESTRUCTS_H

#include "llvm/IR/DataLayout.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Module.h"

namespace hewn::codegen {

/// The structs, by their names in C.
enum class RuntimeStruct {
#define HEWN_STRUCT(name) name,
#define HEWN_FIELD(name, type)
#define HEWN_END(name)
#include "lib/Codegen/Program/RuntimeStructs.def"
};

/// The fields of each struct: `field::hewn_frame::arena`.
namespace field {
// clang-format off
#define HEWN_STRUCT(name) enum class name : unsigned {
#define HEWN_FIELD(name, type) name,
#define HEWN_END(name) };
// clang-format on
#include "lib/Codegen/Program/RuntimeStructs.def"
} // namespace field

class RuntimeStructs {
public:
  /// `module` must have the target's data layout.
  explicit RuntimeStructs(const llvm::Module &module) : module(module) {}

  llvm::StructType *type(RuntimeStruct name) const;
  /// Returns the size of the struct in bytes, with its padding.
  uint64_t size(RuntimeStruct name) const { return layout(name).getSizeInBytes(); }
  llvm::Align alignment(RuntimeStruct name) const { return layout(name).getAlignment(); }
  /// Returns the offset of the field in bytes.
#define HEWN_STRUCT(name)                                                                                              \
  uint64_t offset(field::name which) const {                                                                           \
    return layout(RuntimeStruct::name).getElementOffset(unsigned(which)).getFixedValue();                              \
  }
#define HEWN_FIELD(name, type)
#define HEWN_END(name)
#include "lib/Codegen/Program/RuntimeStructs.def"

private:
  const llvm::StructLayout &layout(RuntimeStruct name) const {
    return *module.getDataLayout().getStructLayout(type(name));
  }
  const llvm::Module &module;
};

} // namespace hewn::codegen

#endif

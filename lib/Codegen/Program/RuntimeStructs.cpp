// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Program/RuntimeStructs.h"

using namespace llvm;

namespace hewn::codegen {

StructType *RuntimeStructs::type(RuntimeStruct name) const {
  LLVMContext &context = module.getContext();
  Type *pointer = PointerType::getUnqual(context), *i8 = Type::getInt8Ty(context), *i16 = Type::getInt16Ty(context),
       *i32 = Type::getInt32Ty(context), *i64 = Type::getInt64Ty(context);
  Type *dataType = StructType::get(context, {i8, i8, i16});
  auto words = [&](uint64_t count) -> Type * { return ArrayType::get(i64, count); };
  SmallVector<Type *> fields;
  switch (name) {
    // clang-format off
#define HEWN_STRUCT(name) case RuntimeStruct::name: fields = {
#define HEWN_FIELD(name, type) type,
#define HEWN_END(name) }; break;
#include "lib/Codegen/Program/RuntimeStructs.def"
    // clang-format on
  }
  return StructType::get(context, fields);
}

} // namespace hewn::codegen

// SPDX-License-Identifier: Apache-2.0
#include "dialects/Handle/Handle.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "dialects/Handle/HandleDialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Handle/HandleTypes.cpp.inc"

namespace hewn::handle {

void HandleDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Handle/HandleTypes.cpp.inc"
      >();
}

static LogicalResult verifyList(llvm::function_ref<InFlightDiagnostic()> emitError, Type element, int64_t rank) {
  if (!element || !(element.isIntOrFloat() || isString(element)))
    return emitError() << "the elements of a list must be tensors of numbers or strings";
  if (rank < kNoRank || rank > 64)
    return emitError() << rank << " is not a valid rank";
  return success();
}

LogicalResult SequenceType::verify(llvm::function_ref<InFlightDiagnostic()> emitError, Type element, int64_t rank) {
  return verifyList(emitError, element, rank);
}
LogicalResult OptionalType::verify(llvm::function_ref<InFlightDiagnostic()> emitError, Type element, int64_t rank) {
  return verifyList(emitError, element, rank);
}
LogicalResult OptionalSequenceType::verify(llvm::function_ref<InFlightDiagnostic()> emitError, Type element,
                                           int64_t rank) {
  return verifyList(emitError, element, rank);
}

bool isHandle(Type type) { return type && isa<HandleDialect>(type.getDialect()); }
bool isString(Type type) { return isa_and_nonnull<StringType>(type); }

Type List::type() const {
  MLIRContext *context = element.getContext();
  switch (kind) {
  case Kind::Sequence:
    return SequenceType::get(context, element, rank);
  case Kind::Optional:
    return OptionalType::get(context, element, rank);
  case Kind::OptionalSequence:
    return OptionalSequenceType::get(context, element, rank);
  }
  llvm_unreachable("unknown kind of list");
}

std::optional<List> asList(Type type) {
  if (auto list = dyn_cast_or_null<SequenceType>(type))
    return List{List::Kind::Sequence, list.getElement(), list.getRank()};
  if (auto list = dyn_cast_or_null<OptionalType>(type))
    return List{List::Kind::Optional, list.getElement(), list.getRank()};
  if (auto list = dyn_cast_or_null<OptionalSequenceType>(type))
    return List{List::Kind::OptionalSequence, list.getElement(), list.getRank()};
  return std::nullopt;
}

std::optional<List> join(const List &a, const List &b) {
  if (a.element != b.element || (a.kind == List::Kind::Optional) != (b.kind == List::Kind::Optional))
    return std::nullopt;
  int64_t rank = a.rank == b.rank || b.rank == kNoRank ? a.rank : a.rank == kNoRank ? b.rank : kAnyRank;
  return List{a.kind == b.kind ? a.kind : List::Kind::OptionalSequence, a.element, rank};
}

} // namespace hewn::handle

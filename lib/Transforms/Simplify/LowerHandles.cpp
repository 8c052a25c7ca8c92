// SPDX-License-Identifier: Apache-2.0
//
// Replaces the handle types of strings, sequences and optional values by i64 (see Passes.td).
#include "dialects/Graph/List/ListOps.h"
#include "dialects/Handle/Handle.h"
#include "lib/Transforms/Simplify/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;

namespace hewn {
#define GEN_PASS_DEF_LOWERHANDLESPASS
#include "lib/Transforms/Simplify/Passes.h.inc"

namespace {
/// Returns the handle type of a tensor's elements, or null if they are numbers.
Type handleTypeOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && handle::isHandle(tensor.getElementType()) ? tensor.getElementType() : Type();
}

struct LowerHandlesPass : impl::LowerHandlesPassBase<LowerHandlesPass> {
  void runOnOperation() override {
    getOperation()->walk([](func::FuncOp function) {
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        if (Type held = handleTypeOf(function.getArgumentTypes()[i]))
          function.setArgAttr(i, handle::kHeldAttr, StringAttr::get(function.getContext(), textOf(held)));
      for (unsigned i = 0; i < function.getNumResults(); ++i)
        if (Type held = handleTypeOf(function.getResultTypes()[i]))
          function.setResultAttr(i, handle::kHeldAttr, StringAttr::get(function.getContext(), textOf(held)));
    });
    AttrTypeReplacer replacer;
    replacer.addReplacement([](Type type) -> std::optional<Type> {
      return handle::isHandle(type) ? std::optional<Type>(IntegerType::get(type.getContext(), 64)) : std::nullopt;
    });
    replacer.recursivelyReplaceElementsIn(getOperation(), /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                          /*replaceTypes=*/true);
    getOperation()->walk([](graph::RetypeOp op) {
      op.getResult().replaceAllUsesWith(op.getX());
      op.erase();
    });
  }

  static std::string textOf(Type type) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return text;
  }
};
} // namespace
} // namespace hewn

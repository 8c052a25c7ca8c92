// SPDX-License-Identifier: Apache-2.0
//
// Makes i64 of handles: what stands for a string, a sequence or an optional value is 64 bits, and no pass after this one has to know
// more. What callers must know stands on the function's arguments and results.
//
//     func.func @main(%x: tensor<2x!handle.string>)       func.func @main(%x: tensor<2xi64> {handle.held = "!handle.string"})
//     %y = graph.transpose %x ...                     →   %y = graph.transpose %x : tensor<2xi64> ...
//     %z = graph.retype %y ...                            (nothing: the same value)
//
// It does not look behind handles: ops that do are parts of the runtime.
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
/// The handle type that a tensor's elements have; null where they are numbers.
Type heldBy(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && handle::isHandle(tensor.getElementType()) ? tensor.getElementType() : Type();
}

struct LowerHandlesPass : impl::LowerHandlesPassBase<LowerHandlesPass> {
  void runOnOperation() override {
    getOperation()->walk([](func::FuncOp function) {
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        if (Type held = heldBy(function.getArgumentTypes()[i]))
          function.setArgAttr(i, handle::kHeldAttr, StringAttr::get(function.getContext(), textOf(held)));
      for (unsigned i = 0; i < function.getNumResults(); ++i)
        if (Type held = heldBy(function.getResultTypes()[i]))
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

// SPDX-License-Identifier: Apache-2.0
//
// Elements as they would be in memory: what a kernel computes in a wider type, rounded to the tensor's own.
#ifndef HEWN_LIB_CODEGEN_STORED_H
#define HEWN_LIB_CODEGEN_STORED_H

#include "dialects/Graph/Builders/Element.h"

namespace hewn::codegen {

/// `element` of `tensor`, in compute type, as a load of it would give it.
mlir::Value roundToStorageType(mlir::OpBuilder &b, mlir::Location loc, mlir::Value tensor, mlir::Value element);

/// Whether the op wants its operands so (graph::Discontinuous).
bool readsStored(mlir::Operation *op);

/// Hands on to another builder, and rounds what that reads.
class StoredElements : public graph::ElementBuilder {
public:
  explicit StoredElements(ElementBuilder &from) : ElementBuilder(from.b, from.loc, from.lanes), from(from) {}
  mlir::Value read(mlir::Value tensor, llvm::ArrayRef<graph::Index> at) override {
    return roundToStorageType(b, loc, tensor, from.read(tensor, at));
  }
  mlir::Value readIf(mlir::Value inside, mlir::Value tensor, llvm::ArrayRef<graph::Index> at,
                     mlir::Value fill) override {
    return roundToStorageType(b, loc, tensor, from.readIf(inside, tensor, at, fill));
  }
  graph::Index extent(mlir::Value tensor, unsigned dim) override { return from.extent(tensor, dim); }
  graph::Index expression(const graph::DimExpr &expr) override { return from.expression(expr); }

private:
  ElementBuilder &from;
};

} // namespace hewn::codegen

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Rounds elements that a kernel computes in a larger type to their tensor's element type, as
// storing and loading them would.
#ifndef HEWN_LIB_CODEGEN_STORED_H
#define HEWN_LIB_CODEGEN_STORED_H

#include "dialects/Graph/Builders/Element.h"

namespace hewn::codegen {

/// Rounds `element`, an element of `tensor` in compute type, to the element type of `tensor`.
mlir::Value roundToStorageType(mlir::OpBuilder &b, mlir::Location loc, mlir::Value tensor, mlir::Value element);

/// Returns true if the op must read its operands rounded to their storage types
/// (graph::Discontinuous).
bool readsStored(mlir::Operation *op);

/// An element builder that forwards to another one and rounds the elements that it reads to their
/// storage types.
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

// SPDX-License-Identifier: Apache-2.0
//
// Symbolic dims (graph::DimExpr) as parameters of attributes of this and other dialects: printed as
// an integer or as a quoted expression.
#ifndef HEWN_GRAPH_DIM_PARAMETER
#define HEWN_GRAPH_DIM_PARAMETER

include "mlir/IR/AttrTypeBase.td"

class DimParameter<string description = ""> : AttrOrTypeParameter<"::hewn::graph::DimExpr", description> {
  let parser = "::hewn::graph::parseDim($_parser)";
  let printer = "::hewn::graph::printDim($_printer, $_self)";
}

// An attribute parameter that is a symbolic dim and that is 0 by default.
class DefaultZeroDimParameter<string description = ""> : DimParameter<description> {
  let defaultValue = "::hewn::graph::DimExpr(0)";
}

class OptionalDimParameter<string description = "">
    : OptionalParameter<"::std::optional<::hewn::graph::DimExpr>", description> {
  let parser = "::hewn::graph::parseDim($_parser)";
  let printer = "::hewn::graph::printDim($_printer, *$_self)";
}

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Expressions of dims (graph::DimExpr) as parameters of attributes, of this dialect and of others: a number, or text in quotes.
#ifndef HEWN_GRAPH_DIM_PARAMETER
#define HEWN_GRAPH_DIM_PARAMETER

include "mlir/IR/AttrTypeBase.td"

class DimParameter<string description = ""> : AttrOrTypeParameter<"::hewn::graph::DimExpr", description> {
  let parser = "::hewn::graph::parseDim($_parser)";
  let printer = "::hewn::graph::printDim($_printer, $_self)";
}

// 0 where it is not written.
class DefaultZeroDimParameter<string description = ""> : DimParameter<description> {
  let defaultValue = "::hewn::graph::DimExpr(0)";
}

class OptionalDimParameter<string description = "">
    : OptionalParameter<"::std::optional<::hewn::graph::DimExpr>", description> {
  let parser = "::hewn::graph::parseDim($_parser)";
  let printer = "::hewn::graph::printDim($_printer, *$_self)";
}

#endif

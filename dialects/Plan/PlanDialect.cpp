// SPDX-License-Identifier: Apache-2.0
#include "dialects/Plan/Plan.h"

#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "dialects/Plan/PlanDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Plan/PlanAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Plan/PlanOps.cpp.inc"

namespace hewn::plan {

void PlanDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Plan/PlanAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Plan/PlanOps.cpp.inc"
      >();
}

LogicalResult CopyOp::verify() {
  if (getTo() != "host" && getTo() != "device")
    return emitOpError("goes to \"host\" or \"device\", not to ") << getToAttr();
  return success();
}

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  auto build = [](Builder &b, ArrayRef<Type> inputs, ArrayRef<Type> outputs, function_interface_impl::VariadicFlag,
                  std::string &) { return b.getFunctionType(inputs, outputs); };
  return function_interface_impl::parseFunctionOp(parser, result, /*allowVariadic=*/false,
                                                  getFunctionTypeAttrName(result.name), build,
                                                  getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void KernelOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
                                           getArgAttrsAttrName(), getResAttrsAttrName());
}

} // namespace hewn::plan

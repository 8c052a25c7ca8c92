// SPDX-License-Identifier: Apache-2.0
//
// The ops of the dialect plan.
include "dialects/Plan/PlanBase.td"

class PlanOp<string mnemonic, list<Trait> traits = []> : Op<PlanDialect, mnemonic, traits>;

def Plan_KernelOp : PlanOp<"kernel", [IsolatedFromAbove, FunctionOpInterface, Symbol]> {
  let summary = "A group of ops that becomes one function on every target.";
  let description = [{
    Arguments are tensors; the body is one block of graph ops ending in graph.yield. `symbols` names the symbols that dims
    inside are written in; a launch gives their values by position, so equal kernels of unlike symbols are one. Arguments'
    dims stand in `graph.dims`. Inputs are never written; results are buffers of their own. `schedule` says how it is computed, one of
    `#plan.contract`, `#plan.winograd`, `#plan.chain` and `#plan.loops`, or on a grid of threads `#plan.grid_contract`, `#plan.grid_chain`,
    `#plan.grid_rows`, `#plan.grid_cumulate`, `#plan.grid_transpose` and `#plan.grid_map`; engines compute none themselves.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type, ArrayAttr:$symbols,
                       OptionalAttr<AnyAttr>:$schedule, OptionalAttr<StrAttr>:$why, OptionalAttr<StrAttr>:$sym_visibility,
                       OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
  }];
}

def Plan_LaunchOp : PlanOp<"launch", [Pure]> {
  let summary = "Runs a kernel on buffers; `symbols` are expressions over the program's symbols, one a symbol of the kernel.";
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyRankedTensor>:$inputs, ArrayAttr:$symbols);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let assemblyFormat = "$kernel `(` $inputs `)` `symbols` $symbols attr-dict `:` functional-type($inputs, $outputs)";
  let hasVerifier = 1;
}

def Plan_CopyOp : PlanOp<"copy", [Pure, AllTypesMatch<["input", "output"]>]> {
  let summary = "The operand's elements in the other memory of a machine that has two: `to` host or device.";
  let arguments = (ins AnyRankedTensor:$input, Plan_CopyToAttr:$to);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$input `to` $to attr-dict `:` type($output)";
}

def Plan_AssembleOp : PlanOp<"assemble", [Pure]> {
  let summary = "Tensors one after another along a dim, each of them a subview of the result: nothing is done when run.";
  let description = [{
    The operands are results of launches in this block, each of one such op alone. Their memory is in the result's, and begins there
    before the first of them is made. Where a subview is not contiguous, its type says so (`subview of` in #graph.layout).
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$subviews, I64Attr:$dim);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$subviews `along` $dim attr-dict `:` functional-type($subviews, $output)";
  let hasVerifier = 1;
}

// SPDX-License-Identifier: Apache-2.0
//
// The ops of the plan dialect.
include "dialects/Plan/PlanBase.td"

class PlanOp<string mnemonic, list<Trait> traits = []> : Op<PlanDialect, mnemonic, traits>;

def Plan_KernelOp : PlanOp<"kernel", [IsolatedFromAbove, SymbolTable, NoTerminator, FunctionOpInterface, Symbol]> {
  let summary = "A kernel: the ops of one fusion group, later the code that computes them.";
  let description = [{
    A kernel contains everything that it needs, so passes compile kernels in parallel
    (`OperationPass<plan::KernelOp>`). The body has one of two forms:

    - **Before lowering:** a block of graph ops that ends with graph.yield. Its arguments are the
      input tensors.
    - **Lowered:** a symbol table with the entry function, which has the kernel's name and the
      attribute `plan.launch_info`, and everything that it references: functions, shared memory,
      declarations of libm functions.

    ```mlir
    plan.kernel @k(%x: tensor<8xf32>) -> tensor<8xf32> attributes {symbols = []} {
      %y = graph.relu %x : tensor<8xf32>
      graph.yield %y : tensor<8xf32>
    }
    // lowered
    plan.kernel @k(tensor<8xf32>) -> tensor<8xf32> attributes {symbols = []} {
      func.func @k(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) {
        scf.for ... { vector.load, arith, vector.store }
      }
    }
    ```

    The function type has the tensors that a launch passes and receives, in both forms. `symbols` lists the names of the symbols in the dims of the body. A launch binds the symbols by
    position, so kernels that differ only in these names can be merged. The dims of the arguments
    are in the argument attribute `graph.dims`. A kernel never writes to its inputs, and each result
    has a buffer of its own.

    `schedule` states how the kernel is computed: `#plan.contract`, `#plan.winograd`,
    `#plan.attention` or `#plan.loops` on a CPU, and `#plan.gpu_contract`, `#plan.gpu_attention`,
    `#plan.gpu_rows`, `#plan.gpu_cumulate`, `#plan.gpu_transpose` or `#plan.gpu_map` on a GPU.
    Passes choose the schedule; kernel generators only read it.
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
    /// Returns true if the body contains the kernel's code instead of its graph ops.
    bool isLowered();
    /// Returns the entry function of a lowered kernel, or null if the kernel is not lowered.
    ::mlir::func::FuncOp getEntry();
    /// Verifies the arguments of the body block. Replaces the method of FunctionOpInterface.
    ::llvm::LogicalResult verifyBody();
  }];
}

def Plan_LaunchOp : PlanOp<"launch", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Runs a kernel. `symbols` gives the value of each symbol of the kernel over the program's symbols.";
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyRankedTensor>:$inputs, ArrayAttr:$symbols);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let assemblyFormat = "$kernel `(` $inputs `)` `symbols` $symbols attr-dict `:` functional-type($inputs, $outputs)";
  let hasVerifier = 1;
}

def Plan_CopyOp : PlanOp<"copy", [Pure, AllTypesMatch<["input", "output"]>]> {
  let summary = "Copies a tensor from the host to the device memory, or from the device to the host.";
  let arguments = (ins AnyRankedTensor:$input, Plan_CopyToAttr:$to);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$input `to` $to attr-dict `:` type($output)";
}

def Plan_AssembleOp : PlanOp<"assemble", [Pure]> {
  let summary = "Concatenates subviews of the result along a dim, without any work at run time.";
  let description = [{
    Each operand is the result of a launch in the block of this op, and an operand of only one
    plan.assemble. The launch writes its result directly to a part of the buffer of the assembled
    tensor, which is live from before the first operand is computed. If an operand is not contiguous
    in this buffer, its type contains the strides (`subview of` in #graph.layout).
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$subviews, I64Attr:$dim);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$subviews `along` $dim attr-dict `:` functional-type($subviews, $output)";
  let hasVerifier = 1;
}

// SPDX-License-Identifier: Apache-2.0
//
// The dialect, its attributes, the base class of its ops, and the ONNX record of an op.
#ifndef HEWN_GRAPH_BASE
#define HEWN_GRAPH_BASE

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "dialects/Graph/Analysis/DimParameter.td"
include "dialects/Graph/GraphInterfaces.td"

def GraphDialect : Dialect {
  let name = "graph";
  let cppNamespace = "::hewn::graph";
  let summary = "Tensor-level ops of a model: ONNX semantics, canonical operands";
  let description = [{
    The importer translates an ONNX model to this dialect. An op describes its computation through
    an op interface (elementwise, reduce, prefix scan, contract, indexing), or it decomposes into
    ops that do. Passes and kernel generators query the interfaces and do not name single ops.

    Values are builtin tensors of f64, f32, f16, bf16, i8 to i64 (signed), ui8 to ui64 and i1. The
    attribute `graph.dims` of an op gives an expression over symbols for each dynamic dim of its
    results.

    ```mlir
    %y = graph.add %x, %b : (tensor<?x64xf32>, tensor<64xf32>) -> tensor<?x64xf32>
    ```
  }];
  let dependentDialects = ["::hewn::handle::HandleDialect"];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasConstantMaterializer = 0;
  let extraClassDeclaration = [{
    /// Returns the bytes to which the `#graph.weight` attributes of the context refer.
    ::hewn::WeightStore &getWeights() { return weights; }
    /// The evaluator of constants of the context, or null. Set it before passes run.
    const ::hewn::graph::ConstantEvaluator &getEvaluator() const { return evaluator; }
    void setEvaluator(::hewn::graph::ConstantEvaluator given) { evaluator = std::move(given); }

  private:
    ::hewn::WeightStore weights;
    ::hewn::graph::ConstantEvaluator evaluator;
  }];
}

//===------------------------------------------------------------------------------------------===//
// Attributes
//===------------------------------------------------------------------------------------------===//

def Graph_WeightAttr : AttrDef<GraphDialect, "Weight"> {
  let mnemonic = "weight";
  let summary = "Reference to constant data outside of the IR: key in the weight store, byte offset, byte length";
  let parameters = (ins StringRefParameter<"key">:$key, "int64_t":$offset, "int64_t":$bytes);
  let assemblyFormat = "`<` $key `,` $offset `:` $bytes `>`";
}

def Graph_DimAttr : AttrDef<GraphDialect, "Dim"> {
  let mnemonic = "dim";
  let summary = "Symbolic dim: `#graph.dim<\"4*seq + 1\">`. A static dim is an i64 attribute";
  let parameters = (ins DimParameter<>:$expr);
  let assemblyFormat = "`<` $expr `>`";
  let genVerifyDecl = 1;
}

def Graph_Relation : I32Enum<"Relation", "Relation between two sizes", [
  I32EnumCase<"Equal", 0, "equal">,
  I32EnumCase<"Broadcast", 1, "broadcast">,  // left == 1 or left == right
  I32EnumCase<"AtMost", 2, "atMost">,        // left <= right
  I32EnumCase<"NoCopy", 3, "noCopy">]> {     // left == right == 0: zeros of a shape that copy a dim
  let cppNamespace = "::hewn::graph";
}

def Graph_RelationAttr : EnumAttr<GraphDialect, Graph_Relation, "relation">;

def Graph_RequirementAttr : AttrDef<GraphDialect, "Requirement"> {
  let mnemonic = "requirement";
  let summary = "Condition on input sizes, checked before a run: `left` `relation` `right`, for the ONNX node `node`";
  let parameters = (ins "::mlir::StringAttr":$node, EnumParameter<Graph_Relation>:$relation, DimParameter<>:$left,
                        DimParameter<>:$right);
  let assemblyFormat = "`<` $node `,` $relation `,` $left `,` $right `>`";
}

def Graph_FactAttr : AttrDef<GraphDialect, "Fact"> {
  let mnemonic = "fact";
  let summary = "A condition on sizes, and whether it holds: `difference` is 0, or at most 0 if `at_most`";
  let parameters = (ins DimParameter<>:$difference, "bool":$at_most, "bool":$holds);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Graph_QuestionAttr : AttrDef<GraphDialect, "Question"> {
  let mnemonic = "question";
  let summary = "An inner node of the decision tree that selects the case of a model";
  let description = [{
    The condition is that of a `#graph.fact`. `yes` and `no` are the next nodes: the index of a
    question, or -1 - c for case number c.
  }];
  let parameters = (ins DimParameter<>:$difference, "bool":$at_most, "int64_t":$yes, "int64_t":$no);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Graph_CaseAttr : AttrDef<GraphDialect, "Case"> {
  let mnemonic = "case";
  let summary = "A case of a model: the facts that hold in it, and why it cannot run (empty if it can)";
  let parameters = (ins OptionalArrayRefParameter<"FactAttr">:$facts, StringRefParameter<"refusal", [{""}]>:$refusal);
  let assemblyFormat = "`<` `[` (`]`) : ($facts^ `]`)? (`,` $refusal^)? `>`";
}

def Graph_LayoutAttr : AttrDef<GraphDialect, "Layout"> {
  let mnemonic = "layout";
  let summary = "Memory layout of a tensor, as the encoding of its type: dim order, blocking, transforms";
  let description = [{
    `order` lists the logical dims from the outermost to the innermost in memory. A tensor without
    an encoding is row-major.

    ```mlir
    // NHWC layout of data whose logical dims are NCHW
    tensor<1x3x8x8xf32, #graph.layout<[0, 2, 3, 1]>>
    // weights with logical dims OIHW in blocks of 64 output channels, stored as (O/64, H, W, I, 64)
    tensor<128x3x3x3xf32, #graph.layout<[0, 2, 3, 1], blockDim = 0, block = 64>>
    ```

    | parameter | meaning |
    | --- | --- |
    | `blockDim`, `block` | blocking of a dim |
    | `groupDim`, `group` | grouping inside of the blocks |
    | `tile`, `windows` | Winograd transform of filters |
    | `subviewDim`, `whole` | subview of a larger tensor |

    Blocking: `blockDim` is split into blocks of `block` elements, which become the innermost dim.
    The last block is zero-padded. Grouping: `group` neighbors along `groupDim` are stored next to
    each other inside of the block, as dot-product instructions require it. Winograd: the two dims
    `windows`, of 3 elements each, contain the transformed filter for `tile` x `tile` results, which
    has `tile` + 2 elements along each of the two dims (graph::Winograd). Subview: the strides are
    those of a tensor whose dim `subviewDim` has the size `whole`.

    For example, OIHW weights with `[0, 2, 3, 1], blockDim = 0, block = 64, groupDim = 1, group = 2`
    are stored as (O/64, H, W, I/2, 64, 2).
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$order, DefaultValuedParameter<"int64_t", "-1">:$blockDim,
                        DefaultValuedParameter<"int64_t", "1">:$block,
                        DefaultValuedParameter<"int64_t", "-1">:$groupDim,
                        DefaultValuedParameter<"int64_t", "1">:$group, DefaultValuedParameter<"int64_t", "0">:$tile,
                        OptionalArrayRefParameter<"int64_t">:$windows,
                        DefaultValuedParameter<"int64_t", "-1">:$subviewDim,
                        DefaultValuedParameter<"int64_t", "0">:$whole);
  let builders = [AttrBuilder<(ins "::llvm::ArrayRef<int64_t>":$order, CArg<"int64_t", "-1">:$blockDim,
                                   CArg<"int64_t", "1">:$block, CArg<"int64_t", "-1">:$groupDim,
                                   CArg<"int64_t", "1">:$group), [{
    return $_get($_ctxt, order, blockDim, block, groupDim, group, int64_t(0), ::llvm::ArrayRef<int64_t>(), int64_t(-1),
                 int64_t(0));
  }]>];
  let assemblyFormat = [{`<` `[` $order `]` (`,` `blockDim` `=` $blockDim^ `,` `block` `=` $block)?
                         (`,` `groupDim` `=` $groupDim^ `,` `group` `=` $group)?
                         (`tile` `=` $tile^ `,` `windows` `=` `[` $windows `]`)?
                         (`subview` `of` $whole^ `along` $subviewDim)? `>`}];
  let genVerifyDecl = 1;
}

//===------------------------------------------------------------------------------------------===//
// ONNX records
//===------------------------------------------------------------------------------------------===//

// Maps an ONNX op, in a range of opset versions, to an op of this dialect. Without `build`, the
// mapping is direct: the inputs become operands in order, the attributes keep their names, and
// absent attributes get the op's defaults. With `build`, the function `LogicalResult build(OnnxNode
// &)` in the family's .cpp imports the node.
class Onnx<string op_, int since_ = 1, int until_ = 0, string build_ = "", string domain_ = "",
           list<string> limits_ = []> {
  string onnxName = op_;
  string onnxDomain = domain_;
  int onnxSince = since_;
  int onnxUntil = until_; // last opset version; 0 if there is no limit
  string onnxBuild = build_;
  list<string> onnxLimits = limits_; // limitations of the import, as printed to users
}

// An ONNX op that no op of this dialect corresponds to. Its builder decomposes it into other ops.
class OnnxCompose<string op, string build, int since = 1, int until = 0, string domain = "", list<string> limits = []>
    : Onnx<op, since, until, build, domain, limits>;

//===------------------------------------------------------------------------------------------===//
// Ops
//===------------------------------------------------------------------------------------------===//

class GraphOp<string mnemonic, list<Trait> traits = []> : Op<GraphDialect, mnemonic, traits> {
  list<Onnx> onnx = [];
}

// A string, a sequence or an optional value, before handles are lowered to integers.
def Handle : Type<CPred<"::hewn::handle::isHandle($_self)">, "handle">;

// A tensor of any supported element type. The verifiers of the op interfaces accept fewer element
// types for an op.
def Tensor : TensorOf<[Handle, F64, F32, F16, BF16, I1, I<2>, I<4>, I8, I16, I32, I64, UI<2>, UI<4>, UI8, UI16, UI32,
                       UI64, F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F8E8M0FNU, F4E2M1FN]>;

// Base class of ops with one result, whose type `inferShapes` derives from the operands and
// attributes.
class GraphTensorOp<string mnemonic, list<Trait> traits = []>
    : GraphOp<mnemonic, !listconcat([Pure, DeclareOpInterfaceMethods<ShapeOpInterface>], traits)> {
  let results = (outs Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

#endif

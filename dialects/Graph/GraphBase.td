// SPDX-License-Identifier: Apache-2.0
//
// The dialect, its attributes, the base class of every op, and the ONNX record that an op carries.
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
  let summary = "Tensor-level ops of a network: ONNX's meaning, canonical operands.";
  let description = [{
    An op says what it computes through the interface of its kind (elementwise, reduce, cumulate, contract, move) or how it is
    composed of such ops; passes and engines know kinds, never ops. Tensors are builtin tensors of f64 f32 f16 bf16, i8..i64
    (signed), ui8..ui64 and i1. A dim that is not static has an expression in the attribute `graph.dims` of its op.
  }];
  let dependentDialects = ["::hewn::handle::HandleDialect"];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasConstantMaterializer = 0;
}

//===--------------------------------------------------------------------------------------------------------------------===//
// Attributes
//===--------------------------------------------------------------------------------------------------------------------===//

def Graph_WeightAttr : AttrDef<GraphDialect, "Weight"> {
  let mnemonic = "weight";
  let summary = "Names constant bytes outside of the IR: a key of the compile's weight table, an offset and a length.";
  let parameters = (ins StringRefParameter<"key">:$key, "int64_t":$offset, "int64_t":$bytes);
  let assemblyFormat = "`<` $key `,` $offset `:` $bytes `>`";
}

def Graph_DimAttr : AttrDef<GraphDialect, "Dim"> {
  let mnemonic = "dim";
  let summary = "A dim that is an expression over symbols: `#graph.dim<\"4*seq + 1\">`. One that is a number is an i64 attribute.";
  let parameters = (ins DimParameter<>:$expr);
  let assemblyFormat = "`<` $expr `>`";
  let genVerifyDecl = 1;
}

def Graph_Relation : I32Enum<"Relation", "How two sizes must stand to each other", [
  I32EnumCase<"Equal", 0, "equal">,
  I32EnumCase<"Broadcast", 1, "broadcast">,  // the left one is 1 or the right one
  I32EnumCase<"AtMost", 2, "atMost">]> {     // the left one is no larger
  let cppNamespace = "::hewn::graph";
}

def Graph_RelationAttr : EnumAttr<GraphDialect, Graph_Relation, "relation">;

def Graph_RequirementAttr : AttrDef<GraphDialect, "Requirement"> {
  let mnemonic = "requirement";
  let summary = "What must hold of the inputs' sizes when a run begins: `left` and `right` stand in `relation`. `node` says where.";
  let parameters = (ins "::mlir::StringAttr":$node, EnumParameter<Graph_Relation>:$relation, DimParameter<>:$left, DimParameter<>:$right);
  let assemblyFormat = "`<` $node `,` $relation `,` $left `,` $right `>`";
}

def Graph_LayoutAttr : AttrDef<GraphDialect, "Layout"> {
  let mnemonic = "layout";
  let summary = "Encoding of a tensor type: the logical dims in the order in which they lie in memory, slowest first.";
  let description = [{
    `#graph.layout<[0, 2, 3, 1]>` on an NCHW value is channels-last. No encoding means row-major. With a block, dim `blockDim`
    is split into blocks of `block` elements that lie innermost, the last one padded with zeros:
    `#graph.layout<[0, 2, 3, 1], blockDim = 0, block = 64>` of weights OIHW is (O/64, H, W, I, 64). Products of short numbers
    take `group` neighbours along `groupDim` at once, which then lie together inside the block: with `groupDim = 1, group = 2`
    it is (O/64, H, W, I/2, 64, 2). With a `tile`, the two dims in `windows`, of 3 elements each, hold what Winograd's minimal
    filtering makes of them for tiles of tile x tile results, tile + 2 elements each (graph::Winograd). A `subview` lies inside of a
    tensor that is `whole` long along `subviewDim`: its own elements are as far from each other as that tensor's are.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$order, DefaultValuedParameter<"int64_t", "-1">:$blockDim,
                        DefaultValuedParameter<"int64_t", "1">:$block, DefaultValuedParameter<"int64_t", "-1">:$groupDim,
                        DefaultValuedParameter<"int64_t", "1">:$group, DefaultValuedParameter<"int64_t", "0">:$tile,
                        OptionalArrayRefParameter<"int64_t">:$windows, DefaultValuedParameter<"int64_t", "-1">:$subviewDim,
                        DefaultValuedParameter<"int64_t", "0">:$whole);
  let builders = [AttrBuilder<(ins "::llvm::ArrayRef<int64_t>":$order, CArg<"int64_t", "-1">:$blockDim, CArg<"int64_t", "1">:$block,
                                   CArg<"int64_t", "-1">:$groupDim, CArg<"int64_t", "1">:$group), [{
    return $_get($_ctxt, order, blockDim, block, groupDim, group, int64_t(0), ::llvm::ArrayRef<int64_t>(), int64_t(-1), int64_t(0));
  }]>];
  let assemblyFormat = [{`<` `[` $order `]` (`,` `blockDim` `=` $blockDim^ `,` `block` `=` $block)?
                         (`,` `groupDim` `=` $groupDim^ `,` `group` `=` $group)?
                         (`tile` `=` $tile^ `,` `windows` `=` `[` $windows `]`)? (`subview` `of` $whole^ `along` $subviewDim)? `>`}];
  let genVerifyDecl = 1;
}

//===--------------------------------------------------------------------------------------------------------------------===//
// ONNX records
//===--------------------------------------------------------------------------------------------------------------------===//

// One ONNX op in a range of opset versions, and how its node becomes ops of ours. Without `build` the node maps directly:
// inputs are operands in order, attributes keep their names and take the op's defaults where absent. With `build`, the
// function `LogicalResult build(OnnxNode &)` of the family's .cpp does it.
class Onnx<string op_, int since_ = 1, int until_ = 0, string build_ = "", string domain_ = "", list<string> limits_ = []> {
  string onnxName = op_;
  string onnxDomain = domain_;
  int onnxSince = since_;
  int onnxUntil = until_; // 0: no end
  string onnxBuild = build_;
  list<string> onnxLimits = limits_; // shown to users word for word
}

// An ONNX op that needs no op of ours: its builder writes it in others.
class OnnxCompose<string op, string build, int since = 1, int until = 0, string domain = "", list<string> limits = []>
    : Onnx<op, since, until, build, domain, limits>;

//===--------------------------------------------------------------------------------------------------------------------===//
// Ops
//===--------------------------------------------------------------------------------------------------------------------===//

class GraphOp<string mnemonic, list<Trait> traits = []> : Op<GraphDialect, mnemonic, traits> {
  list<Onnx> onnx = [];
}

// A string, sequence or optional value, up to where those are integers.
def Handle : Type<CPred<"::hewn::handle::isHandle($_self)">, "handle">;

// Tensors may be of any of our element types; the verifier of the kind says more.
def Tensor : TensorOf<[Handle, F64, F32, F16, BF16, I1, I<2>, I<4>, I8, I16, I32, I64, UI<2>, UI<4>, UI8, UI16, UI32, UI64, F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F8E8M0FNU, F4E2M1FN]>;

// An op with one result whose type follows from its operands and attributes (`inferShapes`).
class GraphTensorOp<string mnemonic, list<Trait> traits = []>
    : GraphOp<mnemonic, !listconcat([Pure, DeclareOpInterfaceMethods<ShapeOpInterface>], traits)> {
  let results = (outs Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

#endif

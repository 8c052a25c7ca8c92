// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_LAYOUT_PASSES
#define HEWN_LAYOUT_PASSES

include "mlir/Pass/PassBase.td"

def PointwiseConvToMatmulPass : Pass<"hewn-pointwise-conv-to-matmul", "::mlir::func::FuncOp"> {
  let summary = "Lower 1x1 convolutions to NCHW matmuls where that is cheaper than NHWC";
  let description = [{
    Convolutions with windows larger than 1x1 prefer NHWC. In most models all feature maps are
    therefore NHWC, and only the first and the last one are converted. A model of 1x1 convolutions
    can stay in NCHW and saves these conversions. A 1x1 convolution in NCHW is a matmul that is
    vectorized along the pixels, with scalar weights.

    ```mlir
    %0 = graph.conv %x, %w : tensor<1x16x112x112xf32>, tensor<96x16x1x1xf32>
    // becomes
    %p = graph.reshape %x : tensor<1x16x12544xf32>
    %m = graph.reshape %w : tensor<96x16xf32>
    %1 = graph.matmul %m, %p : tensor<1x96x12544xf32>
    %0 = graph.reshape %1 : tensor<1x96x112x112xf32>
    ```

    Elementwise, indexing, reduction and prefix scan ops preserve the layout of their operands. The
    values that they connect form a layout region. For each region, the pass compares the cost of
    both layouts: the cost of the 1x1 convolutions of the region, plus

    | values at the boundary of the region | cost in NHWC | cost in NCHW |
    | --- | --- | --- |
    | block arguments, operands and results of other ops | conversion to row-major | |
    | operands and results of other contractions | | conversion to NHWC |
    | operands of interleaving concats | | scattered stores |

    Regions that are cheaper in NCHW are rewritten. Not supported: GPU targets (threads access rows
    and columns at the same cost), contractions on matrix units or with dot-product instructions,
    dynamic sizes of the contraction, splitting a region.
  }];
}

def ExpandChannelMultiplierPass : Pass<"hewn-expand-channel-multiplier", "::mlir::func::FuncOp"> {
  let summary = "Repeat the channels of depthwise convolutions with a channel multiplier where that is faster";
  let description = [{
    In a grouped convolution with one input channel per group, the columns of one group are the
    channel multiplier, often two. Vectors along these columns are mostly empty. If each column has
    an input channel of its own, the vector lanes are the columns of all groups, as in other
    depthwise convolutions.

    ```mlir
    %0 = graph.conv %x, %w groups = 64 : tensor<1x64x56x56xf32>, tensor<128x1x3x3xf32>
    // becomes
    %a = graph.expand ... %x : tensor<1x64x2x56x56xf32>
    %b = graph.reshape %a : tensor<1x128x56x56xf32>
    %0 = graph.conv %b, %w groups = 128
    ```

    Repeating the channels costs one write of them, which often replaces a layout conversion of the
    input. The tile cost model decides whether a convolution is rewritten. Not supported: GPU
    targets, types that matrix units or dot-product instructions multiply, dynamic sizes.
  }];
}

def AssignLayoutsPass : Pass<"hewn-assign-layouts", "::mlir::func::FuncOp"> {
  let summary = "Assign a layout to each value, with blocked layouts for constant right operands";
  let description = [{
    Dims keep their logical meaning; the layout attribute of a type gives the memory order of the
    dims. `#graph.layout<[0, 2, 3, 1]>` is NHWC. Convolutions need contiguous channels in operand
    and result, because they are vectorized along columns. The layouts of all other values follow
    the contractions: elementwise ops, reductions and indexing ops work in any layout.

    ```mlir
    %0 = graph.conv %x, %w : ... -> tensor<1x64x56x56xf32>
    %1 = graph.relu %0
    // becomes, with #nhwc = #graph.layout<[0, 2, 3, 1]> and #blocked =
    // #graph.layout<[0, 2, 3, 1], blockDim = 0, block = 64>
    %x1 = graph.relayout %x : ... -> tensor<1x3x226x226xf32, #nhwc>
    %w1 = graph.relayout %w : ... -> tensor<64x3x3x3xf32, #blocked>
    %0 = graph.conv %x1, %w1 : ... -> tensor<1x64x56x56xf32, #nhwc>
    %1 = graph.relu %0 : ... (same layout)
    ```

    | value | layout |
    | --- | --- |
    | result of a transpose | the operand's memory, read in another layout; no copy |
    | result of a reshape | no copy if merged or split dims are contiguous and users prefer it; else converted |
    | arguments, results, region arguments, operands of runtime calls | row-major |
    | constant right operand | blocked (panels) |
    | constant 3x3 weights | Winograd-transformed, if the cost model expects a gain and `largest-tile` allows it |

    A `graph.relayout` converts a value to another layout. It fuses like an elementwise op. Layouts
    follow the contractions; the pass does not minimize conversions over the entire graph.
  }];
  // Block sizes are tile sizes of the schedule.
  let dependentDialects = ["::hewn::plan::PlanDialect"];
  let options = [Option<"largestTile", "largest-tile", "int64_t", /*default=*/"0",
                        "Largest Winograd tile (results per side) for constant 3x3 weights: 2 or 4; 0 disables Winograd">];
}

def PackConstantsPass : Pass<"hewn-pack-constants", "::mlir::func::FuncOp"> {
  let summary = "Apply layout conversions to constants at compile time";
  let description = [{
    ```mlir
    // #blocked = #graph.layout<[0, 2, 3, 1], blockDim = 0, block = 64>
    %w1 = graph.relayout %w : ... -> tensor<64x3x3x3xf32, #blocked>
    // becomes
    %w1 = graph.constant {value = #graph.weight<"w.packed.3fef188204fbb8a1", 0 : 6912>} : tensor<...>
    ```

    Views of constants have been folded to constants before, so a transposed weight is packed in one
    step. A language model with tied embeddings uses one table for lookups and for a matmul. The
    table is stored only once, in packed form, and lookups read the packed elements.

    Not packed: weights without bytes in the weight store (IR that was parsed from text), 4-bit
    elements.
  }];
}

#endif

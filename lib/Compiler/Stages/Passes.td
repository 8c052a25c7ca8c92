// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_COMPILER_PASSES
#define HEWN_COMPILER_PASSES

include "mlir/Pass/PassBase.td"

def LoadWeightsPass : Pass<"hewn-load-weights", "::mlir::ModuleOp"> {
  let summary = "Read the bytes of weights from a file";
  let description = [{
    The text of a stage only names its weights (`#graph.weight<"w", 0 : 36864>`). This pass reads
    their bytes from a file that `hewn-save-weights` or `hewn compile --save-weights` wrote. It does
    not change the IR. Without the bytes, constants are neither folded nor packed.

    The file is a safetensors file whose tensors have the type U8 (`lib/Support/WeightsFile.h`).
  }];
  let options = [Option<"file", "file", "std::string", "", "The file of weights">];
}

def SaveWeightsPass : Pass<"hewn-save-weights", "::mlir::ModuleOp"> {
  let summary = "Write the bytes of the weights that the module refers to into a file";
  let description = [{
    Writes the weights sorted by their keys, in the format that `hewn-load-weights` reads. A pass
    that packs or folds constants adds weights; run this pass after it. It does not change the IR.
  }];
  let options = [Option<"file", "file", "std::string", "", "The file to write">];
}

def AddVariantsPass : Pass<"hewn-add-variants", "::mlir::ModuleOp"> {
  let summary = "Replace each program of an artifact by one for each target";
  let description = [{
    Sets the attributes that describe the target (`plan.target`) and that the programs of an
    artifact share (docs/decisions/artifact.md). A module that is a program becomes an artifact with
    this program.

    ```mlir
    module {
      func.func @main ...
    }
    // becomes, with target=x86-64-v4,x86-64-v3
    module {
      module @"x86-64-v4.program" attributes {plan.target = #plan.cpu<...>, ...} { ... }
      module @"x86-64-v3.program" attributes {plan.target = #plan.cpu<...>, ...} { ... }
    }
    ```

    The driver runs it after the graph stage, which all targets share. With a single target it sets
    `plan.target` before the graph stage, too.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"host\"", "Names of the targets, as for `hewn compile --target`">,
    Option<"precision", "precision", "::hewn::Precision", "::hewn::Precision::Highest",
           "Precision of float32 contractions, which is part of the description of GPUs", "::hewn::precisionValues()">];
  let dependentDialects = ["::hewn::graph::GraphDialect", "::hewn::plan::PlanDialect"];
}

#endif

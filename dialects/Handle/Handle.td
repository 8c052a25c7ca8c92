// SPDX-License-Identifier: Apache-2.0
//
// Types of values that are no numbers.
#ifndef HEWN_HANDLE
#define HEWN_HANDLE

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"

def HandleDialect : Dialect {
  let name = "handle";
  let cppNamespace = "::hewn::handle";
  let summary = "Strings, sequences and optional values: element types of tensors, by what stands for them in memory.";
  let description = [{
    Each is 64 bits that stand for an object of the runtime: ops that only move elements move them like any others, and parts of the
    runtime look behind them. 0 is the empty string, the empty sequence, the value that is not there.

    The types are there while a model is imported and tell ops apart. `hewn-lower-handles` makes i64 of them, the first of all passes.
  }];
  let useDefaultTypePrinterParser = 1;
}

class HandleType<string name, string typeMnemonic> : TypeDef<HandleDialect, name> { let mnemonic = typeMnemonic; }

def Handle_StringType : HandleType<"String", "string"> {
  let summary = "Text in UTF-8: a pointer to bytes that a zero ends.";
}

// `rank` of the elements: kAnyRank where they may differ, kNoRank where there are none yet.
class HandleList<string name, string typeMnemonic> : HandleType<name, typeMnemonic> {
  let parameters = (ins "::mlir::Type":$element, "int64_t":$rank);
  let assemblyFormat = "`<` $element `,` $rank `>`";
  let genVerifyDecl = 1;
}

def Handle_SequenceType : HandleList<"Sequence", "sequence"> {
  let summary = "Tensors of one element type, one after another: a pointer to a hewn_sequence.";
}
def Handle_OptionalType : HandleList<"Optional", "optional"> {
  let summary = "A tensor, or nothing: a pointer to a hewn_sequence of one, or 0.";
}
def Handle_OptionalSequenceType : HandleList<"OptionalSequence", "optional_sequence"> {
  let summary = "A sequence, or nothing: the sequence, or 0.";
}

#endif

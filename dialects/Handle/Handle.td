// SPDX-License-Identifier: Apache-2.0
//
// Types of strings, sequences and optional values.
#ifndef HEWN_HANDLE
#define HEWN_HANDLE

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"

def HandleDialect : Dialect {
  let name = "handle";
  let cppNamespace = "::hewn::handle";
  let summary = "Strings, sequences and optional values, as element types of tensors.";
  let description = [{
    An element is a 64-bit handle of a runtime object. Ops that only move elements handle them like
    other elements; only runtime calls access the object. The handle 0 is the empty string, the
    empty sequence or the absent optional value.

    The types exist while a model is imported. The pass `hewn-lower-handles`, which runs first,
    replaces them by i64.
  }];
  let useDefaultTypePrinterParser = 1;
}

class HandleType<string name, string typeMnemonic> : TypeDef<HandleDialect, name> { let mnemonic = typeMnemonic; }

def Handle_StringType : HandleType<"String", "string"> {
  let summary = "A UTF-8 string: a pointer to zero-terminated bytes.";
}

// A type of lists of tensors. Parameter `rank` is the rank of the tensors, kAnyRank if they may
// have different ranks, or kNoRank if there are no tensors yet.
class HandleList<string name, string typeMnemonic> : HandleType<name, typeMnemonic> {
  let parameters = (ins "::mlir::Type":$element, "int64_t":$rank);
  let assemblyFormat = "`<` $element `,` $rank `>`";
  let genVerifyDecl = 1;
}

def Handle_SequenceType : HandleList<"Sequence", "sequence"> {
  let summary = "A sequence of tensors of one element type: a pointer to a hewn_sequence.";
}
def Handle_OptionalType : HandleList<"Optional", "optional"> {
  let summary = "A tensor or no value: a pointer to a hewn_sequence of length 1, or 0.";
}
def Handle_OptionalSequenceType : HandleList<"OptionalSequence", "optional_sequence"> {
  let summary = "A sequence or no value: a pointer to a hewn_sequence, or 0.";
}

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Strings. Indexing ops copy strings like other elements. Ops that read the contents of strings are
// runtime calls. The run's context owns the strings that a run creates, until the next run.
#ifndef HEWN_GRAPH_TEXT
#define HEWN_GRAPH_TEXT

include "dialects/Graph/GraphKinds.td"

def Graph_TextOp : Part<"text", "text", "{}"> {
  let summary = "Constant strings: string i starts at byte `starts[i]` of `bytes` and is zero-terminated";
  let arguments = (ins Tensor:$bytes, Tensor:$starts);
}

def Graph_TextEqualOp : Part<"text_equal", "textequal", "{}"> {
  let summary = "Compares strings for equality, elementwise";
  let arguments = (ins Tensor:$a, Tensor:$b);
}

def Graph_TextConcatOp : Part<"text_concat", "textconcat", "{}"> {
  let summary = "Concatenates strings, elementwise";
  let arguments = (ins Tensor:$a, Tensor:$b);
  let onnx = [Onnx<"StringConcat", 20, 0, "buildStringConcat">];
}

def Graph_TextMatchOp : Part<"text_match", "textmatch", "{}"> {
  let summary = "True if the regular expression `pattern` (ui8, zero-terminated) matches the whole string";
  let arguments = (ins Tensor:$x, Tensor:$pattern);
  let onnx = [Onnx<"RegexFullMatch", 20, 0, "buildRegexFullMatch">];
}

def Graph_TextParseOp : Part<"text_parse", "textparse", "{}"> {
  let summary = "Parses each string as a number of type f32, f64, i64 or ui64";
  let arguments = (ins Tensor:$x, TypeAttr:$to);
}

def Graph_TextFormatOp : Part<"text_format", "textformat", "{}"> {
  let summary = "Formats each number (f32, f64, i64 or ui64) as text that parses to the same number";
  let arguments = (ins Tensor:$x);
}

def Graph_TextFieldsOp : Part<"text_fields", "textfields", "{int64_t(getMaxSplits())}"> {
  let summary = "The number of substrings when splitting each string at `delimiter`";
  let description = "`delimiter` is ui8, zero-terminated; if it is empty, strings are split at runs of white space.";
  let arguments = (ins Tensor:$x, Tensor:$delimiter, I64Attr:$maxSplits);
}

def Graph_TextSplitOp : Part<"text_split", "textsplit", "{int64_t(getMaxSplits())}"> {
  let summary = "Splits each string; its substrings are along a new last dim of `width[0]`, padded with empty strings";
  let arguments = (ins Tensor:$x, Tensor:$delimiter, I64Attr:$maxSplits, ArrayAttr:$width);
}
def : OnnxCompose<"StringSplit", "buildStringSplit", 20>;

def Graph_TextNormalizeOp
    : CountingPart<"text_normalize", "textnormalize", "{int64_t(getChange()), getCaseSensitive()}"> {
  let summary = "Removes the strings in `dropped` from x [n]";
  let description = [{
    `change` converts the remaining strings to lower case (1) or upper case (2), or keeps the case
    (0). If no string is left, the result is one empty string.
  }];
  let arguments = (ins Tensor:$x, Tensor:$dropped, I64Attr:$change, BoolAttr:$caseSensitive, StrAttr:$count);
}
def : OnnxCompose<"StringNormalizer", "buildStringNormalizer", 10, 0, "", ["letters are those of ASCII"]>;

def Graph_LookupOp : Part<"lookup", "lookup", "{getText()}"> {
  let summary = "The index of each element among the `keys`, or the number of keys if absent; NaN equals NaN";
  let description = "`slots` is a hash table of the indices of the keys: i32, a power of two and more than the keys.";
  let arguments = (ins Tensor:$x, Tensor:$keys, Tensor:$slots, BoolAttr:$text);
}

#endif

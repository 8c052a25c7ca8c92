// SPDX-License-Identifier: Apache-2.0
//
// Strings. A tensor of them is moved like any other; what looks at the text calls a part of the runtime. Strings that a run makes lie in
// its context until the next one.
#ifndef HEWN_GRAPH_TEXT
#define HEWN_GRAPH_TEXT

include "dialects/Graph/GraphKinds.td"

def Graph_TextOp : Part<"text", "text", "{}"> {
  let summary = "Constant strings: string i begins at byte `starts[i]` of `bytes`, and a zero byte ends it.";
  let arguments = (ins Tensor:$bytes, Tensor:$starts);
}

def Graph_TextEqualOp : Part<"text_equal", "textequal", "{}"> {
  let summary = "Whether two strings are the same, element by element.";
  let arguments = (ins Tensor:$a, Tensor:$b);
}

def Graph_TextConcatOp : Part<"text_concat", "textconcat", "{}"> {
  let summary = "The strings of a with those of b behind them.";
  let arguments = (ins Tensor:$a, Tensor:$b);
  let onnx = [Onnx<"StringConcat", 20, 0, "buildStringConcat">];
}

def Graph_TextMatchOp : Part<"text_match", "textmatch", "{}"> {
  let summary = "Whether the regular expression `pattern` (ui8, ended by a zero byte) matches all of a string.";
  let arguments = (ins Tensor:$x, Tensor:$pattern);
  let onnx = [Onnx<"RegexFullMatch", 20, 0, "buildRegexFullMatch">];
}

def Graph_TextParseOp : Part<"text_parse", "textparse", "{}"> {
  let summary = "The number that each string writes, as f32, f64, i64 or ui64.";
  let arguments = (ins Tensor:$x, TypeAttr:$to);
}

def Graph_TextFormatOp : Part<"text_format", "textformat", "{}"> {
  let summary = "Each number (f32, f64, i64 or ui64) as text that reads back as the same one.";
  let arguments = (ins Tensor:$x);
}

def Graph_TextFieldsOp : Part<"text_fields", "textfields", "{int64_t(getMaxSplits())}"> {
  let summary = "Into how many substrings `delimiter` (ui8, ended by a zero byte; empty: runs of white space) cuts each string.";
  let arguments = (ins Tensor:$x, Tensor:$delimiter, I64Attr:$maxSplits);
}

def Graph_TextSplitOp : Part<"text_split", "textsplit", "{int64_t(getMaxSplits())}"> {
  let summary = "These substrings along a new last dim of `width[0]`, empty strings behind them.";
  let arguments = (ins Tensor:$x, Tensor:$delimiter, I64Attr:$maxSplits, ArrayAttr:$width);
}
def : OnnxCompose<"StringSplit", "buildStringSplit", 20>;

def Graph_TextNormalizeOp
    : CountingPart<"text_normalize", "textnormalize", "{int64_t(getChange()), getCaseSensitive()}"> {
  let summary = "x [n] without what is in `dropped`, in lower (1) or upper (2) case where `change` says so; one empty string where nothing is left.";
  let arguments = (ins Tensor:$x, Tensor:$dropped, I64Attr:$change, BoolAttr:$caseSensitive, StrAttr:$count);
}
def : OnnxCompose<"StringNormalizer", "buildStringNormalizer", 10, 0, "", ["letters are those of ASCII"]>;

def Graph_LookupOp : Part<"lookup", "lookup", "{getText()}"> {
  let summary = "The place of each element among ascending `keys`, their number where it is none of them. NaN is equal to NaN.";
  let arguments = (ins Tensor:$x, Tensor:$keys, BoolAttr:$text);
}

#endif

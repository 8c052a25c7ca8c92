// SPDX-License-Identifier: Apache-2.0
//
// Generates config.pbtxt. Triton's rules: the batch dim of a tensor is not listed, because
// max_batch_size implies it. A tensor without other dims is listed with a dim of 1; if it has a
// batch dim, `reshape` removes the 1 again. Dims of size 0 are written as dynamic (-1).
#include "tools/hewn/Serve/TritonRepository.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <algorithm>
#include <optional>

using namespace llvm;

namespace hewn::tool {

namespace {

/// Maximum batch size of a model that has no upper bound for its batch dim.
constexpr int64_t kMostRows = 64;

StringRef tritonType(StringRef type) {
  return StringSwitch<StringRef>(type)
      .Case("bool", "TYPE_BOOL")
      .Case("uint8", "TYPE_UINT8")
      .Case("uint16", "TYPE_UINT16")
      .Case("uint32", "TYPE_UINT32")
      .Case("uint64", "TYPE_UINT64")
      .Case("int8", "TYPE_INT8")
      .Case("int16", "TYPE_INT16")
      .Case("int32", "TYPE_INT32")
      .Case("int64", "TYPE_INT64")
      .Case("float16", "TYPE_FP16")
      .Case("bfloat16", "TYPE_BF16")
      .Case("float32", "TYPE_FP32")
      .Case("float64", "TYPE_FP64")
      .Case("string", "TYPE_STRING")
      .Default("");
}

/// Quotes a string for protobuf's text format.
std::string quoted(StringRef text) {
  std::string made = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\')
      made += '\\';
    if (c < 32 || c == 127)
      made += "\\" + std::string{char('0' + c / 64), char('0' + c / 8 % 8), char('0' + c % 8)};
    else
      made += char(c);
  }
  return made + "\"";
}

const json::Array &arrayOf(const json::Object &object, StringRef key) {
  static const json::Array none;
  const json::Array *found = object.getArray(key);
  return found ? *found : none;
}

/// An input or output of the artifact. `texts` has the symbol or formula of each dynamic dim.
struct Tensor {
  std::string name, type;
  SmallVector<int64_t> dims; // -1: dynamic
  SmallVector<std::string> texts;
};

/// Returns true if the text of a dim, a symbol or a formula, contains the symbol.
bool speaksOf(StringRef text, StringRef symbol) {
  for (size_t at = text.find(symbol); at != StringRef::npos; at = text.find(symbol, at + 1)) {
    auto isPart = [](char c) { return isAlnum(c) || c == '_'; };
    bool begins = at == 0 || !isPart(text[at - 1]),
         ends = at + symbol.size() == text.size() || !isPart(text[at + symbol.size()]);
    if (begins && ends)
      return true;
  }
  return false;
}

class Config {
public:
  Config(const json::Object &artifact, StringRef name, std::string &why) : artifact(artifact), name(name), why(why) {}

  std::string text(ArrayRef<std::string> states) {
    if (!read("inputs", "input", inputs) || !read("outputs", "output", outputs) || !readStates(states))
      return "";
    findBatch();
    if (!haveStatesDims())
      return "";
    std::string made = "name: " + quoted(name) + "\nbackend: \"hewn\"\ndefault_model_filename: \"model.so\"\n";
    made += "# Maximum size of the first dim in a run: the sum of the batches of its requests. 0: no batching, the "
            "first dim is in dims.\n";
    made += "max_batch_size: " + std::to_string(mostRows) + "\n";
    auto isState = [&](const Tensor &tensor, bool input) {
      return any_of(pairs, [&](const auto &pair) { return (input ? pair.first : pair.second) == &tensor; });
    };
    for (const Tensor &input : inputs)
      if (!isState(input, true))
        made += "input [ { " + tensorText(input) + " } ]\n";
    for (const Tensor &output : outputs)
      if (!isState(output, false))
        made += "output [ { " + tensorText(output) + " } ]\n";
    made += pairs.empty() ? (mostRows ? "dynamic_batching { }\n" : "") : sequenceText();
    made += "# Each instance is a separate context; the instances share code and weights.\n";
    made += "instance_group [ { count: 1 kind: " + std::string(isForGpu() ? "KIND_GPU" : "KIND_CPU") + " } ]\n";
    made += "# Threads of an instance: count x threads should not exceed the number of cores.\n";
    return made + "parameters { key: \"threads\" value { string_value: \"1\" } }\n";
  }

private:
  bool read(StringRef key, StringRef what, std::vector<Tensor> &into) {
    for (const json::Value &value : arrayOf(artifact, key)) {
      const json::Object &object = *value.getAsObject();
      Tensor tensor;
      tensor.name = object.getString("name").value_or("");
      tensor.type = tritonType(object.getString("type").value_or(""));
      std::string told = (what + " '" + tensor.name + "' is ").str();
      if (StringRef kind = object.getString("kind").value_or(""); kind != "tensor") {
        why = told + (kind.starts_with("o") ? "an " : "a ") + kind.str() + "; Triton only supports tensors";
        return false;
      }
      if (tensor.type.empty()) {
        why = told + object.getString("type").value_or("").str() + ", a type that Triton does not support";
        return false;
      }
      for (const json::Value &dim : arrayOf(object, "shape")) {
        int64_t size = dim.getAsInteger().value_or(-1);
        tensor.dims.push_back(size > 0 ? size : -1);
        tensor.texts.push_back(dim.getAsString().value_or("").str());
      }
      into.push_back(std::move(tensor));
    }
    return true;
  }

  const json::Object *symbol(StringRef wanted) const {
    for (const json::Value &dim : arrayOf(artifact, "dims"))
      if (dim.getAsObject()->getString("name") == wanted)
        return dim.getAsObject();
    return nullptr;
  }

  /// Enables batching of requests along dim 0 if one symbol is dim 0 of all inputs and outputs and
  /// is used in no other dim.
  void findBatch() {
    StringRef batch;
    for (const auto *tensors : {&inputs, &outputs})
      for (const Tensor &tensor : *tensors) {
        StringRef first = tensor.texts.empty() ? "" : StringRef(tensor.texts.front());
        if (first.empty() || (!batch.empty() && first != batch))
          return;
        batch = first;
        if (any_of(drop_begin(tensor.texts), [&](const std::string &text) { return speaksOf(text, batch); }))
          return;
      }
    const json::Object *found = symbol(batch);
    if (!found || found->getInteger("min").value_or(0) > 1)
      return;
    mostRows = found->getInteger("max").value_or(kMostRows);
    mostRows = std::min<int64_t>(mostRows, INT32_MAX);
  }

  bool readStates(ArrayRef<std::string> states) {
    for (const std::string &state : states) {
      auto [in, out] = StringRef(state).split('=');
      auto find = [](const std::vector<Tensor> &tensors, StringRef wanted) {
        return find_if(tensors, [&](const Tensor &tensor) { return tensor.name == wanted; });
      };
      auto input = find(inputs, in);
      auto output = find(outputs, out);
      if (input == inputs.end() || output == outputs.end()) {
        bool isInput = input == inputs.end();
        why = "--triton-state " + state + ": the model has no " + (isInput ? "input '" : "output '") +
              (isInput ? in : out).str() + "'";
        return false;
      }
      bool fits = input->type == output->type && input->dims.size() == output->dims.size();
      for (size_t i = 0; fits && i < input->dims.size(); ++i)
        fits = input->dims[i] < 0 || output->dims[i] < 0 || input->dims[i] == output->dims[i];
      if (!fits) {
        why = "--triton-state " + state + ": input and output differ in type or shape";
        return false;
      }
      for (const auto &[other, otherOutput] : pairs)
        if (other == &*input || otherOutput == &*output) {
          bool isInput = other == &*input;
          why = "--triton-state " + state + ": '" + (isInput ? in : out).str() + "' is already " +
                (isInput ? "the input" : "the output") + " of another state";
          return false;
        }
      pairs.emplace_back(&*input, &*output);
    }
    return true;
  }

  /// Checks that each state has a dim other than the batch dim. Triton lists the dims of a state
  /// without the batch dim, and has no `reshape` for states that could remove a dim of 1.
  bool haveStatesDims() {
    for (const auto &[input, output] : pairs)
      if (mostRows && input->dims.size() == 1) {
        why = "--triton-state " + input->name + "=" + output->name +
              ": input and output have only the batch dim, but Triton requires another dim for states";
        return false;
      }
    return true;
  }

  std::string dimsText(ArrayRef<int64_t> dims) const {
    return dims.empty() ? "[ 1 ]"
                        : "[ " + join(map_range(dims, [](int64_t d) { return std::to_string(d); }), ", ") + " ]";
  }

  std::string tensorText(const Tensor &tensor) const {
    ArrayRef<int64_t> dims = ArrayRef(tensor.dims).drop_front(mostRows ? 1 : 0);
    return "name: " + quoted(tensor.name) + " data_type: " + tensor.type + " dims: " + dimsText(dims) +
           (mostRows && dims.empty() ? " reshape { shape: [ ] }" : "");
  }

  /// Returns the text of sequence_batching. A sequence begins with state tensors of zeros, in which
  /// each dynamic dim has its smallest allowed size.
  std::string sequenceText() const {
    std::string made =
        "sequence_batching {\n  # A sequence that is idle for this time ends; Triton's default is one second.\n"
        "  max_sequence_idle_microseconds: 60000000\n  oldest { max_candidate_sequences: " +
        std::to_string(std::max<int64_t>(mostRows, kMostRows)) + " }\n";
    for (const auto &[input, output] : pairs) {
      ArrayRef<int64_t> dims = ArrayRef(input->dims).drop_front(mostRows ? 1 : 0);
      SmallVector<int64_t> least(dims);
      for (size_t i = 0; i < least.size(); ++i)
        if (const json::Object *open = least[i] < 0 ? symbol(input->texts[i + (mostRows ? 1 : 0)]) : nullptr)
          least[i] = open->getInteger("min").value_or(0);
        else
          least[i] = std::max<int64_t>(least[i], 0);
      SmallVector<int64_t> either(dims);
      for (size_t i = 0; i < either.size(); ++i)
        if (output->dims[i + (mostRows ? 1 : 0)] < 0)
          either[i] = -1;
      made += "  state [ {\n    input_name: " + quoted(input->name) + " output_name: " + quoted(output->name) +
              " data_type: " + input->type + " dims: " + dimsText(either) +
              "\n    initial_state { name: \"zeros\" data_type: " + input->type + " dims: " + dimsText(least) +
              " zero_data: true }\n  } ]\n";
    }
    return made + "}\n";
  }

  bool isForGpu() const {
    return any_of(arrayOf(artifact, "variants"),
                  [](const json::Value &one) { return one.getAsString().value_or("").starts_with("sm_"); });
  }

  const json::Object &artifact;
  StringRef name;
  std::string &why;
  std::vector<Tensor> inputs, outputs;
  std::vector<std::pair<const Tensor *, const Tensor *>> pairs;
  int64_t mostRows = 0;
};

} // namespace

std::string whyNoTritonName(StringRef name) {
  if (!name.empty() && !name.starts_with(".") &&
      all_of(name, [](char c) { return isAlnum(c) || c == '_' || c == '-' || c == '.'; }))
    return "";
  return "a name consists of letters, digits, '_', '-' and '.', and does not start with '.'";
}

std::string tritonConfig(const json::Object &artifact, StringRef name, ArrayRef<std::string> states, std::string &why) {
  return Config(artifact, name, why).text(states);
}

} // namespace hewn::tool

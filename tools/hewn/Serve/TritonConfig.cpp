// SPDX-License-Identifier: Apache-2.0
//
// The text of config.pbtxt. Rules of Triton's that show here: a batch's dim is not told, it comes from max_batch_size; what has no other
// dim is a dim of 1 that is reshaped away, or, without a batch, stays; sizes of 0 are told as open ones.
#include "tools/hewn/Serve/TritonRepository.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <algorithm>
#include <optional>

using namespace llvm;

namespace hewn::tool {

namespace {

/// How many requests may be put together where the model has no bound of its own.
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

/// As protobuf's text format has strings.
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

/// A tensor of the artifact. Dims that are open have their text.
struct Tensor {
  std::string name, type;
  SmallVector<int64_t> dims; // -1: open
  SmallVector<std::string> texts;
};

/// Whether a dim's text, a symbol or a formula, speaks of the symbol.
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
    made += "# How many rows a run may have: requests and their batches together, along the first dim. 0: that dim is "
            "in dims.\n";
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
    made += "# Each instance is a context of its own over the same code and weights.\n";
    made += "instance_group [ { count: 1 kind: " + std::string(isForGpu() ? "KIND_GPU" : "KIND_CPU") + " } ]\n";
    made += "# Threads of an instance: count times threads should be no more than the machine has.\n";
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
        why = told + (kind.starts_with("o") ? "an " : "a ") + kind.str() + "; Triton has tensors alone";
        return false;
      }
      if (tensor.type.empty()) {
        why = told + object.getString("type").value_or("").str() + ", a type that Triton does not have";
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

  /// Where one symbol is the first dim of all inputs and outputs, and of nothing else, requests may be put together along it.
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
        why = "--triton-state " + state + ": the two differ in type or shape, so that one can't become the other";
        return false;
      }
      for (const auto &[other, otherOutput] : pairs)
        if (other == &*input || otherOutput == &*output) {
          bool isInput = other == &*input;
          why = "--triton-state " + state + ": '" + (isInput ? in : out).str() + "' is " +
                (isInput ? "the input" : "the output") + " of another state already";
          return false;
        }
      pairs.emplace_back(&*input, &*output);
    }
    return true;
  }

  /// Dims of a state are those behind the batch's, and Triton has no `reshape` for states that could take a dim of 1 away.
  bool haveStatesDims() {
    for (const auto &[input, output] : pairs)
      if (mostRows && input->dims.size() == 1) {
        why = "--triton-state " + input->name + "=" + output->name +
              ": the two have no dim but the batch's, and states of Triton's have at least one";
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

  /// A sequence begins with zeros, of the least size that open dims may have.
  std::string sequenceText() const {
    std::string made =
        "sequence_batching {\n  # A sequence that is silent for so long is over; Triton's own default is a second.\n"
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
  return "a model of Triton's is named in addresses, by letters, digits, '_', '-' and '.', none of the last in front";
}

std::string tritonConfig(const json::Object &artifact, StringRef name, ArrayRef<std::string> states, std::string &why) {
  return Config(artifact, name, why).text(states);
}

} // namespace hewn::tool

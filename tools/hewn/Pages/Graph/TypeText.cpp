// SPDX-License-Identifier: Apache-2.0
#include "tools/hewn/Pages/Graph/TypeText.h"
#include "lib/Tools/Models/Record.h"

namespace json = llvm::json;
using llvm::StringRef;

namespace hewn::tool {

/// A longer dim, which is a formula, is abbreviated.
static constexpr size_t kLongestDim = 18;

/// Returns the letters of a dim order in which the channels (dim 1) are last, or an empty string.
static StringRef channelsLast(StringRef order) {
  return order == "[0, 2, 3, 1]" ? "NHWC" : order == "[0, 2, 3, 4, 1]" ? "NDHWC" : order == "[0, 2, 1]" ? "NWC" : "";
}

std::string shapeText(const json::Object &value) {
  const json::Array *shape = value.getArray("shape");
  if (!shape)
    return "";
  std::string text;
  for (const json::Value &dim : *shape) {
    std::string one = dim.getAsInteger() ? std::to_string(*dim.getAsInteger()) : dim.getAsString().value_or("?").str();
    if (one.size() > kLongestDim)
      one = "…";
    else if (StringRef(one).contains(' ') && !StringRef(one).ends_with(")"))
      one = "(" + one + ")";
    text += (text.empty() ? "" : "×") + one;
  }
  if (shape->empty())
    text = "scalar";
  StringRef layout = textOf(value, "layout"), order = layout.substr(0, layout.find(']') + 1);
  if (layout.empty())
    return text;
  StringRef name = channelsLast(order);
  text += name.empty() ? " dims " + order.drop_front().drop_back().str() : " " + name.str();
  return text + (layout.contains("block") ? " blocked" : "");
}

std::string elementText(const json::Object &value) {
  StringRef layout = textOf(value, "layout"), element = textOf(value, "element_type");
  if (element.empty())
    return textOf(value, "type").str();
  return element.str() + (layout.empty() ? "" : ", layout " + layout.str());
}

} // namespace hewn::tool

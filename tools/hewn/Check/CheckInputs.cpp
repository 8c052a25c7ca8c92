// SPDX-License-Identifier: Apache-2.0
#include "tools/hewn/Check/CheckInputs.h"

#include <cmath>
#include <cstring>

namespace hewn::tool {

namespace {

/// Sizes of symbolic dims, in the order in which they are tried: first small sizes that all differ;
/// then one size for the leading dims of inputs (usually batch dims, which make runs slow if they
/// are large) and one size for the other dims; then one size for all dims.
struct Sizes {
  int64_t leading, others;
};
constexpr int64_t kDifferent = 0;

std::vector<Sizes> sizesToTry(const hewn_model &model) {
  std::vector<Sizes> list = {{kDifferent, kDifferent}};
  if (model.num_symbols == 0)
    return list;
  for (int64_t leading : {2, 1})
    for (int64_t others : {4, 8, 16, 32, 48, 64, 96, 128, 224, 256, 320, 512, 640, 1024})
      list.push_back({leading, others});
  for (int64_t all : {1, 2, 3, 4, 8, 16, 32})
    list.push_back({all, all});
  return list;
}

/// Maximum size in bytes of an input to generate.
constexpr double kMaxBytes = 4e9;

/// Upper bounds of random integers, tried in this order.
constexpr int64_t kBelow[] = {100, 16, 4, 2, 1};

/// Parameters of one attempt to generate inputs.
struct Attempt {
  Sizes sizes;
  int64_t below;
  bool positive;
};

class Drawer {
public:
  Drawer(const hewn_model &model, const Values &given, uint64_t seed) : model(model), given(given), seed(seed) {}

  Values draw(const Attempt &attempt) const {
    std::vector<int64_t> sizes = symbolSizes(attempt.sizes);
    Values drawn = given;
    for (int i = 0; i < model.num_inputs; ++i)
      if (!given.count(model.inputs[i].name))
        drawn[model.inputs[i].name] = array(model.inputs[i], sizes, attempt, seed + uint64_t(i));
    return drawn;
  }

  /// Name of an input that was too large to generate.
  mutable std::string tooLarge;

  bool drawsAny() const { return given.size() < size_t(model.num_inputs); }

private:
  /// Returns the size of each symbol; given inputs determine the sizes of their symbols.
  std::vector<int64_t> symbolSizes(Sizes wanted) const {
    std::vector<int64_t> sizes(size_t(model.num_symbols), -1);
    for (int i = 0; i < model.num_inputs; ++i)
      if (auto found = given.find(model.inputs[i].name); found != given.end())
        for (int d = 0; d < model.inputs[i].rank && size_t(d) < found->second.shape.size(); ++d)
          if (int64_t dim = model.inputs[i].dims[d]; dim < 0 && dim > HEWN_DIM_FORMULA)
            sizes[size_t(-1 - dim)] = found->second.shape[size_t(d)];
    int64_t next = 2;
    for (int s = 0; s < model.num_symbols; ++s) {
      const hewn_symbol &symbol = model.symbols[s];
      int64_t size = leads(s) ? wanted.leading : wanted.others;
      size = size == kDifferent ? next++ : size;
      if (sizes[size_t(s)] < 0)
        sizes[size_t(s)] = std::min(std::max(size, symbol.min), symbol.max);
    }
    return sizes;
  }

  bool leads(int symbol) const {
    for (int i = 0; i < model.num_inputs; ++i)
      if (model.inputs[i].rank > 1 && model.inputs[i].dims[0] == HEWN_DIM_SYMBOL(symbol))
        return true;
    return false;
  }

  Array array(const hewn_tensor_info &info, const std::vector<int64_t> &sizes, const Attempt &attempt,
              uint64_t seed) const {
    Array array;
    array.type = info.dtype;
    for (int d = 0; d < info.rank; ++d) {
      int64_t dim = info.dims[d];
      array.shape.push_back(dim >= 0 ? dim : dim > HEWN_DIM_FORMULA ? sizes[size_t(-1 - dim)] : 2);
    }
    double bytes = double(array.elementBytes());
    for (int64_t dim : array.shape)
      bytes *= double(dim);
    if (bytes > kMaxBytes) {
      tooLarge = info.name;
      return array;
    }
    int64_t count = array.elements();
    array.bytes.resize(size_t(count * array.elementBytes()));
    std::mt19937_64 random(seed);
    for (int64_t i = 0; i < count; ++i)
      write(array, i, attempt, random);
    return array;
  }

  static void write(Array &array, int64_t i, const Attempt &attempt, std::mt19937_64 &random) {
    char *to = array.bytes.data() + i * array.elementBytes();
    DLDataType type = array.type;
    if (type.code == HEWN_DL_BOOL) {
      *to = char(random() & 1);
    } else if (isFloating(type)) {
      std::uniform_real_distribution<double> uniform(attempt.positive ? 0.1 : -1, 1);
      writeElement(type, to, uniform(random));
    } else {
      // Integers of up to 8 bits are mostly quantized values; larger types hold indices, sizes,
      // counts.
      int64_t value =
          int64_t(random() >> 8) % (type.bits <= 8 ? int64_t(1) << std::min<int>(type.bits, 7) : attempt.below);
      std::memcpy(to, &value, size_t(array.elementBytes()));
    }
  }

  const hewn_model &model;
  const Values &given;
  uint64_t seed;
};

bool hasNaN(const Values &values) {
  for (auto &[name, array] : values)
    for (int64_t i = 0, e = isFloating(array.type) ? array.elements() : 0; i < e; ++i)
      if (std::isnan(elementAt(array, i)))
        return true;
  return false;
}

} // namespace

bool drawInputs(const Parts &parts, const hewn_model &model, ChooseProgram choose, uint64_t seed, Values &inputs,
                Values &results, std::string &problem) {
  const Values given = inputs;
  Drawer drawer(model, given, seed);
  hewn_status status = {};
  for (Sizes sizes : sizesToTry(model)) {
    for (int64_t below : kBelow) {
      inputs = drawer.draw({sizes, below, false});
      if (!drawer.tooLarge.empty()) {
        problem = "input '" + drawer.tooLarge + "' would exceed 4 GB: set sizes by --dim, or the input by --input";
        return false;
      }
      Loaded *loaded = choose(inputs);
      if (!loaded)
        return false;
      status = parts.run(*loaded, inputs, 0, results);
      if (status.code == HEWN_OK) {
        // Results that contain NaN are a weak test. Try positive inputs, for which roots and
        // logarithms are defined.
        Values positive = drawer.draw({sizes, below, true}), better;
        if (drawer.drawsAny() && hasNaN(results) && parts.run(*loaded, positive, 0, better).code == HEWN_OK &&
            !hasNaN(better)) {
          inputs = std::move(positive);
          results = std::move(better);
        }
        return true;
      }
      if (problem.empty()) // report the error of the first attempt, which has the preferred sizes
        problem = status.message;
      if (!drawer.drawsAny() || status.code == HEWN_OUT_OF_MEMORY || status.code == HEWN_UNSUPPORTED)
        return false;
      bool hasIntegers = false;
      for (auto &[name, array] : inputs)
        hasIntegers |= !given.count(name) && !isFloating(array.type);
      if (!hasIntegers)
        break;
    }
  }
  return false;
}

std::map<std::string, int64_t> outputBytes(const Loaded &loaded, const Values &inputs) {
  const hewn_model &model = loaded.model();
  std::vector<int64_t> symbols(size_t(model.num_symbols), 1);
  for (int i = 0; i < model.num_inputs; ++i)
    if (auto found = inputs.find(model.inputs[i].name); found != inputs.end())
      for (int d = 0; d < model.inputs[i].rank && size_t(d) < found->second.shape.size(); ++d)
        if (int64_t dim = model.inputs[i].dims[d]; dim < 0 && dim > HEWN_DIM_FORMULA)
          symbols[size_t(-1 - dim)] = found->second.shape[size_t(d)];
  std::vector<std::vector<int64_t>> dims;
  std::vector<int64_t *> places;
  for (int i = 0; i < model.num_outputs; ++i)
    dims.emplace_back(size_t(model.outputs[i].rank) + 1, 1);
  for (std::vector<int64_t> &one : dims)
    places.push_back(one.data());
  model.output_dims(symbols.data(), places.data());
  std::map<std::string, int64_t> bytes;
  for (int i = 0; i < model.num_outputs; ++i) {
    double size = (model.outputs[i].dtype.bits + 7) / 8;
    for (int d = 0; d < model.outputs[i].rank; ++d)
      size *= double(std::max<int64_t>(dims[size_t(i)][size_t(d)], 0)); // the dim depends on data: count it as 0
    bytes[model.outputs[i].name] = size < 9e18 ? int64_t(size) : INT64_MAX;
  }
  return bytes;
}

} // namespace hewn::tool

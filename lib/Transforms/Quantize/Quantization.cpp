// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Quantize/Quantization.h"
#include "lib/Support/JsonReader.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using llvm::StringRef;
namespace json = llvm::json;

namespace hewn::quantize {

namespace {

constexpr StringRef kRanges[] = {"minmax", "percentile", "mse", "entropy", "hqq"};
/// Number of range methods that apply to activations too: the first ones of the list. The other
/// methods apply to weights only.
constexpr size_t kNumActivationRanges = 4;
constexpr StringRef kWeightRanges[] = {"minmax", "mse", "hqq"};
constexpr Range kWeightRangeValues[] = {Range::MinMax, Range::Mse, Range::HalfQuadratic};
/// Limit of the rules in a quantization, because every contraction is matched against all rules.
constexpr size_t kMostRules = 4096;
constexpr StringRef kRoundings[] = {"auto", "nearest", "gptq"};
constexpr StringRef kScales[] = {"column", "tensor"};
constexpr StringRef kWeightTypes[] = {"int8",        "int4",    "int3",     "int2",  "codebook16",
                                      "codebook256", "float16", "bfloat16", "float8"};
struct WeightType {
  int64_t bits;
  Storage storage;
};
/// Bits and storage of each weight type, in the order of the names in kWeightTypes.
constexpr WeightType kWeightTypeValues[] = {{8, Storage::Integers}, {4, Storage::Integers},  {3, Storage::Integers},
                                            {2, Storage::Integers}, {4, Storage::Codebook},  {8, Storage::Codebook},
                                            {16, Storage::Float16}, {16, Storage::BFloat16}, {8, Storage::Float8}};
constexpr StringRef kActivationTypes[] = {"float32", "uint8"};
constexpr char kNoFloat[] = "is not a float32 number";
constexpr double kLargestBias = 3e38, kSmallestFactor = 1e-9, kLargestFactor = 1e9;

/// Version of the format of a quantization's text.
constexpr int64_t kVersion = 1;

Scheme preset(StringRef name) {
  Scheme scheme;
  if (name == "int8")
    return scheme;
  const auto *type = llvm::find(kWeightTypes, name);
  scheme.weights.bits = kWeightTypeValues[type - kWeightTypes].bits;
  scheme.weights.storage = kWeightTypeValues[type - kWeightTypes].storage;
  if (scheme.weights.bits == 4)
    scheme.weights.group = 32;
  if (scheme.weights.areIntegers())
    scheme.weights.range = Range::Mse;
  scheme.activations.integers = false;
  scheme.smoothing = 0;
  return scheme;
}

class TextReader {
public:
  TextReader(const JsonText &text, Diagnostics &diagnostics) : text(text), r(text.file, diagnostics) {}

  Quantization read() {
    Quantization all;
    const json::Object *object =
        r.object(text.value, "the quantization",
                 {"version", "keep_float", "weights", "activations", "bias_correction", "smoothing", "rules", "sites"});
    if (!object)
      return all;
    if (std::optional<int64_t> version = r.integer(*object, "version", "the quantization");
        version && *version != kVersion)
      r.error("the quantization",
              "has version " + llvm::Twine(*version) + "; the supported version is " + llvm::Twine(kVersion));
    all.scheme = readScheme(*object, "the quantization", Scheme());
    if (const json::Array *rules = object->getArray("rules"); rules && rules->size() > kMostRules) {
      r.error("the quantization",
              "has " + llvm::Twine(rules->size()) + " 'rules'; at most " + llvm::Twine(kMostRules) + " are allowed");
      return all;
    }
    r.each(*object, "rules", "", [&](const json::Value &value, const std::string &at) { readRule(value, at, all); });
    r.each(*object, "sites", "", [&](const json::Value &value, const std::string &at) { readSite(value, at, all); });
    all.asksForData = asksForData;
    all.isChosen = object->get("sites");
    return all;
  }

private:
  void readRule(const json::Value &value, const std::string &at, Quantization &all) {
    const json::Object *object =
        r.object(value, at, {"node", "op", "keep_float", "weights", "activations", "bias_correction", "smoothing"});
    if (!object)
      return;
    Rule rule{r.string(*object, "node", at), r.string(*object, "op", at), readScheme(*object, at, all.scheme)};
    if (rule.node.empty() && rule.op.empty())
      r.error(at, "has neither a 'node' nor an 'op'");
    if (llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(rule.node); !glob)
      r.error(at, "has an invalid glob pattern as 'node': " + llvm::toString(glob.takeError()));
    all.rules.push_back(std::move(rule));
  }

  /// Reads a list of numbers of a quantization's text. Reports the first element that is not a
  /// number from `low` to `high`.
  std::vector<double> readNumbers(const json::Object &object, StringRef key, const std::string &at, double low,
                                  double high, llvm::StringRef otherwise) {
    std::vector<double> numbers;
    bool areRight = true;
    r.each(object, key, at, [&](const json::Value &element, const std::string &here) {
      double number = element.getAsNumber().value_or(NAN);
      bool isRight = number >= low && number <= high;
      if (areRight && !isRight)
        r.error(here, otherwise);
      areRight &= isRight;
      numbers.push_back(isRight ? number : low);
    });
    return numbers;
  }

  void readSite(const json::Value &value, const std::string &at, Quantization &all) {
    const json::Object *object = r.object(value, at,
                                          {"node", "keep_float", "why", "weights", "activations", "bias_correction",
                                           "smoothing", "scale", "zero_point", "bias", "smooth", "codes", "codebook"});
    if (!object)
      return;
    Site site;
    site.node = r.string(*object, "node", at, /*required=*/true);
    site.scheme = readScheme(*object, at, all.scheme);
    site.why = r.string(*object, "why", at);
    site.scale = r.number(*object, "scale", at, 0, 3e38).value_or(0);
    site.zero = r.integer(*object, "zero_point", at).value_or(0);
    if (site.zero < 0 || site.zero > 255)
      r.error(at, "has a 'zero_point' outside of 0 to 255");
    site.bias = readNumbers(*object, "bias", at, -kLargestBias, kLargestBias, kNoFloat);
    site.smooth =
        readNumbers(*object, "smooth", at, kSmallestFactor, kLargestFactor, "is not a number from 1e-9 to 1e9");
    readCodes(*object, at, site);
    readCodebook(*object, at, site);
    if (!site.scheme.keepFloat && site.scheme.weights.areFloats() && !site.bias.empty())
      r.error(at, "has a 'bias' (bias correction), which float weights do not use");
    if (site.scheme.keepFloat && !site.bias.empty())
      r.error(at, "has 'keep_float' and a 'bias'");
    if (!site.smooth.empty() && (site.scheme.keepFloat || !site.scheme.activations.integers))
      r.error(at, "has 'smooth' without integer activations");
    bool wants = !site.scheme.keepFloat && site.scheme.activations.integers;
    if (wants && site.scale < kLeastScale)
      r.error(at, "has integer activations without a 'scale'");
    if (!all.sites.try_emplace(site.node, site).second)
      r.error(at, "repeats the node '" + site.node + "'");
  }

  /// Reads the integers of the weights: base64 of one byte per weight.
  void readCodes(const json::Object &object, const std::string &at, Site &site) {
    if (!object.get("codes"))
      return;
    std::vector<char> bytes;
    if (llvm::Error error = llvm::decodeBase64(r.string(object, "codes", at), bytes)) {
      llvm::consumeError(std::move(error));
      r.error(at, "has 'codes' that are not base64");
    }
    site.codes.assign(bytes.begin(), bytes.end());
    if (!site.scheme.weights.areIntegers())
      return r.error(at, "has 'codes' and a weight type that is not an integer");
    int64_t high = (1 << (site.scheme.weights.bits - 1)) - 1, low = -high - 1;
    if (llvm::any_of(site.codes, [&](int8_t code) { return code < low || code > high; }))
      r.error(at, "has 'codes' outside of the range of its weight type");
    else if (site.scheme.weights.bits == 8 && site.scheme.weights.symmetric && llvm::is_contained(site.codes, low))
      r.error(at, "has -128 among its 'codes'; symmetric int8 weights range from -127 to 127");
    if (site.scheme.keepFloat)
      r.error(at, "has 'keep_float' and 'codes'");
  }

  /// Reads the lookup table of a codebook: 2^bits numbers in ascending order.
  void readCodebook(const json::Object &object, const std::string &at, Site &site) {
    if (!object.get("codebook"))
      return;
    const Weights &weights = site.scheme.weights;
    if (site.scheme.keepFloat || weights.storage != Storage::Codebook)
      return r.error(at, "has a 'codebook' and a weight type without one");
    site.codebook = readNumbers(object, "codebook", at, -kLargestBias, kLargestBias, kNoFloat);
    if (int64_t(site.codebook.size()) != int64_t(1) << weights.bits)
      r.error(at, "has a 'codebook' of " + llvm::Twine(site.codebook.size()) + " numbers; it needs " +
                      llvm::Twine(int64_t(1) << weights.bits));
    else if (!llvm::is_sorted(site.codebook))
      r.error(at, "has a 'codebook' whose numbers are not ascending");
  }

  Scheme readScheme(const json::Object &object, const std::string &at, Scheme scheme) {
    scheme.keepFloat = r.boolean(object, "keep_float", at);
    if (object.get("keep_float"))
      scheme.evenIfSlower = !scheme.keepFloat;
    if (scheme.keepFloat && (object.get("weights") || object.get("activations") || object.get("bias_correction")))
      r.error(at, "has 'keep_float' together with 'weights', 'activations' or 'bias_correction'");
    if (const json::Value *weights = object.get("weights"))
      readWeights(*weights, at + ", weights", scheme.weights);
    // A contraction whose weights are in a codebook or in a float type is computed in float, so its
    // activations default to float.
    if (object.get("weights") && !object.get("activations") && !scheme.weights.areIntegers())
      scheme.activations.integers = false;
    if (const json::Value *activations = object.get("activations"))
      readActivations(*activations, at + ", activations", scheme.activations);
    if (object.get("bias_correction"))
      scheme.biasCorrection = r.boolean(object, "bias_correction", at);
    if (object.get("bias_correction") && scheme.biasCorrection)
      asksForData = "bias_correction";
    readSmoothing(object, at, scheme);
    bool says = object.get("weights") || object.get("activations");
    if (says && scheme.activations.integers && !scheme.weights.symmetric)
      r.error(at, "combines integer activations with weights that are not symmetric; use float32 activations");
    if (says && scheme.activations.integers &&
        (scheme.weights.bits != 8 || scheme.weights.group || !scheme.weights.areIntegers()))
      r.error(at, "combines integer activations with weights that are not int8 with a scale per column; use float32 "
                  "activations");
    return scheme;
  }

  /// Reads the smoothing of a scheme: false, true (the compiler chooses the strength), or a
  /// strength.
  void readSmoothing(const json::Object &object, const std::string &at, Scheme &scheme) {
    const json::Value *value = object.get("smoothing");
    if (!value)
      return;
    std::optional<bool> isWanted = value->getAsBoolean();
    std::optional<double> strength = value->getAsNumber();
    if (strength && *strength >= 0 && *strength <= 1)
      scheme.smoothing = *strength;
    else if (isWanted)
      scheme.smoothing = *isWanted ? Scheme::kChooseSmoothing : 0;
    else
      r.error(at, "has a 'smoothing' that is neither true, false nor a number from 0 to 1");
    if (scheme.smoothing != 0)
      asksForData = "smoothing";
  }

  /// Reports keys of a weight scheme that do not apply to its weight type, and resets their values.
  void checkKeys(const json::Object &object, const std::string &at, Weights &weights) {
    auto refuse = [&](llvm::ArrayRef<StringRef> keys, StringRef whose) {
      for (StringRef key : keys)
        if (object.get(key))
          r.error(at, "has a '" + key.str() + "', which " + whose.str() + " have, but its weights are " +
                          nameOf(weights).str());
    };
    if (weights.areIntegers())
      return;
    refuse({"range", "rounding", "symmetric"}, "integers");
    weights.range = Range::MinMax;
    weights.rounding = Rounding::Choose;
    weights.symmetric = true;
    if (!weights.areFloats())
      return;
    refuse({"group", "scales"}, "integers and codebooks");
    weights.group = 0;
    weights.perTensor = false;
  }

  /// Reads the scheme of the weights: an object, or the name of the type alone.
  void readWeights(const json::Value &value, const std::string &at, Weights &weights) {
    std::optional<StringRef> name = value.getAsString();
    json::Value whole = name ? json::Value(json::Object{{"type", *name}}) : value;
    const json::Object *object = r.object(whole, at, {"type", "group", "range", "rounding", "symmetric", "scales"});
    if (!object)
      return;
    if (std::optional<size_t> type = r.oneOf(*object, "type", at, kWeightTypes)) {
      weights.bits = kWeightTypeValues[*type].bits;
      weights.storage = kWeightTypeValues[*type].storage;
    }
    if (std::optional<int64_t> group = r.integer(*object, "group", at)) {
      bool fits = *group == 0 || (*group >= 16 && *group <= 1024 && llvm::isPowerOf2_64(uint64_t(*group)));
      if (!fits)
        r.error(at, "has a 'group' that is neither 0 (an entire column) nor a power of two from 16 to 1024");
      weights.group = fits ? *group : 0;
    }
    if (std::optional<size_t> range = r.oneOf(*object, "range", at, kWeightRanges))
      weights.range = kWeightRangeValues[*range];
    if (std::optional<size_t> rounding = r.oneOf(*object, "rounding", at, kRoundings))
      weights.rounding = Rounding(*rounding);
    if (std::optional<size_t> scales = r.oneOf(*object, "scales", at, kScales))
      weights.perTensor = *scales == 1;
    // A value of the key that is not a boolean is reported; the scheme keeps its default.
    if (bool isSymmetric = r.boolean(*object, "symmetric", at); object->getBoolean("symmetric"))
      weights.symmetric = isSymmetric;
    if (weights.perTensor && weights.group)
      r.error(at, "has one scale for a tensor and a 'group'");
    if (object->get("rounding") && weights.rounding == Rounding::Gptq)
      asksForData = "rounding";
    checkKeys(*object, at, weights);
  }

  void readActivations(const json::Value &value, const std::string &at, Activations &activations) {
    const json::Object *object = r.object(value, at, {"type", "range", "percentile", "symmetric"});
    if (!object)
      return;
    if (std::optional<size_t> type = r.oneOf(*object, "type", at, kActivationTypes))
      activations.integers = *type == 1;
    if (std::optional<size_t> range =
            r.oneOf(*object, "range", at, llvm::ArrayRef(kRanges).take_front(kNumActivationRanges)))
      activations.range = Range(*range);
    if (std::optional<double> share = r.number(*object, "percentile", at, 50, 100)) {
      activations.percentile = *share;
      if (activations.range != Range::Percentile)
        r.error(at, "has a 'percentile' and another 'range'");
    }
    activations.symmetric = r.boolean(*object, "symmetric", at);
  }

  const JsonText &text;
  JsonReader r;
  std::string asksForData;
};

json::Object toJson(const Weights &weights) {
  json::Object object{{"type", nameOf(weights)}};
  if (weights.areIntegers())
    object["range"] = nameOf(weights.range);
  if (weights.group)
    object["group"] = weights.group;
  if (weights.rounding != Rounding::Choose)
    object["rounding"] = kRoundings[size_t(weights.rounding)];
  if (!weights.symmetric)
    object["symmetric"] = false;
  if (weights.perTensor)
    object["scales"] = kScales[1];
  return object;
}

json::Object toJson(const Activations &activations) {
  if (!activations.integers)
    return json::Object{{"type", kActivationTypes[0]}};
  json::Object object{{"type", kActivationTypes[1]}, {"range", nameOf(activations.range)}};
  if (activations.range == Range::Percentile)
    object["percentile"] = activations.percentile;
  if (activations.symmetric)
    object["symmetric"] = true;
  return object;
}

void add(json::Object &object, const Scheme &scheme) {
  if (scheme.keepFloat) {
    object["keep_float"] = true;
    return;
  }
  if (scheme.evenIfSlower)
    object["keep_float"] = false;
  object["weights"] = toJson(scheme.weights);
  object["activations"] = toJson(scheme.activations);
  object["bias_correction"] = scheme.biasCorrection;
  if (scheme.smoothing == Scheme::kChooseSmoothing)
    object["smoothing"] = true;
  else
    object["smoothing"] = scheme.smoothing;
}

} // namespace

StringRef nameOf(Range range) { return kRanges[size_t(range)]; }

StringRef nameOf(const Weights &weights) {
  const auto *found = llvm::find_if(kWeightTypeValues, [&](const WeightType &type) {
    return type.bits == weights.bits && type.storage == weights.storage;
  });
  return kWeightTypes[found - std::begin(kWeightTypeValues)];
}

llvm::ArrayRef<StringRef> presets() {
  static const StringRef names[] = {"int8", "int4", "codebook16", "codebook256", "float16", "bfloat16", "float8"};
  return names;
}

const Scheme &Quantization::schemeFor(StringRef node, StringRef op) const {
  const Scheme *found = &scheme;
  for (const Rule &rule : rules) {
    llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(rule.node);
    bool isMeant = (rule.node.empty() || (glob && glob->match(node))) && (rule.op.empty() || rule.op == op);
    if (!glob)
      llvm::consumeError(glob.takeError());
    if (isMeant)
      found = &rule.scheme;
  }
  return *found;
}

std::optional<Quantization> readQuantization(const std::string &given, Diagnostics &diagnostics) {
  if (llvm::is_contained(presets(), given)) {
    Quantization quantization;
    quantization.scheme = preset(given);
    return quantization;
  }
  bool looksLikeFile = StringRef(given).contains_insensitive(".json") || StringRef(given).contains('/');
  if (!looksLikeFile && !StringRef(given).ltrim().starts_with("{") && !llvm::sys::fs::exists(given)) {
    diagnostics.error("unknown quantization '" + given + "'; there are: " + llvm::join(presets(), ", ") +
                      ", or a file that describes one");
    return std::nullopt;
  }
  unsigned before = diagnostics.numErrors();
  std::optional<JsonText> text = readJson(given, "quantization", diagnostics);
  if (!text)
    return std::nullopt;
  Quantization quantization = TextReader(*text, diagnostics).read();
  return diagnostics.numErrors() == before ? std::optional(std::move(quantization)) : std::nullopt;
}

std::string writeQuantization(const Quantization &quantization) {
  json::Object whole{{"version", kVersion}};
  add(whole, quantization.scheme);
  json::Array rules, sites;
  for (const Rule &rule : quantization.rules) {
    json::Object object;
    if (!rule.node.empty())
      object["node"] = rule.node;
    if (!rule.op.empty())
      object["op"] = rule.op;
    add(object, rule.scheme);
    rules.push_back(std::move(object));
  }
  for (const auto &[name, site] : quantization.sites) {
    json::Object object{{"node", name}};
    if (site.scheme != quantization.scheme)
      add(object, site.scheme);
    if (!site.scheme.keepFloat && site.scheme.activations.integers) {
      object["scale"] = site.scale;
      object["zero_point"] = site.zero;
    }
    if (!site.scheme.keepFloat && !site.bias.empty())
      object["bias"] = json::Array(site.bias);
    if (!site.scheme.keepFloat && !site.smooth.empty())
      object["smooth"] = json::Array(site.smooth);
    if (!site.scheme.keepFloat && !site.codes.empty())
      object["codes"] =
          llvm::encodeBase64(StringRef(reinterpret_cast<const char *>(site.codes.data()), site.codes.size()));
    if (!site.scheme.keepFloat && !site.codebook.empty())
      object["codebook"] = json::Array(site.codebook);
    if (!site.why.empty())
      object["why"] = site.why;
    sites.push_back(std::move(object));
  }
  if (!rules.empty())
    whole["rules"] = std::move(rules);
  // Write the list `sites` of chosen values even if it is empty, because its presence means that
  // calibration is complete.
  whole["sites"] = std::move(sites);
  return llvm::formatv("{0:2}\n", json::Value(std::move(whole))).str();
}

} // namespace hewn::quantize

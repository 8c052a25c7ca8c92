// SPDX-License-Identifier: Apache-2.0
#include "lib/Compiler/Quantization/Report.h"
#include "lib/Compiler/Quantization/Samples.h"
#include "lib/Transforms/Quantize/Numbers/RoundWeights.h"

#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace json = llvm::json;

namespace hewn::quantize {

static bool areProbabilities(llvm::ArrayRef<float> row) {
  // tolerance for the sum of a row of probabilities, which are rounded to float32
  constexpr double most = 1e-3;
  double sum = 0;
  for (float x : row) {
    if (!(x >= 0))
      return false;
    sum += double(x);
  }
  return std::fabs(sum - 1) < most;
}

bool Agreement::add(const Array &wanted, const Array &got) {
  if (wanted.shape != got.shape) {
    isBroken = true;
    return false;
  }
  std::vector<float> ofWanted, ofGot;
  llvm::ArrayRef<float> a = floatsOf(wanted, ofWanted), b = floatsOf(got, ofGot);
  if (a.size() != b.size())
    return false;
  double signalBefore = signal, noiseBefore = noise;
  for (size_t i = 0; i < a.size(); ++i) {
    double x = double(a[i]), y = double(b[i]);
    // equal infinities or NaNs in both models, as in attention masks, are no error
    if (!std::isfinite(x) && (x == y || (std::isnan(x) && std::isnan(y))))
      continue;
    if (!std::isfinite(x) || !std::isfinite(y)) {
      isBroken = true;
      continue;
    }
    ++elements;
    signal += x * x;
    signalOfGot += y * y;
    product += x * y;
    noise += (x - y) * (x - y);
    largest = std::max(largest, std::fabs(x - y));
  }
  double s = signal - signalBefore, n = noise - noiseBefore;
  ++runs;
  noiseSquares += n * n;
  noiseBySignal += n * s;
  signalSquares += s * s;
  size_t row = wanted.shape.empty() ? 0 : size_t(wanted.shape.back());
  for (size_t begin = 0; row > 1 && begin + row <= a.size(); begin += row) {
    auto most = [&](llvm::ArrayRef<float> all) {
      return std::max_element(all.begin() + long(begin), all.begin() + long(begin + row)) - all.begin();
    };
    sameArgmax += most(a) == most(b);
    probabilities += areProbabilities(a.slice(begin, row));
    ++rows;
  }
  return true;
}

double Agreement::decibels() const { return isBroken ? -200 : quantize::decibels(signal, noise); }

/// Returns the 84.13 % quantile (one sigma of the normal distribution, about 5/6) of Student's t
/// distribution with `freedom` degrees of freedom.
static double studentsSigma(int64_t freedom) {
  constexpr double few[] = {1.837, 1.321, 1.197, 1.142, 1.111, 1.091, 1.077, 1.067, 1.059, 1.053};
  constexpr auto known = int64_t(std::size(few));
  return freedom <= known ? few[std::max<int64_t>(freedom, 1) - 1] : 1 + 0.5 / double(freedom);
}

double Agreement::likelyDecibels() const {
  if (isBroken || runs < 2 || signal <= 0)
    return decibels();
  double ratio = noise / signal;
  double squares = noiseSquares - 2 * ratio * noiseBySignal + ratio * ratio * signalSquares; // Σ (n - ratio s)²
  double error = std::sqrt(std::max(squares, 0.0) * double(runs) / double(runs - 1));
  return quantize::decibels(signal, noise + studentsSigma(runs - 1) * error);
}

double Agreement::largestError() const { return isBroken ? std::numeric_limits<double>::max() : largest; }

json::Object Agreement::json() const {
  json::Object object{{"sqnr_db", decibels()}, {"max_abs_error", largestError()}};
  double length = std::sqrt(signal) * std::sqrt(signalOfGot);
  object["cosine"] = length > 0 ? product / length : (signal == signalOfGot ? 1.0 : 0.0);
  if (rows)
    object["argmax_agreement"] = double(sameArgmax) / double(rows);
  return object;
}

const Agreement &Report::judged(size_t i) const {
  bool isFitted = !outputs[i].second.isThere() && i < fitted.size();
  return isFitted ? fitted[i] : outputs[i].second;
}

double Report::leastDecibels() const {
  double least = 200;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (judged(i).isThere())
      least = std::min(least, judged(i).decibels());
  return least;
}

double Report::leastLikelyDecibels(double less, double lessOfFitted, double lessOfProbabilities) const {
  double least = 200;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Agreement &agreement = judged(i);
    if (!agreement.isThere())
      continue;
    bool isFitted = &agreement != &outputs[i].second;
    least = std::min(least, agreement.likelyDecibels() - (isFitted ? lessOfFitted : less));
    if (agreement.isOfProbabilities())
      least = std::min(least, agreement.decibels() - lessOfProbabilities);
  }
  return least;
}

double Report::largestError() const {
  double largest = 0;
  for (const auto &[name, agreement] : outputs)
    if (agreement.isThere())
      largest = std::max(largest, agreement.largestError());
  for (const Agreement &agreement : fitted)
    if (agreement.isThere())
      largest = std::max(largest, agreement.largestError());
  return largest;
}

std::string Report::json(const Quantization &quantization) const {
  json::Object whole{
      {"samples", samples}, {"samples_compared", compared}, {"held_out", json::Array(heldOut)}, {"fits", fits}};
  json::Object all;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (judged(i).isThere())
      all[outputs[i].first] = judged(i).json();
  whole["outputs"] = std::move(all);
  json::Array layers;
  int64_t before = 0, after = 0, quantized = 0;
  for (const QuantizedCandidate &site : sites) {
    json::Object layer{{"node", site.node}, {"op", site.kind}};
    if (site.weightBits) {
      ++quantized;
      before += site.floatBytes;
      after += site.weightBytes;
      layer["weights"] = site.weightType;
      layer["activations"] = site.activations ? "uint8" : "float32";
      layer["weights_sqnr_db"] = site.weightDecibels;
      layer["weight_bytes"] = site.weightBytes;
      layer["float_bytes"] = site.floatBytes;
    } else {
      layer["weights"] = layer["activations"] = "float32";
      layer["why"] = site.why;
    }
    if (auto range = ranges.find(site.node); range != ranges.end() && site.activations) {
      layer["range"] = json::Array{range->second.low, range->second.high};
      layer["activations_sqnr_db"] = range->second.decibels;
      layer["clipped"] = range->second.clipped;
    }
    if (auto operand = operands.find(site.node); operand != operands.end())
      for (auto &[key, figure] : operand->second.json())
        layer[("operand_" + key.str())] = std::move(figure);
    if (site.floatCycles) {
      layer["float_cycles"] = site.floatCycles;
      layer["integer_cycles"] = site.integerCycles;
    }
    layers.push_back(std::move(layer));
  }
  whole["layers"] = std::move(layers);
  whole["quantized_layers"] = quantized;
  whole["weight_bytes"] = json::Object{{"float32", before}, {"quantized", after}};
  if (times.rounds > 0)
    whole["milliseconds"] =
        json::Object{{"float32", times.floats}, {"quantized", times.integers}, {"rounds", times.rounds}};
  if (!returned.empty())
    whole["returned_to_float"] = json::Array(returned);
  if (auto text = json::parse(writeQuantization(quantization)))
    whole["quantization"] = std::move(*text);
  else
    llvm::consumeError(text.takeError());
  return llvm::formatv("{0:2}\n", json::Value(std::move(whole))).str();
}

} // namespace hewn::quantize

// SPDX-License-Identifier: Apache-2.0
//
// Reads cluster files with LLVM's YAML parser, node by node, in order to report all errors. LLVM's
// YAML traits would stop at the first one.
#include "lib/Compiler/Partition/Cluster.h"
#include "lib/Support/Files/InputFile.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/YAMLParser.h"
#include <cmath>

namespace yaml = llvm::yaml;
using llvm::StringLiteral;
using llvm::StringRef;
using llvm::Twine;

namespace hewn {

RankGroup Cluster::group(int64_t ranks) const {
  int64_t perNode = ranks <= devicesPerNode && devicesPerNode % ranks == 0  ? ranks
                    : ranks > devicesPerNode && ranks % devicesPerNode == 0 ? devicesPerNode
                                                                            : 1;
  return {ranks, nodes == 1 ? ranks : perNode, within, between};
}

double Cluster::rateOf(StringRef type, bool rounds) const {
  if (isMeasured)
    return device.rateOf(type, rounds);
  auto find = [&](StringRef wanted) {
    auto found = llvm::find_if(device.rates, [&](const auto &rate) { return rate.type == wanted; });
    return found == device.rates.end() ? 0.0 : found->perSecond;
  };
  StringRef name = type.ltrim("su").starts_with("i") ? type.ltrim("su") : type;
  double own = find(name), whole = find("f32");
  if (rounds && name == "f32")
    return std::max(whole, find("bf16"));
  return own > 0 ? own : whole;
}

namespace {

constexpr double kMostDevices = 1 << 20;
/// Maximum size of a cluster file. It limits the recursion of LLVM's parser, which is as deep as
/// the nesting of the file, and the number of reported errors.
constexpr size_t kMostClusterBytes = 1 << 16;
/// Element types for which a cluster file may contain a rate, by their MLIR names.
constexpr StringLiteral kTypes[] = {"f64", "f32", "f16", "bf16", "f8E4M3FN", "f8E5M2", "i8", "i16", "i32", "i64"};

class Reader {
public:
  Reader(StringRef name, Diagnostics &diagnostics) : name(name), diagnostics(diagnostics) {
    manager.setDiagHandler(tellSyntax, this);
  }

  bool read(StringRef text, Cluster &cluster) {
    yaml::Stream stream(text, manager, /*ShowColors=*/false);
    auto document = stream.begin();
    yaml::Node *root = document == stream.end() ? nullptr : document->getRoot();
    if (llvm::isa_and_nonnull<yaml::NullNode>(root))
      root = nullptr;
    if (root && !stream.failed())
      readCluster(*root, cluster);
    if (!root && isGood)
      error(0, "it is empty");
    if (isGood && ++document != stream.end())
      error(0, "it has more than one document");
    return isGood;
  }

private:
  using Read = std::function<void(yaml::Node &)>;
  struct Field {
    StringRef key;
    bool isNeeded;
    Read read;
  };

  static void tellSyntax(const llvm::SMDiagnostic &problem, void *self) {
    static_cast<Reader *>(self)->error(unsigned(std::max(problem.getLineNo(), 0)),
                                       "is not valid YAML: " + problem.getMessage());
  }

  void error(unsigned line, const Twine &what) {
    isGood = false;
    diagnostics.error("--cluster: " + name + (line ? ":" + Twine(line) : Twine("")) + ": " + what);
  }

  unsigned lineOf(yaml::Node &node) { return manager.getLineAndColumn(node.getSourceRange().Start).first; }

  static std::string join(StringRef path, StringRef key) { return path.empty() ? key.str() : (path + "." + key).str(); }

  /// Reads a mapping of the cluster file with the keys in `fields`. `path` is the position of the
  /// mapping in the file, for messages.
  void readMapping(yaml::Node &node, StringRef path, llvm::ArrayRef<Field> fields) {
    unsigned line = lineOf(node);
    auto *mapping = llvm::dyn_cast<yaml::MappingNode>(&node);
    if (!mapping)
      return error(line, (path.empty() ? Twine("it") : "'" + path + "'") + " is not a mapping of keys to values");
    llvm::StringSet<> seen;
    for (yaml::KeyValueNode &entry : *mapping) {
      llvm::SmallString<32> kept;
      auto *scalar = llvm::dyn_cast_or_null<yaml::ScalarNode>(entry.getKey());
      if (!scalar || !entry.getValue())
        return error(line, "a key is not a scalar");
      const std::string key = scalar->getValue(kept).str(), place = join(path, key);
      line = lineOf(*scalar);
      const Field *field = llvm::find_if(fields, [&](const Field &one) { return one.key == key; });
      if (field == fields.end()) {
        error(line, "unknown key '" + place + "'; there are: " + keysText(fields));
        entry.getValue()->skip();
      } else if (!seen.insert(key).second) {
        error(line, "'" + place + "' is given twice");
        entry.getValue()->skip();
      } else {
        current = key;
        field->read(*entry.getValue());
      }
    }
    for (const Field &field : fields)
      if (field.isNeeded && !seen.contains(field.key))
        error(line, "'" + join(path, field.key) + "' is missing");
  }

  static std::string keysText(llvm::ArrayRef<Field> fields) {
    std::string text;
    for (const Field &field : fields)
      text += (text.empty() ? "" : ", ") + field.key.str();
    return text;
  }

  std::string scalarOf(yaml::Node &node) {
    llvm::SmallString<32> kept;
    auto *scalar = llvm::dyn_cast<yaml::ScalarNode>(&node);
    return scalar ? scalar->getValue(kept).str() : "";
  }

  /// Returns a function that reads a number of the cluster file. The number must be above `least`
  /// and at most `most`.
  Read number(std::string place, StringRef what, double least, double most, std::function<void(double)> set) {
    return [=, this](yaml::Node &node) {
      const std::string text = scalarOf(node), full = place + (place.empty() || place.back() == '.' ? current : "");
      double value = 0;
      if (StringRef(text).getAsDouble(value) || !std::isfinite(value) || value <= least || value > most)
        error(lineOf(node), "'" + full + "' is " + what + ", not '" + text + "'");
      else
        set(value);
    };
  }

  Read count(StringRef key, int64_t &to) {
    return [this, key, &to](yaml::Node &node) {
      const std::string text = scalarOf(node);
      if (StringRef(text).getAsInteger(10, to) || to < 1 || double(to) > kMostDevices)
        error(lineOf(node), "'" + key + "' is a number from 1 to 1048576, not '" + text + "'");
    };
  }

  Read linkTo(StringRef key, Link &link) {
    return [this, key, &link](yaml::Node &node) {
      readMapping(node, key,
                  {{"latency", true,
                    number((key + ".latency").str(), "seconds, from 0 up to 1", -1e-300, 1,
                           [&link](double value) { link.latency = value; })},
                   {"bandwidth", true,
                    number((key + ".bandwidth").str(), "bytes a second, above 0", 0, 1e18,
                           [&link](double value) { link.bandwidth = value; })}});
    };
  }

  void readDevice(yaml::Node &node, Cluster &cluster) {
    MachineRates &rates = cluster.device;
    auto readRates = [&](yaml::Node &inner) {
      llvm::SmallVector<Field> fields;
      for (StringRef type : kTypes)
        // the rate of float32 is required, because it is used for types without a rate of their own
        fields.push_back({type, type == "f32",
                          number("device.rates.", "operations a second, above 0", 0, 1e18,
                                 [&](double value) { rates.rates.push_back({current, value}); })});
      readMapping(inner, "device.rates", fields);
    };
    unsigned line = lineOf(node);
    readMapping(
        node, "device",
        {{"memory", false,
          number("device.memory", "bytes, above 0", 0, 1e18, [&](double value) { cluster.memory = value; })},
         {"rates", false, readRates},
         {"bandwidth", false,
          number("device.bandwidth", "bytes a second, above 0", 0, 1e18,
                 [&](double value) { rates.bandwidths = {{1, value}}; })},
         {"efficiency", false,
          number("device.efficiency", "above 0 and up to 1", 0, 1, [&](double value) { cluster.efficiency = value; })},
         {"launch", false, number("device.launch", "seconds, from 0 up to 1", -1e-300, 1, [&](double value) {
            cluster.launch = value;
          })}});
    if (rates.rates.empty() != rates.bandwidths.empty())
      error(line,
            "'device.rates' and 'device.bandwidth' must both be given, or neither (then this machine is measured)");
  }

  void readCluster(yaml::Node &root, Cluster &cluster) {
    auto readGoal = [&](yaml::Node &node) {
      const std::string text = scalarOf(node);
      cluster.wantsThroughput = text == "throughput";
      if (text != "throughput" && text != "latency")
        error(lineOf(node), "'goal' is latency or throughput, not '" + text + "'");
    };
    readMapping(root, "",
                {{"nodes", false, count("nodes", cluster.nodes)},
                 {"devices_per_node", true, count("devices_per_node", cluster.devicesPerNode)},
                 {"within", false, linkTo("within", cluster.within)},
                 {"between", false, linkTo("between", cluster.between)},
                 {"device", false, [&](yaml::Node &node) { readDevice(node, cluster); }},
                 {"goal", false, readGoal}});
    if (!isGood)
      return;
    if (cluster.devices() > int64_t(kMostDevices))
      error(0, "it has " + Twine(cluster.devices()) + " devices; there are at most 1048576");
    if (cluster.devicesPerNode > 1 && cluster.within.bandwidth == 0)
      error(0, "'within' is missing: the link between devices of one node");
    if (cluster.nodes > 1 && cluster.between.bandwidth == 0)
      error(0, "'between' is missing: the link between devices of different nodes");
  }

  const std::string name;
  Diagnostics &diagnostics;
  llvm::SourceMgr manager;
  /// The key of the cluster file whose value is being read, for messages.
  std::string current;
  bool isGood = true;
};

} // namespace

std::optional<Cluster> readCluster(StringRef given, StringRef target, Diagnostics &diagnostics) {
  Cluster cluster;
  const bool isText = given.ltrim().starts_with("{");
  cluster.name = isText ? "the text" : given.str();
  std::string why;
  StringRef text = given;
  std::unique_ptr<llvm::MemoryBuffer> file;
  if (!isText) {
    file = openRegular(given, why);
    if (!file) {
      diagnostics.error("--cluster: can't read '" + given + "': " + why);
      return std::nullopt;
    }
    text = file->getBuffer();
  }
  if (text.size() > kMostClusterBytes) {
    diagnostics.error("--cluster: " + cluster.name + " is not a cluster description: it has " +
                      llvm::Twine(text.size()) + " bytes, and at most " + llvm::Twine(kMostClusterBytes));
    return std::nullopt;
  }
  if (!Reader(cluster.name, diagnostics).read(text, cluster))
    return std::nullopt;
  if (cluster.device.rates.empty()) {
    llvm::Expected<MachineRates> measured = measureMachine(target, 1);
    if (!measured) {
      diagnostics.error("--cluster: " + cluster.name +
                        " has no 'device.rates', and those of this machine cannot be measured: " +
                        llvm::toString(measured.takeError()));
      return std::nullopt;
    }
    cluster.device = std::move(*measured);
    cluster.isMeasured = true;
  }
  return cluster;
}

} // namespace hewn

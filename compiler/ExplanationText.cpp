// --explain as a table for people and as JSON for tools.
#include "compiler/Explanation.h"
#include "passes/Support/ParameterNames.h"
#include "passes/Support/Units.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/ScopedPrinter.h"
#include <array>

using namespace mlir;
using namespace p3d;
using llvm::formatv;
namespace json = llvm::json;

// not messages: what the tables say
namespace {
constexpr size_t kWidth = 120, kIndent = 6;
using Row = std::array<std::string, 7>;
constexpr size_t kFirstNumber = 4; ///< columns from here on are numbers, and end together

/// Sums of one axis and phase, for each stage.
using Totals = std::map<std::pair<std::string, std::string>, std::map<int64_t, Share>>;

std::string secondsText(double seconds) {
  if (seconds < 1e-3)
    return formatv("{0:f1} us", seconds * 1e6);
  if (seconds < 1)
    return formatv("{0:f2} ms", seconds * 1e3);
  return formatv("{0:f2} s", seconds);
}

std::string tensorText(const Line &line) {
  if (line.tensors > 1)
    return formatv("{0} {1} tensors", line.dtype, line.tensors);
  if (line.shape.empty())
    return line.dtype + " scalar";
  return line.dtype + " " +
         llvm::join(llvm::map_range(line.shape, [](int64_t size) { return std::to_string(size); }), "x");
}

/// That of the stage that takes longest.
const Share &longest(const std::map<int64_t, Share> &stages) {
  auto isShorter = [](auto &a, auto &b) { return a.second.seconds < b.second.seconds; };
  return std::max_element(stages.begin(), stages.end(), isShorter)->second;
}

Row rowOf(StringRef kind, StringRef axis, StringRef phase, StringRef tensor, const Share &share) {
  return {kind.str(),
          axis.str(),
          phase.str(),
          tensor.str(),
          std::to_string(share.count),
          bytesText(share.bytes),
          secondsText(share.seconds)};
}

Row rowOf(const Line &line) { return rowOf(line.kind, line.axis, line.phase, tensorText(line), longest(line.stages)); }

Totals sumUp(const Explanation &explanation) {
  Totals totals;
  for (const Line &line : explanation.lines)
    for (auto &[stage, share] : line.stages)
      totals[{line.axis, line.phase}][stage] += {share.count, share.bytes, share.seconds, {}};
  return totals;
}

class Printer {
public:
  Printer(const Explanation &explanation, dist::MeshAttr mesh, const ManifestInputs &inputs, llvm::raw_ostream &os)
      : explanation(explanation), mesh(mesh), inputs(inputs), os(os), totals(sumUp(explanation)) {}

  void print() {
    const Cluster &cluster = inputs.cluster;
    os << formatv("{0}: {1} tp x {2} pp x {3} dp, {4} microbatches, on {5} ({6} nodes of {7})\n", inputs.model,
                  mesh.getTp(), mesh.getPp(), mesh.getDp(), mesh.getMb(), cluster.name, cluster.nodes,
                  cluster.devicesPerNode);
    os << "times, bytes sent and predicted time are those of one rank in a step, at the stage where they take "
          "longest\n";
    measure();
    printLines();
    printPaddings();
    printTotals();
  }

private:
  void measure() {
    for (const Line &line : explanation.lines)
      fit(rowOf(line));
    for (auto &[key, stages] : totals)
      fit(rowOf("total", key.first, key.second, "", longest(stages)));
    fit(kTitles);
  }
  void fit(const Row &row) {
    for (auto [width, text] : llvm::zip(widths, row))
      width = std::max(width, text.size());
  }

  void printRow(const Row &row) {
    std::string text;
    for (auto [i, cell] : llvm::enumerate(row)) {
      std::string space(widths[i] - cell.size(), ' ');
      text += "  " + (i >= kFirstNumber ? space + cell : cell + space);
    }
    os << StringRef(text).rtrim() << "\n";
  }

  void printWrapped(StringRef text) {
    SmallVector<StringRef> words;
    text.split(words, ' ');
    size_t column = 0;
    for (StringRef word : words) {
      bool breaks = column && column + 1 + word.size() > kWidth;
      if (breaks)
        os << "\n";
      if (breaks || !column)
        os.indent(kIndent + (breaks ? 2 : 0));
      else
        os << ' ';
      os << word;
      column = (breaks || !column ? kIndent : column + 1) + word.size();
    }
    os << "\n";
  }

  void printReason(const Reason &reason, StringRef location) {
    printWrapped(reason.text);
    bool isNamed = reason.parameters.empty() || StringRef(reason.text).contains(reason.parameters.front());
    if (!isNamed)
      printWrapped("parameters: " + joinNames(reason.parameters));
    printWrapped("without it: " + reason.remedy);
    if (!location.empty())
      printWrapped(("at " + location).str());
  }

  std::string titleOf(const std::string &block) {
    if (block.empty())
      return "outside of the blocks";
    llvm::DenseSet<int64_t> layers;
    for (const Line &line : explanation.lines)
      for (auto &[stage, share] : line.stages)
        if (line.block == block)
          layers.insert(share.layers.begin(), share.layers.end());
    return layers.empty()
               ? block
               : formatv("{0} (x {1} {2})", block, layers.size(), layers.size() == 1 ? "layer" : "layers").str();
  }

  void printLines() {
    const std::string *block = nullptr;
    for (const Line &line : explanation.lines) {
      if (!block || *block != line.block) {
        os << "\n" << titleOf(line.block) << "\n";
        printRow(kTitles);
      }
      block = &line.block;
      printRow(rowOf(line));
      printReason(line.reason, line.location);
    }
  }

  void printPaddings() {
    if (!explanation.paddings.empty())
      os << "\nuneven cuts\n";
    for (const Padding &padding : explanation.paddings) {
      printReason(padding.reason, "");
    }
  }

  void printTotals() {
    if (totals.empty()) {
      os << "\nno rank sends anything\n";
      return;
    }
    os << "\ntotals\n";
    for (auto &[key, stages] : totals)
      printRow(rowOf("total", key.first, key.second, "", longest(stages)));
  }

  const Row kTitles{"op", "axis", "phase", "tensor", "times", "bytes", "time"};
  const Explanation &explanation;
  dist::MeshAttr mesh;
  const ManifestInputs &inputs;
  llvm::raw_ostream &os;
  Totals totals;
  std::array<size_t, std::tuple_size_v<Row>> widths{};
};

json::Object toJson(const Share &share, int64_t stage) {
  return json::Object{{"stage", stage}, {"count", share.count}, {"bytes", share.bytes}, {"seconds", share.seconds}};
}

void addReason(json::Object &object, const Reason &reason) {
  object["reason"] = reason.text;
  object["remedy"] = reason.remedy;
  object["parameters"] = json::Array(reason.parameters);
}

json::Object toJson(const Line &line, int64_t stage, const Share &share) {
  json::Object object = toJson(share, stage);
  object["kind"] = line.kind;
  object["axis"] = line.axis;
  object["phase"] = line.phase;
  object["block"] = line.block;
  object["dtype"] = line.dtype;
  object["shape"] = line.tensors > 1 ? json::Value(nullptr) : json::Array(line.shape);
  object["location"] = line.location;
  object["layers"] = json::Array(share.layers);
  if (share.to >= 0)
    object["to"] = share.to;
  addReason(object, line.reason);
  return object;
}

json::Object toJson(const Padding &padding) {
  json::Object object{{"dimension", padding.dimension}, {"units", padding.units},     {"parts", padding.parts},
                      {"rows", padding.rows},           {"padded", padding.padded()}, {"extra", padding.extra()}};
  addReason(object, padding.reason);
  return object;
}
} // namespace

void p3d::printText(const Explanation &explanation, ModuleOp scheduled, const ManifestInputs &inputs,
                    llvm::raw_ostream &os) {
  Printer(explanation, scheduled->getAttrOfType<dist::MeshAttr>(dist::kMeshAttr), inputs, os).print();
}

json::Object p3d::toJson(const Explanation &explanation, ModuleOp scheduled, const ManifestInputs &inputs) {
  auto mesh = scheduled->getAttrOfType<dist::MeshAttr>(dist::kMeshAttr);
  json::Array messages, paddings, totals;
  for (const Line &line : explanation.lines)
    for (auto &[stage, share] : line.stages)
      messages.push_back(::toJson(line, stage, share));
  for (const Padding &padding : explanation.paddings)
    paddings.push_back(::toJson(padding));
  for (auto &[key, stages] : sumUp(explanation))
    for (auto &[stage, share] : stages) {
      json::Object total = ::toJson(share, stage);
      total["axis"] = key.first;
      total["phase"] = key.second;
      totals.push_back(std::move(total));
    }
  const Cluster &cluster = inputs.cluster;
  return json::Object{
      {"version", 1},
      {"model", inputs.model},
      {"mesh", json::Object{{"tp", mesh.getTp()}, {"pp", mesh.getPp()}, {"dp", mesh.getDp()}}},
      {"microbatches", mesh.getMb()},
      {"cluster",
       json::Object{{"name", cluster.name}, {"nodes", cluster.nodes}, {"devices_per_node", cluster.devicesPerNode}}},
      {"messages", std::move(messages)},
      {"padding", std::move(paddings)},
      {"totals", std::move(totals)}};
}

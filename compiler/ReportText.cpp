// --report for a reader: the answer first, then the numbers behind it.
#include "compiler/Report.h"
#include "passes/Support/Units.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace p3d;
using llvm::formatv;

namespace {
std::string percentText(double share) { return formatv("{0:F1} %", share * 100).str(); }

/// "70.55 billion".
std::string countText(double count) {
  constexpr std::pair<double, const char *> kScales[] = {{1e12, " trillion"}, {1e9, " billion"}, {1e6, " million"}};
  for (auto &[scale, name] : kScales)
    if (count >= scale)
      return formatv("{0:F2}{1}", count / scale, name).str();
  return formatv("{0}", int64_t(count)).str();
}

/// "1 row", "2 rows".
std::string number(int64_t count, llvm::StringRef one, llvm::StringRef many) {
  return formatv("{0} {1}", count, count == 1 ? one : many).str();
}

/// Columns as wide as what stands in them, numbers to the right.
class Table {
public:
  void add(std::vector<std::string> row) {
    widths.resize(std::max(widths.size(), row.size()));
    for (auto [width, cell] : llvm::zip(widths, row))
      width = std::max(width, cell.size());
    rows.push_back(std::move(row));
  }
  void print(llvm::raw_ostream &os, size_t leftColumns = 1) const {
    for (const std::vector<std::string> &row : rows) {
      std::string line;
      for (auto [i, cell] : llvm::enumerate(row)) {
        std::string space(widths[i] - cell.size(), ' ');
        line += "  " + (i < leftColumns ? cell + space : space + cell);
      }
      os << llvm::StringRef(line).rtrim() << "\n";
    }
  }

private:
  std::vector<size_t> widths;
  std::vector<std::vector<std::string>> rows;
};

class Printer {
public:
  Printer(const Report &report, const Cluster &cluster, llvm::raw_ostream &os)
      : report(report), manifest(report.manifest), cluster(cluster), os(os) {}

  void print() {
    printPlan();
    printMemory();
    printTime();
    printMessages();
    printAlternatives();
  }

private:
  int64_t integer(llvm::StringRef field) { return manifest.getInteger(field).value_or(0); }
  double ratio(llvm::StringRef field) { return manifest.getNumber(field).value_or(0); }

  // not messages: what stands in the report
  void printPlan() {
    const llvm::json::Object &mesh = *manifest.getObject("mesh");
    int64_t tp = *mesh.getInteger("tp"), pp = *mesh.getInteger("pp"), dp = *mesh.getInteger("dp");
    int64_t rows = integer("global_batch"), microbatches = integer("microbatches");
    os << formatv("{0}: {1} parameters, {2} tokens a step\n", *manifest.getString("model"),
                  countText(*manifest.getObject("params")->getInteger("total")), integer("tokens_per_step"));
    os << formatv("{0} ranks = {1} tp x {2} pp x {3} dp on {4}, {5} nodes of {6}\n", tp * pp * dp, tp, pp, dp,
                  cluster.name, cluster.nodes, cluster.devicesPerNode);
    os << formatv("{0}, {1} of {2}\n", *manifest.getObject("schedule")->getString("name"),
                  number(microbatches, "microbatch", "microbatches"), number(rows / dp / microbatches, "row", "rows"));
  }

  std::string layersText(const StageReport &stage) {
    llvm::SmallVector<std::string> ranges;
    for (size_t i = 0; i + 1 < stage.layers.size(); i += 2)
      if (stage.layers[i] <= stage.layers[i + 1])
        ranges.push_back(formatv("{0}-{1}", stage.layers[i], stage.layers[i + 1]));
    return ranges.empty() ? "none" : llvm::join(ranges, ",");
  }

  // not messages: what stands in the report
  void printMemory() {
    size_t index = fullestStage(report.memory);
    const StageMemory *fullest = &report.memory[index];
    os << "\n";
    if (report.deviceMemory == 0)
      os << formatv("Memory: stage {0} takes the most, {1} on a device; --device-memory or --cluster says what fits\n",
                    index, bytesText(fullest->total));
    else
      os << formatv("Memory: {0}; stage {1} takes the most, {2} of the {3} of a device ({4})\n",
                    report.fits() ? "it fits" : "IT DOES NOT FIT", index, bytesText(fullest->total),
                    bytesText(report.deviceMemory), percentText(double(fullest->total) / report.deviceMemory));
    Table table;
    table.add({"stage", "layers", "numbers", "parameters", "gradients", "optimizer", "activations", "workspace", "total"});
    for (auto [i, memory] : llvm::enumerate(report.memory))
      table.add({std::to_string(i), layersText(report.stages[i]), countText(report.stages[i].parameters),
                 bytesText(memory.params), bytesText(memory.grads), bytesText(memory.optimizer),
                 bytesText(memory.activations), bytesText(memory.workspace), bytesText(memory.total)});
    table.print(os, 2);
    constexpr size_t kShown = 4;
    os << formatv("  the biggest of stage {0}:\n", index);
    Table holders;
    for (const MemoryHolder &holder : llvm::ArrayRef(fullest->holders).take_front(kShown))
      holders.add({"", holder.what, bytesText(holder.bytes)});
    holders.print(os, 2);
  }

  // not messages: what stands in the report
  void printTime() {
    const StepTiming &timing = report.step.timing;
    const StepCosts &costs = report.step.costs;
    os << formatv("\nTime: a step takes {0}, predicted; {1:F0} tokens/s; MFU {2} ({3} with causal attention counted half)\n",
                  secondsText(timing.seconds), integer("tokens_per_step") / timing.seconds, percentText(ratio("mfu")),
                  percentText(ratio("mfu_causal")));
    Table table;
    table.add({"stage", "forward", "backward", "of it weights", "collectives", "waits", "share"});
    for (auto [i, stage] : llvm::enumerate(report.stages)) {
      TaskCosts sum{0, 0, 0};
      for (const TaskCosts &chunk : costs.stages[i].chunks)
        sum = {sum.forward + chunk.forward, sum.backward + chunk.backward, sum.weightGradient + chunk.weightGradient};
      table.add({std::to_string(i), secondsText(sum.forward), secondsText(sum.backward + sum.weightGradient),
                 secondsText(sum.weightGradient), secondsText(costs.stages[i].messages), secondsText(stage.idle),
                 percentText(timing.schedule.makespan > 0 ? stage.idle / timing.schedule.makespan : 0)});
    }
    table.print(os);
    os << "  forward and backward of one microbatch; collectives and waiting of the whole step\n";
    double before = 0, after = 0;
    for (const StageCost &stage : costs.stages) {
      before = std::max(before, stage.prologue);
      after = std::max(after, stage.synchronize);
    }
    os << formatv("  pipeline {0}, of which a stage waits {1} (bubble); before it {2}; behind it gradients {3}, their norm {4}, "
                  "update {5}\n",
                  secondsText(timing.schedule.makespan), percentText(timing.schedule.bubble), secondsText(before),
                  secondsText(after), secondsText(costs.norm), secondsText(timing.update));
  }

  // not messages: what stands in the report
  void printMessages() {
    if (report.axes.empty())
      return;
    os << "\nMessages: what a rank sends in a step, at the stage where it takes longest (--explain says why)\n";
    Table table;
    table.add({"axis", "messages", "bytes", "seconds", "of the step"});
    for (auto &[axis, traffic] : report.axes)
      table.add({axis, std::to_string(traffic.count), bytesText(traffic.bytes), secondsText(traffic.seconds),
                 percentText(traffic.seconds / report.step.timing.seconds)});
    table.print(os);
  }

  // not messages: what stands in the report
  void printAlternatives() {
    if (report.alternatives.empty())
      return;
    os << "\nWhat would change it, planned with one flag changed\n";
    Table table;
    table.add({"flag", "step", "", "fullest stage", ""});
    for (const Alternative &plan : report.alternatives) {
      bool fits = report.deviceMemory == 0 || plan.bytes <= report.deviceMemory;
      table.add({plan.flags, secondsText(plan.stepSeconds),
                 formatv("{0}{1:F1} %", plan.stepSeconds >= report.step.timing.seconds ? "+" : "",
                         (plan.stepSeconds / report.step.timing.seconds - 1) * 100)
                     .str(),
                 bytesText(plan.bytes), fits ? "" : "does not fit"});
    }
    table.print(os);
  }

  const Report &report;
  const llvm::json::Object &manifest;
  const Cluster &cluster;
  llvm::raw_ostream &os;
};
} // namespace

void p3d::printText(const Report &report, const Cluster &cluster, llvm::raw_ostream &os) {
  Printer(report, cluster, os).print();
}

// p3d-fuzz: random programs on random meshes against one device; see README.md.
#include "OpCases.h"
#include "Shrink.h"
#include "Workers.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include <chrono>
#include <map>

using namespace llvm;
using namespace p3d;
using namespace p3d::fuzz;

namespace {
cl::OptionCategory category("p3d-fuzz options");
cl::list<std::string> files(cl::Positional, cl::desc("[CASE.mlir ...]"), cl::cat(category));
cl::opt<uint64_t> firstSeed("seed", cl::desc("the first seed; 0: chosen by the clock"), cl::init(1), cl::cat(category));
cl::opt<uint64_t> count("count", cl::desc("the number of cases"), cl::init(1000), cl::cat(category));
cl::opt<unsigned> jobs("jobs", cl::desc("processes at a time"), cl::init(2), cl::cat(category));
cl::opt<double> minutes("minutes", cl::desc("stop after so long"), cl::init(0), cl::cat(category));
cl::opt<double> mostRejected("most-rejected", cl::desc("fail if more than this part is rejected"), cl::init(0.01), cl::cat(category));
cl::opt<bool> demandsAllOps("all-ops", cl::desc("fail unless every operation of the dialects occurs in a case that matches"), cl::cat(category));
cl::opt<bool> listsRejected("list-rejected", cl::desc("print the seeds that are rejected"), cl::cat(category));
cl::opt<bool> print("print", cl::desc("print the case of --seed"), cl::cat(category));
cl::opt<bool> shrinks("shrink", cl::desc("shrink the file, or each failure, and print it"), cl::cat(category));
cl::opt<std::string> directory("o", cl::desc("directory for failing cases"), cl::value_desc("directory"), cl::cat(category));

/// What is alike in messages of one kind.
std::string kindOf(StringRef message) {
  std::string kind;
  for (char c : message) {
    bool isDigit = c >= '0' && c <= '9';
    if (!isDigit)
      kind += c;
    else if (kind.empty() || kind.back() != '#')
      kind += '#';
  }
  return kind;
}

std::string describe(const Report &report) { return (report.crashed ? "crash" : nameOf(report.verdict.outcome).str()) + ": " + report.verdict.message; }

/// The smallest case that fails as `text` does: crashes, or has the same outcome and a message of one kind.
std::string shrinkCase(StringRef text) {
  Report whole = runAlone(text, "case");
  std::string kind = kindOf(whole.verdict.message);
  bool comparesMessage = whole.verdict.outcome != Outcome::Mismatch;
  auto context = makeContext();
  return shrink(*context, text, [&](StringRef candidate) {
    Report report = runAlone(candidate, "case");
    return report.crashed == whole.crashed && report.verdict.outcome == whole.verdict.outcome && (!comparesMessage || kindOf(report.verdict.message) == kind);
  });
}

void save(const Report &report) {
  std::string text = textOf(report.seed);
  if (shrinks)
    text = shrinkCase(text);
  if (directory.empty()) {
    outs() << text << "\n";
    return;
  }
  std::error_code error = sys::fs::create_directories(directory);
  raw_fd_ostream file(directory + "/seed" + std::to_string(report.seed) + ".mlir", error);
  file << "// RUN: p3d-fuzz %s\n// " << describe(report) << "\n" << text << "\n";
}

int runFiles() {
  int code = 0;
  for (const std::string &file : files) {
    auto buffer = MemoryBuffer::getFile(file);
    if (!buffer) {
      errs() << "p3d-fuzz: error: " << file << ": " << buffer.getError().message() << "\n";
      return 1;
    }
    Report report = runAlone((*buffer)->getBuffer(), file);
    outs() << file << ": " << describe(report) << "\n";
    if (shrinks)
      outs() << shrinkCase((*buffer)->getBuffer()) << "\n";
    code |= report.verdict.outcome != Outcome::Match;
  }
  return code;
}

/// Operations that no matching case has.
std::vector<std::string> missingOps(const StringSet<> &seen) {
  std::vector<std::string> missing;
  auto context = makeContext();
  for (mlir::RegisteredOperationName op : context->getRegisteredOperations()) {
    bool isOurs = op.getDialectNamespace() == "graph" || op.getDialectNamespace() == "dist";
    // They say what the levels before have to do.
    bool isGone = op.getStringRef() == "graph.constrain" || op.getStringRef() == "dist.reshard" || op.getStringRef() == "graph.softmax_cross_entropy";
    if (isOurs && !isGone && !seen.contains(op.getStringRef()))
      missing.push_back(op.getStringRef().str());
  }
  return missing;
}

int runSeeds() {
  auto start = std::chrono::steady_clock::now();
  std::map<std::string, uint64_t> outcomes, reasons;
  std::vector<Report> failures;
  uint64_t done = 0;
  auto take = [&](const Report &report) {
    ++done;
    ++outcomes[report.crashed ? "crash" : nameOf(report.verdict.outcome).str()];
    if (report.verdict.outcome == Outcome::Rejected)
      ++reasons[kindOf(report.verdict.message)];
    bool isFailed = report.crashed || isFailure(report.verdict.outcome);
    if (isFailed || (listsRejected && report.verdict.outcome == Outcome::Rejected)) {
      outs() << "seed " << report.seed << ": " << describe(report) << "\n";
      outs().flush();
    }
    if (isFailed)
      failures.push_back(report);
  };
  StringSet<> seen = runAll({firstSeed, count, jobs, minutes}, take);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (const Report &failure : failures)
    if (!directory.empty() || shrinks)
      save(failure);
  outs() << formatv("{0} cases in {1:f1} s:", done, seconds);
  for (const auto &[outcome, times] : outcomes)
    outs() << " " << times << " " << outcome;
  outs() << "\n";
  for (const auto &[reason, times] : reasons)
    outs() << formatv("{0,6} rejected: {1}\n", times, reason);
  std::vector<std::string> missing = missingOps(seen);
  outs() << seen.size() << " operations in programs that match";
  for (const std::string &op : missing)
    outs() << (&op == &missing.front() ? "; in none: " : ", ") << op;
  outs() << "\n";
  bool areTooMany = outcomes["rejected"] > mostRejected * double(done);
  if (areTooMany)
    outs() << "too many cases are rejected\n";
  return !failures.empty() || areTooMany || (demandsAllOps && !missing.empty());
}
} // namespace

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "random programs on random meshes against one device\n");
  if (firstSeed == 0)
    firstSeed = uint64_t(std::chrono::system_clock::now().time_since_epoch().count()) / 1000 % 1000000000 * 1000;
  if (print) {
    outs() << textOf(firstSeed) << "\n";
    return 0;
  }
  return files.empty() ? runSeeds() : runFiles();
}

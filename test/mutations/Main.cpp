// p3d-partition-mutations: breaks modules of the level partition in many ways, and counts which the proof at the end of
// that level rejects.
//
// Each mutant that changes a result, or lets ranks disagree, as the interpreter of all ranks finds, has to be rejected
// without running it.
#include "compiler/ProgramTensors.h"
#include "compiler/SpmdInterpreter.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Partition/Passes.h"
#include "test/mutations/Mutations.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include <chrono>
#include <csignal>
#include <map>
#include <random>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace mlir;
using namespace p3d;
using graph::Tensors;

namespace {
// not messages: what --help says
cl::list<std::string> files(cl::Positional, cl::OneOrMore, cl::desc("SHARD.mlir=WEIGHTS.safetensors..."));
cl::opt<int64_t> count("count", cl::desc("mutations of each module; 0 for all"), cl::init(10));
cl::opt<uint64_t> seed("seed", cl::desc("of the choice"), cl::init(1));
cl::opt<unsigned> jobs("jobs", cl::desc("mutants at a time"), cl::init(1));
cl::opt<bool> proveOnly("prove-only", cl::desc("only partition, prove, and print the time of the proof"));
cl::opt<bool> verbose("verbose", cl::desc("print each mutation and what is said of it"));

/// Sums in another order differ by less, in parts of a tensor's largest element, or this part of the largest of all.
constexpr double kTolerance = 1e-9, kSmall = 1e-5;

enum Verdict { Same, Changed };
struct Counts {
  int64_t malformed = 0, accepted = 0, rejectedSame = 0, caught = 0, escaped = 0;
  void operator+=(const Counts &other) {
    malformed += other.malformed;
    accepted += other.accepted;
    rejectedSame += other.rejectedSame;
    caught += other.caught;
    escaped += other.escaped;
  }
};

double largest(const graph::Tensor &tensor) {
  double most = 0;
  for (double element : tensor.floats)
    most = std::max(most, std::abs(element));
  return most;
}

bool differ(const Tensors &a, const Tensors &b) {
  double all = 0;
  for (const graph::Tensor &tensor : a)
    all = std::max(all, largest(tensor));
  for (auto [x, y] : zip_equal(a, b)) {
    double limit = kTolerance * std::max(largest(x), kSmall * all);
    for (auto [p, q] : zip_equal(x.floats, y.floats))
      if (!(std::abs(p - q) <= limit))
        return true;
    if (x.ints != y.ints)
      return true;
  }
  return false;
}

class Subject {
public:
  Subject(MLIRContext &context, StringRef name) : context(context), name(name) {}

  /// False, with a message, for a module that cannot be read or is not right.
  bool prepare(StringRef file, StringRef weights) {
    module = parseSourceFile<ModuleOp>(file, &context);
    if (!module)
      return false;
    if (!proveOnly) {
      auto read = argumentsFrom(*module->getOps<graph::ProgramOp>().begin(), {weights.str()});
      if (!read) {
        errs() << toString(read.takeError()) << "\n";
        return false;
      }
      inputs = std::move(*read);
    }
    PassManager passes(&context);
    passes.addPass(partition::createPartition());
    if (failed(passes.run(*module)))
      return false;
    auto start = std::chrono::steady_clock::now();
    bool fine = isProved(*module);
    double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    if (proveOnly || !fine)
      outs() << (fine ? "proved   " : "REJECTED ") << format("%6.1f ms  ", ms) << name << "\n";
    if (!fine || proveOnly)
      return fine;
    auto results = interpretSpmd(*module, inputs);
    if (failed(results))
      return false;
    expected = std::move(*results);
    return true;
  }

  bool isProved(ModuleOp candidate) {
    PassManager passes(&context);
    passes.enableVerifier(false);
    passes.addPass(partition::createVerifyPartition());
    return succeeded(passes.run(candidate));
  }

  /// Runs `mutant` in a process of its own, since interpreters trust what they are given: the process's id.
  pid_t judge(ModuleOp mutant) {
    outs().flush();
    pid_t child = fork();
    if (child != 0)
      return child;
    alarm(120);
    signal(SIGSEGV, SIG_DFL);
    signal(SIGABRT, SIG_DFL);
    ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) {});
    auto results = interpretSpmd(mutant, inputs);
    _exit(succeeded(results) && !differ(expected, *results) ? Same : Changed);
  }

  MLIRContext &context;
  std::string name;
  OwningOpRef<ModuleOp> module;
  Tensors inputs, expected;
};

/// `wanted` of `all`, as many of each kind as of the others, as far as there are so many.
std::vector<Mutation> choose(std::vector<Mutation> all, int64_t wanted, std::mt19937_64 &random) {
  if (wanted == 0)
    return all;
  std::map<std::string, std::vector<Mutation>> kinds;
  for (Mutation &mutation : all)
    kinds[mutation.kind].push_back(std::move(mutation));
  std::vector<Mutation> chosen;
  for (auto &[kind, mutations] : kinds)
    for (size_t i = mutations.size(); i > 1; --i) // as std::shuffle, but the same everywhere
      std::swap(mutations[i - 1], mutations[random() % i]);
  while (int64_t(chosen.size()) < wanted && !kinds.empty())
    for (auto it = kinds.begin(); it != kinds.end() && int64_t(chosen.size()) < wanted;) {
      chosen.push_back(std::move(it->second.back()));
      it->second.pop_back();
      it = it->second.empty() ? kinds.erase(it) : std::next(it);
    }
  return chosen;
}

class Campaign {
public:
  void run(Subject &subject, std::mt19937_64 &random) {
    for (Mutation &mutation : choose(mutationsOf(*subject.module), count, random))
      attempt(subject, mutation);
    while (!pending.empty())
      reap();
  }

  bool report() {
    Counts total;
    outs() << "kind       caught  escaped  harmless: rejected, accepted  malformed\n";
    auto print = [](StringRef kind, const Counts &c) {
      outs() << format("%-9s %7ld %8ld %19ld %9ld %10ld\n", kind.str().c_str(), c.caught, c.escaped, c.rejectedSame,
                       c.accepted, c.malformed);
    };
    for (auto &[kind, counts] : byKind) {
      print(kind, counts);
      total += counts;
    }
    print("all", total);
    if (total.caught == 0)
      outs() << "no mutation changed a result\n";
    return total.escaped == 0 && total.caught > 0;
  }

private:
  struct Pending {
    std::string kind, text;
    bool isProved;
  };

  void attempt(Subject &subject, const Mutation &mutation) {
    std::string said;
    ScopedDiagnosticHandler handler(
        &subject.context, [&](Diagnostic &diagnostic) { said += (said.empty() ? "" : "; ") + diagnostic.str(); });
    OwningOpRef<ModuleOp> mutant = subject.module->clone();
    mutation.apply(*mutant);
    std::string text = subject.name + ": " + mutation.kind + ": " + mutation.what;
    if (failed(verify(*mutant))) {
      ++byKind[mutation.kind].malformed;
      return;
    }
    bool isProved = subject.isProved(*mutant);
    if (verbose)
      outs() << text << ": " << (isProved ? "proved" : said) << "\n";
    raw_string_ostream(text) << " at " << mutation.place;
    while (pending.size() >= std::max(1u, unsigned(jobs)))
      reap();
    pending[subject.judge(*mutant)] = {mutation.kind, text, isProved};
  }

  void reap() {
    int status = 0;
    pid_t child = wait(&status);
    if (child < 0)
      report_fatal_error("no mutant to wait for");
    auto found = pending.find(child);
    if (found == pending.end())
      return;
    Pending done = found->second;
    pending.erase(found);
    bool changes = !WIFEXITED(status) || WEXITSTATUS(status) != Same;
    Counts &counts = byKind[done.kind];
    ++(changes         ? (done.isProved ? counts.escaped : counts.caught)
       : done.isProved ? counts.accepted
                       : counts.rejectedSame);
    if (changes && done.isProved)
      outs() << "ESCAPED " << done.text << "\n";
  }

  std::map<std::string, Counts> byKind;
  std::map<pid_t, Pending> pending;
};
} // namespace

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  cl::ParseCommandLineOptions(argc, argv, "breaks partitioned programs, and counts what their proof notices\n");
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<dist::DistDialect, graph::GraphDialect>();
  context.allowUnregisteredDialects();
  std::mt19937_64 random(seed);
  Campaign campaign;
  bool fine = true;
  for (StringRef pair : files) {
    auto [file, weights] = pair.split('=');
    Subject subject(context, StringRef(file).rsplit('/').second);
    if (!subject.prepare(file, weights)) {
      outs() << "FAIL " << file << " is not right without a mutation\n";
      fine = false;
      continue;
    }
    if (!proveOnly)
      campaign.run(subject, random);
  }
  if (proveOnly)
    return fine ? 0 : 1;
  return campaign.report() && fine ? 0 : 1;
}

// Roles of arguments that neither attributes, patterns nor names say: by what flows where, never by sizes. The batch dimension is the class of
// dimension 0 of integer inputs, or of what the loss's last reduction sums over; floats that carry it are inputs, the others parameters.
#include "dialects/Graph/FactorRules.h"
#include "passes/Import/Passes.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

namespace p3d {
#define GEN_PASS_DEF_ASSIGNROLES
#include "passes/Import/Passes.h.inc"
} // namespace p3d

using namespace mlir;
using namespace p3d;

namespace {

/// Dimensions that have to be cut alike. A dimension is named by its value's number and its place.
class DimensionClasses {
public:
  explicit DimensionClasses(graph::ProgramOp program) {
    for (Operation &op : program.getBody().front().without_terminator()) {
      graph::FactorRule rule = graph::getFactorRule(&op);
      std::vector<std::optional<int64_t>> carrier(rule.factors.size());
      auto visit = [&](Value value, const graph::TensorFactors &dims) {
        for (auto [dim, factors] : llvm::enumerate(dims)) {
          if (factors.empty())
            continue;
          int64_t id = idOf(value, dim);
          std::optional<int64_t> &first = carrier[factors.front()];
          if (first)
            classes.unionSets(*first, id);
          first = id;
        }
      };
      for (auto [operand, dims] : llvm::zip(op.getOperands(), rule.operands))
        visit(operand, dims);
      for (auto [result, dims] : llvm::zip(op.getResults(), rule.results))
        visit(result, dims);
    }
  }

  int64_t classOf(Value value, int64_t dim) { return classes.getOrInsertLeaderValue(idOf(value, dim)); }

private:
  int64_t idOf(Value value, int64_t dim) {
    constexpr int64_t kMaxRank = 64;
    return numbers.try_emplace(value, numbers.size()).first->second * kMaxRank + dim;
  }

  DenseMap<Value, int64_t> numbers;
  llvm::EquivalenceClasses<int64_t> classes;
};

class RoleAssigner {
public:
  explicit RoleAssigner(graph::ProgramOp program) : program(program), classes(program) {}

  void run() {
    for (BlockArgument argument : program.getBody().getArguments()) {
      if (!roleOf(argument).empty())
        continue;
      auto type = graph::tensorType(argument);
      bool isKey = type.getRank() == 1 && type.getDimSize(0) == 2 && type.getElementType().isUnsignedInteger(32);
      if (isKey)
        assign(argument, "key");
      else if (isa<IntegerType>(type.getElementType()))
        assign(argument, "input");
    }
    DenseSet<int64_t> batch = batchClasses();
    for (BlockArgument argument : program.getBody().getArguments()) {
      if (!roleOf(argument).empty())
        continue;
      bool carries = llvm::any_of(llvm::seq<int64_t>(0, graph::tensorType(argument).getRank()),
                                  [&](int64_t dim) { return batch.contains(classes.classOf(argument, dim)); });
      assign(argument, carries ? "input" : "param");
    }
    report();
  }

private:
  StringRef roleOf(BlockArgument argument) {
    auto role = program.getArgAttrOfType<StringAttr>(argument.getArgNumber(), graph::kRoleAttr);
    return role ? role.getValue() : StringRef();
  }

  void assign(BlockArgument argument, StringRef role) {
    program.setArgAttr(argument.getArgNumber(), graph::kRoleAttr, StringAttr::get(program.getContext(), role));
    auto name = program.getArgAttrOfType<StringAttr>(argument.getArgNumber(), graph::kNameAttr);
    chosen[role].push_back(name ? name.getValue() : "");
  }

  /// One remark with all choices; of many parameters only the number.
  void report() {
    constexpr size_t kMaxNames = 8;
    auto remark = program.emitRemark() << "roles of arguments chosen by flow:";
    for (auto &[role, names] : chosen) {
      remark << (role == chosen.front().first ? " " : "; ") << names.size() << " as " << role;
      if (names.size() <= kMaxNames) {
        remark << " (";
        llvm::interleaveComma(names, remark);
        remark << ")";
      }
    }
    remark << "; --params and --inputs say otherwise";
  }

  DenseSet<int64_t> batchClasses() {
    DenseSet<int64_t> batch;
    for (BlockArgument argument : program.getBody().getArguments())
      if (roleOf(argument) == "input" && graph::tensorType(argument).getRank() > 0)
        batch.insert(classes.classOf(argument, 0));
    if (!batch.empty())
      return batch;
    // Back from the loss to the last reduction.
    Operation *op = program.getBody().front().getTerminator();
    while (op && op->getNumOperands() && !isa<graph::ReduceOp>(op))
      op = op->getOperand(0).getDefiningOp();
    if (auto reduce = dyn_cast_or_null<graph::ReduceOp>(op); reduce && !reduce.getDims().empty())
      batch.insert(classes.classOf(reduce.getOperand(), reduce.getDims().front()));
    return batch;
  }

  graph::ProgramOp program;
  DimensionClasses classes;
  llvm::MapVector<StringRef, SmallVector<StringRef>> chosen;
};

struct AssignRolesPass : p3d::impl::AssignRolesBase<AssignRolesPass> {
  void runOnOperation() override {
    graph::ProgramOp program = getOperation();
    bool complete = llvm::all_of(llvm::seq<unsigned>(0, program.getNumArguments()),
                                 [&](unsigned i) { return program.getArgAttr(i, graph::kRoleAttr) != nullptr; });
    if (!complete)
      RoleAssigner(program).run();
    bool hasParameter = llvm::any_of(llvm::seq<unsigned>(0, program.getNumArguments()), [&](unsigned i) {
      return program.getArgAttrOfType<StringAttr>(i, graph::kRoleAttr).getValue() == "param";
    });
    if (!hasParameter) {
      program.emitError() << "no argument is a parameter, so there is nothing to train; name the parameters by --params, or give them the "
                             "attribute p3d.role = \"param\"";
      signalPassFailure();
    }
  }
};

} // namespace

#include "passes/Shard/DimClasses.h"
#include <numeric>

using namespace mlir;
using namespace p3d;
using namespace p3d::shard;
using graph::tensorType;

DimClasses::DimClasses(ModuleOp module) {
  SymbolTable symbols(module);
  for (Operation &op : *module.getBody())
    if (auto function = dyn_cast<FunctionOpInterface>(op))
      addBody(function.getFunctionBody());
  module.walk([&](graph::CallOp call) { addCall(call, symbols); });
  graph::ProgramOp program;
  module.walk([&](graph::ProgramOp op) { program = op; });
  if (program)
    finish(program);
}

int DimClasses::node(Value value, unsigned dim) {
  auto [it, isNew] = firstNode.try_emplace(value, parent.size());
  if (isNew)
    for (int64_t size : tensorType(value).getShape()) {
      parent.push_back(parent.size());
      nodeUnits.push_back(size);
    }
  return it->second + dim;
}

int DimClasses::find(int node) const {
  while (parent[node] != node)
    node = parent[node] = parent[parent[node]];
  return node;
}

void DimClasses::addBody(Region &body) {
  for (Value argument : body.getArguments())
    node(argument, 0);
  for (Operation &op : body.front()) {
    for (Value result : op.getResults())
      node(result, 0);
    if (!isa<graph::CallOp, graph::YieldOp, graph::UpdateOp>(op))
      addOp(&op);
    if (auto update = dyn_cast<graph::UpdateOp>(op))
      tie(update.getParameter(), update.getGradient());
  }
}

void DimClasses::addOp(Operation *op) {
  graph::FactorRule rule = graph::getFactorRule(op);
  SmallVector<int> nodes(rule.factors.size(), kNone);
  auto addTensor = [&](Value value, const graph::TensorFactors &dims) {
    for (auto [d, factors] : llvm::enumerate(dims)) {
      if (factors.empty())
        continue;
      int current = find(node(value, d)), factor = factors.front();
      nodeUnits[current] = std::gcd(nodeUnits[current], rule.factors[factor].size);
      if (nodes[factor] == kNone) {
        nodes[factor] = current;
        continue;
      }
      int other = find(nodes[factor]);
      nodeUnits[other] = std::gcd(nodeUnits[other], nodeUnits[current]);
      parent[current] = other;
    }
  };
  for (auto [operand, dims] : llvm::zip(op->getOperands(), rule.operands))
    addTensor(operand, dims);
  for (auto [result, dims] : llvm::zip(op->getResults(), rule.results))
    addTensor(result, dims);
  rules.try_emplace(op, std::move(rule));
  factorNodes.try_emplace(op, std::move(nodes));
}

void DimClasses::tie(Value a, Value b) {
  for (int64_t d = 0; d < tensorType(a).getRank(); ++d) {
    ties.push_back({node(a, d), node(b, d)});
    int left = find(node(a, d)), right = find(node(b, d));
    nodeUnits[left] = std::gcd(nodeUnits[left], nodeUnits[right]);
    parent[right] = left;
  }
}

void DimClasses::addCall(graph::CallOp call, SymbolTable &symbols) {
  auto block = symbols.lookup<graph::BlockOp>(call.getCallee());
  for (auto [operand, argument] : llvm::zip(call.getInputs(), block.getBody().getArguments()))
    tie(argument, operand);
  Operation *yield = block.getBody().front().getTerminator();
  for (auto [result, value] : llvm::zip(call.getOutputs(), yield->getOperands()))
    tie(value, result);
}

void DimClasses::finish(graph::ProgramOp program) {
  llvm::DenseMap<int, int> number;
  classOfNode.resize(parent.size());
  for (size_t node = 0; node < parent.size(); ++node) {
    auto [it, isNew] = number.try_emplace(find(node), units.size());
    if (isNew)
      units.push_back(nodeUnits[it->first]);
    classOfNode[node] = it->second;
  }
  auto isInput = [&](BlockArgument argument) {
    auto role = program.getArgAttrOfType<StringAttr>(argument.getArgNumber(), graph::kRoleAttr);
    return role && role.getValue() == "input" && tensorType(argument).getRank() > 0;
  };
  for (bool wantIntegers : {true, false})
    for (BlockArgument argument : program.getBody().getArguments())
      if (batch == kNone && isInput(argument) && (!wantIntegers || tensorType(argument).getElementType().isInteger()))
        batch = classOf(argument, 0);
  for (BlockArgument argument : program.getBody().getArguments()) {
    bool isTokens = isInput(argument) && tensorType(argument).getElementType().isInteger() && tensorType(argument).getRank() > 1;
    int cls = isTokens ? classOf(argument, 1) : kNone;
    if (cls != kNone && cls != batch && !isSequence(cls))
      sequences.push_back(cls);
  }
}

int DimClasses::classOf(Value value, unsigned dim) const {
  auto it = firstNode.find(value);
  if (it == firstNode.end() || tensorType(value).getDimSize(dim) == 1)
    return kNone;
  return classOfNode[it->second + dim];
}

int DimClasses::classOfFactor(Operation *op, int factor) const {
  int node = factorNodes.find(op)->second[factor];
  return node == kNone ? kNone : classOfNode[node];
}

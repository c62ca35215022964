// Sums over the buffers of an arena.
#include "compiler/ProgramMemory.h"
#include "dialects/Graph/GraphOps.h"
#include "dialects/Pipe/PipeOps.h"
#include "passes/Support/ParameterNames.h"
#include "llvm/ADT/MapVector.h"
#include <limits>

using namespace mlir;
using namespace p3d;

namespace {
// not messages: what stands in the report and beside complaints
/// For each buffer of `scheduled` that a forward task writes: what made the value, like "rms_norm".
llvm::StringMap<std::string> makersOf(ModuleOp scheduled, StringRef stage) {
  llvm::StringMap<std::string> makers;
  auto program = dyn_cast_or_null<pipe::StageOp>(SymbolTable::lookupSymbolIn(scheduled, stage));
  if (!program)
    return makers;
  program.walk([&](pipe::WriteOp write) {
    Value value = write.getValue();
    if (auto call = value.getDefiningOp<graph::CallOp>()) {
      Block &body = call.lookupBlock().getBody().front();
      value = body.getTerminator()->getOperand(cast<OpResult>(value).getResultNumber());
    }
    while (auto reshape = value.getDefiningOp<graph::ReshapeOp>())
      value = reshape.getOperand();
    Operation *maker = value.getDefiningOp();
    makers[write.getBuffer()] = maker ? maker->getName().stripDialect().str() : "other blocks";
  });
  return makers;
}

/// The name of the parameter that `buffer` is, or is the gradient or a state of.
std::string parameterName(const SymbolTable &buffers, exec::BufferOp buffer) {
  for (StringRef link : {StringRef(exec::kStateOfAttr), StringRef(pipe::kOfAttr)})
    if (auto of = buffer->getAttrOfType<FlatSymbolRefAttr>(link))
      if (auto parameter = buffers.lookup<exec::BufferOp>(of.getValue()))
        buffer = parameter;
  auto name = buffer->getAttrOfType<StringAttr>(graph::kNameAttr);
  return (name ? name : buffer.getSymNameAttr()).str();
}

/// The name without its numbers: weights of repeated layers hold memory together.
std::string withoutNumbers(StringRef name) {
  std::string text;
  for (char c : name)
    if (!isdigit(c))
      text += c;
    else if (text.empty() || text.back() != '*')
      text += '*';
  return text;
}

/// Walks the buffers of one program, each with its bytes and its holder.
class Measurement {
public:
  Measurement(exec::ProgramOp program, ModuleOp scheduled) : program(program), buffers(program) {
    if (scheduled)
      makers = makersOf(scheduled, program.getSymName());
  }

  // not messages: what stands in the report
  StageMemory run() {
    memory.total = program.getArenaBytes().value_or(0);
    if (auto least = program->getAttrOfType<IntegerAttr>(exec::kLeastBytesAttr))
      memory.least = least.getInt();
    for (auto buffer : program.getOps<exec::BufferOp>())
      add(buffer);
    memory.activations += measureSlabs();
    for (auto task : program.getOps<exec::TaskOp>())
      memory.temporaries = std::max<int64_t>(memory.temporaries, task.getScratchBytes().value_or(0));
    memory.workspace = memory.total - memory.params - memory.grads - memory.optimizer - memory.activations;
    held["temporaries of the biggest task"] = memory.temporaries;
    for (auto &[what, bytes] : held)
      memory.holders.push_back({what, bytes});
    for (auto &[key, weights] : heldByWeights)
      memory.holders.push_back({joinNames(generalizeNames(weights.names)) + " with gradients and optimizer state", weights.bytes});
    llvm::stable_sort(memory.holders, [](auto &a, auto &b) { return a.bytes > b.bytes; });
    return std::move(memory);
  }

private:
  struct Weights {
    SmallVector<std::string> names;
    int64_t bytes = 0;
  };

  /// From the first byte that activations have to the last.
  int64_t measureSlabs() {
    int64_t begin = std::numeric_limits<int64_t>::max(), end = 0;
    for (auto slab : program.getOps<exec::SlabOp>())
      for (int64_t place : slab.getPlaces()) {
        begin = std::min(begin, place);
        end = std::max(end, place + int64_t(slab.getBytes()));
      }
    return std::max<int64_t>(0, end - begin);
  }

  void addWeight(exec::BufferOp buffer, int64_t bytes) {
    std::string name = parameterName(buffers, buffer);
    Weights &weights = heldByWeights[withoutNumbers(name)];
    if (!llvm::is_contained(weights.names, name))
      weights.names.push_back(name);
    weights.bytes += bytes;
  }

  // not messages: what stands in the report
  void add(exec::BufferOp buffer) {
    int64_t bytes = exec::bytesOf(buffer.getMemory());
    switch (buffer.getKind()) {
    case pipe::BufferKind::Parameter:
      (buffer->hasAttr(exec::kStateOfAttr) ? memory.optimizer : memory.params) += bytes;
      addWeight(buffer, bytes);
      return;
    case pipe::BufferKind::Gradient:
      memory.grads += bytes;
      addWeight(buffer, bytes);
      return;
    case pipe::BufferKind::Activation: {
      bytes *= buffers.lookup<exec::SlabOp>(*buffer.getSlab()).getCopies();
      auto maker = makers.find(buffer.getSymName());
      held["saved results of " + (maker == makers.end() ? "blocks" : maker->second)] += bytes;
      return;
    }
    case pipe::BufferKind::Receive:
      memory.activations += bytes;
      held["received values"] += bytes;
      return;
    case pipe::BufferKind::Input:
      held["the batch"] += bytes;
      return;
    case pipe::BufferKind::Complete:
    case pipe::BufferKind::Result:
      held["results and what is computed once a step"] += bytes;
      return;
    }
    llvm_unreachable("a kind of buffer");
  }

  exec::ProgramOp program;
  SymbolTable buffers;
  llvm::StringMap<std::string> makers;
  StageMemory memory;
  std::map<std::string, Weights> heldByWeights;
  llvm::MapVector<std::string, int64_t, std::map<std::string, unsigned>> held;
};
} // namespace

std::vector<StageMemory> p3d::measureMemory(ModuleOp planned, ModuleOp scheduled) {
  std::vector<StageMemory> memory;
  for (auto program : planned.getOps<exec::ProgramOp>())
    memory.push_back(Measurement(program, scheduled).run());
  return memory;
}

#include "Shrink.h"
#include "Generator.h"
#include "ProgramBuilder.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::fuzz;

namespace {
graph::ProgramOp programOf(ModuleOp module) { return *module.getOps<graph::ProgramOp>().begin(); }

std::string textOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream(text) << module;
  return text;
}

/// What nothing uses goes: operations, then arguments.
void eraseUnused(graph::ProgramOp program) {
  Block &body = program.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (!isa<graph::YieldOp>(op) && op.use_empty())
      op.erase();
  for (unsigned i = program.getNumArguments(); i-- > 0;)
    if (body.getArgument(i).use_empty())
      program.eraseArgument(i);
}

/// One change of a module; `index` counts the places where a kind of change may be made. False behind the last of them.
using Change = bool (*)(ModuleOp module, unsigned index);

bool shrinkMesh(ModuleOp module, unsigned index) {
  static constexpr int64_t smaller[][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 1}, {2, 1}};
  if (index >= std::size(smaller))
    return false;
  SmallVector<int64_t> sizes(module->getAttrOfType<DenseI64ArrayAttr>(kMeshAttr).asArrayRef());
  auto [axis, size] = smaller[index];
  sizes[axis] = std::min(sizes[axis], size);
  module->setAttr(kMeshAttr, Builder(module.getContext()).getDenseI64ArrayAttr(sizes));
  return true;
}

bool forgetSequence(ModuleOp module, unsigned index) {
  module->setAttr(kSequenceAttr, StringAttr::get(module.getContext(), "auto"));
  return index == 0;
}

bool dropResult(ModuleOp module, unsigned index) {
  graph::ProgramOp program = programOf(module);
  Operation *yield = program.getBody().front().getTerminator();
  if (index + 1 >= yield->getNumOperands())
    return false;
  program.eraseResult(index + 1);
  yield->eraseOperand(index + 1);
  return true;
}

bool dropAnnotation(ModuleOp module, unsigned index) {
  graph::ProgramOp program = programOf(module);
  for (unsigned i = 0; i < program.getNumArguments(); ++i)
    if (program.getArgAttr(i, graph::kUserShardingAttr) && index-- == 0)
      return program.removeArgAttr(i, graph::kUserShardingAttr), true;
  return false;
}

/// The operation of the program with that number, from its end.
Operation *operationAt(ModuleOp module, unsigned index) {
  Block &body = programOf(module).getBody().front();
  for (Operation &op : llvm::reverse(body))
    if (!isa<graph::YieldOp>(op) && index-- == 0)
      return &op;
  return nullptr;
}

/// An operand of its type takes the place of an operation's result.
bool passThrough(ModuleOp module, unsigned index) {
  constexpr unsigned kOperands = 4;
  Operation *op = operationAt(module, index / kOperands);
  if (!op)
    return false;
  unsigned number = index % kOperands;
  if (number < op->getNumOperands() && op->getOperand(number).getType() == op->getResult(0).getType())
    op->getResult(0).replaceAllUsesWith(op->getOperand(number));
  return true;
}

/// A constant, or a new argument, takes the place of an operation's result.
bool replaceByConstant(ModuleOp module, unsigned index) {
  Operation *op = operationAt(module, index);
  if (!op || isa<graph::ConstantOp>(op))
    return op;
  OpBuilder builder(op);
  for (Value result : op->getResults()) {
    auto type = graph::tensorType(result);
    Attribute element = isa<FloatType>(type.getElementType()) ? Attribute(builder.getFloatAttr(type.getElementType(), 0.5)) : Attribute(builder.getIntegerAttr(type.getElementType(), 1));
    result.replaceAllUsesWith(builder.create<graph::ConstantOp>(op->getLoc(), type, DenseElementsAttr::get(type, element)));
  }
  return true;
}

bool replaceByParameter(ModuleOp module, unsigned index) {
  Operation *op = operationAt(module, index);
  if (!op || !isa<FloatType>(graph::tensorType(op->getResult(0)).getElementType()) || op->getNumOperands() == 0)
    return op;
  graph::ProgramOp program = programOf(module);
  Builder builder(module.getContext());
  unsigned number = program.getNumArguments();
  NamedAttrList attributes;
  attributes.set(graph::kNameAttr, builder.getStringAttr("params.s" + std::to_string(number) + "_" + std::to_string(index)));
  attributes.set(graph::kRoleAttr, builder.getStringAttr("param"));
  attributes.set(kSeedAttr, builder.getI64IntegerAttr(100 + number));
  program.insertArgument(number, op->getResult(0).getType(), attributes.getDictionary(module.getContext()), op->getLoc());
  op->getResult(0).replaceAllUsesWith(program.getBody().getArgument(number));
  return true;
}

/// A use of a value becomes a use of another of its type, which stands earlier.
bool mergeOperands(ModuleOp module, unsigned index) {
  Operation *op = operationAt(module, index);
  if (op && op->getNumOperands() > 1 && op->getOperand(0) != op->getOperand(1) && op->getOperand(0).getType() == op->getOperand(1).getType())
    op->setOperand(1, op->getOperand(0));
  return op;
}

/// How large a case is: what a reader has to understand.
int64_t sizeOf(ModuleOp module) {
  graph::ProgramOp program = programOf(module);
  int64_t size = 20 * program.getBody().front().getOperations().size() + 5 * program.getNumArguments() + program.getNumResults();
  for (unsigned i = 0; i < program.getNumArguments(); ++i)
    size += program.getArgAttr(i, graph::kUserShardingAttr) ? 3 : 0;
  for (int64_t extent : module->getAttrOfType<DenseI64ArrayAttr>(kMeshAttr).asArrayRef())
    size += extent;
  return size + (module->getAttr(kSequenceAttr) != StringAttr::get(module.getContext(), "auto"));
}

constexpr Change changes[] = {shrinkMesh, forgetSequence, dropResult, dropAnnotation, replaceByConstant, passThrough, replaceByParameter, mergeOperands};
} // namespace

std::string p3d::fuzz::shrink(MLIRContext &context, StringRef text, llvm::function_ref<bool(StringRef)> fails) {
  std::string best = text.str();
  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) {});
  int64_t size = sizeOf(*parseSourceString<ModuleOp>(best, &context));
  for (bool progressed = true; std::exchange(progressed, false);)
    for (Change change : changes)
      for (unsigned index = 0;; ++index) {
        OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(best, &context);
        if (!module || !change(*module, index))
          break;
        eraseUnused(programOf(*module));
        std::string candidate = textOf(*module);
        if (sizeOf(*module) >= size || failed(verify(*module)) || !fails(candidate))
          continue;
        best = std::move(candidate);
        size = sizeOf(*module);
        progressed = true;
      }
  return best;
}

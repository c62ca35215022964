#include "compiler/SourceLocations.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace {
bool namesFile(Operation *op) { return op->getLoc()->findInstanceOf<FileLineColLoc>() != nullptr; }

/// Whether a message about `op` needs a place of its own: constants and ends of regions are at no fault, and messages about a function or the module
/// name the start of the file.
bool needsPlace(Operation *op) {
  return !op->hasTrait<OpTrait::ConstantLike>() && !op->hasTrait<OpTrait::IsTerminator>() && !isa<ModuleOp, FunctionOpInterface>(op) && !namesFile(op);
}

/// `loc` at `place`.
Location locate(Location loc, FileLineColLoc place) {
  if (isa<UnknownLoc>(loc))
    return place;
  if (auto named = dyn_cast<NameLoc>(loc))
    return NameLoc::get(named.getName(), place);
  return FusedLoc::get(loc.getContext(), {place, loc});
}

void locateDefinitions(const llvm::SourceMgr &sources, const AsmParserState &state) {
  StringRef file = sources.getMemoryBuffer(sources.getMainFileID())->getBufferIdentifier();
  for (const AsmParserState::OperationDefinition &definition : state.getOpDefs())
    if (needsPlace(definition.op)) {
      auto [line, column] = sources.getLineAndColumn(definition.loc.Start);
      definition.op->setLoc(
          locate(definition.op->getLoc(), FileLineColLoc::get(definition.op->getContext(), file, line, column)));
    }
}
} // namespace

OwningOpRef<ModuleOp> p3d::parseLocated(const llvm::SourceMgr &sources, MLIRContext *context) {
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, context);
  auto isMissing = [](Operation *op) { return needsPlace(op) ? WalkResult::interrupt() : WalkResult::advance(); };
  if (!module || !module->walk(isMissing).wasInterrupted())
    return module;
  // The parser keeps places only on request, which takes longer; most texts name their files.
  OwningOpRef<ModuleOp> located = ModuleOp::create(module->getLoc());
  AsmParserState state;
  if (failed(parseAsmSourceFile(sources, located->getBody(), ParserConfig(context), &state)))
    return module; // unreachable from input: it was parsed before
  locateDefinitions(sources, state);
  // What short forms stand for, such as the body of a reduce, has no text of its own.
  located->walk<WalkOrder::PreOrder>([](Operation *op) {
    if (needsPlace(op))
      op->setLoc(op->getParentOp()->getLoc());
  });
  Block &body = *located->getBody();
  if (!llvm::hasSingleElement(body) || !isa<ModuleOp>(body.front()))
    return located; // a text without `module` around it
  auto inner = cast<ModuleOp>(body.front());
  inner->remove();
  return inner;
}

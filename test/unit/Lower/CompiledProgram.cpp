#include "CompiledProgram.h"
#include "dialects/Exec/ExecOps.h"
#include "dialects/Graph/GraphOps.h"
#include "passes/Lower/EmitObject.h"
#include "passes/Lower/Passes.h"
#include "passes/Memory/Passes.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

using namespace mlir;
using namespace p3d;
using namespace p3d::test;

// The services of a mesh of one rank: reductions change nothing.
extern "C" {
int64_t p3d_axis_index(p3d_context *, int32_t) { return 0; }
void p3d_enter_call(p3d_context *, int32_t) {}
void p3d_made(p3d_context *, int32_t, int32_t, const void *, int64_t) {}
void p3d_all_reduce(p3d_context *, int32_t, int32_t, int32_t, int32_t, void *, int64_t, int32_t) {}
}

void p3d::test::registerDialects(DialectRegistry &registry) {
  registry.insert<graph::GraphDialect, exec::ExecDialect, pipe::PipeDialect, dist::DistDialect>();
}

bool CompiledProgram::compile(ModuleOp module, const std::string &libraryPath) {
  PassManager passes(module.getContext());
  passes.addPass(memory::createExpandNamedOps());
  passes.addPass(memory::createBufferize());
  passes.addPass(memory::createPlanMemory());
  passes.addPass(memory::createVerifyMemory());
  if (failed(passes.run(module)))
    return false;
  module.walk([&](exec::BufferOp buffer) { offsets[buffer.getSymName()] = *buffer.getOffset(); });
  PassManager lowering(module.getContext());
  lower::buildLowerPipeline(lowering);
  if (failed(lowering.run(module)))
    return false;
  std::vector<lower::ObjectCode> objects;
  for (auto part : module.getOps<ModuleOp>()) {
    auto object = lower::emitObject(part);
    if (failed(object))
      return false;
    objects.push_back(std::move(*object));
  }
  return succeeded(lower::linkExecutable(module.getLoc(), objects, P3D_TEST_LINK, "link.txt", libraryPath));
}

CompiledProgram::CompiledProgram(ModuleOp module) { compileAndLoad(module); }

CompiledProgram::CompiledProgram(const std::string &path) {
  MLIRContext context;
  DialectRegistry registry;
  registerDialects(registry);
  context.appendDialectRegistry(registry);
  if (auto module = parseSourceFile<ModuleOp>(path, &context))
    compileAndLoad(*module);
  else
    message = "cannot parse " + path;
}

void CompiledProgram::compileAndLoad(ModuleOp module) {
  llvm::SmallString<128> libraryPath;
  llvm::sys::fs::createTemporaryFile("p3d-program", "so", libraryPath);
  ScopedDiagnosticHandler diagnostics(module.getContext(), [&](Diagnostic &diagnostic) {
    message += diagnostic.str() + "\n";
    return success();
  });
  if (compile(module, libraryPath.str().str())) {
    library = dlopen(libraryPath.c_str(), RTLD_NOW);
    if (!library)
      message = dlerror();
  }
  llvm::sys::fs::remove(libraryPath);
  if (!library)
    return;
  tasks = static_cast<const p3d_task *>(dlsym(library, "p3d_tasks"));
  text = *llvm::json::parse(static_cast<const char *>(dlsym(library, "p3d_program")));
  size_t bytes = *description().getInteger("arena_bytes");
  arena = static_cast<char *>(std::aligned_alloc(64, bytes));
  std::memset(arena, 0xff, bytes); // NaN wherever something is read before it is written
}

CompiledProgram::~CompiledProgram() {
  std::free(arena);
  if (library)
    dlclose(library);
}

const llvm::json::Object *CompiledProgram::entry(llvm::StringRef list, llvm::StringRef name) const {
  for (const llvm::json::Value &value : *description().getArray(list))
    if (value.getAsObject()->getString("name") == name)
      return value.getAsObject();
  return nullptr;
}

void CompiledProgram::runStep() {
  const llvm::json::Object &zero = *description().getObject("zero");
  std::memset(arena + *zero.getInteger("offset"), 0, *zero.getInteger("bytes"));
  for (const llvm::json::Value &action : *description().getArray("order")) {
    const llvm::json::Array &triple = *action.getAsArray();
    tasks[*triple[0].getAsInteger()](nullptr, arena, *triple[1].getAsInteger(), *triple[2].getAsInteger());
  }
}

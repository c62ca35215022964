// p3d-model: the training loss of a Hugging Face config.json as StableHLO text.
#include "dialects/StableHLO/StableHLO.h"
#include "frontend/model/Families.h"
#include "frontend/model/WriteModel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace llvm;
using namespace p3d;

namespace {
// not messages: what --help says
cl::OptionCategory category("p3d-model options");
cl::opt<std::string> configFile(cl::Positional, cl::Required, cl::desc("CONFIG.json"), cl::cat(category));
cl::opt<int64_t> batch("batch", cl::Required, cl::desc("sequences of a batch"), cl::value_desc("B"), cl::cat(category));
cl::opt<int64_t> sequence("seq", cl::Required, cl::desc("tokens of a sequence"), cl::value_desc("S"),
                          cl::cat(category));
enum class ElementKind { F32, Bf16 };
cl::opt<ElementKind>
    element("dtype", cl::desc("type of parameters and activations"), cl::init(ElementKind::F32), cl::cat(category),
            cl::values(clEnumValN(ElementKind::F32, "f32", "everything in f32 (default)"),
                       clEnumValN(ElementKind::Bf16, "bf16", "sums, norms, softmax and the loss stay f32")));
cl::opt<bool> scan("scan", cl::desc("layers as a loop over stacked parameters"), cl::cat(category));
cl::opt<std::string> outputFile("o", cl::desc("StableHLO text"), cl::value_desc("MODEL.mlir"), cl::init("-"),
                                cl::cat(category));

int complain(const Twine &place, StringRef text) {
  SmallVector<StringRef> lines;
  text.split(lines, '\n');
  for (StringRef line : lines)
    errs() << place << ": error: " << line << "\n";
  return 1;
}

int write(const model::Decoder &decoder) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mlir::func::FuncDialect, stablehlo::StableHLODialect, chlo::ChloDialect>();
  mlir::Builder builder(&context);
  mlir::Type type = element == ElementKind::F32 ? mlir::Type(builder.getF32Type()) : builder.getBF16Type();
  auto module = model::writeModel(&context, decoder, {batch, sequence, type}, scan);
  assert(mlir::succeeded(mlir::verify(*module)));
  std::string error;
  auto file = mlir::openOutputFile(outputFile, &error);
  if (!file)
    return complain("p3d-model", error);
  module->print(file->os(), mlir::OpPrintingFlags().enableDebugInfo());
  file->os() << "\n";
  file->os().flush();
  if (file->os().has_error()) {
    complain(outputFile, file->os().error().message());
    file->os().clear_error();
    return 1;
  }
  file->keep();
  if (outputFile != "-")
    outs() << outputFile << ": " << decoder.layerCount << " layers, " << model::parameterCount(decoder)
           << " parameters, batch " << batch << " x " << sequence << " tokens\n";
  return 0;
}
} // namespace

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  auto names = map_range(model::families(), [](const model::Family &family) { return family.modelType; });
  // not messages: what --help says
  std::string overview =
      "the training loss of a Hugging Face config.json (" + join(names, ", ") + ") as StableHLO text\n";
  cl::ParseCommandLineOptions(argc, argv, overview);

  for (auto *flag : {&batch, &sequence})
    if (*flag < 1 || *flag > INT32_MAX)
      return complain("p3d-model",
                      ("--" + flag->ArgStr + "=" + Twine(*flag) + " is out of range; expected 1 to 2147483647").str());
  auto text = MemoryBuffer::getFile(configFile);
  if (!text)
    return complain(configFile, text.getError().message());
  std::vector<std::string> notes;
  auto decoder = model::readConfig((*text)->getBuffer(), sequence, notes);
  if (!decoder)
    return complain(configFile, toString(decoder.takeError()));
  for (const std::string &note : notes)
    errs() << configFile << ": note: " << note << "\n";
  return write(**decoder);
}

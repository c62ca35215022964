// p3d-model: the training loss of a Hugging Face config.json as StableHLO text, and its weights under the names of either side.
#include "compiler/tools/ConvertWeights.h"
#include "dialects/StableHLO/StableHLO.h"
#include "frontend/model/Families.h"
#include "frontend/model/WriteModel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Support/FileUtilities.h"
#include "runtime/include/p3d/units.h"
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
cl::opt<std::string> configFile(cl::Positional, cl::desc("[CONFIG.json]"), cl::cat(category));
cl::opt<int64_t> batch("batch", cl::desc("sequences of a batch"), cl::value_desc("B"), cl::cat(category));
cl::opt<int64_t> sequence("seq", cl::desc("tokens of a sequence"), cl::value_desc("S"), cl::cat(category));
enum class ElementKind { F32, Bf16, F16 };
cl::opt<ElementKind>
    element("dtype", cl::desc("type of parameters and activations; of the weights of --map (as they are)"), cl::init(ElementKind::F32), cl::cat(category),
            cl::values(clEnumValN(ElementKind::F32, "f32", "everything in f32 (default)"),
                       clEnumValN(ElementKind::Bf16, "bf16", "sums, norms, softmax and the loss stay f32"),
                       clEnumValN(ElementKind::F16, "f16", "as bf16; p3d-run then scales the loss")));
cl::opt<bool> scan("scan", cl::desc("layers as a loop over stacked parameters"), cl::cat(category));
cl::opt<std::string> outputFile("o", cl::desc("StableHLO text, or the weights of --map"), cl::value_desc("FILE"), cl::init("-"),
                                cl::cat(category));
cl::opt<std::string> mapped("map", cl::desc("convert weights instead, from Hugging Face's names to the model's parameters or back, as the names of "
                                            "the file say; a file or an index of several; with its config.json all of it is compared"),
                            cl::value_desc("IN.safetensors[,CONFIG.json]"), cl::cat(category));
cl::opt<std::string> shardSize("shard-size", cl::desc("size of files above which --map writes several and an index (5GiB)"),
                               cl::value_desc("BYTES"), cl::init("5GiB"), cl::cat(category));

int complain(const Twine &place, StringRef text) {
  SmallVector<StringRef> lines;
  text.split(lines, '\n');
  for (StringRef line : lines)
    errs() << place << ": error: " << line << "\n";
  return 1;
}

mlir::Type elementType(mlir::Builder builder) {
  switch (element) {
  case ElementKind::F32:
    return builder.getF32Type();
  case ElementKind::Bf16:
    return builder.getBF16Type();
  case ElementKind::F16:
    return builder.getF16Type();
  }
  llvm_unreachable("a value that --dtype does not list");
}

int write(const model::Decoder &decoder) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mlir::func::FuncDialect, stablehlo::StableHLODialect, chlo::ChloDialect>();
  auto module = model::writeModel(&context, decoder, {batch, sequence, elementType(mlir::Builder(&context))}, scan);
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

/// The weights of --map.
int convert() {
  for (cl::Option *flag : {(cl::Option *)&batch, (cl::Option *)&sequence, (cl::Option *)&configFile})
    if (flag->getNumOccurrences() > 0)
      return complain("p3d-model", "--map takes no " + (flag == &configFile ? std::string("CONFIG.json but behind a comma, --map=IN,CONFIG.json") : "--" + flag->ArgStr.str()));
  if (outputFile == "-")
    return complain("p3d-model", "--map needs the name of a file to write, -o OUT.safetensors");
  std::optional<double> bytes = parseBytes(shardSize);
  if (!bytes || *bytes < 1 || *bytes > 1e18)
    return complain("p3d-model", "--shard-size=" + shardSize + ": expected a size such as 5GiB");
  auto [input, config] = StringRef(mapped).split(',');
  std::string dtype;
  if (element.getNumOccurrences() > 0)
    dtype = element == ElementKind::F32 ? "f32" : element == ElementKind::Bf16 ? "bf16" : "f16";
  return tools::convertWeights({input.str(), config.str(), outputFile, dtype, scan, int64_t(*bytes)});
}

/// The flags of a model; empty if they are fine.
std::string checkModelFlags() {
  if (configFile.empty())
    return "which model? give a CONFIG.json, or weights with --map";
  for (auto *flag : {&batch, &sequence}) {
    if (flag->getNumOccurrences() == 0)
      return ("--" + flag->ArgStr + "=N is missing").str();
    if (*flag < 1 || *flag > INT32_MAX)
      return ("--" + flag->ArgStr + "=" + Twine(*flag) + " is out of range; expected 1 to 2147483647").str();
  }
  if (shardSize.getNumOccurrences() > 0)
    return "--shard-size has no effect without --map";
  return "";
}
} // namespace

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  auto names = map_range(model::families(), [](const model::Family &family) { return family.modelType; });
  // not messages: what --help says
  std::string overview =
      "the training loss of a Hugging Face config.json (" + join(names, ", ") + ") as StableHLO text, or its weights\n";
  cl::ParseCommandLineOptions(argc, argv, overview);

  if (mapped.getNumOccurrences() > 0)
    return convert();
  if (std::string fault = checkModelFlags(); !fault.empty())
    return complain("p3d-model", fault);
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

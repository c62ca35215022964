#include "compiler/PlanOption.h"
#include "passes/Support/JsonFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace p3d;
using llvm::formatv;
namespace json = llvm::json;

namespace {
constexpr llvm::StringRef kFields[] = {"version", "model", "mesh", "rank_order", "microbatches", "stages", "schedule", "order", "chunks", "zero", "recompute", "classes", "sharding"};

class Reader {
public:
  explicit Reader(llvm::StringRef path) : path(path) {}

  llvm::Expected<PlannedFlags> run() {
    llvm::Expected<json::Object> read = readJsonObject(path, "a plan.json as p3dc writes it");
    if (!read)
      return fail(llvm::toString(read.takeError()));
    plan = std::move(*read);
    for (auto &[key, field] : plan)
      if (!llvm::is_contained(kFields, llvm::StringRef(key)))
        return fail(formatv("field \"{0}\" is unknown; a plan has {1}", key.str(), llvm::join(llvm::ArrayRef(kFields), ", ")));
    if (plan.getInteger("version") != 1)
      return fail("expected \"version\": 1");
    PlannedFlags flags;
    if (llvm::Error error = readMesh(flags.mesh))
      return std::move(error);
    if (llvm::Error error = readText("rank_order", flags.rankOrder))
      return std::move(error);
    if (llvm::Error error = readText("schedule", flags.schedule))
      return std::move(error);
    if (llvm::Error error = readText("recompute", flags.recompute))
      return std::move(error);
    if (llvm::Error error = readOrder(flags.order))
      return std::move(error);
    if (llvm::Error error = readNumbers("microbatches", flags.microbatches))
      return std::move(error);
    if (llvm::Error error = readNumbers("stages", flags.stages))
      return std::move(error);
    if (llvm::Error error = readNumbers("chunks", flags.chunks))
      return std::move(error);
    if (llvm::Error error = readNumbers("zero", flags.zero))
      return std::move(error);
    return flags;
  }

private:
  llvm::Error fail(const llvm::Twine &text) const { return llvm::createStringError("--plan=" + path + ": " + text); }

  llvm::Error readMesh(std::string &flag) const {
    const json::Value *value = plan.get("mesh");
    const json::Object *mesh = value ? value->getAsObject() : nullptr;
    if (!value)
      return llvm::Error::success();
    llvm::SmallVector<std::string> axes;
    for (llvm::StringRef axis : {"tp", "pp", "dp"})
      if (std::optional<int64_t> size = mesh ? mesh->getInteger(axis) : std::nullopt)
        axes.push_back(formatv("{0}={1}", axis, *size));
    if (!mesh || axes.size() != mesh->size() || axes.empty())
      return fail("expected \"mesh\": {\"tp\": 4, \"pp\": 4, \"dp\": 2}");
    flag = llvm::join(axes, ",");
    return llvm::Error::success();
  }

  llvm::Error readText(llvm::StringRef field, std::string &flag) const {
    const json::Value *value = plan.get(field);
    if (value && !value->getAsString())
      return fail(formatv("field \"{0}\" is no text", field));
    flag = value ? value->getAsString()->str() : "";
    return llvm::Error::success();
  }

  /// The actions of each stage, as the lines of a schedule's text.
  llvm::Error readOrder(std::string &text) const {
    const json::Value *value = plan.get("order");
    json::Array none;
    for (const json::Value &line : value && value->getAsArray() ? *value->getAsArray() : none)
      if (auto actions = line.getAsString())
        text += actions->str() + "\n";
    if (value && (!value->getAsArray() || size_t(llvm::StringRef(text).count('\n')) != value->getAsArray()->size()))
      return fail("field \"order\" is no list with a text of actions for each stage");
    return llvm::Error::success();
  }

  /// A whole number, or a list of them.
  llvm::Error readNumbers(llvm::StringRef field, std::string &flag) const {
    const json::Value *value = plan.get(field);
    if (!value)
      return llvm::Error::success();
    json::Array one{*value};
    llvm::SmallVector<std::string> numbers;
    for (const json::Value &number : value->getAsArray() ? *value->getAsArray() : one) {
      if (!number.getAsInteger())
        return fail(formatv("field \"{0}\": {1} is no whole number", field, number));
      numbers.push_back(std::to_string(*number.getAsInteger()));
    }
    flag = llvm::join(numbers, ",");
    return llvm::Error::success();
  }

  llvm::StringRef path;
  json::Object plan;
};
} // namespace

llvm::Expected<PlannedFlags> p3d::readPlannedFlags(llvm::StringRef path) { return Reader(path).run(); }

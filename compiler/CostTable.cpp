#include "compiler/CostTable.h"
#include "passes/Support/JsonFile.h"
#include "llvm/Support/FormatVariadic.h"

using namespace p3d;
namespace json = llvm::json;

namespace {
class Reader {
public:
  Reader(llvm::StringRef path, int64_t stages) : path(path), stages(stages) {}

  llvm::Expected<CostTable> run() {
    llvm::Expected<json::Object> table =
        readJsonObject(path, "{\"F\": 0.018, \"B\": 0.018, \"W\": 0.009, \"comm\": 0.0006}, in seconds");
    if (!table)
      return fail(llvm::toString(table.takeError()));
    CostTable costs;
    std::vector<double> communication;
    struct Field {
      llvm::StringLiteral name;
      std::vector<double> &numbers;
    };
    Field fields[] = {
        {"F", costs.forward}, {"B", costs.backward}, {"W", costs.weightGradient}, {"comm", communication}};
    for (auto &[name, ignored] : *table)
      if (llvm::none_of(fields, [&, key = llvm::StringRef(name)](const Field &field) { return field.name == key; }))
        return fail(llvm::formatv("field \"{0}\" is unknown; expected F, B, W and comm", name.str()));
    for (const Field &field : fields)
      if (llvm::Error error = read(*table, field.name, field.numbers))
        return std::move(error);
    costs.communication = communication.front();
    return costs;
  }

private:
  llvm::Error fail(const llvm::Twine &text) const {
    return llvm::createStringError("--cost-table=" + path + ": " + text);
  }

  llvm::Error read(const json::Object &table, llvm::StringRef field, std::vector<double> &numbers) const {
    const json::Value *value = table.get(field);
    if (!value)
      return fail(llvm::formatv("has no field \"{0}\"; expected seconds", field));
    bool isTransfer = field == "comm";
    const json::Array *list = isTransfer ? nullptr : value->getAsArray();
    if (list && int64_t(list->size()) != stages)
      return fail(llvm::formatv("field \"{0}\" has {1} numbers, expected one, or {2} for the stages of the mesh", field,
                                list->size(), stages));
    json::Array one{*value};
    for (const json::Value &number : list ? *list : one) {
      std::optional<double> seconds = number.getAsNumber();
      // A transfer may be free; a task may not, or orders could not be told apart.
      if (!seconds || *seconds < 0 || (!isTransfer && *seconds == 0))
        return fail(llvm::formatv("field \"{0}\" is {1}, expected seconds {2}", field, number,
                                  isTransfer ? "of at least 0" : "above 0"));
      numbers.push_back(*seconds);
    }
    return llvm::Error::success();
  }

  llvm::StringRef path;
  int64_t stages;
};
} // namespace

ScheduleCosts CostTable::costsOf(int64_t stages, int64_t chunks) const {
  ScheduleCosts costs{{}, communication};
  auto at = [](const std::vector<double> &numbers, int64_t stage) { return numbers[numbers.size() == 1 ? 0 : stage]; };
  for (int64_t stage = 0; stage < stages; ++stage) {
    TaskCosts chunk{at(forward, stage) / chunks, at(backward, stage) / chunks, at(weightGradient, stage) / chunks};
    costs.tasks.emplace_back(chunks, chunk);
  }
  return costs;
}

llvm::Expected<CostTable> p3d::readCostTable(llvm::StringRef path, int64_t stages) {
  return Reader(path, stages).run();
}

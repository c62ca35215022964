#include "frontend/model/ConfigFields.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatAdapters.h"
#include "llvm/Support/FormatVariadic.h"

using namespace p3d::model;
using llvm::StringRef;

const llvm::json::Value *ConfigFields::find(StringRef name) {
  known.insert(name);
  const llvm::json::Value *value = object.get(name);
  return value && !value->getAsNull() ? value : nullptr;
}

bool ConfigFields::has(StringRef name) const {
  const llvm::json::Value *value = object.get(name);
  return value && !value->getAsNull();
}

std::string ConfigFields::found(StringRef name) const {
  if (!has(name))
    return "nothing";
  const llvm::json::Value &value = *object.get(name);
  // JSON's own printer gives 0.1 seventeen digits.
  bool isFraction = value.kind() == llvm::json::Value::Number && !value.getAsInteger();
  return isFraction ? llvm::formatv("{0}", llvm::format("%g", *value.getAsNumber())).str()
                    : llvm::formatv("{0}", value).str();
}

void ConfigFields::complain(StringRef name, const llvm::Twine &expected) {
  complaints.push_back(("'" + prefix + name + "': found " + found(name) + ", expected " + expected).str());
}

void ConfigFields::note(StringRef name, const llvm::Twine &text) {
  noted.push_back(("'" + prefix + name + "' is " + found(name) + "; " + text).str());
}

int64_t ConfigFields::count(StringRef name, std::optional<int64_t> otherwise) {
  const llvm::json::Value *value = find(name);
  if (!value && otherwise)
    return *otherwise;
  std::optional<int64_t> number = value ? value->getAsInteger() : std::nullopt;
  constexpr int64_t kLargest = int64_t(1) << 31;
  if (number && *number > 0 && *number < kLargest)
    return *number;
  complain(name, "a whole number from 1 to 2147483647");
  return 1;
}

double ConfigFields::number(StringRef name, double otherwise) {
  const llvm::json::Value *value = find(name);
  std::optional<double> number = value ? value->getAsNumber() : otherwise;
  if (!number)
    complain(name, "a number");
  return number.value_or(otherwise);
}

bool ConfigFields::flag(StringRef name, bool otherwise) {
  const llvm::json::Value *value = find(name);
  std::optional<bool> flag = value ? value->getAsBoolean() : otherwise;
  if (!flag)
    complain(name, "true or false");
  return flag.value_or(otherwise);
}

std::string ConfigFields::text(StringRef name, StringRef otherwise) {
  const llvm::json::Value *value = find(name);
  std::optional<StringRef> text = value ? value->getAsString() : otherwise;
  if (!text)
    complain(name, "a text");
  return text.value_or(otherwise).str();
}

const llvm::json::Object *ConfigFields::nested(StringRef name) {
  const llvm::json::Value *value = find(name);
  if (value && !value->getAsObject())
    complain(name, "an object {...}");
  return value ? value->getAsObject() : nullptr;
}

void ConfigFields::mustBe(StringRef name, const llvm::json::Value &expected, StringRef remedy) {
  const llvm::json::Value *value = find(name);
  if (value && *value != expected)
    complain(name, llvm::formatv("{0}; {1}", expected, remedy).str());
}

void ConfigFields::withoutDropout(StringRef name, double otherwise) {
  if (number(name, otherwise) != 0 && has(name))
    note(name, "the loss is written without dropout");
}

void ConfigFields::ignore(llvm::ArrayRef<StringRef> names) {
  for (StringRef name : names)
    known.insert(name);
}

void ConfigFields::complainOfUnknown(StringRef modelType) {
  // An object of JSON has no order of its own.
  std::vector<StringRef> names;
  for (const auto &field : object)
    if (!known.contains(field.first))
      names.push_back(field.first);
  llvm::sort(names);
  for (StringRef name : names)
    complaints.push_back(llvm::formatv(
        "'{0}{1}' is no field that p3d-model knows of \"{2}\"; remove it if the loss does not depend on it", prefix,
        name, modelType));
}

void ConfigFields::join(ConfigFields &other, StringRef modelType) {
  other.complainOfUnknown(modelType);
  llvm::append_range(complaints, other.complaints);
  llvm::append_range(noted, other.noted);
}

llvm::Error ConfigFields::takeError(StringRef modelType) {
  complainOfUnknown(modelType);
  if (complaints.empty())
    return llvm::Error::success();
  return llvm::createStringError(llvm::inconvertibleErrorCode(), llvm::join(complaints, "\n"));
}

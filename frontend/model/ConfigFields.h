// The fields of a config.json, each of which is read, known to be no part of the loss, or refused by name.
#pragma once

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <optional>

namespace p3d::model {

/// Reads a JSON object field by field and gathers what is wrong with it. `null` counts as absent, as in Hugging Face. A
/// complaint names the field, what was found, what was expected, and what to do.
class ConfigFields {
public:
  explicit ConfigFields(const llvm::json::Object &object, llvm::StringRef prefix = "")
      : object(object), prefix(prefix) {}

  bool has(llvm::StringRef name) const;
  /// A positive integer; without `otherwise` the field has to be there. 1 where that is refused.
  int64_t count(llvm::StringRef name, std::optional<int64_t> otherwise = std::nullopt);
  double number(llvm::StringRef name, double otherwise);
  bool flag(llvm::StringRef name, bool otherwise);
  std::string text(llvm::StringRef name, llvm::StringRef otherwise);
  /// The field as an object; null where it is absent.
  const llvm::json::Object *nested(llvm::StringRef name);

  /// The field is absent or `expected`, or it is refused; `remedy` says what to do.
  void mustBe(llvm::StringRef name, const llvm::json::Value &expected, llvm::StringRef remedy);
  /// A probability of dropping values, which the loss is written without.
  void withoutDropout(llvm::StringRef name, double otherwise);
  /// Fields that do not change the loss.
  void ignore(llvm::ArrayRef<llvm::StringRef> names);

  void complain(llvm::StringRef name, const llvm::Twine &expected);
  void note(llvm::StringRef name, const llvm::Twine &text);

  /// What is wrong, one complaint a line, fields that nobody asked for included.
  llvm::Error takeError(llvm::StringRef modelType);
  llvm::ArrayRef<std::string> notes() const { return noted; }
  /// Adds what `other`, an object within this one, complains of.
  void join(ConfigFields &other, llvm::StringRef modelType);

private:
  const llvm::json::Value *find(llvm::StringRef name);
  std::string found(llvm::StringRef name) const;
  void complainOfUnknown(llvm::StringRef modelType);

  const llvm::json::Object &object;
  std::string prefix;
  llvm::StringSet<> known;
  std::vector<std::string> complaints, noted;
};

} // namespace p3d::model

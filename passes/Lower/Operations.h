// Names of communication, as messages at run time give them; one table for all programs of a module.
#pragma once

#include "llvm/ADT/MapVector.h"
#include <string>

namespace p3d::lower {

class OperationNames {
public:
  int64_t number(const std::string &name) {
    auto [entry, isNew] = numbers.try_emplace(name, static_cast<int64_t>(numbers.size()));
    return entry->second;
  }
  auto begin() const { return numbers.begin(); }
  auto end() const { return numbers.end(); }

private:
  llvm::MapVector<std::string, int64_t, std::map<std::string, unsigned>> numbers;
};

} // namespace p3d::lower

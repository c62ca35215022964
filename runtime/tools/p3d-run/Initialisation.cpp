#include "runtime/tools/p3d-run/Initialisation.h"
#include "runtime/Data/MappedFile.h"
#include "runtime/Error.h"
#include "runtime/Train/Parameters.h"
#include <nlohmann/json.hpp>
#include <regex>

namespace p3d {
namespace {
using nlohmann::json;

struct Rule {
  std::string pattern;
  std::regex regex;
  Init init;
  bool holds = false; ///< for a parameter
};

Init readInit(const std::string &path, const json &rule) {
  Init init;
  std::optional<InitKind> kind;
  if (rule.contains("kind") && rule["kind"].is_string())
    kind = parseInitKind(rule["kind"].get<std::string>());
  if (!kind)
    userError("{}: rule {}: expected a \"kind\" of normal, uniform, zeros, ones", path, rule.dump());
  init.kind = *kind;
  bool isRandom = init.kind == InitKind::Normal || init.kind == InitKind::Uniform;
  bool hasStd = rule.contains("std") && rule["std"].is_number() && rule["std"].get<double>() > 0;
  if (isRandom && !hasStd)
    userError("{}: rule {}: expected an \"std\" above 0", path, rule.dump());
  if (isRandom)
    init.std = rule["std"];
  for (const auto &[field, value] : rule.items())
    if (field != "pattern" && field != "kind" && !(isRandom && field == "std"))
      userError("{}: rule {}: has no use for \"{}\"; remove it", path, rule.dump(), field);
  return init;
}

Rule readRule(const std::string &path, const json &rule) {
  if (!rule.is_object() || !rule.contains("pattern") || !rule["pattern"].is_string())
    userError("{}: rule {}: expected an object with a \"pattern\" of names", path, rule.dump());
  std::string pattern = rule["pattern"];
  try {
    return {pattern, std::regex(pattern), readInit(path, rule)};
  } catch (const std::regex_error &error) {
    userError("{}: pattern {} is no regular expression: {}", path, pattern, error.what());
  }
}

std::vector<Rule> readRules(const std::string &path) {
  MappedFile file(path);
  json list;
  try {
    list = json::parse(file.data(), file.data() + file.size());
  } catch (const json::parse_error &error) {
    userError("{}: rules are not JSON at offset {}", path, error.byte);
  }
  if (!list.is_array())
    userError("{}: expected a list of rules, [{{\"pattern\": \".*weight\", \"kind\": \"normal\", \"std\": 0.02}}, ...]", path);
  std::vector<Rule> rules;
  for (const json &rule : list)
    rules.push_back(readRule(path, rule));
  return rules;
}
} // namespace

std::map<std::string, Init> readInitialisation(const std::string &path, const Build &build) {
  std::vector<Rule> rules = readRules(path);
  std::map<std::string, Init> inits;
  for (const Program *program : build.distinctPrograms())
    for (const Param &param : program->params)
      for (Rule &rule : rules)
        if (isStored(param) && std::regex_match(param.name, rule.regex)) {
          inits[param.name] = rule.init;
          rule.holds = true;
          break;
        }
  std::vector<TensorSpec> names = wholeTensors(build.distinctPrograms(), {&parameterTensors});
  for (const Rule &rule : rules)
    if (!rule.holds)
      userError("{}: pattern {} fits no parameter that is left to it by those before; patterns are of whole names, as {}", path, rule.pattern,
                names.empty() ? "params.w" : names.front().name);
  return inits;
}

void printInitialisation(const Build &build, const std::map<std::string, Init> &rules) {
  std::map<std::string, std::string> lines;
  for (const Program *program : build.distinctPrograms())
    for (const Param &param : program->params) {
      auto rule = rules.find(param.name);
      const Init &init = rule == rules.end() ? param.init : rule->second;
      if (!isStored(param) || init.kind == InitKind::None)
        continue;
      bool isRandom = init.kind == InitKind::Normal || init.kind == InitKind::Uniform;
      lines[param.name] = initKindName(init.kind) + (isRandom ? fmt::format(", std {:.6g}", init.std) : std::string());
    }
  for (const auto &[name, text] : lines)
    fmt::print(stderr, "initialise {}: {}\n", name, text);
}

} // namespace p3d

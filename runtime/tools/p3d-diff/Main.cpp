// p3d-diff: compares the tensors of two safetensors files by name.
#include "runtime/DType.h"
#include "runtime/Data/Safetensors.h"
#include "runtime/Error.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

using namespace p3d;

struct Tolerance {
  double relative = -1, absolute = 0;
};

/// The flags: what --help says and what they set.
static const struct {
  const char *name, *value, *help;
  double Tolerance::*target;
} flags[] = {
    // not messages: what --help says
    {"rtol", "X", "allowed difference relative to the tensor of B (required)",
     &Tolerance::relative},
    {"atol", "X", "allowed difference of an element on top (0)",
     &Tolerance::absolute},
};

// not messages: what --help says
static std::string helpText() {
  std::string text =
      "usage: p3d-diff A.safetensors B.safetensors --rtol=X [--atol=Y]\n\n"
      "Compares every tensor of A with the tensor of the same name in B. The "
      "difference of\na tensor is the Frobenius norm of A - B relative to that "
      "of B. A tensor passes if\nnorm(A - B) <= rtol * norm(B) + atol * "
      "sqrt(elements). Prints the worst tensors;\nexit code 1 if any fails or "
      "is missing in B.\n\n";
  for (const auto &flag : flags)
    text += fmt::format("  --{}={}\n        {}\n", flag.name, flag.value,
                        flag.help);
  return text + "  --help\n        this text\n";
}

struct Comparison {
  std::string name;
  double difference, reference, relative;
  bool passes;
};

static double element(const TensorView &view, int64_t index) {
  int64_t bytes = info(view.dtype).bytes;
  char value[8] = {};
  std::memcpy(value, view.data + index * bytes, size_t(bytes));
  if (info(view.dtype).isFloat)
    return loadFloat(view.dtype, value, 0);
  // Little endian: the low bytes are the number; extend the sign by hand.
  int64_t number = 0;
  std::memcpy(&number, value, 8);
  bool isSigned =
      view.dtype == P3D_I8 || view.dtype == P3D_I16 || view.dtype == P3D_I32;
  int shift = int(64 - 8 * bytes);
  return isSigned ? double(int64_t(uint64_t(number) << shift) >> shift)
                  : double(number);
}

static Comparison compare(const std::string &name, const TensorView &a,
                          const TensorView &b, Tolerance tolerance) {
  int64_t count = a.bytes / info(a.dtype).bytes;
  double difference = 0, reference = 0;
  for (int64_t i = 0; i < count; ++i) {
    double x = element(a, i), y = element(b, i);
    // Equal infinities do not differ.
    difference += x == y ? 0 : (x - y) * (x - y);
    reference += y * y;
  }
  Comparison result{name, std::sqrt(difference), std::sqrt(reference), 0,
                    false};
  if (result.difference != 0)
    result.relative = result.difference / result.reference;
  // Written so that a NaN fails.
  double limit = tolerance.relative * result.reference +
                 tolerance.absolute * std::sqrt(double(count));
  result.passes = result.difference == 0 || result.difference <= limit;
  return result;
}

static int compareFiles(const std::string &pathA, const std::string &pathB,
                        Tolerance tolerance) {
  SafetensorsFile a(pathA), b(pathB);
  std::vector<Comparison> results;
  int missing = 0;
  for (const auto &[name, view] : a.tensors()) {
    const TensorView *other = b.find(name);
    if (!other) {
      fmt::print("{}: missing in {}\n", name, pathB);
      ++missing;
      continue;
    }
    if (other->shape != view.shape)
      userError("tensor {} has shape {} in {}, but shape {} in {}", name,
                shapeText(view.shape), pathA, shapeText(other->shape), pathB);
    results.push_back(compare(name, view, *other, tolerance));
  }
  if (results.empty() && missing == 0)
    userError("{}: has no tensors", pathA);
  // NaN first, then the largest; a comparison with NaN must stay an order.
  auto badness = [](const Comparison &c) {
    return std::isnan(c.relative) ? INFINITY : c.relative;
  };
  std::stable_sort(results.begin(), results.end(),
                   [&](const Comparison &x, const Comparison &y) {
                     return std::pair(x.passes, -badness(x)) <
                            std::pair(y.passes, -badness(y));
                   });
  int failed = 0, printed = 0;
  for (const Comparison &result : results) {
    failed += !result.passes;
    if (!result.passes || printed < 5) {
      fmt::print("{}: relative {:.3e}, absolute {:.3e}{}\n", result.name,
                 result.relative, result.difference,
                 result.passes ? "" : "  FAILS");
      ++printed;
    }
  }
  fmt::print("{} tensors compared, {} fail, {} missing\n", results.size(),
             failed, missing);
  return failed || missing ? 1 : 0;
}

/// Reads `argument`, a flag.
static void readFlag(const std::string &argument, Tolerance &tolerance) {
  size_t equals = std::min(argument.find('='), argument.size());
  for (const auto &flag : flags) {
    if (argument.substr(0, equals) != std::string("--") + flag.name)
      continue;
    double value = -1;
    const char *begin = argument.data() + std::min(equals + 1, argument.size());
    const char *end = argument.data() + argument.size();
    auto [stop, failed] = std::from_chars(begin, end, value);
    if (failed != std::errc() || stop != end || !(value >= 0))
      userError("{}: expected a number not below 0", argument);
    tolerance.*flag.target = value;
    return;
  }
  userError("unknown flag {} (--help lists all)", argument);
}

static int run(int argc, char **argv) {
  std::vector<std::string> files;
  Tolerance tolerance;
  for (const std::string &argument :
       std::vector<std::string>(argv + 1, argv + argc)) {
    if (argument == "--help" || argument == "-h") {
      fmt::print("{}", helpText());
      return 0;
    }
    if (argument.compare(0, 1, "-") == 0)
      readFlag(argument, tolerance);
    else
      files.push_back(argument);
  }
  if (files.size() != 2 || tolerance.relative < 0)
    userError("{} files are given, --rtol {}; usage: p3d-diff A.safetensors "
              "B.safetensors --rtol=X [--atol=Y]",
              files.size(), tolerance.relative < 0 ? "is not" : "is");
  return compareFiles(files[0], files[1], tolerance);
}

int main(int argc, char **argv) {
  try {
    return run(argc, argv);
  } catch (const Error &error) {
    fmt::print(stderr, "p3d-diff: error: {}\n", error.what());
    return int(error.code());
  }
}

// p3d-data: a file of tokens from text, one token a byte, with the header of llm.c.
#include "runtime/Data/MappedFile.h"
#include "runtime/Data/WholeFile.h"
#include "runtime/tools/FileArguments.h"
#include <cstring>

using namespace p3d;

static const char usage[] = "p3d-data TEXT... -o TOKENS.bin [--eval=TOKENS.bin]";

// not messages: what --help says
static const std::string help = fmt::format("usage: {}\n\n"
                                            "Writes the bytes of the texts as tokens 0 to 255 of 16 bits, behind the header of llm.c; a token 0\n"
                                            "ends each text. Train on it with p3d-run --data=TOKENS.bin.\n\n"
                                            "  --eval=TOKENS.bin\n        the last tenth of each text goes into this file, for --eval-data\n"
                                            "  --help\n        this text\n",
                                            usage);

namespace {
/// Tokens behind their header.
class Tokens {
public:
  void add(const char *text, int64_t bytes) {
    for (int64_t i = 0; i < bytes; ++i)
      push(static_cast<unsigned char>(text[i]));
    push(0);
  }
  int64_t count() const { return int64_t(tokens.size()) / 2; }

  void write(const std::string &path) const {
    int32_t header[256] = {20240520, 1, int32_t(count())};
    writeWhole(path, std::string(reinterpret_cast<const char *>(header), sizeof(header)) + tokens);
    fmt::print("{}: {} tokens\n", path, count());
  }

private:
  void push(uint16_t token) { tokens.append(reinterpret_cast<const char *>(&token), sizeof(token)); }
  std::string tokens;
};
} // namespace

static int run(int argc, char **argv) {
  FileArguments arguments = readFileArguments(argc, argv, {"eval"}, usage);
  Tokens training, evaluation;
  bool splits = arguments.flags.count("eval") != 0;
  int64_t bytes = 0;
  for (const std::string &path : arguments.inputs) {
    MappedFile text(path);
    if (bytes += text.size() + 2; bytes > INT32_MAX)
      userError("{}: with it there are {} tokens, more than the header can say ({}); make several files", path, bytes, INT32_MAX);
    const void *zero = text.size() > 0 ? std::memchr(text.data(), 0, size_t(text.size())) : nullptr;
    if (text.size() == 0)
      userError("{}: is empty", path);
    if (zero)
      userError("{}: is no text: byte {} is 0, which ends a text", path, static_cast<const char *>(zero) - text.data());
    int64_t kept = splits ? text.size() - text.size() / 10 : text.size();
    training.add(text.data(), kept);
    if (kept < text.size())
      evaluation.add(text.data() + kept, text.size() - kept);
  }
  training.write(arguments.output);
  if (splits)
    evaluation.write(arguments.flags["eval"]);
  return 0;
}

int main(int argc, char **argv) {
  return runTool("p3d-data", argc, argv, help, [&] { return run(argc, argv); });
}

// Opens exported text so that the MLIR this project is built with can parse it.
#include "dialects/StableHLO/StableHLOText.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>

namespace p3d::stablehlo {

namespace {
/// A position in the text, with the few tokens that a location consists of.
class Scanner {
public:
  Scanner(llvm::MutableArrayRef<char> text) : text(text) {}

  bool atEnd() const { return position == text.size(); }
  void advance() { ++position; }

  bool isAt(llvm::StringRef token) const {
    return llvm::StringRef(text.data(), text.size()).substr(position).starts_with(token);
  }

  bool consume(llvm::StringRef token) {
    if (!isAt(token))
      return false;
    position += token.size();
    return true;
  }

  void skipSpace() { skipWhile([](char c) { return llvm::isSpace(c); }); }

  bool skipDigits() {
    size_t begin = position;
    skipWhile([](char c) { return llvm::isDigit(c); });
    return position != begin;
  }

  bool isAtLineStart() const { return position == 0 || text[position - 1] == '\n'; }

  void skipLine() { skipWhile([](char c) { return c != '\n'; }); }

  void blankLine() {
    size_t begin = position;
    skipLine();
    std::fill(text.begin() + begin, text.begin() + position, ' ');
  }

  /// Steps over a string literal, at whose opening quote the scanner stands.
  void skipString() {
    for (advance(); !atEnd() && !isAt("\"") && !isAt("\n"); advance())
      if (isAt("\\") && position + 1 < text.size())
        advance();
    if (isAt("\""))
      advance();
  }

  /// `:10:4` behind a file's name, then ` to 12:3` or ` to :3`, which is blanked.
  void blankRange() {
    if (!consume(":") || !skipDigits() || !consume(":") || !skipDigits())
      return;
    size_t begin = position;
    skipSpace();
    if (!consume("to"))
      return;
    skipSpace();
    skipDigits();
    if (!consume(":") || !skipDigits())
      return;
    std::fill(text.begin() + begin, text.begin() + position, ' ');
  }

private:
  template <typename Predicate> void skipWhile(Predicate predicate) {
    while (!atEnd() && predicate(text[position]))
      ++position;
  }

  llvm::MutableArrayRef<char> text;
  size_t position = 0;
};

/// Whether no editor would show this character: models are text, so it tells another kind of file.
bool isBinary(char c) { return (c >= 0 && c < ' ' && !llvm::isSpace(c)) || c == '\x7f'; }
} // namespace

void blankForeignText(llvm::MutableArrayRef<char> text) {
  Scanner scanner(text);
  while (!scanner.atEnd()) {
    if (scanner.isAt("\"")) {
      scanner.skipString();
      scanner.blankRange();
    } else if (scanner.isAtLineStart() && scanner.isAt("---")) {
      scanner.blankLine();
    } else if (scanner.isAt("//")) {
      scanner.skipLine();
    } else {
      scanner.advance();
    }
  }
}

std::unique_ptr<llvm::MemoryBuffer> openText(llvm::StringRef path, std::string *errorMessage) {
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(path);
  if (!file) {
    *errorMessage = "cannot open input file '" + path.str() + "': " + file.getError().message();
    return nullptr;
  }
  llvm::StringRef content = (*file)->getBuffer();
  if (content.starts_with("ML\xefR")) {
    *errorMessage = "input file '" + path.str() +
                    "' is MLIR bytecode, which cannot be read here; export text instead, in JAX by "
                    "jax.jit(f).lower(...).as_text()";
    return nullptr;
  }
  if (const char *binary = llvm::find_if(content, isBinary); binary != content.end()) {
    *errorMessage = "input file '" + path.str() + "' is no text: byte 0x" + llvm::utohexstr(uint8_t(*binary)) + " at offset " +
                    std::to_string(binary - content.begin()) + "; expected the StableHLO text of a loss function";
    return nullptr;
  }
  auto text = llvm::WritableMemoryBuffer::getNewUninitMemBuffer(content.size(), (*file)->getBufferIdentifier());
  llvm::copy(content, text->getBufferStart());
  blankForeignText(text->getBuffer());
  return text;
}

} // namespace p3d::stablehlo

// Linking in-process with LLD: the base object (start-up, runtime, kernels) and the emitted objects.
//
// LLD keeps global state and reads its inputs from files, so objects go through a temporary directory and links run one after the other.
#include "passes/Lower/EmitObject.h"
#include "lld/Common/Driver.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

LLD_HAS_DRIVER(elf)

using namespace mlir;
using namespace p3d::lower;
namespace sys = llvm::sys;

namespace {
/// LLD maps the file that it writes, so that a full disk is a signal there; here it is an error.
LogicalResult copyProgram(Location loc, StringRef from, StringRef to) {
  llvm::ErrorOr<sys::fs::perms> permissions = sys::fs::getPermissions(from);
  std::error_code error = permissions ? sys::fs::copy_file(from, to) : permissions.getError();
  if (!error)
    error = sys::fs::setPermissions(to, *permissions);
  if (error)
    return emitError(loc) << "cannot write " << to << ": " << error.message();
  return success();
}

/// The options and files of a link beside the objects: one word per line of `<libraryDir>/<linkFile>`, where ${lib} is libraryDir and ${objects} the place of
/// the objects.
FailureOr<std::vector<std::string>> linkWords(Location loc, StringRef libraryDir, StringRef linkFile, ArrayRef<std::string> objects) {
  std::string path = (libraryDir + "/" + linkFile).str();
  auto text = llvm::MemoryBuffer::getFile(path);
  if (!text) {
    emitError(loc) << "cannot read " << path << ": " << text.getError().message() << "; it belongs to the installation of p3dc, for --target=cuda to one that was built with the CUDA toolkit";
    return failure();
  }
  std::vector<std::string> words;
  SmallVector<StringRef> lines;
  (*text)->getBuffer().split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines) {
    line = line.trim();
    if (line == "${objects}")
      words.insert(words.end(), objects.begin(), objects.end());
    else if (line.consume_front("${lib}"))
      words.push_back((libraryDir + line).str());
    else
      words.push_back(line.str());
  }
  return words;
}
} // namespace

LogicalResult p3d::lower::writeFile(Location loc, StringRef path, StringRef bytes) {
  std::error_code error;
  llvm::raw_fd_ostream stream(path, error);
  if (!error)
    stream << bytes;
  stream.close();
  if (!error)
    error = stream.error();
  stream.clear_error();
  if (error)
    return emitError(loc) << "cannot write " << path << ": " << error.message();
  return success();
}

LogicalResult p3d::lower::linkExecutable(Location loc, ArrayRef<ObjectCode> objects, StringRef libraryDir, StringRef linkFile, StringRef path) {
  llvm::SmallString<128> directory;
  if (std::error_code error = sys::fs::createUniqueDirectory("p3dc", directory))
    return emitError(loc) << "cannot make a temporary directory: " << error.message();
  auto removeDirectory = llvm::make_scope_exit([&] { sys::fs::remove_directories(directory); });
  std::vector<std::string> files;
  for (auto [i, object] : llvm::enumerate(objects)) {
    files.push_back((directory + "/" + llvm::Twine(i) + ".o").str());
    if (failed(writeFile(loc, files.back(), StringRef(object.data(), object.size()))))
      return failure();
  }
  auto words = linkWords(loc, libraryDir, linkFile, files);
  if (failed(words))
    return failure();
  std::vector<const char *> arguments{"ld.lld", "-o"};
  std::string out = (directory + "/program").str();
  arguments.push_back(out.c_str());
  for (const std::string &word : *words)
    arguments.push_back(word.c_str());
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  lld::Result result = lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0)
    return emitError(loc) << "cannot link " << path << ": " << stream.str();
  return copyProgram(loc, out, path);
}

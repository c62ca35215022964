// Safetensors files as the interpreter reads them: every fault of a file is an error that names it.
#include "compiler/TensorFile.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

using namespace p3d;

namespace {
class TensorFileTest : public testing::Test {
protected:
  llvm::SmallString<128> path;

  void SetUp() override { ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("tensors", "safetensors", path)); }
  void TearDown() override { llvm::sys::fs::remove(path); }

  void write(llvm::StringRef bytes) {
    std::error_code error;
    llvm::raw_fd_ostream(path, error) << bytes;
  }
  /// What opening a file with this header and 8 bytes of data says, behind the name of the file.
  std::string fault(llvm::StringRef header, std::optional<uint64_t> length = std::nullopt) {
    char head[8];
    llvm::support::endian::write64le(head, length.value_or(header.size()));
    write(std::string(head, 8) + header.str() + "12345678");
    return faultOfFile();
  }
  std::string faultOfFile() {
    llvm::Expected<TensorFile> file = TensorFile::open(path);
    if (file)
      return "no error";
    std::string text = llvm::toString(file.takeError());
    llvm::StringRef rest = text;
    EXPECT_TRUE(rest.consume_front((path + ": ").str())) << text;
    return rest.str();
  }
};

TEST_F(TensorFileTest, FilesThatAreNone) {
  write("abc");
  EXPECT_EQ(faultOfFile(), "holds 3 bytes, expected at least the 8 of a safetensors header's length");
  EXPECT_EQ(fault("{}", 100), "header of 100 bytes at offset 8 ends beyond the file");
  EXPECT_EQ(fault("{}", ~0ull), "header of 18446744073709551615 bytes at offset 8 ends beyond the file");
  EXPECT_TRUE(llvm::StringRef(fault("{")).starts_with("header at offset 8 is no JSON: "));
  EXPECT_EQ(fault("[]"), "header at offset 8 is no JSON object");
}

TEST_F(TensorFileTest, DamagedTensors) {
  EXPECT_EQ(fault(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})"), "no error");
  EXPECT_EQ(fault(R"({"a":7})"), "tensor 'a' lacks dtype, shape or data_offsets");
  EXPECT_EQ(fault(R"({"a":{"dtype":"F8","shape":[2],"data_offsets":[0,8]}})"), "tensor 'a' has dtype F8, which is not read");
  EXPECT_EQ(fault(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})"), "tensor 'a' has a negative size in its shape");
  EXPECT_EQ(fault(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8]}})"),
            "tensor 'a' has a shape larger than the file");
  EXPECT_EQ(fault(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})"),
            "tensor 'a' has data offsets [4, 12), expected 8 bytes within the file");
}

TEST_F(TensorFileTest, ATensorThatIsNotThere) {
  EXPECT_EQ(fault("{}"), "no error");
  llvm::Expected<TensorFile> file = TensorFile::open(path);
  mlir::MLIRContext context;
  llvm::Expected<graph::Tensor> tensor = file->read("a", mlir::Float32Type::get(&context));
  ASSERT_FALSE(bool(tensor));
  EXPECT_EQ(llvm::toString(tensor.takeError()), "no tensor 'a' in the file");
}
} // namespace

// Good and damaged safetensors files: every fault names the file, the field and
// where.
#include "runtime/Data/Safetensors.h"
#include "runtime/DType.h"
#include "runtime/Error.h"
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <unistd.h>

using namespace p3d;
using testing::HasSubstr;

namespace {

class SafetensorsTest : public testing::Test {
protected:
  std::string path = (std::filesystem::temp_directory_path() /
                      fmt::format("p3d-safetensors-{}.safetensors", getpid()))
                         .string();

  void TearDown() override { std::filesystem::remove(path); }

  void write(const std::string &bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  void write(const std::string &header, size_t dataBytes) {
    uint64_t length = header.size();
    write(std::string(reinterpret_cast<const char *>(&length), 8) + header +
          std::string(dataBytes, '\1'));
  }
  /// The message that opening the file gives.
  std::string fault() {
    try {
      SafetensorsFile file(path);
    } catch (const Error &error) {
      EXPECT_EQ(error.code(), ExitCode::UserError);
      EXPECT_THAT(error.what(), HasSubstr(path));
      return error.what();
    }
    return "no error";
  }
};

TEST_F(SafetensorsTest, RoundTripOfEveryType) {
  std::vector<TensorSpec> specs;
  for (int dtype = P3D_F32; dtype <= P3D_UI16; ++dtype)
    specs.push_back({info(p3d_dtype(dtype)).name, p3d_dtype(dtype), {2, 3}});
  specs.push_back({"scalar", P3D_F32, {}});
  specs.push_back({"empty", P3D_F32, {0, 4}});
  int64_t bytes = 0;
  std::string text = safetensorsHeader(specs, bytes);
  text.resize(size_t(bytes), '\5');
  write(text);
  SafetensorsFile file(path);
  EXPECT_EQ(file.tensors().size(), specs.size());
  for (const TensorSpec &spec : specs) {
    const TensorView &view = file.expect(spec.name, spec.dtype, spec.shape);
    if (view.bytes > 0)
      EXPECT_EQ(view.data[view.bytes - 1], '\5');
  }
}

TEST_F(SafetensorsTest, MetadataIsNoTensor) {
  write(
      R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
      8);
  EXPECT_EQ(SafetensorsFile(path).tensors().size(), 1u);
}

TEST_F(SafetensorsTest, FilesThatAreNone) {
  write("abc");
  EXPECT_EQ(fault(), path + ": has 3 bytes, too short for a safetensors file");
  write(std::string(64, '\xff'));
  EXPECT_EQ(fault(), path + ": header length 18446744073709551615 at offset 0 "
                            "does not fit the file of 64 bytes; this is no "
                            "safetensors file, or it is damaged");
  write(R"({"a":{"dtype":"F32",)", 0);
  EXPECT_THAT(fault(), HasSubstr(": header is not JSON at offset 29: "));
  write(R"([1])", 0);
  EXPECT_EQ(fault(), path + ": header at offset 8 is no JSON object");
}

TEST_F(SafetensorsTest, DamagedTensors) {
  struct Case {
    const char *entry;
    size_t dataBytes;
    const char *message;
  };
  for (const Case &c : {
           Case{R"({"dtype":"F32","shape":[2]})", 8,
                "tensor a: field data_offsets is missing"},
           Case{R"(7)", 8, "tensor a: field dtype is missing"},
           Case{R"({"dtype":"F8","shape":[2],"data_offsets":[0,8]})", 8,
                "tensor a: dtype \"F8\" is not supported"},
           Case{R"({"dtype":"F32","shape":2,"data_offsets":[0,8]})", 8,
                "tensor a: shape is no list"},
           Case{R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})", 8,
                "tensor a: shape holds -2, expected a number not below 0"},
           Case{R"({"dtype":"F32","shape":[2],"data_offsets":8})", 8,
                "tensor a: data_offsets is 8, expected two numbers"},
           Case{R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})", 4,
                "tensor a: data_offsets [0, 8) are outside the 4 bytes of data "
                "that follow offset 62; the file may be cut short"},
           Case{R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})", 8,
                "tensor a: data_offsets [0, 8) hold 8 bytes, but F32 [3] needs "
                "12"},
           Case{R"({"dtype":"F32","shape":[2],"data_offsets":[4,12]})", 12,
                "tensor a begins at offset 67, expected 63: tensors overlap or "
                "leave a gap"},
           Case{R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})", 9,
                "1 bytes follow the last tensor at offset 70"},
           Case{
               R"({"dtype":"F64","shape":[4611686018427387904,4],"data_offsets":[0,8]})",
               8, "tensor a: shape [4611686018427387904,4] is too large"},
       }) {
    write(fmt::format(R"({{"a":{}}})", c.entry), c.dataBytes);
    EXPECT_EQ(fault(), path + ": " + c.message);
  }
  const char *tensor = R"({"dtype":"F32","shape":[2],"data_offsets":)";
  write(fmt::format(R"({{"a":{0}[0,8]}},"b":{0}[4,12]}}}})", tensor), 12);
  EXPECT_THAT(fault(), HasSubstr("tensor b begins at offset"));
  write(fmt::format(R"({{"a":{0}[0,8]}},"a":{0}[0,8]}}}})", tensor), 8);
  EXPECT_EQ(fault(), path + ": tensor a stands twice in the header");
}

TEST_F(SafetensorsTest, MissingAndMismatchedTensors) {
  write(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8);
  SafetensorsFile file(path);
  auto message = [&](const char *name, p3d_dtype dtype,
                     std::vector<int64_t> shape) -> std::string {
    try {
      file.expect(name, dtype, shape);
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message("b", P3D_F32, {2}),
            path + ": tensor b is missing; expected F32 [2]");
  EXPECT_EQ(message("a", P3D_BF16, {2}),
            path + ": tensor a has type F32 [2], expected BF16 [2]");
  EXPECT_EQ(message("a", P3D_F32, {2, 1}),
            path + ": tensor a has type F32 [2], expected F32 [2,1]");
}

TEST_F(SafetensorsTest, NoFile) {
  std::filesystem::remove(path);
  EXPECT_EQ(fault(), path + ": cannot be opened: No such file or directory");
  path = std::filesystem::temp_directory_path().string();
  EXPECT_EQ(fault(), path + ": is not a regular file");
  path = "unused";
}

TEST_F(SafetensorsTest, FileDescriptors) {
  write("abcdefgh");
  int readOnly = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  auto message = [](int fd) -> std::string {
    try {
      MappedFile(fd, "--export");
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message(readOnly), "--export: cannot be mapped: Permission denied");
  close(readOnly);
  EXPECT_EQ(message(readOnly), "--export: cannot be read: Bad file descriptor");
}

} // namespace

// Good and damaged safetensors files: every fault names the file, the field and
// where.
#include "runtime/Data/Safetensors.h"
#include "runtime/DType.h"
#include "runtime/Error.h"
#include <cstring>
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

TEST_F(SafetensorsTest, DamagedFiles) {
  write("abc");
  EXPECT_THAT(fault(), HasSubstr("has 3 bytes"));
  write(std::string(64, '\xff'));
  EXPECT_THAT(fault(), HasSubstr("header length"));
  write(R"({"a":{"dtype":"F32",)", 0);
  EXPECT_THAT(fault(), HasSubstr("is not JSON at offset"));
  write(R"([1])", 0);
  EXPECT_THAT(fault(), HasSubstr("no JSON object"));
  write(R"({"a":{"dtype":"F32","shape":[2]}})", 8);
  EXPECT_THAT(fault(), HasSubstr("field data_offsets is missing"));
  write(R"({"a":{"dtype":"F8","shape":[2],"data_offsets":[0,8]}})", 8);
  EXPECT_THAT(fault(), HasSubstr("dtype \"F8\" is not supported"));
  write(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8);
  EXPECT_THAT(fault(), HasSubstr("shape holds -2"));
  write(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 4);
  EXPECT_THAT(fault(), HasSubstr("cut short"));
  write(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8);
  EXPECT_THAT(fault(), HasSubstr("needs 12"));
  write(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 12);
  EXPECT_THAT(fault(), HasSubstr("gap"));
  write(
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
      12);
  EXPECT_THAT(fault(), HasSubstr("tensor b begins at offset"));
  write(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 9);
  EXPECT_THAT(fault(), HasSubstr("1 bytes follow the last tensor"));
  write(
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
      8);
  EXPECT_THAT(fault(), HasSubstr("stands twice"));
  write(
      R"({"a":{"dtype":"F64","shape":[4611686018427387904,4],"data_offsets":[0,8]}})",
      8);
  EXPECT_THAT(fault(), HasSubstr("too large"));
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
  EXPECT_THAT(message("b", P3D_F32, {2}), HasSubstr("tensor b is missing"));
  EXPECT_THAT(message("a", P3D_BF16, {2}),
              HasSubstr("is F32 [2], expected BF16 [2]"));
  EXPECT_THAT(message("a", P3D_F32, {2, 1}),
              HasSubstr("is F32 [2], expected F32 [2,1]"));
}

TEST_F(SafetensorsTest, NoFile) {
  std::filesystem::remove(path);
  EXPECT_THAT(fault(), HasSubstr("No such file"));
  path = std::filesystem::temp_directory_path().string();
  EXPECT_THAT(fault(), HasSubstr("not a regular file"));
  path = "unused";
}

} // namespace

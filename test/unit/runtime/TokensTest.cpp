// Files of tokens: which windows a batch has, what fills which input, and what is said of files that are none.
#include "runtime/Data/Batch.h"
#include "runtime/Data/TokenFile.h"
#include "runtime/Error.h"
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <unistd.h>

using namespace p3d;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

class Tokens : public testing::Test {
protected:
  std::string path = (std::filesystem::temp_directory_path() /
                      fmt::format("p3d-tokens-{}.bin", getpid()))
                         .string();
  Program program;
  DataOptions data;
  void SetUp() override {
    std::ofstream file(path, std::ios::binary);
    for (int32_t token = 0; token < 21; ++token) // five windows of 4
      file.write(reinterpret_cast<const char *>(&token), 4);
    program.mesh = {1, 1, 2};
    program.globalBatch = 2;
    program.inputs = {{"batch.tokens", P3D_I32, {2, 4}, 0, 0, 21},
                      {"batch.targets", P3D_I32, {2, 4}, 0, 64, 21},
                      {"batch.mask", P3D_F32, {2, 4}, 0, 128, 0}};
  }
  void TearDown() override { std::filesystem::remove(path); }
  std::string fault() {
    try {
      TokenFile(path, data).check(program);
    } catch (const Error &error) {
      return error.what();
    }
    return "no error";
  }
};

TEST_F(Tokens, WindowsFollowEachOther) {
  TokenFile file(path, data);
  file.check(program);
  alignas(8) char arena[256];
  auto ints = [&](int offset) {
    return std::vector<int32_t>(reinterpret_cast<int32_t *>(arena + offset),
                                reinterpret_cast<int32_t *>(arena + offset) +
                                    4);
  };
  auto fill = [&](Coordinates at, int64_t step) {
    for (const Input &input : program.inputs)
      file.fill(input, program, at, step, arena + input.offset);
  };
  fill({0, 0, 1}, 1);
  EXPECT_THAT(ints(0), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(ints(64), ElementsAre(5, 6, 7, 8));
  EXPECT_EQ(*reinterpret_cast<float *>(arena + 128), 1);
  fill({0, 0, 0}, 3);
  EXPECT_THAT(ints(0), ElementsAre(16, 17, 18, 19));
  fill({0, 0, 1}, 3);
  EXPECT_THAT(ints(0), ElementsAre(0, 1, 2, 3));
}

/// The first tokens of the windows of steps `first` to `last`, two a step.
std::vector<int32_t> starts(TokenFile &file, const Program &program, int64_t first, int64_t last) {
  std::vector<int32_t> found;
  alignas(8) char arena[256];
  for (int64_t step = first; step <= last; ++step)
    for (int dp : {0, 1}) {
      file.fill(program.inputs[0], program, {0, 0, dp}, step, arena);
      found.push_back(*reinterpret_cast<int32_t *>(arena));
    }
  return found;
}

TEST_F(Tokens, EachEpochDrawsEveryWindowOnce) {
  data.order = DataOrder::Shuffled;
  TokenFile file(path, data);
  std::vector<int32_t> drawn = starts(file, program, 1, 5), again = starts(file, program, 6, 10);
  auto epoch = [&](int first) { return std::vector<int32_t>(drawn.begin() + first, drawn.begin() + first + 5); };
  EXPECT_THAT(epoch(0), testing::UnorderedElementsAre(0, 4, 8, 12, 16));
  EXPECT_THAT(epoch(5), testing::UnorderedElementsAre(0, 4, 8, 12, 16));
  EXPECT_NE(drawn, again);
  EXPECT_EQ(starts(file, program, 3, 5), std::vector<int32_t>(drawn.begin() + 4, drawn.end())) << "a place follows from the step";
  data.seed = 1;
  TokenFile other(path, data);
  EXPECT_NE(starts(other, program, 1, 5), drawn);
  EXPECT_EQ(file.batches(program), 2);
}

TEST_F(Tokens, SixteenBitsAndHeaders) {
  auto write = [&](std::vector<int32_t> header, int bytes, int count) {
    std::ofstream file(path, std::ios::binary);
    if (!header.empty())
      header.resize(256);
    file.write(reinterpret_cast<const char *>(header.data()), std::streamsize(header.size() * 4));
    for (int32_t token = 0; token < count; ++token)
      file.write(reinterpret_cast<const char *>(&token), bytes);
  };
  auto read = [&] {
    TokenFile file(path, data);
    file.check(program);
    return starts(file, program, 2, 2);
  };
  write({20240520, 1, 21}, 2, 21);
  EXPECT_THAT(read(), ElementsAre(8, 12));
  write({20240801, 7, 21}, 4, 21);
  EXPECT_THAT(read(), ElementsAre(8, 12));
  write({20240520, 1, 22}, 2, 21);
  EXPECT_EQ(fault(), path + ": field count at offset 8 says 22 tokens of 16 bits, and 42 bytes follow the header; the file is damaged or cut short");
  write({20240520, 3, 21}, 2, 21);
  EXPECT_EQ(fault(), path + ": field version at offset 4 is 3, expected 1");
  data.type = TokenType::U16;
  EXPECT_EQ(fault(), path + ": has a header, which says that its tokens have 16 bits; leave --data-type out");
  write({}, 2, 21);
  EXPECT_THAT(read(), ElementsAre(8, 12));
  std::ofstream(path, std::ios::app) << "x";
  EXPECT_EQ(fault(), path + ": 43 bytes are no whole number of u16 tokens");
}

// A damaged bit of each part of a file with a header is found, with its place.
TEST_F(Tokens, DamageIsFound) {
  constexpr int tokens = 21;
  std::vector<int32_t> header = {20240520, 1, tokens};
  header.resize(256);
  auto damaged = [&](size_t at, int bit, int appended = 0) {
    std::string file(reinterpret_cast<const char *>(header.data()), header.size() * 4);
    for (uint16_t token = 0; token < tokens; ++token)
      file.append(reinterpret_cast<const char *>(&token), 2);
    file[at] = char(file[at] ^ (1 << bit));
    file.resize(file.size() + size_t(appended), 0);
    std::ofstream(path, std::ios::binary) << file;
    return fault();
  };
  program.inputs[0].indexLimit = 32;
  // Without its mark it is a raw file, and the mark no token.
  EXPECT_EQ(damaged(0, 0), path + ": 1066 bytes are no whole number of int32 tokens");
  EXPECT_EQ(damaged(0, 0, 2), path + ": at offset 0: element 0 of batch.tokens is 20240521, outside [-32, 32) of what it indexes");
  EXPECT_EQ(damaged(5, 0), path + ": field version at offset 4 is 257, expected 1");
  EXPECT_EQ(damaged(8, 0), path + ": field count at offset 8 says 20 tokens of 16 bits, and 42 bytes follow the header; the file is damaged or cut short");
  EXPECT_EQ(damaged(11, 7), path + ": field count at offset 8 says -2147483627 tokens of 16 bits, and 42 bytes follow the header; the file is damaged or cut short");
  EXPECT_EQ(damaged(1024 + 7, 3), path + ": at offset 1030: element 3 of batch.tokens is 2051, outside [-32, 32) of what it indexes");
  EXPECT_EQ(damaged(1024 + 41, 7), path + ": at offset 1064: element 20 of batch.tokens is 32788, outside [-32, 32) of what it indexes");
  EXPECT_EQ(damaged(0, 7, 1), path + ": 1067 bytes are no whole number of int32 tokens");
  for (int appended : {-1, 1, 2})
    EXPECT_EQ(damaged(500, 0, appended), path + fmt::format(": field count at offset 8 says 21 tokens of 16 bits, and {} bytes follow the header; the file is damaged or cut short", 42 + appended));
}

TEST_F(Tokens, Refusals) {
  program.inputs[0].indexLimit = 20;
  EXPECT_EQ(fault(), path + ": at offset 80: element 20 of batch.tokens is 20, outside [-20, "
                            "20) of what it indexes");
  program.inputs[0].indexLimit = 0;
  program.inputs[0].globalShape[1] = 21;
  EXPECT_EQ(fault(), path + ": has 21 tokens, and a window of batch.tokens "
                            "needs 22");
  program.inputs[0].name = "batch.position_ids";
  EXPECT_EQ(fault(),
            path + ": a token file cannot fill batch.position_ids (i32[2,21]); "
                   "it fills integer inputs [b, s] called tokens, input_ids, "
                   "targets or labels, and float masks; say what it is with "
                   "--data-map=batch.position_ids=x[0:s], x[1:s+1], range or a "
                   "number, or give a safetensors batch instead");
  std::ofstream(path, std::ios::app) << "x";
  EXPECT_EQ(fault(), path + ": 85 bytes are no whole number of int32 tokens");
}

TEST_F(Tokens, AMapSaysWhatFillsInputs) {
  program.inputs = {{"batch.ids", P3D_I64, {2, 4}, 0, 0, 21},
                    {"batch.labels", P3D_I32, {2, 4}, 0, 64, 21},
                    {"batch.position_ids", P3D_I32, {2, 4}, 0, 128, 4},
                    {"batch.weights", P3D_F32, {2}, 0, 192, 0}};
  data.map = "ids=x[0:s],batch.labels=x[1:s+1],position_ids=range,weights=0.5";
  TokenFile file(path, data);
  file.check(program);
  alignas(8) char arena[256];
  for (const Input &input : program.inputs)
    file.fill(input, program, {0, 0, 1}, 1, arena + input.offset);
  auto numbers = [&](auto zero, int offset) {
    auto *first = reinterpret_cast<decltype(zero) *>(arena + offset);
    return std::vector<decltype(zero)>(first, first + 4);
  };
  EXPECT_THAT(numbers(int64_t(), 0), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(numbers(int32_t(), 64), ElementsAre(5, 6, 7, 8));
  EXPECT_THAT(numbers(int32_t(), 128), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(*reinterpret_cast<float *>(arena + 192), 0.5);
  EXPECT_EQ(file.batches(program), 2);
  program.inputs[2].indexLimit = 3;
  EXPECT_EQ(fault(), "--data-map: element 3 of batch.position_ids is 3, outside [-3, 3) of what it indexes");
  data.map = "weights=x[0:s],ids=x[0:s],position_ids=0";
  EXPECT_EQ(fault(), "--data-map: batch.weights is f32[2], and windows of tokens are for integers [b, s] of 32 or 64 bits");
  program.inputs[3].globalShape = {};
  data.map = "weights=range,ids=x[0:s],position_ids=0";
  EXPECT_EQ(fault(), "--data-map: batch.weights is a single number, and a range is for a dimension; give the number");
  for (const char *wrong : {"ids=x[2:s+2]", "ids", "ids=1x", "="}) {
    data.map = wrong;
    EXPECT_THAT(fault(), testing::HasSubstr(std::string("--data-map: ") + wrong + ": expected NAME=x[0:s], NAME=x[1:s+1], NAME=range or NAME=number"));
  }
  data.map = "ids=1,ids=2";
  EXPECT_EQ(fault(), "--data-map: ids is given twice");
}

TEST_F(Tokens, AProgramWithInputsNeedsThem) {
  try {
    openBatchSource("", {})->check(program);
    ADD_FAILURE() << "no error";
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "the program reads batch.tokens; give a batch "
                               "or a token file with --data=FILE");
  }
}

TEST_F(Tokens, IndicesOfEveryTypeStayInside) {
  auto check = [&](p3d_dtype dtype, int64_t value, int64_t limit) {
    Input input{"batch.ids", dtype, {1}, 0, 0, limit};
    try {
      checkIndices(input, reinterpret_cast<char *>(&value), 1, 0, "file");
    } catch (const Error &) {
      return false;
    }
    return true;
  };
  for (p3d_dtype dtype : {P3D_I8, P3D_I16, P3D_I32, P3D_I64}) {
    EXPECT_TRUE(check(dtype, 9, 10) && check(dtype, -10, 10));
    EXPECT_FALSE(check(dtype, 10, 10) || check(dtype, -11, 10));
  }
  for (p3d_dtype dtype : {P3D_UI8, P3D_UI16, P3D_UI32, P3D_UI64}) {
    EXPECT_TRUE(check(dtype, 9, 10));
    EXPECT_FALSE(check(dtype, 10, 10) || check(dtype, -1, 10));
  }
}

} // namespace

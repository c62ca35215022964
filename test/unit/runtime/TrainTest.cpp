// Parameters, schedules and token windows: what must not depend on the mesh,
// and the exact meaning of the flags.
#include "runtime/DType.h"
#include "runtime/Data/Batch.h"
#include "runtime/Data/TokenFile.h"
#include "runtime/Error.h"
#include "runtime/Program/Layout.h"
#include "runtime/Train/LossScale.h"
#include "runtime/Train/Parameters.h"
#include "runtime/Train/Random.h"
#include "runtime/Train/RunOptions.h"
#include <cmath>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <unistd.h>

using namespace p3d;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

Param weight(std::vector<int64_t> shape, std::vector<Shard> shards) {
  Param param{};
  param.name = "params.w";
  param.dtype = param.fileDType = P3D_F32;
  param.globalShape = param.pieceShape = shape;
  param.pieceOffset.assign(shape.size(), 0);
  param.shards = shards;
  param.grad = param.m = param.v = param.master = -1;
  param.countsInNorm = true;
  param.init = {InitKind::Normal, 1};
  return param;
}

/// Initialises every rank's part and puts the whole tensor together.
std::vector<float> wholeTensor(const Mesh &mesh, std::vector<Param> pieces) {
  std::vector<float> whole;
  for (int rank = 0; rank < mesh.size(); ++rank) {
    Coordinates at = mesh.coordinates(rank);
    for (const Param &piece : pieces) {
      Layout layout = ownedLayout(piece, mesh, at);
      std::vector<float> local(size_t(layout.storageCount()), -1);
      initializeParameter(piece, layout, 42,
                          {reinterpret_cast<char *>(local.data()), P3D_F32});
      whole.resize(size_t(layout.globalCount()), NAN);
      layout.forEachRun([&](int64_t global, int64_t index, int64_t count) {
        for (int64_t i = 0; i < count; ++i)
          whole[size_t(global + i)] = local[size_t(index + i)];
      });
    }
  }
  return whole;
}

TEST(LossScale, IsHalvedWhereAGradientOverflowsAndDoubledAfter2000StepsWithout) {
  LossScale scale;
  scale.update(false);
  EXPECT_EQ(scale.value, 32768);
  for (int step = 1; step < 2000; ++step)
    scale.update(true);
  EXPECT_EQ(scale.value, 32768);
  EXPECT_EQ(scale.goodSteps, 1999);
  scale.update(true);
  EXPECT_EQ(scale.value, 65536);
  EXPECT_EQ(scale.goodSteps, 0);
  // Steps in a row count.
  for (int step = 1; step < 2000; ++step)
    scale.update(true);
  scale.update(false);
  scale.update(true);
  EXPECT_EQ(scale.value, 32768);
  EXPECT_EQ(scale.goodSteps, 1);
}

TEST(LossScale, HasALeastAndALargestValue) {
  LossScale scale;
  for (int step = 0; step < 40; ++step)
    scale.update(false);
  EXPECT_EQ(scale.value, 1);
  for (int step = 0; step < 2000 * 200; ++step)
    scale.update(true);
  EXPECT_EQ(scale.value, std::ldexp(1.0, 127));
  EXPECT_TRUE(std::isfinite(float(scale.value)));
}

TEST(LossScale, ThatIsGivenStays) {
  LossScale scale{8, false, 0};
  scale.update(false);
  for (int step = 0; step < 5000; ++step)
    scale.update(true);
  EXPECT_EQ(scale.value, 8);
}

TEST(Initialisation, DoesNotDependOnTheSharding) {
  std::vector<float> one = wholeTensor({1, 1, 1}, {weight({6, 10}, {})});
  for (float value : one)
    EXPECT_TRUE(std::isfinite(value));
  // Columns over tp, unevenly; rows over dp; both; and two pieces of the
  // tensor.
  EXPECT_EQ(wholeTensor({4, 1, 1}, {weight({6, 10}, {{1, {P3D_TP}, 3}})}), one);
  EXPECT_EQ(wholeTensor({1, 1, 4}, {weight({6, 10}, {{0, {P3D_DP}, 2}})}), one);
  EXPECT_EQ(wholeTensor({2, 1, 2}, {weight({6, 10}, {{0, {P3D_DP}, 3},
                                                     {1, {P3D_TP}, 5}})}),
            one);
  EXPECT_EQ(
      wholeTensor({2, 1, 2}, {weight({6, 10}, {{1, {P3D_TP, P3D_DP}, 3}})}),
      one);
  Param left = weight({6, 10}, {{1, {P3D_TP}, 2}}), right = left;
  left.pieceShape = {6, 4};
  right.pieceOffset = {0, 4}, right.pieceShape = {6, 6};
  right.shards = {{1, {P3D_TP}, 3}};
  EXPECT_EQ(wholeTensor({2, 1, 1}, {left, right}), one);
  // Each rank of dp has a share: of the tensor, and of a row in which it begins
  // at 40.
  for (RowShare share : {RowShare{0, 20}, RowShare{40, 40}, RowShare{0, 32}}) {
    Param shared = weight({6, 10}, {});
    shared.share = share;
    EXPECT_EQ(wholeTensor({1, 1, 3}, {shared}), one);
  }
}

TEST(Layouts, SharesOfARow) {
  // 60 elements from 40 on in a row of three parts of 40: two ranks have some.
  Param param = weight({6, 10}, {});
  param.share = {40, 40};
  param.offset = 1000, param.grad = 2000, param.m = 3000;
  Mesh mesh{1, 1, 3};
  for (auto [rank, begin, count, values, m] :
       {std::tuple{0, 0, 0, 1000, 3000}, {1, 0, 40, 1000, 3000},
        {2, 40, 20, 1160, 3000}}) {
    OwnedPart part = ownedPart(param, mesh, mesh.coordinates(rank));
    EXPECT_EQ(part.begin, begin);
    EXPECT_EQ(part.count, count);
    EXPECT_EQ(part.values, values);
    EXPECT_EQ(part.grad, values + 1000);
    EXPECT_EQ(part.m, m);
    EXPECT_EQ(part.master, -1);
  }
  // In the middle of a part of the row.
  param.share = {10, 40};
  OwnedPart part = ownedPart(param, mesh, {});
  EXPECT_EQ(part.count, 30);
  EXPECT_EQ(part.m, 3040);
  // Held as a share: padding follows.
  param.share = {0, 32, true, true};
  part = ownedPart(param, mesh, {0, 0, 1});
  EXPECT_EQ(part.values, 1000);
  EXPECT_EQ(part.grad, 2000);
  EXPECT_EQ(part.count, 28);
  EXPECT_EQ(valuesLayout(param, mesh, {0, 0, 1}).storageCount(), 32);
}

TEST(Initialisation, IsStandardNormal) {
  NormalStream stream(7, "params.w");
  double sum = 0, squares = 0;
  const int count = 100'000;
  for (int i = 0; i < count; ++i) {
    double value = stream.at(i);
    sum += value, squares += value * value;
  }
  EXPECT_NEAR(sum / count, 0, 0.02);
  EXPECT_NEAR(squares / count, 1, 0.02);
  EXPECT_NE(NormalStream(8, "params.w").at(0),
            NormalStream(7, "params.w").at(0));
  EXPECT_NE(NormalStream(7, "params.v").at(0),
            NormalStream(7, "params.w").at(0));
}

TEST(Initialisation, UniformHasItsDeviationOnAnyMesh) {
  Param param = weight({500, 200}, {});
  param.init = {InitKind::Uniform, 0.5};
  std::vector<float> one = wholeTensor({1, 1, 1}, {param});
  double sum = 0, squares = 0, most = 0;
  for (float value : one)
    sum += value, squares += value * value, most = std::max(most, std::fabs(double(value)));
  EXPECT_NEAR(sum / double(one.size()), 0, 0.01);
  EXPECT_NEAR(squares / double(one.size()), 0.25, 0.005);
  EXPECT_LE(most, 0.5 * std::sqrt(3.));
  EXPECT_GT(most, 0.499 * std::sqrt(3.));
  param.shards = {{0, {P3D_DP}, 125}, {1, {P3D_TP}, 67}};
  EXPECT_EQ(wholeTensor({3, 1, 4}, {param}), one);
}

TEST(Initialisation, PhiloxGivesThePublishedNumbers) {
  // Known answers of Random123.
  EXPECT_THAT(philox({0, 0, 0, 0}, {0, 0}),
              ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  EXPECT_THAT(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                     {0xa4093822, 0x299f31d0}),
              ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

TEST(Initialisation, PaddingIsZero) {
  Mesh mesh{4, 1, 1};
  std::vector<float> local(3, -1);
  Param param = weight({10}, {{0, {P3D_TP}, 3}});
  initializeParameter(param, localLayout(param, mesh, mesh.coordinates(3)), 1,
                      {reinterpret_cast<char *>(local.data()), P3D_F32});
  EXPECT_NE(local[0], 0);
  EXPECT_EQ(local[1], 0);
  EXPECT_EQ(local[2], 0);
}

TEST(Meshes, NeighboursOnTp) {
  Mesh mesh{4, 2, 1, false, 2};
  EXPECT_EQ(mesh.along(P3D_TP_MAJOR), 2);
  EXPECT_EQ(mesh.along(P3D_TP_MINOR), 2);
  Coordinates at = mesh.coordinates(7); // tp 3, pp 1
  EXPECT_EQ(mesh.along(P3D_TP_MAJOR, at), 1);
  EXPECT_EQ(mesh.along(P3D_TP_MINOR, at), 1);
  EXPECT_THAT(mesh.group(at, {P3D_TP_MINOR}), ElementsAre(6, 7));
  EXPECT_THAT(mesh.group(at, {P3D_TP_MAJOR}), ElementsAre(5, 7));
  EXPECT_THAT(mesh.group(at, {P3D_TP}), ElementsAre(4, 5, 6, 7));
}

TEST(Layouts, OneOwnerPerElement) {
  Mesh mesh{4, 1, 2, false, 2};
  for (std::vector<Shard> shards : {std::vector<Shard>{},
                                    {{0, {P3D_TP}, 2}},
                                    {{0, {P3D_TP_MAJOR}, 3}},
                                    {{0, {P3D_TP_MINOR}, 3}},
                                    {{0, {P3D_DP}, 3}},
                                    {{0, {P3D_DP, P3D_TP_MAJOR}, 2}},
                                    {{0, {P3D_DP, P3D_TP}, 1}}}) {
    Param param = weight({6}, shards);
    std::vector<int> owners(6);
    for (int rank = 0; rank < mesh.size(); ++rank) {
      Coordinates at = mesh.coordinates(rank);
      if (ownsCopy(param, mesh, at, {P3D_TP, P3D_DP}))
        localLayout(param, mesh, at)
            .forEachRun([&](int64_t global, int64_t, int64_t count) {
              for (int64_t i = 0; i < count; ++i)
                ++owners[size_t(global + i)];
            });
    }
    EXPECT_THAT(owners, testing::Each(1));
  }
}

TEST(Layouts, RunsAreAsLongAsTheyCanBe) {
  Layout layout{{4, 3, 5}, {1, 0, 0}, {2, 3, 5}, {2, 3, 5}};
  int runs = 0;
  layout.forEachRun([&](int64_t global, int64_t local, int64_t count) {
    EXPECT_EQ(global, 15);
    EXPECT_EQ(local, 0);
    EXPECT_EQ(count, 30);
    ++runs;
  });
  EXPECT_EQ(runs, 1);
}

TEST(LearningRate, Schedules) {
  RunOptions options;
  options.steps = 110, options.warmup = 10;
  options.learningRate = 1, options.minLearningRate = 0.1;
  EXPECT_DOUBLE_EQ(learningRateAt(options, 1), 0.1);
  EXPECT_DOUBLE_EQ(learningRateAt(options, 10), 1);
  EXPECT_DOUBLE_EQ(learningRateAt(options, 110), 1);
  options.schedule = LearningRateSchedule::Cosine;
  EXPECT_DOUBLE_EQ(learningRateAt(options, 60), 0.55);
  EXPECT_DOUBLE_EQ(learningRateAt(options, 110), 0.1);
  options.schedule = LearningRateSchedule::Linear;
  EXPECT_DOUBLE_EQ(learningRateAt(options, 35), 0.775);
  EXPECT_DOUBLE_EQ(learningRateAt(options, 110), 0.1);
  options.schedule = LearningRateSchedule::Wsd;
  EXPECT_DOUBLE_EQ(learningRateAt(options, 88), 1);
  EXPECT_DOUBLE_EQ(learningRateAt(options, 99), 0.55);
  EXPECT_DOUBLE_EQ(learningRateAt(options, 110), 0.1);
}

TEST(Options, SurviveTheWayToTheRanks) {
  RunOptions options;
  options.steps = 7, options.learningRate = 0.1 + 0.2, options.seed = ~0ull;
  options.schedule = LearningRateSchedule::Wsd;
  RunOptions copy = RunOptions::fromJson(options.toJson());
  EXPECT_EQ(copy.toJson(), options.toJson());
  EXPECT_EQ(copy.learningRate, options.learningRate);
  EXPECT_EQ(copy.seed, options.seed);
}

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

TEST(HalfFloats, RoundTripAndRounding) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float value = fromF16(uint16_t(bits));
    if (value == value)
      ASSERT_EQ(toF16(value), bits);
    float wide = fromBF16(uint16_t(bits));
    if (wide == wide)
      ASSERT_EQ(toBF16(wide), bits);
  }
  EXPECT_EQ(fromF16(toF16(65519.0f)), 65504.0f);
  EXPECT_TRUE(std::isinf(fromF16(toF16(65520.0f))));
  EXPECT_EQ(fromF16(toF16(1 + 0x1p-11f)), 1.0f);
  EXPECT_EQ(fromF16(toF16(1 + 0x1.8p-10f)), 1 + 0x1p-9f);
  EXPECT_EQ(fromBF16(toBF16(1 + 0x1p-8f)), 1.0f);
  EXPECT_TRUE(std::isnan(fromBF16(toBF16(NAN))));
  EXPECT_TRUE(std::isnan(fromF16(toF16(NAN))));
}

} // namespace

// A step without p3dc: what a rank says that it is doing, which is what reports
// of a failure quote.
#include "runtime/Cpu/CpuDevice.h"
#include "runtime/Error.h"
#include "runtime/Train/Trainer.h"
#include "test/unit/runtime/ToyRun.h"
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/eventfd.h>
#include <unistd.h>

using namespace p3d;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// Notes the operation in which each call comes.
class NotingTransport : public Transport {
public:
  explicit NotingTransport(RankArea &area) : area(area) {}
  std::vector<std::string> operations;

  void allReduce(p3d_axis, int, p3d_reduce_kind, p3d_dtype, void *,
                 int64_t) override {}
  void allGather(p3d_axis, p3d_dtype, const void *, void *, int64_t, int64_t,
                 int64_t, int64_t) override {}
  void reduceScatter(p3d_axis, p3d_reduce_kind, p3d_dtype, const void *, void *,
                     int64_t, int64_t, int64_t, int64_t) override {}
  void allToAll(p3d_axis, p3d_dtype, const void *, void *, int, const int64_t *,
                int, int64_t, int, int64_t) override {}
  void sumOverNorm(double *) override { note(); }
  void send(int, int, int64_t, int64_t, const void *, int64_t) override {}
  void receive(int, int, int64_t, void *, int64_t) override {}
  void finishSends(int64_t) override { note(); }
  void finishAllSends() override { note(); }
  int64_t waitedNs() const override { return 0; }

private:
  void note() { operations.push_back(area.operation); }
  RankArea &area;
};

void nothing(p3d_context *, char *, int64_t, int64_t) {}
constexpr p3d_task tasks[] = {nothing};

class Training : public testing::Test {
protected:
  Program program = Program::parse(R"({"version":1,"stage":0,"stages":1,
    "mesh":{"tp":1,"pp":1,"dp":1},"microbatches":1,"global_batch":1,
    "arena_bytes":64,"optimizer":"none","params":[{"name":"params.w",
      "role":"param","dtype":"f32","global_shape":[4],"offset":0,
      "init":{"kind":"zeros"}}],
    "inputs":[],"results":[],"tasks":["forward"],"operations":[],
    "order":[[0,0,0]]})");
  RunOptions options;
  Control control = Control::create(1);
  Arenas arenas{0, {createArena(64)}};
  NotingTransport transport{control.rank(0)};
  CpuDevice device{arenas};
  p3d_context context{program, 0, {}, control, device, transport};

  void SetUp() override {
    control.header().eventFd = eventfd(0, EFD_CLOEXEC);
  }

  /// The operation in which a run ends early, and its message.
  std::string failure() {
    options.steps = 1;
    try {
      Trainer(context, options, tasks).run();
    } catch (const Error &error) {
      return std::string(control.rank(0).operation) + ": " + error.what();
    }
    return "no error";
  }
};

TEST_F(Training, LoadingOfParameters) {
  program.params[0].init.kind = InitKind::None;
  EXPECT_EQ(failure(), "loading of parameters: params.w has no initialisation; "
                       "give it with --params=FILE");
  program.params[0].init.kind = InitKind::Ones;
  program.params[0].dtype = P3D_I32;
  EXPECT_EQ(failure(), "loading of parameters: params.w of type i32 cannot be "
                       "initialised; give it with --params=FILE");
}

TEST_F(Training, FillingOfInputs) {
  test::ToyRun toy;
  program.inputs = {{"batch.y", P3D_F32, {4}, -1, 0, 0}};
  options.data = toy.path("batch.safetensors");
  EXPECT_EQ(failure(), "filling of inputs: " + options.data +
                           ": tensor batch.y is missing; expected F32 [4]");
}

TEST_F(Training, OperationsOfAStep) {
  // The run ends where its file cannot be mapped.
  options.exportFd = 1 << 20;
  EXPECT_EQ(failure(), "writing of parameters: --export: cannot be read: Bad "
                       "file descriptor");
  EXPECT_THAT(transport.operations,
              ElementsAre("reuse of a slot that was sent from",
                          "end of the order", "gradient norm"));
  options.gradientsFd = 1 << 20;
  EXPECT_EQ(failure(), "writing of gradients: --dump-grads: cannot be read: "
                       "Bad file descriptor");
  options.valuesFd = 1 << 20;
  EXPECT_EQ(failure(), "writing of values: --verify: cannot be read: Bad file "
                       "descriptor");
}

TEST_F(Training, FillingOfInputsOfAnEvaluation) {
  test::ToyRun toy;
  program.inputs = {{"batch.y", P3D_F32, {4}, -1, 0, 0}};
  test::writeTensors(toy.path("y.safetensors"), {{"batch.y", P3D_F32, {4}}},
                     {{"batch.y", {1, 2, 3, 4}}});
  options.data = toy.path("y.safetensors");
  options.evalData = toy.path("batch.safetensors");
  options.evalBatches = 1;
  EXPECT_EQ(failure(), "filling of inputs of an evaluation: " +
                           options.evalData +
                           ": tensor batch.y is missing; expected F32 [4]");
}

TEST_F(Training, CopyingOfTheStateForACheckpoint) {
  test::ToyRun toy;
  options.saveDirectory = toy.path("save");
  // A file of the toy's batch has no parameter.
  int fd = open(toy.path("batch.safetensors").c_str(), O_RDWR);
  options.savedFiles = {{"params.safetensors", 0, fd}};
  EXPECT_EQ(failure(), "copying of the state: --save: tensor params.w is "
                       "missing; expected F32 [4]");
  close(fd);
}

TEST_F(Training, ResultsAreScalarsOfFewTypes) {
  program.results = {{"loss", P3D_I8, 0}};
  EXPECT_THAT(failure(), HasSubstr("a result of type i8 is not supported"));
  program.results.assign(maxResults + 1, {"loss", P3D_F32, 0});
  EXPECT_THAT(failure(), HasSubstr("results; at most "));
}

} // namespace

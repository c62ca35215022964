// Descriptions of programs that do not hold together are refused by what is
// wrong with them, before anything is mapped by their offsets.
#include "runtime/Error.h"
#include "runtime/Program/Program.h"
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

using namespace p3d;
using nlohmann::json;

namespace {

/// Two dp ranks, one weight with a gradient and one input.
json description() {
  return json::parse(R"({"version":1,"stage":0,"stages":1,
    "mesh":{"tp":1,"pp":1,"dp":2},"microbatches":1,"global_batch":4,
    "arena_bytes":128,"optimizer":"adamw","zero":{"offset":16,"bytes":16},
    "params":[{"name":"params.w","role":"param","dtype":"f32",
      "global_shape":[4],"offset":0,"grad":16}],
    "inputs":[{"name":"batch.x","dtype":"f32","global_shape":[4,2],
      "batch_dim":0,"offset":32}],
    "results":[{"name":"loss","dtype":"f32","offset":64}],
    "tasks":["forward"],"operations":[],"order":[[0,0,0]]})");
}

/// The message for the description with `change` merged into it.
std::string fault(const char *change) {
  json changed = description();
  json patch = json::parse(change);
  for (const char *list : {"params", "inputs", "results"})
    if (patch.contains(list)) {
      json &entry = changed[list][0];
      entry.merge_patch(patch[list]);
      patch.erase(list);
    }
  changed.merge_patch(patch);
  try {
    Program::parse(changed.dump());
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), ExitCode::InternalError);
    return error.what();
  }
  return "no error";
}

TEST(Description, IsReadWhole) { EXPECT_EQ(fault("{}"), "no error"); }

TEST(Description, Faults) {
  struct Case {
    const char *change, *message;
  };
  for (const Case &c : {
           Case{R"({"version":2})", "version 2 is not 1"},
           Case{R"({"optimizer":"lion"})", "optimizer \"lion\" is unknown"},
           Case{R"({"norm_axes":["ep"]})", "axis \"ep\" is unknown"},
           Case{R"({"params":{"role":"bias"}})", "role \"bias\" is unknown"},
           Case{R"({"params":{"dtype":"f8"}})", "dtype \"f8\" is unknown"},
           Case{R"({"params":{"init":{"kind":"twos"}}})",
                "init \"twos\" is unknown"},
           Case{R"({"stage":1})", "stage 1 of 1 does not fit the mesh 1x1x2"},
           Case{R"({"mesh":{"dp":0}})",
                "stage 0 of 1 does not fit the mesh 1x1x0"},
           Case{R"({"mesh":{"tp_minor":2}})",
                "1 ranks of tp do not fall into groups of 2"},
           Case{R"({"zero":{"bytes":200}})",
                "the zero region at [16, 216) is outside the arena of 128 "
                "bytes"},
           Case{R"({"params":{"offset":120}})",
                "params.w at [120, 136) is outside the arena of 128 bytes"},
           Case{R"({"params":{"grad":1000}})",
                "the gradient of params.w at [1000, 1016) is outside the arena "
                "of 128 bytes"},
           Case{R"({"params":{"m":1000}})",
                "the state of params.w at [1000, 1016) is outside the arena "
                "of 128 bytes"},
           Case{R"({"norm_axes":["dp"],"params":{"share":
                    {"start":1,"chunk":2,"param":false,"grad":false}}})",
                "shares of 2 elements from 1 on do not cover params.w"},
           Case{R"({"norm_axes":["dp"],"params":{"share":
                    {"start":4,"chunk":4,"param":false,"grad":true}}})",
                "shares of 4 elements from 4 on do not cover params.w"},
           Case{R"({"params":{"share":
                    {"start":0,"chunk":2,"param":false,"grad":false}}})",
                "params.w is sharded over dp, which norm_axes leaves out"},
           Case{R"({"inputs":{"offset":-1}})",
                "batch.x at [-1, 15) is outside the arena of 128 bytes"},
           Case{R"({"results":{"offset":126}})",
                "loss at [126, 130) is outside the arena of 128 bytes"},
           Case{R"({"params":{"piece_offset":[0,0]}})",
                "params.w has pieces of another rank than its shape"},
           Case{R"({"params":{"piece_offset":[2]}})",
                "a piece of params.w is outside its shape"},
           Case{R"({"params":{"shards":[{"dim":0,"axes":["dp"],"chunk":1}]}})",
                "the shards of params.w do not cover dimension 0"},
           Case{R"({"params":{"shards":[{"dim":0,"axes":["dp"],"chunk":2}]}})",
                "params.w is sharded over dp, which norm_axes leaves out"},
           Case{R"({"params":{"role":"key"}})",
                "the random key params.w is no ui32[2]"},
           Case{R"({"params":{"role":"loss_scale"}})",
                "params.w is no f32 scalar"},
           Case{R"({"inputs":{"global_shape":[5,2]}})",
                "the batch dimension of batch.x cannot be cut over dp"},
           Case{R"({"order":[[1,0,0]]})", "the order names task 1 and slot 0"},
       })
    EXPECT_EQ(fault(c.change),
              std::string("description of the program: ") + c.message)
        << c.change;
  EXPECT_THAT(fault(R"({"stage":"first"})"),
              testing::StartsWith("description of the program: [json"));
}

} // namespace

// Reads the JSON description of a program and checks what the rest of the
// runtime relies on.
#include "runtime/DType.h"
#include "runtime/Error.h"
#include "runtime/Program/Layout.h"
#include "runtime/Program/Program.h"
#include <algorithm>
#include <nlohmann/json.hpp>

using nlohmann::json;

namespace p3d {
namespace {

template <typename T> struct Word {
  const char *name;
  T value;
};
constexpr Word<p3d_axis> axisWords[] = {
    {"tp", P3D_TP},
    {"dp", P3D_DP},
    {"pp", P3D_PP},
    {"tp_major", P3D_TP_MAJOR},
    {"tp_minor", P3D_TP_MINOR}};
constexpr Word<Role> roleWords[] = {{"param", Role::Param},
                                    {"frozen", Role::Frozen},
                                    {"buffer", Role::Buffer},
                                    {"key", Role::Key},
                                    {"loss_scale", Role::LossScale}};
constexpr Word<InitKind> initWords[] = {{"normal", InitKind::Normal},
                                        {"uniform", InitKind::Uniform},
                                        {"zeros", InitKind::Zeros},
                                        {"ones", InitKind::Ones}};
constexpr Word<Optimizer> optimizerWords[] = {{"adamw", Optimizer::AdamW},
                                              {"sgd", Optimizer::Sgd},
                                              {"none", Optimizer::None}};

constexpr Word<Target> targetWords[] = {{"cpu", Target::Cpu},
                                        {"cuda", Target::Cuda}};

template <typename T, size_t n>
T lookUp(const Word<T> (&words)[n], const json &value, const char *field) {
  std::string text = value.get<std::string>();
  for (const Word<T> &word : words)
    if (text == word.name)
      return word.value;
  internalError("description of the program: {} \"{}\" is unknown", field,
                text);
}

p3d_dtype readDType(const json &value) {
  std::string text = value.get<std::string>();
  if (std::optional<p3d_dtype> dtype = parseDType(text))
    return *dtype;
  internalError("description of the program: dtype \"{}\" is unknown", text);
}

std::vector<p3d_axis> readAxes(const json &list) {
  std::vector<p3d_axis> axes;
  for (const json &axis : list)
    axes.push_back(lookUp(axisWords, axis, "axis"));
  return axes;
}

Param readParam(const json &j) {
  Param param;
  param.name = j.at("name");
  param.role = lookUp(roleWords, j.at("role"), "role");
  param.dtype = readDType(j.at("dtype"));
  param.globalShape = j.at("global_shape").get<std::vector<int64_t>>();
  param.pieceOffset =
      j.value("piece_offset", std::vector<int64_t>(param.globalShape.size()));
  param.pieceShape = j.value("piece_shape", param.globalShape);
  for (const json &shard : j.value("shards", json::array()))
    param.shards.push_back(
        {shard.at("dim"), readAxes(shard.at("axes")), shard.at("chunk")});
  if (j.contains("share")) {
    const json &share = j.at("share");
    param.share = {share.at("start"), share.at("chunk"), share.at("param"),
                   share.at("grad")};
  }
  param.offset = j.at("offset");
  param.grad = j.value("grad", int64_t(-1));
  param.gradDType = readDType(j.value("grad_dtype", "f32"));
  param.m = j.value("m", int64_t(-1));
  param.v = j.value("v", int64_t(-1));
  param.master = j.value("master", int64_t(-1));
  p3d_dtype usual = param.master >= 0 ? P3D_F32 : param.dtype;
  param.fileDType =
      j.contains("file_dtype") ? readDType(j.at("file_dtype")) : usual;
  param.decay = j.value("decay", false);
  param.countsInNorm = j.value("counts_in_norm", true);
  if (j.contains("init")) {
    const json &init = j.at("init");
    param.init = {lookUp(initWords, init.at("kind"), "init"),
                  init.value("std", 0.0)};
  }
  return param;
}

Input readInput(const json &j) {
  Input input;
  input.name = j.at("name");
  input.dtype = readDType(j.at("dtype"));
  input.globalShape = j.at("global_shape").get<std::vector<int64_t>>();
  input.batchDim = j.value("batch_dim", -1);
  input.offset = j.at("offset");
  input.indexLimit = j.value("index_limit", int64_t(0));
  return input;
}

Value readValue(const json &j, const json &slabs) {
  Value value;
  value.name = j.at("name");
  value.dtype = readDType(j.at("dtype"));
  value.paddedShape = j.at("padded_shape").get<std::vector<int64_t>>();
  for (const json &shard : j.at("shards")) {
    json axes = shard.at("axes");
    // A microbatch is the innermost part.
    bool byMicrobatch = !axes.empty() && axes.back() == "mb";
    if (byMicrobatch)
      axes.erase(axes.size() - 1);
    value.shards.push_back({shard.at("dim"), readAxes(axes), byMicrobatch});
  }
  value.offset = j.at("offset");
  value.task = j.at("task");
  value.places = slabs.at(j.at("slab")).get<std::vector<int64_t>>();
  if (value.places.empty())
    internalError("description of the program: {} has no place", value.name);
  return value;
}

std::vector<OrderEntry> readOrder(const json &list) {
  std::vector<OrderEntry> order;
  for (const json &entry : list)
    order.push_back({entry.at(0), entry.at(1), entry.at(2)});
  return order;
}

Program read(const json &j) {
  Program program;
  if (int version = j.at("version"); version != 1)
    internalError("description of the program: version {} is not 1", version);
  program.model = j.value("model", "");
  program.fingerprint = j.value("fingerprint", "");
  program.stage = j.at("stage");
  program.stages = j.at("stages");
  const json &mesh = j.at("mesh");
  program.mesh = {mesh.at("tp"), mesh.at("pp"), mesh.at("dp"),
                  j.value("rank_order", "tp-dp-pp") == "tp-pp-dp",
                  mesh.value("tp_minor", 1)};
  program.microbatches = j.at("microbatches");
  program.globalBatch = j.at("global_batch");
  program.tokensPerStep = j.value("tokens_per_step", int64_t(0));
  program.target = lookUp(targetWords, j.value("target", "cpu"), "target");
  program.events = j.value("events", 0);
  program.arenaBytes = j.at("arena_bytes");
  program.workspaceBytes = j.value("workspace_bytes", int64_t(0));
  program.runtimeBytes = j.value("runtime_bytes", int64_t(0));
  program.streamScratch = j.value("stream_scratch", std::vector<int64_t>());
  program.slots = j.value("slots", int64_t(1));
  program.optimizer = lookUp(optimizerWords, j.at("optimizer"), "optimizer");
  if (j.contains("zero")) {
    program.zeroOffset = j.at("zero").at("offset");
    program.zeroBytes = j.at("zero").at("bytes");
  }
  program.normAxes = readAxes(j.value("norm_axes", json::array({"tp", "pp"})));
  for (const json &group : j.value("tied_groups", json::array()))
    program.tiedGroups.push_back(group.at("stages"));
  for (const json &param : j.at("params"))
    program.params.push_back(readParam(param));
  for (const json &input : j.at("inputs"))
    program.inputs.push_back(readInput(input));
  for (const json &result : j.at("results"))
    program.results.push_back({result.at("name"), readDType(result.at("dtype")),
                               result.at("offset")});
  for (const json &value : j.value("values", json::array()))
    program.values.push_back(readValue(value, j.at("slabs")));
  program.chunks = j.value("chunks", 1);
  program.turnedTransfers = j.value("turned_transfers", std::set<int>());
  program.tasks = j.at("tasks").get<std::vector<std::string>>();
  program.operations = j.at("operations").get<std::vector<std::string>>();
  program.order = readOrder(j.at("order"));
  program.afterUpdate = readOrder(j.value("after_update", json::array()));
  return program;
}

void checkRange(const Program &program, const std::string &what, int64_t offset,
                int64_t bytes) {
  if (offset < 0 || bytes < 0 || offset > program.arenaBytes - bytes)
    internalError("description of the program: {} at [{}, {}) is outside the "
                  "arena of {} bytes",
                  what, offset, offset + bytes, program.arenaBytes);
}

void checkParam(const Program &program, const Param &param) {
  size_t rank = param.globalShape.size();
  if (param.pieceOffset.size() != rank || param.pieceShape.size() != rank)
    internalError("description of the program: {} has pieces of another rank "
                  "than its shape",
                  param.name);
  for (size_t d = 0; d < rank; ++d)
    if (param.pieceOffset[d] < 0 || param.pieceShape[d] < 0 ||
        param.pieceOffset[d] + param.pieceShape[d] > param.globalShape[d])
      internalError("description of the program: a piece of {} is outside its "
                    "shape",
                    param.name);
  for (const Shard &shard : param.shards) {
    int64_t ways = 1;
    for (p3d_axis axis : shard.axes)
      ways *= program.mesh.along(axis);
    if (shard.dim < 0 || shard.dim >= int(rank) || shard.chunk < 0 ||
        ways * shard.chunk < param.pieceShape[shard.dim])
      internalError("description of the program: the shards of {} do not cover "
                    "dimension {}",
                    param.name, shard.dim);
  }
  if (param.role == Role::Key &&
      (param.dtype != P3D_UI32 || param.pieceShape != std::vector<int64_t>{2}))
    internalError("description of the program: the random key {} is no ui32[2]",
                  param.name);
  if (param.role == Role::LossScale &&
      (param.dtype != P3D_F32 || !param.pieceShape.empty()))
    internalError("description of the program: {} is no f32 scalar",
                  param.name);
  int64_t count = localLayout(param, program.mesh, {}).storageCount();
  int64_t chunk = param.share.chunk > 0 ? param.share.chunk : count;
  bool isHeld = param.share.ofGrad || param.share.ofParam;
  if (param.share.start < 0 || (isHeld && param.share.start > 0) ||
      param.share.start + count > chunk * program.mesh.dp)
    internalError("description of the program: shares of {} elements from {} "
                  "on do not cover {}",
                  chunk, param.share.start, param.name);
  checkRange(program, param.name, param.offset,
             (param.share.ofParam ? chunk : count) * info(param.dtype).bytes);
  if (param.grad >= 0)
    checkRange(program, "the gradient of " + param.name, param.grad,
               (param.share.ofGrad ? chunk : count) *
                   info(param.gradDType).bytes);
  for (int64_t state : {param.m, param.v, param.master})
    if (state >= 0)
      checkRange(program, "the state of " + param.name, state, chunk * 4);
  bool normMissesDp =
      param.isShardedOver(P3D_DP) &&
      std::find(program.normAxes.begin(), program.normAxes.end(), P3D_DP) ==
          program.normAxes.end();
  if (param.grad >= 0 && normMissesDp)
    internalError("description of the program: {} is sharded over dp, which "
                  "norm_axes leaves out",
                  param.name);
}

void check(const Program &program) {
  const Mesh &mesh = program.mesh;
  if (mesh.tp < 1 || mesh.pp < 1 || mesh.dp < 1 || mesh.pp != program.stages ||
      program.stage < 0 || program.stage >= program.stages)
    internalError("description of the program: stage {} of {} does not fit the "
                  "mesh {}x{}x{}",
                  program.stage, program.stages, mesh.tp, mesh.pp, mesh.dp);
  if (mesh.tpMinor < 1 || mesh.tp % mesh.tpMinor != 0)
    internalError("description of the program: {} ranks of tp do not fall "
                  "into groups of {}",
                  mesh.tp, mesh.tpMinor);
  if (program.events < 0)
    internalError("description of the program: {} events", program.events);
  checkRange(program, "the zero region", program.zeroOffset, program.zeroBytes);
  for (const Param &param : program.params)
    checkParam(program, param);
  for (const Input &input : program.inputs) {
    if (input.batchDim >= int(input.globalShape.size()) ||
        (input.batchDim >= 0 &&
         input.globalShape[input.batchDim] % mesh.dp != 0))
      internalError("description of the program: the batch dimension of {} "
                    "cannot be cut over dp",
                    input.name);
    checkRange(program, input.name, input.offset,
               localLayout(input, mesh, {}).storageCount() *
                   info(input.dtype).bytes);
  }
  for (const Result &result : program.results)
    checkRange(program, result.name, result.offset, info(result.dtype).bytes);
  for (const Value &value : program.values) {
    for (const ValueShard &shard : value.shards)
      if (shard.dim < 0 || shard.dim >= int(value.paddedShape.size()))
        internalError("description of the program: {} has no dimension {}",
                      value.name, shard.dim);
    int64_t bytes =
        localLayout(value, program, {}, 0).storageCount() * info(value.dtype).bytes;
    for (int64_t place : value.places)
      checkRange(program, value.name, place + value.offset, bytes);
  }
  for (const std::vector<OrderEntry> *list : {&program.order, &program.afterUpdate})
    for (const OrderEntry &entry : *list)
      if (entry.task < 0 || entry.task >= int(program.tasks.size()) ||
          entry.slot < 0 || entry.slot >= program.slots)
        internalError("description of the program: the order names task {} and "
                      "slot {}",
                      entry.task, entry.slot);
}

} // namespace

bool Param::isShardedOver(p3d_axis axis) const {
  if (axis == P3D_DP && share.chunk > 0)
    return true;
  for (const Shard &shard : shards)
    if (covers(shard.axes, axis))
      return true;
  return false;
}

const char *optimizerName(Optimizer optimizer) {
  for (const Word<Optimizer> &word : optimizerWords)
    if (word.value == optimizer)
      return word.name;
  internalError("optimizer number {} is unknown", int(optimizer));
}

Program Program::parse(const std::string &text) {
  try {
    Program program = read(json::parse(text));
    check(program);
    return program;
  } catch (const json::exception &error) {
    internalError("description of the program: {}", error.what());
  }
}

std::optional<InitKind> parseInitKind(const std::string &name) {
  for (const Word<InitKind> &word : initWords)
    if (name == word.name)
      return word.value;
  return std::nullopt;
}

std::string initKindName(InitKind kind) {
  for (const Word<InitKind> &word : initWords)
    if (kind == word.value)
      return word.name;
  return "none";
}

} // namespace p3d

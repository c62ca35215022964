// What p3d_program says, parsed: the parameters, inputs, results and the order
// of one stage. The fields are those of runtime.h, where their meaning is
// written.
#pragma once
#include "runtime/Program/Mesh.h"
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace p3d {

struct Shard {
  int dim;
  std::vector<p3d_axis> axes;
  int64_t chunk;
};

/// What each rank of dp updates of a parameter: the tensor's elements stand from
/// `start` on in a row of which rank i has the elements [i * chunk, (i + 1) *
/// chunk). The optimizer's state is that of the rank's part of the row.
struct RowShare {
  int64_t start = 0, chunk = 0; ///< chunk 0: each rank updates all
  bool ofParam = false, ofGrad = false; ///< these, too, are no more than the part
};

enum class Role { Param, Frozen, Buffer, Key, LossScale };
enum class InitKind { None, Normal, Uniform, Zeros, Ones };
enum class Optimizer { AdamW, Sgd, None };
enum class Target { Cpu, Cuda };

struct Init {
  InitKind kind = InitKind::None;
  double std = 0; ///< of normal; and of uniform, within sqrt(3) of it around 0
};

std::optional<InitKind> parseInitKind(const std::string &name);
std::string initKindName(InitKind kind);

struct Param {
  std::string name;
  Role role;
  p3d_dtype dtype;     ///< of the storage at `offset`
  p3d_dtype fileDType; ///< of the tensor in files
  p3d_dtype gradDType; ///< of the gradient
  std::vector<int64_t> globalShape, pieceOffset, pieceShape;
  std::vector<Shard> shards;
  RowShare share;
  int64_t offset, grad, m, v, master;
  bool decay, countsInNorm;
  Init init;

  bool isShardedOver(p3d_axis axis) const;
};

struct Input {
  std::string name;
  p3d_dtype dtype;
  std::vector<int64_t> globalShape;
  int batchDim;
  int64_t offset, indexLimit;
};

struct Result {
  std::string name;
  p3d_dtype dtype;
  int64_t offset;
};

/// Equal parts of a dimension over `axes`, first axis major, and within them
/// over the microbatches if `byMicrobatch`.
struct ValueShard {
  int dim;
  std::vector<p3d_axis> axes;
  bool byMicrobatch;
};

/// What the forward task `task` leaves for the backward one.
struct Value {
  std::string name, task;
  p3d_dtype dtype;
  std::vector<int64_t> paddedShape; ///< of the whole batch
  std::vector<ValueShard> shards;
  int64_t offset; ///< from the place of its microbatch
  std::vector<int64_t> places; ///< in the arena, of microbatch mb places[mb % size]
};

struct OrderEntry {
  int task;
  int64_t mb, slot;
};

struct Program {
  std::string model, fingerprint;
  int stage = 0, stages = 1;
  Mesh mesh;
  int64_t microbatches = 1, globalBatch = 0, tokensPerStep = 0;
  Target target = Target::Cpu;
  int events = 0; ///< of a CUDA program
  int64_t arenaBytes = 0, slots = 1; ///< of all chunks
  int chunks = 1;
  int64_t workspaceBytes = 0; ///< the last of the arena
  std::vector<int64_t> streamScratch; ///< before it, of the streams tp and dp
  int64_t runtimeBytes = 0;           ///< before these
  Optimizer optimizer = Optimizer::None;
  int64_t zeroOffset = 0, zeroBytes = 0;
  std::vector<p3d_axis> normAxes;
  std::vector<std::vector<int>> tiedGroups; ///< stages of each
  std::set<int> turnedTransfers; ///< that go against the direction of their pass
  std::vector<Param> params;
  std::vector<Input> inputs;
  std::vector<Result> results;
  std::vector<Value> values;
  std::vector<std::string> tasks, operations;
  std::vector<OrderEntry> order, afterUpdate;

  /// Throws an internal error that names the field if `text` is not a sound
  /// description.
  static Program parse(const std::string &text);
};

const char *optimizerName(Optimizer optimizer);

} // namespace p3d

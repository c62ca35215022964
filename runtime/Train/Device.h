// What the training loop needs of the place where a rank's arena lies and of
// who computes there: the memory of the process, or a GPU.
#pragma once
#include "runtime/Launches.h"
#include "runtime/Train/RunOptions.h"
#include <functional>
#include <vector>

struct p3d_context;

namespace p3d {

/// Bytes of the arena; a negative offset stands for none.
struct ArenaRange {
  int64_t offset, bytes;
};

/// Host memory for ranges, in their order; null for those that are none.
using HostRanges = std::vector<char *>;

class Device {
public:
  virtual ~Device() = default;

  /// The base of the arena, as tasks take it.
  virtual char *arena() = 0;

  /// Lets `fill` write all bytes of the ranges. Their old contents are lost.
  virtual void write(const std::vector<ArenaRange> &ranges,
                     const std::function<void(const HostRanges &)> &fill) = 0;
  /// Shows the ranges to `use` once everything begun before is done; inside an
  /// order, once what the tasks so far compute is done.
  virtual void read(const std::vector<ArenaRange> &ranges,
                    const std::function<void(const HostRanges &)> &use) = 0;
  virtual void zero(ArenaRange range) = 0;

  /// Does a step's order list, which `order` goes through: what its tasks begin
  /// comes after everything before, and is done for what follows. A device may
  /// replay what it has seen instead of calling `order` again.
  virtual void runOrder(const std::function<void()> &order) = 0;

  /// The same for a task after the order: what is updated then is moved.
  virtual void runTask(const std::function<void()> &task) = 0;

  /// The norm of the whole gradient, the same bits on every rank of the group.
  /// Each element counts once; sums are double.
  virtual double gradientNorm(p3d_context &context) = 0;
  /// The `number`-th update, from 1, with learning rate `learningRate`, gradients
  /// multiplied by `gradientScale` first.
  virtual void update(p3d_context &context, const RunOptions &options,
                      int64_t number, double learningRate,
                      double gradientScale) = 0;

  /// Bytes of the device's memory that were allocated: on a CPU the arena's pages that were touched, on a GPU the arena and
  /// what had no room in it.
  virtual int64_t memoryBytes() const = 0;

  /// Since the start; nothing where tasks compute by themselves.
  virtual Launches launches() const { return {}; }
};

} // namespace p3d

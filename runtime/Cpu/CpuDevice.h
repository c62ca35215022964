// The CPU as a device: the arena is memory of this process.
#pragma once
#include "runtime/Cpu/Arena.h"
#include "runtime/Train/Device.h"

namespace p3d {

class CpuDevice : public Device {
public:
  explicit CpuDevice(Arenas &arenas) : arenas(arenas) {}

  char *arena() override { return arenas.own(); }
  void write(const std::vector<ArenaRange> &ranges,
             const std::function<void(const HostRanges &)> &fill) override;
  void read(const std::vector<ArenaRange> &ranges,
            const std::function<void(const HostRanges &)> &use) override;
  void zero(ArenaRange range) override;
  int64_t memoryBytes() const override { return arenas.touchedBytes(); }
  void runOrder(const std::function<void()> &order) override { order(); }
  void runTask(const std::function<void()> &task) override { task(); }
  double gradientNorm(p3d_context &context) override;
  void update(p3d_context &context, const RunOptions &options, int64_t number,
              double learningRate, double gradientScale) override;

private:
  HostRanges locate(const std::vector<ArenaRange> &ranges);
  Arenas &arenas;
};

} // namespace p3d

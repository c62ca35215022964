// Memory in place, and the optimizer kernels on each parameter of the rank.
#include "runtime/Cpu/CpuDevice.h"
#include "kernels/Kernels.h"
#include "runtime/Context.h"
#include "runtime/Program/Layout.h"
#include <cmath>
#include <cstring>

namespace p3d {

HostRanges CpuDevice::locate(const std::vector<ArenaRange> &ranges) {
  HostRanges places;
  for (const ArenaRange &range : ranges)
    places.push_back(range.offset < 0 ? nullptr : arena() + range.offset);
  return places;
}

void CpuDevice::write(const std::vector<ArenaRange> &ranges,
                      const std::function<void(const HostRanges &)> &fill) {
  fill(locate(ranges));
}

void CpuDevice::read(const std::vector<ArenaRange> &ranges,
                     const std::function<void(const HostRanges &)> &use) {
  use(locate(ranges));
}

void CpuDevice::zero(ArenaRange range) {
  if (range.offset >= 0)
    std::memset(arena() + range.offset, 0, size_t(range.bytes));
}

double CpuDevice::gradientNorm(p3d_context &context) {
  const Program &program = context.program;
  double sum = 0;
  for (const Param &param : program.params) {
    if (param.grad < 0 || !ownsCopy(param, program.mesh, context.at, program.normAxes))
      continue;
    // Padding is zero, so the storage can be taken as a whole.
    OwnedPart owned = ownedPart(param, program.mesh, context.at);
    const char *grad = arena() + owned.grad;
    sum += p3d_squared_norm(reinterpret_cast<const float *>(grad), owned.count);
  }
  context.enterOperation("gradient norm");
  context.transport.sumOverNorm(&sum);
  return std::sqrt(sum);
}

static float *floatsAt(char *arena, int64_t offset) {
  return offset < 0 ? nullptr : reinterpret_cast<float *>(arena + offset);
}

void CpuDevice::update(p3d_context &context, const RunOptions &options,
                       int64_t step, double learningRate,
                       double gradientScale) {
  const Program &program = context.program;
  char *base = arena();
  context.enterOperation(optimizerName(program.optimizer));
  for (const Param &param : program.params) {
    if (param.role != Role::Param || param.grad < 0)
      continue;
    OwnedPart owned = ownedPart(param, program.mesh, context.at);
    float decay = param.decay ? float(options.weightDecay) : 0;
    char *values = base + owned.values;
    float *master = floatsAt(base, owned.master);
    float *grad = floatsAt(base, owned.grad);
    switch (program.optimizer) {
    case Optimizer::AdamW:
      p3d_adamw(param.dtype, values, master, grad, floatsAt(base, owned.m),
                floatsAt(base, owned.v), owned.count, step, float(learningRate),
                float(options.beta1), float(options.beta2),
                float(options.epsilon), decay, float(gradientScale));
      break;
    case Optimizer::Sgd:
      p3d_sgd(param.dtype, values, master, grad, floatsAt(base, owned.m),
              owned.count, float(learningRate), float(options.momentum), decay,
              float(gradientScale));
      break;
    case Optimizer::None:
      break;
    }
  }
}

} // namespace p3d

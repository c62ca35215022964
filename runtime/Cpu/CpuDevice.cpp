// Memory in place, and the optimizer kernels on each parameter of the rank.
#include "runtime/Cpu/CpuDevice.h"
#include "kernels/Kernels.h"
#include "kernels/cpu/Element.h"
#include "kernels/cpu/Parallel.h"
#include "runtime/Context.h"
#include "runtime/DType.h"
#include "runtime/Program/Layout.h"
#include <algorithm>
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
  constexpr int64_t grain = 1 << 20;
  if (range.offset >= 0)
    parallelFor(range.bytes, grain, [&](int64_t begin, int64_t end) {
      std::memset(arena() + range.offset + begin, 0, size_t(end - begin));
    });
}

/// Calls body(first, gradients, count) for parts of `count` gradients at `data`, as
/// f32: what is f32 already, at once.
static void forGradients(
    const Param &param, const char *data, int64_t count,
    const std::function<void(int64_t, const float *, int64_t)> &body) {
  int64_t part = param.gradDType == P3D_F32 ? count : 65536;
  RowReader gradients(param.gradDType, data, part);
  for (int64_t first = 0; first < count; first += part) {
    int64_t size = std::min(part, count - first);
    body(first, gradients.read(first, size), size);
  }
}

double CpuDevice::gradientNorm(p3d_context &context) {
  const Program &program = context.program;
  double sum = 0;
  for (const Param &param : program.params) {
    if (param.grad < 0 || !ownsCopy(param, program.mesh, context.at, program.normAxes))
      continue;
    // Padding is zero, so the storage can be taken as a whole.
    OwnedPart owned = ownedPart(param, program.mesh, context.at);
    forGradients(param, arena() + owned.grad, owned.count,
                 [&](int64_t, const float *grad, int64_t count) {
                   sum += p3d_squared_norm(grad, count);
                 });
  }
  context.enterOperation("gradient norm");
  context.transport.sumOverNorm(&sum);
  return std::sqrt(sum);
}

static float *floatsAt(char *arena, int64_t offset) {
  return offset < 0 ? nullptr : reinterpret_cast<float *>(arena + offset);
}

void CpuDevice::update(p3d_context &context, const RunOptions &options,
                       int64_t number, double learningRate,
                       double gradientScale) {
  const Program &program = context.program;
  char *base = arena();
  context.enterOperation(optimizerName(program.optimizer));
  for (const Param &param : program.params) {
    if (param.role != Role::Param || param.grad < 0)
      continue;
    OwnedPart owned = ownedPart(param, program.mesh, context.at);
    float decay = param.decay ? float(options.weightDecay) : 0;
    // Behind `first` elements.
    auto stateAt = [&](int64_t offset, int64_t first) {
      return floatsAt(base, offset < 0 ? offset : offset + first * 4);
    };
    auto update = [&](int64_t first, const float *grad, int64_t count) {
      char *values = base + owned.values + first * info(param.dtype).bytes;
      float *master = stateAt(owned.master, first);
      float *m = stateAt(owned.m, first), *v = stateAt(owned.v, first);
      if (program.optimizer == Optimizer::AdamW)
        p3d_adamw(param.dtype, values, master, grad, m, v, count, number,
                  float(learningRate), float(options.beta1),
                  float(options.beta2), float(options.epsilon), decay,
                  float(gradientScale));
      else
        p3d_sgd(param.dtype, values, master, grad, m, count,
                float(learningRate), float(options.momentum), decay,
                float(gradientScale));
    };
    if (program.optimizer != Optimizer::None)
      forGradients(param, base + owned.grad, owned.count, update);
  }
}

} // namespace p3d

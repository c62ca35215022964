// Calls the optimizer kernels on each parameter of the rank.
#include "runtime/Train/Update.h"
#include "kernels/Kernels.h"
#include "runtime/Program/Layout.h"
#include <cmath>

namespace p3d {

double gradientNorm(p3d_context &context) {
  const Program &program = context.program;
  double sum = 0;
  for (const Param &param : program.params) {
    if (param.grad < 0 || !ownsCopy(param, context.at, program.normAxes))
      continue;
    // Padding is zero, so the storage can be taken as a whole.
    int64_t count = localLayout(param, program.mesh, context.at).storageCount();
    const char *grad = context.arenas.own() + param.grad;
    sum += p3d_squared_norm(reinterpret_cast<const float *>(grad), count);
  }
  context.enterOperation("gradient norm");
  return std::sqrt(context.transport.sumOverNorm(sum));
}

static float *floatsAt(char *arena, int64_t offset) {
  return offset < 0 ? nullptr : reinterpret_cast<float *>(arena + offset);
}

void updateParameters(p3d_context &context, const RunOptions &options,
                      int64_t step, double learningRate, double gradientScale) {
  const Program &program = context.program;
  char *arena = context.arenas.own();
  context.enterOperation(optimizerName(program.optimizer));
  for (const Param &param : program.params) {
    if (param.role != Role::Param || param.grad < 0)
      continue;
    int64_t count = localLayout(param, program.mesh, context.at).storageCount();
    float decay = param.decay ? float(options.weightDecay) : 0;
    float *master = floatsAt(arena, param.master);
    float *grad = floatsAt(arena, param.grad);
    switch (program.optimizer) {
    case Optimizer::AdamW:
      p3d_adamw(param.dtype, arena + param.offset, master, grad,
                floatsAt(arena, param.m), floatsAt(arena, param.v), count, step,
                float(learningRate), float(options.beta1), float(options.beta2),
                float(options.epsilon), decay, float(gradientScale));
      break;
    case Optimizer::Sgd:
      p3d_sgd(param.dtype, arena + param.offset, master, grad,
              floatsAt(arena, param.m), count, float(learningRate),
              float(options.momentum), decay, float(gradientScale));
      break;
    case Optimizer::None:
      break;
    }
  }
}

} // namespace p3d

// The gradient norm and the optimizer, each one launch over all parameters.
#include "runtime/Context.h"
#include "runtime/Cuda/CudaDevice.h"
#include "runtime/Program/Layout.h"
#include <cmath>

namespace p3d {

static_assert(sizeof(p3d_cuda_tensor) == P3D_DEVICE_ENTRY && sizeof(p3d_cuda_step) <= P3D_DEVICE_PIECE);

p3d_cuda_tensor CudaDevice::tensorOf(const Param &param, p3d_context &context, double weightDecay) {
  auto at = [&](int64_t offset) { return offset < 0 ? nullptr : reinterpret_cast<float *>(arena() + offset); };
  p3d_cuda_tensor tensor{};
  // Padding is zero, so the storage can be taken as a whole.
  OwnedPart owned = ownedPart(param, context.program.mesh, context.at);
  tensor.p = arena() + owned.values;
  tensor.master = at(owned.master), tensor.g = at(owned.grad), tensor.gradDtype = param.gradDType;
  tensor.first = at(owned.m), tensor.second = at(owned.v);
  tensor.count = owned.count;
  tensor.dtype = param.dtype;
  tensor.weightDecay = param.decay ? float(weightDecay) : 0;
  return tensor;
}

CudaDevice::TensorTable CudaDevice::makeTable(std::vector<p3d_cuda_tensor> tensors) {
  TensorTable table;
  int64_t bytes = int64_t(tensors.size() * sizeof(p3d_cuda_tensor));
  table.tensors = int32_t(tensors.size());
  table.blocks = p3d_cuda_number_blocks(tensors.data(), table.tensors);
  table.memory = pieces.take(bytes, "tables");
  if (bytes > 0)
    upload(table.memory, tensors.data(), bytes);
  return table;
}

double CudaDevice::gradientNorm(p3d_context &context) {
  if (!normTable.memory) {
    std::vector<p3d_cuda_tensor> tensors;
    for (const Param &param : context.program.params)
      if (param.grad >= 0 && ownsCopy(param, context.program.mesh, context.at, context.program.normAxes))
        tensors.push_back(tensorOf(param, context, 0));
    normTable = makeTable(tensors);
  }
  auto *sum = reinterpret_cast<double *>(squaredNorm);
  P3D_CU(cuMemsetD8Async, squaredNorm, 0, sizeof(double), streams.compute());
  if (normTable.tensors > 0)
    p3d_cuda_squared_norm_table(&launcher, streams.compute(), normTable.get(), normTable.tensors, normTable.blocks,
                                sum);
  context.enterOperation("gradient norm");
  streams.fork();
  context.transport.sumOverNorm(sum);
  streams.join();
  auto *staged = reinterpret_cast<double *>(staging.take(sizeof(double)));
  P3D_CU(cuMemcpyDtoHAsync, staged, squaredNorm, sizeof(double), streams.compute());
  synchronize();
  return std::sqrt(*staged);
}

void CudaDevice::update(p3d_context &context, const RunOptions &options, int64_t number, double learningRate,
                        double gradientScale) {
  const Program &program = context.program;
  context.enterOperation(optimizerName(program.optimizer));
  if (!updateTable.memory) {
    std::vector<p3d_cuda_tensor> tensors;
    for (const Param &param : program.params)
      if (param.role == Role::Param && param.grad >= 0)
        tensors.push_back(tensorOf(param, context, options.weightDecay));
    updateTable = makeTable(tensors);
  }
  if (updateTable.tensors == 0)
    return;
  p3d_cuda_step constants =
      p3d_cuda_adamw_step(number, float(learningRate), float(options.beta1), float(options.beta2), float(gradientScale));
  upload(stepConstants, &constants, sizeof(constants));
  auto *onDevice = reinterpret_cast<const p3d_cuda_step *>(stepConstants);
  switch (program.optimizer) {
  case Optimizer::AdamW:
    return p3d_cuda_adamw_table(&launcher, streams.compute(), updateTable.get(), updateTable.tensors,
                                updateTable.blocks, onDevice, float(options.beta1), float(options.beta2),
                                float(options.epsilon));
  case Optimizer::Sgd:
    return p3d_cuda_sgd_table(&launcher, streams.compute(), updateTable.get(), updateTable.tensors, updateTable.blocks,
                              onDevice, float(options.momentum));
  case Optimizer::None:
    return;
  }
}

} // namespace p3d

// Loading and initialising: walks the runs of a rank's part of each whole
// tensor.
#include "runtime/Train/Parameters.h"
#include "runtime/DType.h"
#include "runtime/Error.h"
#include "runtime/Program/Layout.h"
#include "runtime/Train/Random.h"
#include <cstring>

namespace p3d {

bool isStored(const Param &param) { return param.role != Role::Key; }

static bool canLoad(const Param &param, p3d_dtype fileDType) {
  // A 16-bit parameter with an f32 master can start from either.
  return fileDType == param.fileDType || fileDType == param.dtype ||
         (param.master >= 0 && fileDType == P3D_F32);
}

static const TensorView &findTensor(const Param &param,
                                    const SafetensorsFile &file) {
  const TensorView *view = file.find(param.name);
  if (view && view->shape == param.globalShape && canLoad(param, view->dtype))
    return *view;
  return file.expect(param.name, param.fileDType, param.globalShape);
}

void checkParameters(const Program &program, const SafetensorsFile &file) {
  for (const Param &param : program.params)
    if (isStored(param))
      findTensor(param, file);
}

static void clearStorage(const Param &param, const Layout &layout,
                         ParamStorage storage) {
  int64_t count = layout.storageCount();
  std::memset(storage.values, 0, size_t(count * info(param.dtype).bytes));
  if (storage.master)
    std::memset(storage.master, 0, size_t(count * 4));
}

static void loadRun(const Param &param, const TensorView &view,
                    ParamStorage storage, int64_t global, int64_t local,
                    int64_t count) {
  int64_t bytes = info(view.dtype).bytes;
  const char *from = view.data + global * bytes;
  if (!storage.master && view.dtype == param.dtype) {
    std::memcpy(storage.values + local * bytes, from, size_t(count * bytes));
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    char element[8];
    std::memcpy(element, from + i * bytes, size_t(bytes));
    double value = loadFloat(view.dtype, element, 0);
    storeFloat(param.dtype, storage.values, local + i, value);
    if (storage.master)
      storeFloat(P3D_F32, storage.master, local + i, value);
  }
}

void loadParameter(const Param &param, const Mesh &mesh, Coordinates at,
                   const SafetensorsFile &file, ParamStorage storage) {
  const TensorView &view = findTensor(param, file);
  Layout layout = localLayout(param, mesh, at);
  clearStorage(param, layout, storage);
  layout.forEachRun([&](int64_t global, int64_t local, int64_t count) {
    loadRun(param, view, storage, global, local, count);
  });
}

static void initializeRun(const Param &param, NormalStream &normal,
                          ParamStorage storage, int64_t global, int64_t local,
                          int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    double value = param.init.kind == InitKind::Ones ? 1 : 0;
    if (param.init.kind == InitKind::Normal)
      value = float(normal.at(global + i) * param.init.std);
    storeFloat(param.dtype, storage.values, local + i, value);
    if (storage.master)
      storeFloat(P3D_F32, storage.master, local + i, value);
  }
}

void initializeParameter(const Param &param, const Mesh &mesh, Coordinates at,
                         uint64_t seed, ParamStorage storage) {
  if (param.init.kind == InitKind::None)
    userError("{} has no initialisation; give it with --params=FILE",
              param.name);
  Layout layout = localLayout(param, mesh, at);
  clearStorage(param, layout, storage);
  if (param.init.kind == InitKind::Zeros)
    return;
  if (!info(param.dtype).isFloat)
    userError("{} of type {} cannot be initialised; give it with "
              "--params=FILE",
              param.name, info(param.dtype).name);
  NormalStream normal(seed, param.name);
  layout.forEachRun([&](int64_t global, int64_t local, int64_t count) {
    initializeRun(param, normal, storage, global, local, count);
  });
}

void prepareParameters(const Program &program, Coordinates at,
                       const SafetensorsFile *file, uint64_t seed,
                       Device &device) {
  for (const Param &param : program.params) {
    if (!isStored(param))
      continue;
    int64_t count = localLayout(param, program.mesh, at).storageCount();
    for (int64_t state : {param.m, param.v})
      device.zero({state, count * 4});
    device.write({{param.offset, count * info(param.dtype).bytes},
                  {param.master, count * 4}},
                 [&](const HostRanges &host) {
                   ParamStorage storage{host[0], host[1]};
                   if (file)
                     loadParameter(param, program.mesh, at, *file, storage);
                   else
                     initializeParameter(param, program.mesh, at, seed,
                                         storage);
                 });
  }
}

} // namespace p3d

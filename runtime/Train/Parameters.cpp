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

static void clearStorage(const Layout &layout, ParamStorage storage) {
  std::memset(storage.data, 0,
              size_t(layout.storageCount() * info(storage.dtype).bytes));
}

static void loadRun(const TensorView &view, ParamStorage storage,
                    int64_t global, int64_t local, int64_t count) {
  int64_t bytes = info(view.dtype).bytes;
  const char *from = view.data + global * bytes;
  if (view.dtype == storage.dtype) {
    std::memcpy(storage.data + local * bytes, from, size_t(count * bytes));
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    char element[8];
    std::memcpy(element, from + i * bytes, size_t(bytes));
    storeFloat(storage.dtype, storage.data, local + i,
               loadFloat(view.dtype, element, 0));
  }
}

void loadParameter(const Param &param, const Layout &layout,
                   const SafetensorsFile &file, ParamStorage storage) {
  const TensorView &view = findTensor(param, file);
  clearStorage(layout, storage);
  layout.forEachRun([&](int64_t global, int64_t local, int64_t count) {
    loadRun(view, storage, global, local, count);
  });
}

static void initializeRun(const Param &param, NormalStream &normal,
                          ParamStorage storage, int64_t global, int64_t local,
                          int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    double value = param.init.kind == InitKind::Ones ? 1 : 0;
    if (param.init.kind == InitKind::Normal)
      value = float(normal.at(global + i) * param.init.std);
    storeFloat(storage.dtype, storage.data, local + i, value);
  }
}

void initializeParameter(const Param &param, const Layout &layout,
                         uint64_t seed, ParamStorage storage) {
  if (param.init.kind == InitKind::None)
    userError("{} has no initialisation; give it with --params=FILE",
              param.name);
  clearStorage(layout, storage);
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
    auto fill = [&](const Layout &layout, int64_t offset, p3d_dtype dtype) {
      device.write({{offset, layout.storageCount() * info(dtype).bytes}},
                   [&](const HostRanges &host) {
                     ParamStorage storage{host[0], dtype};
                     if (file)
                       loadParameter(param, layout, *file, storage);
                     else
                       initializeParameter(param, layout, seed, storage);
                   });
    };
    fill(valuesLayout(param, program.mesh, at), param.offset, param.dtype);
    OwnedPart owned = ownedPart(param, program.mesh, at);
    if (param.master >= 0)
      fill(ownedLayout(param, program.mesh, at), owned.master, P3D_F32);
    for (int64_t state : {owned.m, owned.v})
      device.zero({state, owned.count * 4});
  }
}

} // namespace p3d

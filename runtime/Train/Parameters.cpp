// Loading and initialising: walks the runs of a rank's part of each whole
// tensor.
#include "runtime/Train/Parameters.h"
#include "runtime/DType.h"
#include "runtime/Error.h"
#include "runtime/Program/Layout.h"
#include "runtime/Train/Random.h"
#include <cmath>
#include <cstring>

namespace p3d {

bool isStored(const Param &param) {
  return param.role != Role::Key && param.role != Role::LossScale;
}

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

static const TensorKinds optimizerKinds = {&firstMoments, &secondMoments,
                                           &masterTensors};

void checkOptimizerState(const Program &program, const SafetensorsFile &file) {
  for (const TensorKind *kind : optimizerKinds)
    for (const Param &param : program.params)
      if (kind->has(param))
        file.expect(kind->name(param), P3D_F32, param.globalShape);
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

static void loadTensor(const TensorView &view, const Layout &layout,
                       ParamStorage storage) {
  clearStorage(layout, storage);
  layout.forEachRun([&](int64_t global, int64_t local, int64_t count) {
    loadRun(view, storage, global, local, count);
  });
}

void loadParameter(const Param &param, const Layout &layout,
                   const SafetensorsFile &file, ParamStorage storage) {
  loadTensor(findTensor(param, file), layout, storage);
}

/// The value of element `index` of a tensor.
static double initialValue(const Init &init, NormalStream &normal,
                           const UniformStream &uniform, int64_t index) {
  switch (init.kind) {
  case InitKind::None:
  case InitKind::Zeros:
    return 0;
  case InitKind::Ones:
    return 1;
  case InitKind::Normal:
    return float(normal.at(index) * init.std);
  case InitKind::Uniform:
    return float((2 * uniform.at(index) - 1) * std::sqrt(3.) * init.std);
  }
  return 0;
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
  UniformStream uniform(seed, param.name);
  layout.forEachRun([&](int64_t global, int64_t local, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      storeFloat(storage.dtype, storage.data, local + i,
                 initialValue(param.init, normal, uniform, global + i));
  });
}

/// The optimizer's states of `param`: as stored, or zero.
static void prepareStates(const Program &program, Coordinates at,
                          const Param &param, const SafetensorsFile *file,
                          Device &device) {
  OwnedPart owned = ownedPart(param, program.mesh, at);
  for (const TensorKind *kind : optimizerKinds) {
    if (!kind->has(param))
      continue;
    Layout layout = ownedLayout(param, program.mesh, at);
    ArenaRange range{kind->storage(param, owned).offset,
                     layout.storageCount() * int64_t(sizeof(float))};
    if (file)
      device.write({range}, [&](const HostRanges &host) {
        loadTensor(file->expect(kind->name(param), P3D_F32, param.globalShape),
                   layout, {host[0], P3D_F32});
      });
    else if (kind != &masterTensors) // a master starts as its parameter
      device.zero(range);
  }
}

/// `param` as the user's rules want it to start, if one holds.
static Param withRule(const Param &param, const StoredState &state) {
  Param changed = param;
  if (state.init && state.init->count(param.name))
    changed.init = state.init->at(param.name);
  return changed;
}

void prepareParameters(const Program &program, Coordinates at,
                       const StoredState &state, uint64_t seed,
                       Device &device) {
  for (const Param &param : program.params) {
    if (!isStored(param))
      continue;
    auto fill = [&](const Layout &layout, int64_t offset, p3d_dtype dtype) {
      device.write({{offset, layout.storageCount() * info(dtype).bytes}},
                   [&](const HostRanges &host) {
                     ParamStorage storage{host[0], dtype};
                     if (state.params)
                       loadParameter(param, layout, *state.params, storage);
                     else
                       initializeParameter(withRule(param, state), layout, seed,
                                           storage);
                   });
    };
    fill(valuesLayout(param, program.mesh, at), param.offset, param.dtype);
    if (param.master >= 0)
      fill(ownedLayout(param, program.mesh, at),
           ownedPart(param, program.mesh, at).master, P3D_F32);
    prepareStates(program, at, param, state.optimizer, device);
  }
}

} // namespace p3d

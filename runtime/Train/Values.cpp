#include "runtime/Train/Values.h"
#include "runtime/DType.h"
#include "runtime/Program/Layout.h"
#include <algorithm>
#include <cstring>
#include <map>

namespace p3d {

std::vector<TensorSpec>
valueTensors(const std::vector<const Program *> &programs) {
  // A value that several stages keep is the same in all of them.
  std::map<std::string, TensorSpec> byName;
  for (const Program *program : programs)
    for (const Value &value : program->values)
      byName[value.name] = {value.name, value.dtype, value.paddedShape};
  std::vector<TensorSpec> tensors;
  for (auto &[name, spec] : byName)
    tensors.push_back(spec);
  return tensors;
}

static bool isCopy(const Value &value, const Mesh &mesh, Coordinates at) {
  auto firstHas = [&](p3d_axis axis) {
    return mesh.along(axis, at) != 0 &&
           std::none_of(value.shards.begin(), value.shards.end(),
                        [&](const ValueShard &shard) {
                          return covers(shard.axes, axis);
                        });
  };
  return firstHas(P3D_TP_MAJOR) || firstHas(P3D_TP_MINOR) || firstHas(P3D_DP);
}

void exportValues(const Program &program, Coordinates at,
                  const OrderEntry &entry, Device &device,
                  const SafetensorsFile &file) {
  for (const Value &value : program.values) {
    if (value.task != program.tasks[entry.task] ||
        isCopy(value, program.mesh, at))
      continue;
    const TensorView &view =
        file.expect(value.name, value.dtype, value.paddedShape);
    int64_t bytes = info(value.dtype).bytes;
    Layout layout = localLayout(value, program, at, entry.mb);
    int64_t offset =
        value.places[size_t(entry.mb) % value.places.size()] + value.offset;
    device.read(
        {{offset, layout.storageCount() * bytes}},
        [&](const HostRanges &host) {
          layout.forEachRun([&](int64_t global, int64_t local, int64_t count) {
            std::memcpy(view.data + global * bytes, host[0] + local * bytes,
                        size_t(count * bytes));
          });
        });
  }
}

} // namespace p3d

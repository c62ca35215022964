// Whole tensors from pieces and shards: each element is written by its one
// owner, in place in a file that the launcher has made.
#include "runtime/DType.h"
#include "runtime/Error.h"
#include "runtime/Program/Layout.h"
#include "runtime/Train/Parameters.h"
#include <cstring>
#include <map>
#include <set>

namespace p3d {

static std::string gradientName(const Param &param) {
  static const std::string prefix = "params.";
  bool hasPrefix = param.name.compare(0, prefix.size(), prefix) == 0;
  return "grads." + param.name.substr(hasPrefix ? prefix.size() : 0);
}

static bool hasGradient(const Param &param) { return param.grad >= 0; }

/// A program that leaves part of a tensor to nobody would export zeros.
static void checkPieces(const std::string &name, int64_t needed,
                        const std::vector<const Param *> &pieces) {
  std::set<std::pair<std::vector<int64_t>, std::vector<int64_t>>> boxes;
  int64_t covered = 0;
  for (const Param *piece : pieces)
    if (piece->countsInNorm &&
        boxes.emplace(piece->pieceOffset, piece->pieceShape).second) {
      int64_t count = 1;
      for (int64_t extent : piece->pieceShape)
        count *= extent;
      covered += count;
    }
  if (covered != needed)
    internalError("the pieces of {} hold {} of its {} elements", name, covered,
                  needed);
}

static std::vector<TensorSpec>
wholeTensors(const std::vector<const Program *> &programs,
             bool (*wanted)(const Param &), bool gradients) {
  std::map<std::string, std::vector<const Param *>> byName;
  for (const Program *program : programs)
    for (const Param &param : program->params)
      if (wanted(param))
        byName[gradients ? gradientName(param) : param.name].push_back(&param);
  std::vector<TensorSpec> tensors;
  for (const auto &[name, pieces] : byName) {
    const Param &first = *pieces.front();
    int64_t count = 1;
    for (int64_t extent : first.globalShape)
      count *= extent;
    for (const Param *piece : pieces)
      if (piece->globalShape != first.globalShape ||
          piece->fileDType != first.fileDType)
        internalError("the stages disagree on the type of {}", name);
    checkPieces(name, count, pieces);
    tensors.push_back(
        {name, gradients ? P3D_F32 : first.fileDType, first.globalShape});
  }
  return tensors;
}

std::vector<TensorSpec>
exportedTensors(const std::vector<const Program *> &programs) {
  return wholeTensors(programs, isStored, false);
}

std::vector<TensorSpec>
gradientTensors(const std::vector<const Program *> &programs) {
  return wholeTensors(programs, hasGradient, true);
}

/// Copies `count` elements, changing the type of floats if need be.
static void convert(p3d_dtype from, const char *source, p3d_dtype to,
                    char *target, int64_t count) {
  int64_t bytes = info(to).bytes;
  if (from == to) {
    std::memcpy(target, source, size_t(count * bytes));
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    char element[8];
    storeFloat(to, element, 0, loadFloat(from, source, i));
    std::memcpy(target + i * bytes, element, size_t(bytes));
  }
}

/// Where the owned elements of a parameter lie, and their type.
struct OwnedStorage {
  int64_t offset;
  p3d_dtype dtype;
};

static void writeOwned(const Program &program, Coordinates at,
                       const Param &param, Device &device,
                       OwnedStorage storage, const TensorView &view) {
  if (!ownsCopy(param, program.mesh, at, {P3D_TP, P3D_DP}))
    return;
  int64_t from = info(storage.dtype).bytes, to = info(view.dtype).bytes;
  Layout layout = ownedLayout(param, program.mesh, at);
  device.read({{storage.offset, layout.storageCount() * from}},
              [&](const HostRanges &host) {
                layout.forEachRun(
                    [&](int64_t global, int64_t local, int64_t count) {
                      convert(storage.dtype, host[0] + local * from, view.dtype,
                              view.data + global * to, count);
                    });
              });
}

void exportParameters(const Program &program, Coordinates at, Device &device,
                      const SafetensorsFile &file) {
  for (const Param &param : program.params) {
    if (!isStored(param))
      continue;
    OwnedPart owned = ownedPart(param, program.mesh, at);
    bool master = param.master >= 0;
    writeOwned(program, at, param, device,
               {master ? owned.master : owned.values,
                master ? P3D_F32 : param.dtype},
               file.expect(param.name, param.fileDType, param.globalShape));
  }
}

void exportGradients(const Program &program, Coordinates at, Device &device,
                     const SafetensorsFile &file) {
  for (const Param &param : program.params)
    if (hasGradient(param))
      writeOwned(program, at, param, device,
                 {ownedPart(param, program.mesh, at).grad, param.gradDType},
                 file.expect(gradientName(param), P3D_F32, param.globalShape));
}

} // namespace p3d

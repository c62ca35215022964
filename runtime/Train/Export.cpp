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

static std::string withPrefix(const char *prefix, const Param &param) {
  static const std::string usual = "params.";
  bool hasPrefix = param.name.compare(0, usual.size(), usual) == 0;
  return prefix + param.name.substr(hasPrefix ? usual.size() : 0);
}

/// A 16-bit master in a file would not be the one that training goes on with.
static bool hasOwnMaster(const Param &param) {
  return param.master >= 0 && param.fileDType != P3D_F32;
}

const TensorKind parameterTensors = {
    isStored, [](const Param &param) { return param.name; },
    [](const Param &param) { return param.fileDType; },
    [](const Param &param, const OwnedPart &owned) {
      bool master = param.master >= 0;
      return OwnedStorage{master ? owned.master : owned.values,
                          master ? P3D_F32 : param.dtype};
    }};

static p3d_dtype f32(const Param &) { return P3D_F32; }

const TensorKind gradientTensors = {
    [](const Param &param) { return param.grad >= 0; },
    [](const Param &param) { return withPrefix("grads.", param); }, f32,
    [](const Param &param, const OwnedPart &owned) {
      return OwnedStorage{owned.grad, param.gradDType};
    }};

const TensorKind firstMoments = {
    [](const Param &param) { return param.m >= 0; },
    [](const Param &param) { return withPrefix("m.", param); }, f32,
    [](const Param &, const OwnedPart &owned) {
      return OwnedStorage{owned.m, P3D_F32};
    }};

const TensorKind secondMoments = {
    [](const Param &param) { return param.v >= 0; },
    [](const Param &param) { return withPrefix("v.", param); }, f32,
    [](const Param &, const OwnedPart &owned) {
      return OwnedStorage{owned.v, P3D_F32};
    }};

const TensorKind masterTensors = {
    hasOwnMaster, [](const Param &param) { return withPrefix("master.", param); },
    f32, [](const Param &, const OwnedPart &owned) {
      return OwnedStorage{owned.master, P3D_F32};
    }};

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

static void addWholeTensors(const std::vector<const Program *> &programs,
                            const TensorKind &kind,
                            std::vector<TensorSpec> &tensors) {
  std::map<std::string, std::vector<const Param *>> byName;
  for (const Program *program : programs)
    for (const Param &param : program->params)
      if (kind.has(param))
        byName[kind.name(param)].push_back(&param);
  for (const auto &[name, pieces] : byName) {
    const Param &first = *pieces.front();
    int64_t count = 1;
    for (int64_t extent : first.globalShape)
      count *= extent;
    for (const Param *piece : pieces)
      if (piece->globalShape != first.globalShape ||
          kind.dtype(*piece) != kind.dtype(first))
        internalError("the stages disagree on the type of {}", name);
    checkPieces(name, count, pieces);
    tensors.push_back({name, kind.dtype(first), first.globalShape});
  }
}

std::vector<TensorSpec>
wholeTensors(const std::vector<const Program *> &programs,
             const TensorKinds &kinds) {
  std::vector<TensorSpec> tensors;
  for (const TensorKind *kind : kinds)
    addWholeTensors(programs, *kind, tensors);
  return tensors;
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

/// Hands the elements of `param` that the rank owns to `sink`, in the type of
/// `view`.
static void forEachOwned(const Program &program, Coordinates at,
                         const Param &param, Device &device,
                         OwnedStorage storage, const TensorView &view,
                         const OwnedSink &sink) {
  if (!ownsCopy(param, program.mesh, at, {P3D_TP, P3D_DP}))
    return;
  int64_t from = info(storage.dtype).bytes, to = info(view.dtype).bytes;
  Layout layout = ownedLayout(param, program.mesh, at);
  device.read({{storage.offset, layout.storageCount() * from}},
              [&](const HostRanges &host) {
                layout.forEachRun(
                    [&](int64_t global, int64_t local, int64_t count) {
                      convert(storage.dtype, host[0] + local * from, view.dtype,
                              sink(view, global * to, count * to), count);
                    });
              });
}

void forEachOwned(const Program &program, Coordinates at, Device &device,
                  const TensorKinds &kinds, const SafetensorsFile &file,
                  const OwnedSink &sink) {
  for (const TensorKind *kind : kinds)
    for (const Param &param : program.params)
      if (kind->has(param))
        forEachOwned(program, at, param, device,
                     kind->storage(param, ownedPart(param, program.mesh, at)),
                     file.expect(kind->name(param), kind->dtype(param),
                                 param.globalShape),
                     sink);
}

void writeOwned(const Program &program, Coordinates at, Device &device,
                const TensorKinds &kinds, const SafetensorsFile &file) {
  forEachOwned(program, at, device, kinds, file,
               [](const TensorView &view, int64_t offset, int64_t) {
                 return view.data + offset;
               });
}

} // namespace p3d

// The parameters of a rank: loading from safetensors, initialising from the
// seed, and writing whole tensors back.
#pragma once
#include "runtime/Data/Safetensors.h"
#include "runtime/Program/Layout.h"
#include "runtime/Train/Device.h"

namespace p3d {

/// True for entries that --params supplies: not for what the runtime sets.
bool isStored(const Param &param);

/// A user error unless `file` has the states that the optimizer of `program`
/// keeps.
void checkOptimizerState(const Program &program, const SafetensorsFile &file);

/// A user error unless `file` has every stored parameter of `program` with the
/// right shape and a type that it can be loaded from.
void checkParameters(const Program &program, const SafetensorsFile &file);

/// Memory of a rank for elements of a parameter: of their own type, or of an f32
/// master.
struct ParamStorage {
  char *data;
  p3d_dtype dtype;
};

/// Fills the storage of `layout` from `file`; padding is zero.
void loadParameter(const Param &param, const Layout &layout,
                   const SafetensorsFile &file, ParamStorage storage);

/// Fills it from the seed, each element by its index in the whole tensor. A
/// user error for a parameter without an initialisation.
void initializeParameter(const Param &param, const Layout &layout,
                         uint64_t seed, ParamStorage storage);

/// Where a run takes its state from: the parameters, and the optimizer's, both
/// checked before; without files, how parameters start where it is not as the
/// program says.
struct StoredState {
  const SafetensorsFile *params = nullptr, *optimizer = nullptr;
  const std::map<std::string, Init> *init = nullptr;
};

/// All stored parameters, from `state` or, without it, from the seed; without
/// stored states the optimizer's become zero.
void prepareParameters(const Program &program, Coordinates at,
                       const StoredState &state, uint64_t seed, Device &device);

/// Where the owned elements of a parameter lie in the arena, and their type.
struct OwnedStorage {
  int64_t offset;
  p3d_dtype dtype;
};

/// A kind of tensors that files hold, one for each parameter that has it.
struct TensorKind {
  bool (*has)(const Param &param);
  std::string (*name)(const Param &param);
  p3d_dtype (*dtype)(const Param &param); ///< in the file
  OwnedStorage (*storage)(const Param &param, const OwnedPart &owned);
};
using TensorKinds = std::vector<const TensorKind *>;

/// Parameters in the type of the model; gradients, f32 under "grads." in place
/// of "params."; AdamW's moments ("m.", of sgd with momentum too, and "v.");
/// f32 masters of parameters that files hold in 16 bits ("master.").
extern const TensorKind parameterTensors, gradientTensors, firstMoments,
    secondMoments, masterTensors;

/// The whole tensors of these kinds that the programs hold together, by kind
/// and name.
std::vector<TensorSpec>
wholeTensors(const std::vector<const Program *> &programs,
             const TensorKinds &kinds);

/// Gives the memory for `bytes` bytes of a tensor from `offset` on.
using OwnedSink = std::function<char *(const TensorView &view, int64_t offset,
                                       int64_t bytes)>;
/// Copies the elements that this rank owns, tensor by tensor of `file`, in
/// ranges to where `sink` says.
void forEachOwned(const Program &program, Coordinates at, Device &device,
                  const TensorKinds &kinds, const SafetensorsFile &file,
                  const OwnedSink &sink);
/// Copies them to the tensors of `file`.
void writeOwned(const Program &program, Coordinates at, Device &device,
                const TensorKinds &kinds, const SafetensorsFile &file);

} // namespace p3d

// The parameters of a rank: loading from safetensors, initialising from the
// seed, and writing whole tensors back.
#pragma once
#include "runtime/Data/Safetensors.h"
#include "runtime/Program/Layout.h"
#include "runtime/Train/Device.h"

namespace p3d {

/// True for entries that --params supplies (all but random keys).
bool isStored(const Param &param);

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

/// All stored parameters, from `file` or, without one, from the seed; the
/// optimizer's states become zero.
void prepareParameters(const Program &program, Coordinates at,
                       const SafetensorsFile *file, uint64_t seed,
                       Device &device);

/// The whole tensors that an export of these programs holds, by name.
std::vector<TensorSpec>
exportedTensors(const std::vector<const Program *> &programs);
/// The same for gradients: f32, under "grads." in place of "params.".
std::vector<TensorSpec>
gradientTensors(const std::vector<const Program *> &programs);

/// Writes the elements that this rank owns to the tensors of `file`.
void exportParameters(const Program &program, Coordinates at, Device &device,
                      const SafetensorsFile &file);
void exportGradients(const Program &program, Coordinates at, Device &device,
                     const SafetensorsFile &file);

} // namespace p3d

// The inside of a step, for comparison with a reference: what forward tasks
// leave for backward ones, as whole tensors.
#pragma once
#include "runtime/Data/Safetensors.h"
#include "runtime/Program/Program.h"
#include "runtime/Train/Device.h"

namespace p3d {

/// The tensors that these programs can show, by name, padding included.
std::vector<TensorSpec>
valueTensors(const std::vector<const Program *> &programs);

/// Writes what the forward task `entry` left to the tensors of
/// `file`; of copies only the first rank's.
void exportValues(const Program &program, Coordinates at,
                  const OrderEntry &entry, Device &device,
                  const SafetensorsFile &file);

} // namespace p3d

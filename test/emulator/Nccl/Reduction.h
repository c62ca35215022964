// Element types and reductions of the stand-in for NCCL: summed in the order of ranks, halves in float and rounded
// once.
#pragma once
#include <nccl.h>
#include <string>
#include <vector>

namespace p3d::emulator {

/// 0 for a type that is not emulated.
size_t bytesOf(ncclDataType_t type);
std::string nameOf(ncclDataType_t type);
std::string nameOf(ncclRedOp_t op);
bool isKnown(ncclRedOp_t op);

/// target[i] = sources[0][i] op sources[1][i] op ...; the target may be one of the sources.
void reduceInOrder(ncclDataType_t type, ncclRedOp_t op, const std::vector<const char *> &sources, char *target,
                   size_t count);

} // namespace p3d::emulator

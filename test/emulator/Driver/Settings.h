// What the environment says about the emulated machine, read once.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace p3d::emulator {

struct Settings {
  int rank;              ///< P3D_RANK, or what MPI, Slurm or torchrun say; -1: none of them
  int devices;           ///< P3D_EMULATOR_DEVICES, 8
  size_t memoryBytes;    ///< P3D_EMULATOR_MEMORY for each device: bytes, or with K, M, G; 80G
  uint64_t seed;         ///< P3D_EMULATOR_SEED of the delays; 0: none
  bool hasPeerAccess;    ///< P3D_EMULATOR_PEER_ACCESS; 0: devices of a machine cannot reach each other
  int architecture;      ///< P3D_EMULATOR_ARCH: compute capability, 80
  double timeoutSeconds; ///< P3D_EMULATOR_TIMEOUT of a collective that waits for its peers, 60
  std::string traceFile; ///< P3D_EMULATOR_TRACE; empty: no trace
};

const Settings &settings();

} // namespace p3d::emulator

#include "test/emulator/Driver/Settings.h"
#include <cstdlib>

namespace p3d::emulator {

static std::string text(const char *name) {
  const char *value = getenv(name);
  return value ? value : "";
}

static double number(const char *name, double otherwise) {
  std::string value = text(name);
  return value.empty() ? otherwise : atof(value.c_str());
}

static size_t bytes(const char *name, size_t otherwise) {
  std::string value = text(name);
  if (value.empty())
    return otherwise;
  char *end;
  double count = strtod(value.c_str(), &end);
  for (const char *unit : {"K", "M", "G"}) {
    count *= 1024;
    if (*end == *unit)
      return size_t(count);
  }
  return strtoull(value.c_str(), nullptr, 10);
}

static int rank() {
  for (const char *name : {"P3D_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "RANK"})
    if (!text(name).empty())
      return atoi(text(name).c_str());
  return -1;
}

const Settings &settings() {
  static const Settings *all = new Settings{rank(),
                                            int(number("P3D_EMULATOR_DEVICES", 8)),
                                            bytes("P3D_EMULATOR_MEMORY", size_t(80) << 30),
                                            uint64_t(number("P3D_EMULATOR_SEED", 0)),
                                            number("P3D_EMULATOR_PEER_ACCESS", 1) != 0,
                                            int(number("P3D_EMULATOR_ARCH", 80)),
                                            number("P3D_EMULATOR_TIMEOUT", 60),
                                            text("P3D_EMULATOR_TRACE")};
  return *all;
}

} // namespace p3d::emulator

#include "test/emulator/Driver/Fault.h"

const char *const p3d::emulator::faultSpeaker = "emulator";

// The dialects a loss function comes in: `stablehlo`, `chlo` and `sdy`.
#ifndef P3D_DIALECTS_STABLEHLO_STABLEHLO_H
#define P3D_DIALECTS_STABLEHLO_STABLEHLO_H

#include "dialects/StableHLO/ChloDialect.h"
#include "dialects/StableHLO/SdyDialect.h"
#include "dialects/StableHLO/StableHLODialect.h"

#endif // P3D_DIALECTS_STABLEHLO_STABLEHLO_H

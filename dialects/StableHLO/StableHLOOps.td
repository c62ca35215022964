// The dialect as one: what tablegen reads.
#ifndef P3D_STABLEHLO_OPS
#define P3D_STABLEHLO_OPS

include "dialects/StableHLO/StableHLOElementwiseOps.td"
include "dialects/StableHLO/StableHLOShapeOps.td"
include "dialects/StableHLO/StableHLOComputeOps.td"
include "dialects/StableHLO/StableHLOControlOps.td"
include "dialects/StableHLO/StableHLOCollectiveOps.td"

#endif // P3D_STABLEHLO_OPS

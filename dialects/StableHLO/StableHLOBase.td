// What the op files share: the constraints on operands and the base classes.
#ifndef P3D_STABLEHLO_BASE
#define P3D_STABLEHLO_BASE

include "dialects/StableHLO/StableHLOAttrs.td"
include "dialects/StableHLO/StableHLOTypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class StableHLO_Op<string mnemonic, list<Trait> traits = []> : Op<StableHLO_Dialect, mnemonic, traits>;

class StableHLO_PureOp<string mnemonic, list<Trait> traits = []>
    : StableHLO_Op<mnemonic, !listconcat([Pure], traits)>;

/// Tensors of any element type: which types an op takes is the importer's question.
def StableHLO_Tensor : RankedTensorOf<[AnyType]>;

def StableHLO_PrecisionConfig : TypedArrayAttrBase<StableHLO_PrecisionAttr, "array of precisions">;
def StableHLO_ReplicaGroups : AnyAttrOf<[I64ElementsAttr, StableHLO_ReplicaGroupMeshAxes]>;

#endif // P3D_STABLEHLO_BASE

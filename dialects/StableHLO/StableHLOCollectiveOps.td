// Collectives, which only programs partitioned elsewhere contain, and transfers to the host. Generic form only.
#ifndef P3D_STABLEHLO_COLLECTIVE_OPS
#define P3D_STABLEHLO_COLLECTIVE_OPS

include "dialects/StableHLO/StableHLOBase.td"

class StableHLO_CollectiveOp<string mnemonic, dag attributes> : StableHLO_Op<mnemonic> {
  let arguments = !con((ins Variadic<AnyType>:$operands), attributes,
                       (ins OptionalAttr<StableHLO_ChannelHandle>:$channel_handle));
  let results = (outs Variadic<AnyType>);
}
class StableHLO_GroupedOp<string mnemonic, dag attributes>
    : StableHLO_CollectiveOp<mnemonic, !con(attributes, (ins StableHLO_ReplicaGroups:$replica_groups,
                                                             UnitAttr:$use_global_device_ids))>;
class StableHLO_GroupedReductionOp<string mnemonic, dag attributes> : StableHLO_GroupedOp<mnemonic, attributes> {
  let regions = (region SizedRegion<1>:$computation);
}

def StableHLO_AllReduceOp : StableHLO_GroupedReductionOp<"all_reduce", (ins)>;
def StableHLO_ReduceScatterOp : StableHLO_GroupedReductionOp<"reduce_scatter", (ins I64Attr:$scatter_dimension)>;
def StableHLO_CollectiveReduceOp : StableHLO_GroupedReductionOp<"collective_reduce", (ins)>;
def StableHLO_AllGatherOp : StableHLO_GroupedOp<"all_gather", (ins I64Attr:$all_gather_dim)>;
def StableHLO_AllToAllOp
    : StableHLO_GroupedOp<"all_to_all", (ins I64Attr:$split_dimension, I64Attr:$concat_dimension,
                                             I64Attr:$split_count)>;
def StableHLO_CollectiveBroadcastOp : StableHLO_GroupedOp<"collective_broadcast", (ins)>;
def StableHLO_CollectivePermuteOp
    : StableHLO_CollectiveOp<"collective_permute", (ins I64ElementsAttr:$source_target_pairs)>;

#endif // P3D_STABLEHLO_COLLECTIVE_OPS

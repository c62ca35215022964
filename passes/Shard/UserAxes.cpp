#include "passes/Shard/UserAxes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::shard;

void UserAxes::note(sdy::TensorShardingAttr sharding) {
  auto written = dyn_cast<sdy::MeshAttr>(sharding.getMeshOrRef());
  if (auto name = dyn_cast<FlatSymbolRefAttr>(sharding.getMeshOrRef()))
    if (auto op = module.lookupSymbol<sdy::MeshOp>(name.getAttr()))
      written = op.getMesh();
  if (written)
    for (sdy::MeshAxisAttr axis : written.getAxes())
      axes[axis.getName()].size = axis.getSize();
  for (sdy::DimensionShardingAttr dim : sharding.getDimShardings())
    for (sdy::AxisRefAttr axis : dim.getAxes())
      axes[axis.getName()];
}

void UserAxes::decide() {
  bool batchIsKnown = llvm::any_of(axes, [](auto &entry) { return entry.second.shardsBatch; });
  auto isAsLargeAsTp = [&](auto &entry) { return entry.second.size == mesh.getTp() && mesh.getTp() > 1; };
  bool sizeDecides = llvm::count_if(axes, isAsLargeAsTp) == 1;
  for (auto &entry : axes) {
    bool isData = batchIsKnown                    ? entry.second.shardsBatch
                  : axes.size() == 1 ? false
                  : sizeDecides                   ? !isAsLargeAsTp(entry)
                                                  : entry.first == axes.front().first;
    entry.second.standsFor = isData ? dist::Axis::DP : dist::Axis::TP;
  }
}

std::string UserAxes::describe() const {
  SmallVector<std::string> texts;
  for (auto &[name, axis] : axes)
    texts.push_back(llvm::formatv("\"{0}\"{1} {2}for {3}", name, axis.size ? llvm::formatv(" ({0})", axis.size).str() : "", texts.empty() ? "stands " : "", stringifyAxis(axis.standsFor)));
  return llvm::join(texts, ", ");
}

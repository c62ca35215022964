#include "compiler/Cube.h"
#include "dialects/Pipe/PipeOps.h"
#include "passes/Schedule/StageSchedule.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace p3d;
using llvm::formatv;

/// "3", "0-3".
static std::string rangeText(int64_t first, int64_t last) {
  return first == last ? std::to_string(first) : formatv("{0}-{1}", first, last).str();
}

// not messages: what stands in the cube
/// "layers 0-19", "layer 3", of several chunks "layers 0-1, 4-5", "no layers".
static std::string layersText(pipe::StageOp stage) {
  SmallVector<std::string> ranges;
  int64_t layers = 0;
  for (int64_t chunk = 0; chunk < stage.getNumChunks(); ++chunk)
    if (auto [first, last] = stage.getLayersOf(chunk); first <= last) {
      ranges.push_back(rangeText(first, last));
      layers += last - first + 1;
    }
  return ranges.empty() ? "no layers" : (layers == 1 ? "layer " : "layers ") + llvm::join(ranges, ", ");
}

Cube p3d::makeCube(ModuleOp module, RankOrder::Kind rankOrder, const Cluster &cluster) {
  auto mesh = module->getAttrOfType<dist::MeshAttr>(dist::kMeshAttr);
  Cube cube{{mesh.getTp(), mesh.getPp(), mesh.getDp()}, cluster.devicesPerNode, {}, {}};
  RankOrder order(cube.mesh, rankOrder);
  for (int64_t rank = 0; rank < mesh.getRanks(); ++rank)
    cube.cells.push_back({rank, cluster.nodeOf(rank), cluster.deviceOf(rank), order.coordinatesOf(rank)});
  for (pipe::StageOp stage : collectStages(module))
    cube.layers.push_back(layersText(stage));
  return cube;
}

std::string Cube::ranksText(int64_t stage) const {
  SmallVector<std::string> ranges;
  for (ArrayRef<CubeCell> rest = cells; !rest.empty();) {
    ArrayRef<CubeCell> run = rest.take_while([&](const CubeCell &cell) { return cell.at.pp == stage; });
    if (!run.empty())
      ranges.push_back(rangeText(run.front().rank, run.back().rank));
    rest = rest.drop_front(std::max<size_t>(run.size(), 1));
  }
  return (ranges.size() == 1 && !StringRef(ranges.front()).contains('-') ? "rank " : "ranks ") +
         llvm::join(ranges, ", ");
}

/// How many cells, from the first of `rest` on, a line tells of: those of a replica's stage on a node; `together` those of all replicas that follow, if
/// each is there whole.
static size_t lineLength(const Cube &cube, ArrayRef<CubeCell> rest, bool together) {
  const CubeCell &first = rest.front();
  auto isNear = [&](const CubeCell &cell) { return cell.node == first.node && cell.at.pp == first.at.pp; };
  if (ArrayRef<CubeCell> run = rest.take_while(isNear); together && first.at.tp == 0 && run.back().at.tp == cube.mesh.tp - 1)
    return run.size();
  return rest.take_while([&](const CubeCell &cell) { return isNear(cell) && cell.at.dp == first.at.dp; }).size();
}

void p3d::printCube(const Cube &cube, llvm::raw_ostream &os) {
  os << formatv("{0} ranks = {1} tp x {2} pp x {3} dp, {4} a node\n", cube.cells.size(), cube.mesh.tp, cube.mesh.pp,
                cube.mesh.dp, cube.devicesPerNode);
  // tp is the fastest axis of either order, so that runs of one node are neighbours.
  constexpr int64_t kLines = 32; // what can be overlooked
  bool together = cube.mesh.pp * cube.mesh.dp > kLines;
  for (ArrayRef<CubeCell> rest = cube.cells; !rest.empty();) {
    ArrayRef<CubeCell> run = rest.take_front(lineLength(cube, rest, together));
    const CubeCell &first = run.front(), &last = run.back();
    os << formatv("  node {0,-3} device {1,-6} rank {2,-8} tp {3,-6} dp {4,-3} pp {5,-3} {6}\n", first.node,
                  rangeText(first.device, last.device), rangeText(first.rank, last.rank),
                  rangeText(first.at.tp, last.at.tp), rangeText(first.at.dp, last.at.dp), first.at.pp, cube.layers[first.at.pp]);
    rest = rest.drop_front(run.size());
  }
}

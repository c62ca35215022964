#include "compiler/CubeSvg.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace p3d;
using llvm::formatv;

namespace {
constexpr int64_t kMostWithTexts = 256;
constexpr double kTextWidth = 112, kTextHeight = 46, kSquare = 14, kHeader = 22, kPadding = 6, kGap = 10, kHeading = 34;
/// Pale, so that black text stands out; neighbouring stages differ.
constexpr llvm::StringLiteral kColours[] = {"#cfe3f7", "#fde3b5", "#cdeade", "#ead3ee",
                                            "#f8d0cb", "#e3e3a8", "#d5d5d5", "#bfe6ea"};
} // namespace

CubeSvg::CubeSvg(const Cube &cube, double left, double top, double width)
    : cube(cube), left(left), top(top), hasTexts(cube.cells.size() <= kMostWithTexts) {
  cellWidth = hasTexts ? kTextWidth : kSquare;
  cellHeight = hasTexts ? kTextHeight : kSquare;
  int64_t fitting = std::max<int64_t>(1, int64_t((width - 2 * kPadding) / cellWidth));
  columns = std::min({cube.devicesPerNode, int64_t(cube.cells.size()), fitting, int64_t(16)});
  rows = llvm::divideCeil(std::min<int64_t>(cube.devicesPerNode, cube.cells.size()), columns);
  nodesPerLine = std::max<int64_t>(1, int64_t((width + kGap) / (columns * cellWidth + 2 * kPadding + kGap)));
}

int64_t CubeSvg::nodes() const { return cube.cells.back().node + 1; }

CubeSvg::Corner CubeSvg::cornerOf(int64_t node) const {
  return {left + (node % nodesPerLine) * (columns * cellWidth + 2 * kPadding + kGap),
          top + kHeading + (node / nodesPerLine) * (kHeader + rows * cellHeight + kPadding + kGap)};
}

double CubeSvg::bottom() const { return cornerOf(nodes() - 1).y + kHeader + rows * cellHeight + kPadding; }

void CubeSvg::draw(SvgWriter &svg) const {
  svg.text(left, top + 14, "strong",
           formatv("{0} ranks = {1} tp x {2} pp x {3} dp on {4} nodes of {5} devices{6}", cube.cells.size(),
                   cube.mesh.tp, cube.mesh.pp, cube.mesh.dp, nodes(), cube.devicesPerNode,
                   hasTexts ? "" : "; a square is a rank, its colour the stage: point at it to see its coordinates"));
  // not messages: names in the style sheet
  svg.beginGroup("cube", "ranks on nodes");
  for (int64_t node = 0; node < nodes(); ++node) {
    Corner corner = cornerOf(node);
    svg.rect(corner.x, corner.y, columns * cellWidth + 2 * kPadding, kHeader + rows * cellHeight + kPadding, "node");
    svg.text(corner.x + kPadding, corner.y + 15, hasTexts ? "strong" : "small",
             formatv(hasTexts ? "node {0}" : "{0}", node));
  }
  for (const CubeCell &cell : cube.cells)
    drawCell(svg, cell);
  svg.endGroup();
}

void CubeSvg::drawCell(SvgWriter &svg, const CubeCell &cell) const {
  Corner corner = cornerOf(cell.node);
  double x = corner.x + kPadding + (cell.device % columns) * cellWidth;
  double y = corner.y + kHeader + (cell.device / columns) * cellHeight;
  const std::string &layers = cube.layers[cell.at.pp];
  svg.rect(x + 1, y + 1, cellWidth - 2, cellHeight - 2, "device " + cssOf(cell.at.pp),
           formatv("rank {0}: node {1}, device {2}; tp {3}, pp {4}, dp {5}; {6}", cell.rank, cell.node, cell.device,
                   cell.at.tp, cell.at.pp, cell.at.dp, layers));
  if (!hasTexts)
    return;
  // not messages: names in the style sheet
  svg.text(x + 6, y + 14, "small strong", formatv("rank {0}", cell.rank));
  svg.text(x + 6, y + 26, "small", formatv("tp {0}  pp {1}  dp {2}", cell.at.tp, cell.at.pp, cell.at.dp));
  svg.text(x + 6, y + 38, "small", layers);
}

std::string CubeSvg::cssOf(int64_t stage) { return "stage" + std::to_string(stage % std::size(kColours)); }

std::string CubeSvg::style() {
  std::string css;
  for (auto [index, colour] : llvm::enumerate(kColours))
    css += formatv(".stage{0} {{ fill: {1} }\n", index, colour);
  return css;
}

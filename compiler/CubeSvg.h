// The cube as a part of a picture: each node a frame with its devices, coloured by stage.
#pragma once

#include "compiler/Cube.h"
#include "compiler/SvgWriter.h"

namespace p3d {

class CubeSvg {
public:
  /// To be drawn from (`left`, `top`) on, about `width` wide.
  CubeSvg(const Cube &cube, double left, double top, double width);

  double bottom() const;
  void draw(SvgWriter &svg) const;
  /// The colours of the stages, for the style sheet.
  static std::string style();
  static std::string cssOf(int64_t stage);

private:
  struct Corner {
    double x, y;
  };
  int64_t nodes() const;
  Corner cornerOf(int64_t node) const;
  void drawCell(SvgWriter &svg, const CubeCell &cell) const;

  const Cube &cube;
  double left, top, cellWidth, cellHeight;
  bool hasTexts;                       ///< else devices are too many for more than a square each
  int64_t columns, rows, nodesPerLine; ///< of the devices of a node; of the nodes
};

} // namespace p3d

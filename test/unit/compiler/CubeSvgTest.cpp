// Many ranks are squares, and all of them are there.
#include "compiler/CubeSvg.h"
#include <gtest/gtest.h>

using namespace p3d;

TEST(CubeSvg, DrawsManyRanksAsSquares) {
  Cube cube{{8, 16, 4}, 8, {}, std::vector<std::string>(16, "layers 0-5")};
  RankOrder order(cube.mesh, RankOrder::TpDpPp);
  for (int64_t rank = 0; rank < cube.mesh.ranks(); ++rank)
    cube.cells.push_back({rank, rank / 8, rank % 8, order.coordinatesOf(rank)});
  std::string text;
  llvm::raw_string_ostream os(text);
  SvgWriter svg(os);
  CubeSvg picture(cube, 0, 0, 1000);
  picture.draw(svg);
  EXPECT_LT(picture.bottom(), 1000);
  EXPECT_NE(text.find("512 ranks = 8 tp x 16 pp x 4 dp on 64 nodes of 8 devices; a square is a rank, its colour the "
                      "stage: point at it to see its coordinates"),
            std::string::npos);
  EXPECT_EQ(llvm::StringRef(text).count("class=\"device "), 512u);
  EXPECT_NE(text.find("rank 511: node 63, device 7; tp 7, pp 15, dp 3; layers 0-5"), std::string::npos);
  EXPECT_EQ(cube.ranksText(1), "ranks 32-63");
}

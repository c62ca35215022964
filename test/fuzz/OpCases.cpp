#include "OpCases.h"

using namespace p3d::fuzz;

const std::vector<OpCase> &p3d::fuzz::opCases() {
  static const std::vector<OpCase> cases = [] {
    std::vector<OpCase> all;
    for (auto topic : {addElementwiseCases, addShapeCases, addCombiningCases, addNamedCases})
      topic(all);
    return all;
  }();
  return cases;
}

// One small differentiable block per reverse rule and kind of operand.
#pragma once

#include <string>
#include <vector>

namespace p3d {

/// A block @f. Float arguments are parameters unless their `graph.role` is "input"; `test.range = [low, high]` bounds the seeded elements.
struct GradientCase {
  std::string name, block;
};

const std::vector<GradientCase> &gradientCases();

} // namespace p3d

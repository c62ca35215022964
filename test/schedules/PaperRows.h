// The times of arXiv 2401.10241, table 9, in ms, and the bubble rates of its table 5.
#pragma once

#include "passes/Schedule/ScheduleTiming.h"

namespace p3d {

struct PaperRow {
  int64_t p, m;
  TaskCosts costs;
  double comm, of1F1B, ofH1, ofH2;
  double ofSearch; ///< with memory for 2 p microbatches, of which a microbatch that waits for W alone takes a part
};

inline constexpr PaperRow kPaperRows[] = {
    {8, 24, {18.522, 18.086, 9.337}, 0.601, 0.2431, 0.1585, 0.1083, 0.0433},
    {8, 32, {18.513, 18.086, 9.331}, 0.626, 0.1985, 0.1242, 0.0837, 0.0039},
    {8, 64, {18.546, 18.097, 9.321}, 0.762, 0.1240, 0.0674, 0.0444, 0.0026},
    {16, 48, {11.347, 11.248, 8.132}, 0.377, 0.2552, 0.1397, 0.0672, 0.0066},
    {16, 64, {11.307, 11.254, 8.101}, 0.379, 0.2082, 0.1088, 0.0516, 0.0054},
    {16, 128, {11.325, 11.308, 8.109}, 0.378, 0.1251, 0.0576, 0.0266, 0.0028},
};

} // namespace p3d

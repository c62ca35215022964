// Launcher of the strided einsum.
#include "kernels/cpu/EinsumPlan.h"
#include "kernels/launch/Launch.h"

using namespace p3d;

static void addLoops(p3d_cuda_einsum_arguments &e, const LoopNest &nest, int32_t &loops, int64_t &count) {
  int32_t place = e.keptLoops + e.summedLoops;
  count = 1;
  for (int32_t l = 0; l < nest.count; ++l, ++place) {
    const LoopNest::Loop &loop = nest.loops[l];
    e.extent[place] = loop.extent, e.a[place] = loop.a, e.b[place] = loop.b, e.c[place] = loop.c;
    count *= loop.extent;
  }
  loops = nest.count;
}

static p3d_cuda_einsum_arguments argumentsOf(const p3d_einsum_plan &plan, int32_t cDtype, int32_t accumulate) {
  EinsumLoops loops = absorbLoops(plan);
  p3d_cuda_einsum_arguments e = {};
  addLoops(e, loops.kept, e.keptLoops, e.keptCount);
  addLoops(e, loops.summed, e.summedLoops, e.summedCount);
  e.m = loops.m, e.n = loops.n, e.k = loops.k;
  e.aM = loops.aM, e.aK = loops.aK, e.bK = loops.bK, e.bN = loops.bN, e.cM = loops.cM, e.cN = loops.cN;
  e.cIsF32 = cDtype == P3D_F32;
  e.accumulate = accumulate;
  return e;
}

void p3d_cuda_einsum(p3d_launcher *launcher, void *stream, const p3d_einsum_plan *plan, int32_t dtype, int32_t cDtype,
                     const void *a, const void *b, void *c, int32_t accumulate) {
  constexpr int64_t tile = 64, fewResults = 256; // a tile has 4096
  Launch launch(launcher, stream);
  if (!launch.takesParameter("einsum", dtype, cDtype))
    return;
  p3d_cuda_einsum_arguments e = argumentsOf(*plan, cDtype, accumulate);
  if (e.m * e.n <= fewResults)
    launch.run(kernelFor("p3d_einsum_element", dtype), loopGrid(launch, e.keptCount * e.m * e.n, 256), 256, 0, e, a, b,
               c);
  else
    launch.run(kernelFor("p3d_einsum_tile", dtype),
               {ceilDivide(e.n, tile), ceilDivide(e.m, tile), std::min<int64_t>(e.keptCount, 65535)}, 256, 0, e, a, b,
               c);
}

#include "runtime/Cuda/MatmulForm.h"

namespace p3d {

/// Matrix products that one einsum may become.
static constexpr int64_t mostCalls = 32;

namespace {
/// A matrix with element strides, as cuBLASLt stores it: column-major, or its transpose column-major.
struct View {
  bool isTransposed;
  int64_t leading;
};
} // namespace

static std::optional<View> viewOf(int64_t rows, int64_t columns, int64_t rowStride, int64_t columnStride) {
  int64_t leading = columns == 1 ? rows : columnStride;
  if ((rowStride == 1 || rows == 1) && leading >= rows)
    return View{false, leading};
  leading = rows == 1 ? columns : rowStride;
  if ((columnStride == 1 || columns == 1) && leading >= columns)
    return View{true, leading};
  return std::nullopt;
}

/// The form with `first` [m,k] times `second` [k,n] into `result` [m,n], if each is a matrix for cuBLASLt.
static std::optional<MatmulForm> formOf(bool isSwapped, int64_t m, int64_t n, int64_t k, std::optional<View> first,
                                        std::optional<View> second, std::optional<View> result) {
  if (!first || !second || !result || result->isTransposed)
    return std::nullopt;
  MatmulForm form{};
  form.isSwapped = isSwapped;
  form.m = m, form.n = n, form.k = k;
  form.transposesFirst = first->isTransposed, form.transposesSecond = second->isTransposed;
  form.firstLeading = first->leading, form.secondLeading = second->leading, form.resultLeading = result->leading;
  form.batch = 1;
  return form;
}

static std::optional<MatmulForm> formOf(const EinsumLoops &e) {
  std::optional<MatmulForm> form = formOf(false, e.m, e.n, e.k, viewOf(e.m, e.k, e.aM, e.aK),
                                          viewOf(e.k, e.n, e.bK, e.bN), viewOf(e.m, e.n, e.cM, e.cN));
  if (form)
    return form;
  return formOf(true, e.n, e.m, e.k, viewOf(e.n, e.k, e.bN, e.bK), viewOf(e.k, e.m, e.aK, e.aM),
                viewOf(e.n, e.m, e.cN, e.cM));
}

/// The longest loop becomes the batch.
static void takeBatch(MatmulForm &form, LoopNest loops) {
  int32_t longest = 0;
  for (int32_t l = 1; l < loops.count; ++l)
    if (loops.loops[l].extent > loops.loops[longest].extent)
      longest = l;
  if (loops.count > 0) {
    LoopNest::Loop batch = loops.loops[longest];
    form.batch = batch.extent;
    form.firstStride = form.isSwapped ? batch.b : batch.a;
    form.secondStride = form.isSwapped ? batch.a : batch.b;
    form.resultStride = batch.c;
    loops.remove(longest);
  }
  form.outer = loops;
}

std::optional<MatmulForm> matmulForm(const p3d_einsum_plan &plan) {
  EinsumLoops loops = absorbLoops(plan);
  if (loops.summed.count > 0 || loops.kept.isEmpty() || loops.m <= 0 || loops.n <= 0 || loops.k <= 0)
    return std::nullopt;
  std::optional<MatmulForm> form = formOf(loops);
  if (!form)
    return std::nullopt;
  takeBatch(*form, loops.kept);
  int64_t calls = 1;
  for (int32_t l = 0; l < form->outer.count; ++l)
    calls *= form->outer.loops[l].extent;
  bool isForward = form->firstStride >= 0 && form->secondStride >= 0 && form->resultStride >= 0;
  if (calls > mostCalls || !isForward)
    return std::nullopt;
  return form;
}

} // namespace p3d

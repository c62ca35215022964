// Schedules that split the backward: B, the gradient of the inputs, is what other stages wait for; W, the gradient of
// the weights, fills what would be bubbles. Charts show F, B and W of equal length; w is short for W.
#include "passes/Schedule/Schedules.h"
#include <algorithm>

using namespace p3d;

namespace {
/// The order of one stage, action by action, for each chunk in the order of the microbatches.
class OrderBuilder {
public:
  explicit OrderBuilder(int64_t microbatches) : microbatches(microbatches) {}

  /// The next action of this kind, unless all microbatches had it.
  void add(Action::Kind kind, int64_t chunk = 0) {
    int64_t mb = counts[chunk][kind]++;
    if (mb < microbatches)
      order.push_back({kind, mb, chunk});
  }
  void repeat(int64_t times, std::initializer_list<std::pair<Action::Kind, int64_t>> actions) {
    for (int64_t i = 0; i < times; ++i)
      for (auto [kind, chunk] : actions)
        add(kind, chunk);
  }
  /// The actions of this kind that were added, those beyond the last microbatch included.
  int64_t count(Action::Kind kind, int64_t chunk = 0) const { return counts[chunk][kind]; }

  StageOrder order;

private:
  int64_t microbatches;
  int64_t counts[2][3] = {};
};
} // namespace

/// `warmUp` forwards; then F, B, and W when more than `lag` microbatches wait for theirs, in the cool-down when more than
/// `lastLag` do; the rest at the end.
static StageOrder makeHandcrafted(int64_t microbatches, int64_t warmUp, int64_t lag, int64_t lastLag) {
  OrderBuilder builder(microbatches);
  warmUp = std::min(warmUp, microbatches);
  builder.repeat(warmUp, {{Action::Forward, 0}});
  for (int64_t mb = 0; mb < microbatches; ++mb) {
    bool isSteady = mb + warmUp < microbatches;
    if (isSteady)
      builder.add(Action::Forward);
    builder.add(Action::Backward);
    if (builder.count(Action::Backward) - builder.count(Action::WeightGradient) > (isSteady ? lag : lastLag))
      builder.add(Action::WeightGradient);
  }
  while (builder.count(Action::WeightGradient) < microbatches)
    builder.add(Action::WeightGradient);
  return builder.order;
}

// ZB-H1 (arXiv 2401.10241, 2.1): the forwards of 1F1B and as many microbatches alive. The gradient leaves before W,
// which stage i begins only i microbatches later, so that it is left for the end.
//
//   stage 0  F0 F1 F2       B0 w0 F3 B1 w1    B2 w2 B3 w3
//   stage 1     F0 F1    B0    F2 B1 w0 F3 B2 w1 B3 w2 w3
//   stage 2        F0 B0 F1 B1    F2 B2 w0 F3 B3 w1 w2 w3
Schedule p3d::makeZeroBubbleH1(ScheduleSize size) {
  Schedule schedule;
  for (int64_t i = 0; i < size.stages; ++i)
    schedule.push_back(makeHandcrafted(size.microbatches, size.stages - i - 1, i, 0));
  return schedule;
}

// ZB-H2 (arXiv 2401.10241, 2.2): twice as many forwards ahead fill the warm-up, so that 2 (p - i) - 1 microbatches are
// alive on stage i, and each stage is busy from its first action to its last. p = 3, m = 6.
//
//   stage 0  F0 F1 F2 F3 F4 B0 w0 F5 B1 w1    B2 w2    B3 w3 B4 w4 B5 w5
//   stage 1     F0 F1 F2 B0 F3 B1    F4 B2 w0 F5 B3 w1 B4 w2 B5 w3 w4 w5
//   stage 2        F0 B0 F1 B1 F2 B2 F3 B3    F4 B4 w0 F5 B5 w1 w2 w3 w4 w5
Schedule p3d::makeZeroBubbleH2(ScheduleSize size) {
  Schedule schedule;
  for (int64_t i = 0; i < size.stages; ++i)
    schedule.push_back(makeHandcrafted(size.microbatches, 2 * (size.stages - i - 1), 2 * i, i));
  return schedule;
}

// ZB-V (arXiv 2401.10241, 6; arXiv 2405.15362): two chunks placed as a V, so that the turn at the last stage needs no
// transfer, and stage 0 has both the first part and the loss. As many activations as 1F1B, without its bubble where F, B and W take equal
// time. p = 2; actions of chunk 1 are marked '.
//
//   stage 0  F0 F1 F2 F0'B0'w0'F1'B1'w1'F3 B0 w0 F2'B2'w2'B1 w1 F3'B3'w3'B2 w2 B3 w3
//   stage 1     F0 F0'F1 F1'B0'w0'F2 B0 w0 F2'B1'w1'F3 B1 w1 F3'B2'w2'B2 B3'B3 w2 w3'w3
Schedule p3d::makeZeroBubbleV(ScheduleSize size) {
  using Kind = Action::Kind;
  const Kind F = Kind::Forward, B = Kind::Backward, W = Kind::WeightGradient;
  const int64_t p = size.stages;
  // The rules fill the V with 2 p - 1 microbatches; with fewer, what is beyond the last is left out.
  const int64_t most = std::max(2 * p - 1, size.microbatches);
  Schedule schedule;
  for (int64_t i = 0; i < p; ++i) {
    OrderBuilder builder(size.microbatches);
    // Until the first microbatch is back from the turn; then both ways in turn; then each that ends goes back at once.
    builder.repeat(2 * (p - i) - 1, {{F, 0}});
    builder.repeat(i, {{F, 1}, {F, 0}});
    builder.repeat(p - i, {{F, 1}, {B, 1}, {W, 1}});
    while (builder.count(F, 1) < builder.count(F, 0) || builder.count(F, 0) < most) {
      if (builder.count(F, 0) < most)
        builder.add(F, 0);
      builder.repeat(1, {{B, 0}, {W, 0}, {F, 1}, {B, 1}, {W, 1}});
    }
    // The last gradients go through without their W, which fill the end.
    builder.repeat(i, {{B, 0}, {B, 1}});
    builder.repeat(p - i, {{B, 0}, {W, 0}});
    while (builder.count(W, 1) < builder.count(B, 1))
      builder.add(W, 1);
    while (builder.count(W, 0) < builder.count(B, 0))
      builder.add(W, 0);
    schedule.push_back(std::move(builder.order));
  }
  return schedule;
}

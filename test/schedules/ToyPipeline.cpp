#include "test/schedules/ToyPipeline.h"
#include <array>
#include <map>

using namespace p3d;
using Value = uint64_t;

namespace {
Value mix(Value a, Value b) { return (a ^ (b + 0x9e3779b97f4a7c15 + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccd; }

/// What a part of the chain computes.
Value forward(int64_t place, Value input) { return mix(1 + place, input); }
Value backward(int64_t place, Value activation, Value gradient) { return mix(mix(101 + place, activation), gradient); }
Value weightGradient(int64_t place, Value activation, Value gradient) {
  return mix(mix(201 + place, activation), gradient);
}
Value lossGradient(Value output) { return mix(7, output); }

/// A chunk of a stage.
struct PartState {
  int64_t place;
  std::vector<Value> activations, gradients;         ///< by slot
  std::vector<int64_t> microbatches;                 ///< by slot: whose activations it has
  std::vector<int> unsent;                           ///< by slot: values that are still to be sent from it
  std::map<int64_t, Value> outputs[2];               ///< of F and B, by microbatch
  std::optional<std::pair<int64_t, Value>> inbox[2]; ///< what was received for the next F and B, and its microbatch
  Value accumulated = 0;
};

/// What a stage's sender and receiver of one direction and pass has to do, one after the other.
struct Errand {
  bool isSend;
  int64_t peer;
  Action action; ///< that makes or takes the value
};

class ToyPipeline {
public:
  ToyPipeline(const Schedule &schedule, ScheduleSize size, Placement placement)
      : schedule(schedule), size(size), placement(placement), split(splitsBackward(schedule)), next(size.stages, 0),
        errands(size.stages), slots(countSlots(schedule)) {
    for (int64_t stage = 0; stage < size.stages; ++stage) {
      auto &chunks = parts.emplace_back(size.chunks);
      for (int64_t chunk = 0; chunk < size.chunks; ++chunk) {
        PartState &part = chunks[chunk];
        part.place = placeOf(placement, {stage, chunk}, size.stages);
        part.activations.assign(slots[stage][chunk], 0);
        part.gradients = part.activations;
        part.microbatches.assign(slots[stage][chunk], -1);
        part.unsent.assign(slots[stage][chunk], 0);
      }
      for (Action action : schedule[stage])
        if (action.kind != Action::WeightGradient)
          for (bool isSend : {false, true})
            if (auto peer = findPeer(stage, action, isSend); peer && peer->stage != stage)
              errands[stage][lineOf(action, isSend ? stage : peer->stage, isSend ? peer->stage : stage)].push_back(
                  {isSend, peer->stage, action});
    }
  }

  bool run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int64_t stage = 0; stage < size.stages; ++stage) {
        for (size_t line = 0; line < 4; ++line)
          while (deliver(stage, line))
            moved = true;
        while (next[stage] < schedule[stage].size() && act(stage, schedule[stage][next[stage]])) {
          ++next[stage];
          moved = true;
        }
      }
    }
    return isDone() && !isMixedUp && isRight();
  }

private:
  static size_t lineOf(Action action, int64_t from, int64_t to) { return 2 * action.kind + (from < to ? 0 : 1); }

  /// The part that an action's value goes to or comes from.
  std::optional<Part> findPeer(int64_t stage, Action action, bool isSend) const {
    int64_t step = (action.kind == Action::Forward) == isSend ? 1 : -1;
    int64_t place = placeOf(placement, {stage, action.chunk}, size.stages) + step;
    if (place < 0 || place >= size.stages * size.chunks)
      return std::nullopt;
    return partAt(placement, place, size.stages);
  }

  /// Does the first errand of a line if it is a send whose receiver stands ready.
  bool deliver(int64_t stage, size_t line) {
    auto &sends = errands[stage][line];
    if (sends.empty() || !sends.front().isSend)
      return false;
    Errand send = sends.front();
    auto &receives = errands[send.peer][line];
    if (receives.empty() || receives.front().isSend || receives.front().peer != stage)
      return false;
    PartState &part = parts[stage][send.action.chunk];
    Action taker = receives.front().action;
    auto &inbox = parts[send.peer][taker.chunk].inbox[taker.kind];
    auto made = part.outputs[send.action.kind].find(send.action.microbatch);
    if (made == part.outputs[send.action.kind].end() || inbox)
      return false;
    inbox = *made;
    --part.unsent[slotOf(stage, send.action)];
    sends.erase(sends.begin());
    receives.erase(receives.begin());
    return true;
  }

  int64_t slotOf(int64_t stage, Action action) const { return action.microbatch % slots[stage][action.chunk]; }

  /// What an F or B works on, if it is there; taken from where it lies.
  std::optional<Value> takeInput(int64_t stage, Action action) {
    std::optional<Part> peer = findPeer(stage, action, /*isSend=*/false);
    if (!peer)
      return action.kind == Action::Forward
                 ? Value(1000 + action.microbatch)
                 : lossGradient(parts[stage][action.chunk].outputs[Action::Forward][action.microbatch]);
    if (peer->stage != stage) {
      auto received = std::exchange(parts[stage][action.chunk].inbox[action.kind], std::nullopt);
      isMixedUp |= received && received->first != action.microbatch;
      return received ? std::optional(received->second) : std::nullopt;
    }
    auto &outputs = parts[stage][peer->chunk].outputs[action.kind];
    auto made = outputs.find(action.microbatch);
    return made == outputs.end() ? std::nullopt : std::optional(made->second);
  }

  /// Does an action unless it has to wait.
  bool act(int64_t stage, Action action) {
    PartState &part = parts[stage][action.chunk];
    int64_t slot = slotOf(stage, action);
    isMixedUp |= action.kind != Action::Forward && part.microbatches[slot] != action.microbatch;
    if (action.kind == Action::WeightGradient) {
      part.accumulated += weightGradient(part.place, part.activations[slot], part.gradients[slot]);
      return true;
    }
    if (action.kind == Action::Forward && part.unsent[slot] > 0)
      return false;
    std::optional<Value> input = takeInput(stage, action);
    if (!input)
      return false;
    bool isForward = action.kind == Action::Forward;
    if (isForward)
      part.microbatches[slot] = action.microbatch;
    (isForward ? part.activations : part.gradients)[slot] = *input;
    part.outputs[action.kind][action.microbatch] =
        isForward ? forward(part.place, *input) : backward(part.place, part.activations[slot], *input);
    if (!isForward && !split)
      part.accumulated += weightGradient(part.place, part.activations[slot], *input);
    if (auto peer = findPeer(stage, action, /*isSend=*/true); peer && peer->stage != stage)
      ++part.unsent[slot];
    return true;
  }

  bool isDone() const {
    for (int64_t stage = 0; stage < size.stages; ++stage) {
      if (next[stage] < schedule[stage].size())
        return false;
      for (auto &line : errands[stage])
        if (!line.empty())
          return false;
    }
    return true;
  }

  /// Compares with one device, which does one microbatch after the other.
  bool isRight() const {
    int64_t places = size.stages * size.chunks;
    std::vector<Value> expected(places, 0);
    for (int64_t mb = 0; mb < size.microbatches; ++mb) {
      std::vector<Value> values{Value(1000 + mb)};
      for (int64_t place = 0; place < places; ++place)
        values.push_back(forward(place, values.back()));
      Value gradient = lossGradient(values.back());
      for (int64_t place = places - 1; place >= 0; --place) {
        expected[place] += weightGradient(place, values[place], gradient);
        gradient = backward(place, values[place], gradient);
      }
    }
    for (auto &chunks : parts)
      for (const PartState &part : chunks)
        if (part.accumulated != expected[part.place])
          return false;
    return true;
  }

  const Schedule &schedule;
  ScheduleSize size;
  Placement placement;
  bool split, isMixedUp = false; ///< whether an action got what is another microbatch's
  std::vector<size_t> next;
  std::vector<std::array<std::vector<Errand>, 4>> errands; ///< of each stage, by pass and direction
  Slots slots;
  std::vector<std::vector<PartState>> parts;
};
} // namespace

bool p3d::runsRight(const Schedule &schedule, ScheduleSize size, Placement placement) {
  return ToyPipeline(schedule, size, placement).run();
}

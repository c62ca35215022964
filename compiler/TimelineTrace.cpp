// The timeline in the format of Chrome's traces, which Perfetto opens.
#include "compiler/Timeline.h"
#include "llvm/ADT/STLExtras.h"

using namespace p3d;
namespace json = llvm::json;

namespace {
constexpr double kMicroseconds = 1e6;

json::Object metadata(llvm::StringRef name, int64_t stage, json::Object arguments) {
  return json::Object{{"name", name}, {"ph", "M"}, {"pid", stage}, {"tid", 0}, {"args", std::move(arguments)}};
}

json::Object boxEvent(const TimelineBox &box, int64_t stage, bool splitsBackward) {
  json::Object event{{"name", box.name},
                     {"cat", describe(box.kind, splitsBackward)},
                     {"ph", "X"},
                     {"ts", box.start * kMicroseconds},
                     {"dur", (box.end - box.start) * kMicroseconds},
                     {"pid", stage},
                     {"tid", 0}};
  if (box.microbatch >= 0)
    event["args"] = json::Object{{"microbatch", box.microbatch}, {"chunk", box.chunk}};
  return event;
}

/// One end of a flow; Perfetto draws it from one box to the other.
json::Object flowEvent(const TimelineTransfer &transfer, int64_t number, bool isStart, const Timeline &timeline) {
  int64_t stage = isStart ? transfer.from : transfer.to;
  const TimelineBox &box = timeline.stages[stage].boxes[isStart ? transfer.fromBox : transfer.toBox];
  json::Object event{{"name", "transfer"}, {"cat", "transfer"}, {"ph", isStart ? "s" : "f"},
                     {"id", number},       {"pid", stage},      {"tid", 0}};
  // The end of a box belongs to the one behind it.
  event["ts"] = (isStart ? (box.start + box.end) / 2 : box.start) * kMicroseconds;
  if (!isStart)
    event["bp"] = "e";
  return event;
}
} // namespace

json::Object p3d::makeTrace(const Timeline &timeline) {
  json::Array events;
  std::vector<json::Object> timed;
  for (auto [index, stage] : llvm::enumerate(timeline.stages)) {
    events.push_back(
        metadata("process_name", index,
                 json::Object{{"name", "stage " + std::to_string(index) + ": " + stage.layers + ", " + stage.ranks}}));
    events.push_back(metadata("process_sort_index", index, json::Object{{"sort_index", int64_t(index)}}));
    for (const TimelineBox &box : stage.boxes)
      timed.push_back(boxEvent(box, index, timeline.splitsBackward));
  }
  for (auto [number, transfer] : llvm::enumerate(timeline.transfers))
    for (bool isStart : {true, false})
      timed.push_back(flowEvent(transfer, number, isStart, timeline));
  llvm::stable_sort(
      timed, [](const json::Object &a, const json::Object &b) { return *a.getNumber("ts") < *b.getNumber("ts"); });
  for (json::Object &event : timed)
    events.push_back(std::move(event));
  return json::Object{{"displayTimeUnit", "ms"},
                      {"traceEvents", std::move(events)},
                      {"otherData", json::Object{{"model", timeline.model},
                                                 {"schedule", timeline.schedule},
                                                 {"makespan_us", timeline.timing.makespan * kMicroseconds},
                                                 {"stage_span_us", timeline.timing.stageSpan * kMicroseconds},
                                                 {"bubble", timeline.timing.bubble},
                                                 {"bubble_span", timeline.timing.bubbleSpan}}}};
}

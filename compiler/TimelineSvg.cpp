// The timeline as a picture: a row for each stage, a box for each action, what is idle hatched, and the cube below.
#include "compiler/CubeSvg.h"
#include "compiler/Timeline.h"
#include "passes/Support/Units.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/ScopedPrinter.h"
#include <algorithm>
#include <cmath>

using namespace p3d;
using llvm::formatv;

namespace {
constexpr double kLeastLeft = 180, kRight = 96, kRowHeight = 30, kRowGap = 16, kMargin = 24;
/// Of the part that shows time: room for a number in the shortest box, within what a screen and a file can hold.
constexpr double kLeastWidth = 960, kMostWidth = 12000, kShortestBox = 17;
/// Room for the legend.
constexpr double kLeastPicture = 1360;

/// Colours of boxes, told apart also by those who confuse red and green (M. Okabe and K. Ito, 2008).
// not messages: a style sheet
constexpr llvm::StringLiteral kStyle = R"(
text { font-family: Helvetica, Arial, sans-serif; font-size: 12px; fill: #222 }
.title { font-size: 20px; font-weight: bold } .subtitle { font-size: 13px; fill: #444 }
.small { font-size: 10px; fill: #555 } .number { font-size: 11px; text-anchor: middle }
.right { text-anchor: end } .middle { text-anchor: middle } .strong { font-weight: bold }
.box { stroke: #fff; stroke-width: 0.6 }
.F { fill: #3b7fc4 } .B { fill: #e69f00 } .W { fill: #2a9d75 } .S { fill: #b5b5b5 } .U { fill: #b06ab3 }
.F.odd { fill: #8fbbe6 } .B.odd { fill: #f5cf7a } .W.odd { fill: #8fd0b8 }
.onF, .onW, .onU { fill: #fff } .onB, .onS, .onodd { fill: #222 }
.idle { fill: url(#hatch) } .outside { fill: #f4f4f4 }
.transfer { stroke-width: 1.1; opacity: 0.8; marker-end: url(#arrow) } .transfer.ofF { stroke: #1f4e80 } .transfer.ofB { stroke: #8a5a00 }
.axis { stroke: #999; stroke-width: 1 } .grid { stroke: #ddd; stroke-width: 1 }
.node { fill: none; stroke: #888; stroke-width: 1 }
)";

/// The scale: a step of 1, 2 or 5 times a power of ten, about as long as `least` seconds.
double niceStep(double least) {
  double power = std::pow(10, std::floor(std::log10(least)));
  for (double factor : {1, 2, 5})
    if (factor * power >= least)
      return factor * power;
  return 10 * power;
}

/// "20 ms": short, as all ticks of a scale are multiples of one step.
std::string tickText(double seconds, double step) {
  auto [unit, name] = step >= 1 ? std::pair(1.0, "s") : step >= 1e-3 ? std::pair(1e-3, "ms") : std::pair(1e-6, "us");
  return llvm::to_string(llvm::format("%g %s", seconds / unit, name));
}

class TimelineSvg {
public:
  TimelineSvg(const Timeline &timeline, llvm::raw_ostream &os) : timeline(timeline), svg(os) {
    double shortest = timeline.end;
    for (const TimelineStage &stage : timeline.stages)
      for (const TimelineBox &box : stage.boxes) {
        hasChunks |= box.chunk > 0;
        if (box.microbatch >= 0 && box.end > box.start)
          shortest = std::min(shortest, box.end - box.start);
      }
    double width = shortest > 0 ? timeline.end / shortest * kShortestBox : kLeastWidth;
    for (const TimelineStage &stage : timeline.stages)
      left = std::max(left, kMargin + 22 + widthOf(labelOf(stage), 10));
    chartWidth = std::clamp(width, kLeastWidth, kMostWidth);
    perSecond = timeline.end > 0 ? chartWidth / timeline.end : 0;
    bottom = kTop + timeline.stages.size() * (kRowHeight + kRowGap);
  }

  void write() {
    CubeSvg cube(timeline.cube, kMargin, bottom + 36, chartWidth + left);
    svg.open(std::max(left + chartWidth + kRight, kLeastPicture), cube.bottom() + kMargin,
             kStyle.str() + CubeSvg::style());
    drawTitle();
    drawLegend();
    drawScale();
    for (size_t stage = 0; stage < timeline.stages.size(); ++stage)
      drawRow(stage);
    drawTransfers();
    cube.draw(svg);
    svg.close();
  }

private:
  static std::string labelOf(const TimelineStage &stage) { return stage.layers + ", " + stage.ranks; }
  /// About; which font there is, is not known.
  static double widthOf(llvm::StringRef text, double fontSize) { return 0.56 * fontSize * text.size(); }

  double x(double seconds) const { return left + seconds * perSecond; }
  double y(size_t stage) const { return kTop + stage * (kRowHeight + kRowGap); }

  void drawTitle() {
    const ScheduleTiming &timing = timeline.timing;
    svg.text(kMargin, 34, "title",
             formatv("{0}: {1}, {2} stages, {3} microbatches", timeline.model, timeline.schedule,
                     timeline.stages.size(), timeline.microbatches));
    svg.text(
        kMargin, 55, "subtitle",
        formatv("makespan {0}, bubble {1:f1} %; longest stage {2} from its first action to its last, bubble {3:f1} %",
                secondsText(timing.makespan), 100 * timing.bubble, secondsText(timing.stageSpan),
                100 * timing.bubbleSpan));
  }

  void drawLegend() {
    double at = kMargin;
    auto entry = [&](llvm::StringRef css, llvm::StringRef text) {
      svg.rect(at, 70, 16, 14, css);
      svg.text(at + 22, 81, "", text);
      at += 44 + widthOf(text, 12);
    };
    for (BoxKind kind :
         {BoxKind::Forward, BoxKind::Backward, BoxKind::WeightGradient, BoxKind::Synchronize, BoxKind::Update})
      if (isUsed(kind)) {
        llvm::StringRef letter = letterOf(kind);
        entry(letter, (letter + " " + describe(kind, timeline.splitsBackward)).str());
      }
    if (hasChunks)
      entry("F odd", "pale: of an odd chunk");
    entry("idle", "idle");
    // not messages: names in the style sheet
    svg.line(at, 77, at + 22, 77, "transfer ofF");
    svg.text(at + 28, 81, "", "transfer; the number is the microbatch");
  }

  bool isUsed(BoxKind kind) const {
    return llvm::any_of(timeline.stages, [&](const TimelineStage &stage) {
      return llvm::any_of(stage.boxes, [&](const TimelineBox &box) { return box.kind == kind; });
    });
  }

  void drawScale() {
    // not messages: names in the style sheet
    double step = niceStep(timeline.end * 90 / chartWidth);
    for (int64_t tick = 0; tick * step <= timeline.end * (1 + 1e-9); ++tick) {
      double at = x(tick * step);
      svg.line(at, kTop - 14, at, bottom - kRowGap + 6, "grid");
      svg.text(at, bottom + 8, "small middle", tickText(tick * step, step));
    }
    svg.line(left, bottom - kRowGap + 6, left + chartWidth, bottom - kRowGap + 6, "axis");
  }

  void drawRow(size_t index) {
    const TimelineStage &stage = timeline.stages[index];
    double top = y(index);
    svg.rect(kMargin, top, 5, kRowHeight, CubeSvg::cssOf(index));
    svg.text(kMargin + 11, top + 13, "strong", formatv("stage {0}", index));
    svg.text(kMargin + 11, top + 26, "small", labelOf(stage));
    if (stage.boxes.empty())
      return;
    svg.beginGroup("row", formatv("stage {0}", index));
    double end = timeline.timing.makespan, busy = 0;
    svg.rect(x(0), top, timeline.end * perSecond, kRowHeight, "outside");
    svg.rect(x(0), top, end * perSecond, kRowHeight, "idle");
    for (const TimelineBox &box : stage.boxes) {
      drawBox(box, top);
      busy += box.microbatch >= 0 ? box.end - box.start : 0;
    }
    svg.endGroup();
    double idle = end > 0 ? 100 * (1 - busy / end) : 0;
    svg.text(x(timeline.end) + 8, top + 19, "small", formatv("idle {0:f1} %", idle));
  }

  void drawBox(const TimelineBox &box, double top) {
    // not messages: names in the style sheet
    double width = (box.end - box.start) * perSecond;
    std::string css = letterOf(box.kind).str() + (box.chunk % 2 ? " odd" : "");
    svg.rect(x(box.start), top, width, kRowHeight, "box " + css,
             formatv("{0}: {1}, {2} to {3}", box.name, describe(box.kind, timeline.splitsBackward),
                     secondsText(box.start), secondsText(box.end)));
    std::string label = box.microbatch >= 0 ? std::to_string(box.microbatch) : box.name;
    if (width >= 7 * label.size() + 2)
      svg.text(x(box.start) + width / 2, top + 19,
               box.chunk % 2 ? "number onodd" : "number on" + letterOf(box.kind).str(), label);
  }

  void drawTransfers() {
    // not messages: names in the style sheet
    svg.beginGroup("transfers", "");
    for (const TimelineTransfer &transfer : timeline.transfers) {
      bool isDown = transfer.to > transfer.from;
      BoxKind kind = timeline.stages[transfer.from].boxes[transfer.fromBox].kind;
      svg.line(x(transfer.start), y(transfer.from) + (isDown ? kRowHeight : 0), x(transfer.end),
               y(transfer.to) + (isDown ? 0 : kRowHeight), "transfer of" + letterOf(kind));
    }
    svg.endGroup();
  }

  static constexpr double kTop = 112;
  const Timeline &timeline;
  SvgWriter svg;
  double left = kLeastLeft, chartWidth, perSecond, bottom;
  bool hasChunks = false;
};
} // namespace

void p3d::writeSvg(const Timeline &timeline, llvm::raw_ostream &os) { TimelineSvg(timeline, os).write(); }

#!/usr/bin/env python3
"""Checks both forms of a timeline: check_timeline.py PICTURE.svg TRACE.json STAGES ACTIONS

The picture is XML with a row for each stage and as many boxes as the trace, none over another; all that is coloured is in the
legend. The trace has its events in the order of time, and a transfer begins before it ends.
"""
import json
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter

SVG = "{http://www.w3.org/2000/svg}"
KINDS = {"F", "B", "W", "S", "U"}
picture, trace, stages, actions = ElementTree.parse(sys.argv[1]).getroot(), json.load(open(sys.argv[2])), *map(int, sys.argv[3:])


def fail(text):
    sys.exit(f"check_timeline: {text}")


def check_apart(spans, what):
    spans = sorted(spans)
    for (start, end), (next_start, _) in zip(spans, spans[1:]):
        if next_start < end - 2e-3:
            fail(f"{what}: {start} to {end} is over what begins at {next_start}")


rows = [group for group in picture.iter(f"{SVG}g") if group.get("class") == "row"]
if len(rows) != stages:
    fail(f"{len(rows)} rows, expected {stages}")
boxes = Counter()
for row in rows:
    rects = [rect for rect in row.iter(f"{SVG}rect") if "box" in rect.get("class").split()]
    check_apart([(float(r.get("x")), float(r.get("x")) + float(r.get("width"))) for r in rects], row.get("aria-label"))
    boxes.update(next(c for c in r.get("class").split() if c in KINDS) for r in rects)
    if any(r.find(f"{SVG}title") is None for r in rects):
        fail("a box has no title")
if sum(boxes[kind] for kind in "FBW") != actions:
    fail(f"{boxes} are not {actions} actions")
legend = {r.get("class").split()[0] for r in picture.findall(f"{SVG}rect") if r.get("class")}
if set(boxes) - legend:
    fail(f"the legend lacks {set(boxes) - legend}")

events = [event for event in trace["traceEvents"] if event["ph"] != "M"]
if any(a["ts"] > b["ts"] for a, b in zip(events, events[1:])):
    fail("events are out of order")
drawn = [event for event in events if event["ph"] == "X"]
if Counter(event["name"][0] for event in drawn) != boxes:
    fail("the trace and the picture have other boxes")
for stage in range(stages):
    check_apart([(e["ts"], e["ts"] + e["dur"]) for e in drawn if e["pid"] == stage], f"stage {stage}")
named = [e for e in trace["traceEvents"] if e["ph"] == "M" and e["name"] == "process_name"]
if len(named) != stages:
    fail(f"{len(named)} processes have a name")
starts = {e["id"]: e for e in events if e["ph"] == "s"}
ends = {e["id"]: e for e in events if e["ph"] == "f"}
lines = [line for group in picture.iter(f"{SVG}g") if group.get("class") == "transfers" for line in group]
if starts.keys() != ends.keys() or len(starts) != len(lines) or not starts:
    fail(f"{len(starts)} transfers begin, {len(ends)} end, {len(lines)} are drawn")
for number, start in starts.items():
    if start["ts"] > ends[number]["ts"] or start["pid"] == ends[number]["pid"]:
        fail(f"transfer {number} goes nowhere: {start}, {ends[number]}")

// The timeline of a trace: the calls of each thread over time. The number of boxes does not grow with the trace:
// calls shorter than a pixel are joined to one box with their neighbours, and are separate at a higher zoom.

const MOST_DRAWN = 4000;
const MOST_THREADS = 1000;
const MOST_ARROWS = 300;
const PIXELS = 1200;
const { compute: OUTSIDE, ...BOXES } = PALETTE.kinds;
const VISITS = { name: "in the region", colour: "#cfe3f1" };

// The first row of each thread. Rows are sorted by thread and time.
function threadsOf(columns, from, to, threads) {
  const starts = new Array(threads + 1).fill(to);
  for (let i = to - 1; i >= from; i--) starts[columns.location[i]] = i;
  for (let thread = threads - 1; thread >= 0; thread--) starts[thread] = Math.min(starts[thread], starts[thread + 1]);
  return starts;
}

// The first row in from … to − 1 that ends after a time. Rows of a thread do not overlap.
function firstAfter(ends, from, to, time) {
  while (from < to) {
    const middle = (from + to) >> 1;
    if (ends[middle] > time) to = middle;
    else from = middle + 1;
  }
  return from;
}

// If there are more threads than MOST_THREADS, every k-th one is drawn.
const strideOf = (view) => Math.ceil((view.bottom - view.top + 1) / MOST_THREADS);

// Boxes in view. Rows shorter than `shortest`, with shorter gaps, are one box. Null if there are more than `most` boxes.
function boxesIn(columns, starts, view, shortest, most) {
  const { begin, end, calls, time, waited } = columns;
  const boxes = [];
  for (let thread = view.top; thread <= view.bottom; thread += strideOf(view)) {
    let open = null;
    for (let i = firstAfter(end, starts[thread], starts[thread + 1], view.from); i < starts[thread + 1] && begin[i] < view.to; i++) {
      const length = end[i] - begin[i];
      if (open && length < shortest && open.length < shortest && begin[i] - open.end < shortest) {
        if (length > open.length) Object.assign(open, { longest: i, length });
        Object.assign(open, { end: end[i], calls: open.calls + calls[i], time: open.time + (time?.[i] || 0), waited: open.waited + (waited?.[i] || 0) });
        continue;
      }
      open = { thread, begin: begin[i], end: end[i], calls: calls[i], time: time?.[i] || 0, waited: waited?.[i] || 0, longest: i, length };
      if (boxes.push(open) > most) return null;
    }
  }
  return boxes;
}

function fewBoxes(columns, starts, view, most) {
  for (let shortest = (view.to - view.from) / PIXELS; ; shortest *= 2) {
    const boxes = boxesIn(columns, starts, view, shortest, most);
    if (boxes) return { boxes, shortest };
  }
}

function arrowsIn({ begin, end, source, destination, bytes }, view) {
  const inView = (row) => row >= view.top && row <= view.bottom;
  const found = [];
  for (let i = 0; i < begin.length; i++) {
    if (begin[i] < view.to && end[i] > view.from && (inView(source[i]) || inView(destination[i]))) found.push(i);
  }
  found.sort((a, b) => end[b] - begin[b] - (end[a] - begin[a]));
  return { arrows: found.slice(0, MOST_ARROWS).map((i) => ({ from: source[i], to: destination[i], begin: begin[i], end: end[i], bytes: bytes[i] })), count: found.length };
}

// A bar from begin to end, in seconds.
function barOf(look, parts, unit, width) {
  return {
    type: "bar", orientation: "h", name: look.name, width, y: parts.map((part) => part.thread),
    base: parts.map((part) => part.begin * unit), x: parts.map((part) => (part.end - part.begin) * unit),
    marker: { color: look.colour, opacity: parts.map((part) => part.opacity ?? 1), line: { width: 0 } },
    customdata: parts.map((part) => part.hover), hovertemplate: "%{customdata}<extra></extra>",
  };
}

function boxHover(run, columns, box) {
  const { unit, locations, names } = run.timeline;
  const name = plain(names[columns.name[box.longest]][0]);
  const cause = box.calls === 1 && columns.cause[box.longest] >= 0 ? " for rank " + columns.cause[box.longest] : "";
  return ["rank " + locations[box.thread] + ", from " + (box.begin * unit).toFixed(6) + " s",
    box.calls === 1 ? name + ", " + asTime(box.time * unit) : box.calls + " calls in " + asTime((box.end - box.begin) * unit) + ", of this in MPI " + asTime(box.time * unit) + "; the longest: " + name,
    ...(box.waited ? ["waiting" + cause + " " + asTime(box.waited * unit)] : []),
    "in " + plain(shortPath(run.full[columns.region[box.longest]], 60))].join("<br>");
}

// Waiting is drawn at a call's begin. The opacity of a box of several calls is the share of its time in MPI.
function callBars(run, columns, boxes, stride) {
  const parts = Object.fromEntries(Object.keys(BOXES).map((family) => [family, []]));
  for (const box of boxes) {
    const hover = boxHover(run, columns, box);
    const family = run.timeline.names[columns.name[box.longest]][1];
    const waited = box.calls === 1 ? Math.min(box.waited, box.end - box.begin) : 0;
    const opacity = box.calls === 1 ? 1 : Math.max(0.3, Math.min(1, box.time / (box.end - box.begin || 1)));
    if (waited) parts.waiting.push({ ...box, end: box.begin + waited, hover });
    if (box.end > box.begin + waited || !waited) parts[family].push({ ...box, begin: box.begin + waited, hover, opacity });
  }
  return Object.entries(parts).filter(([, found]) => found.length).map(([family, found]) => barOf(BOXES[family], found, run.timeline.unit, 0.7 * stride));
}

function visitBars(run, p, view) {
  const { unit, visits, locations } = run.timeline;
  const [from, to] = [visits.offsets[p], visits.offsets[p + 1]];
  if (p === 0 || from === to) return [];
  const columns = columnsOf(visits);
  const { boxes } = fewBoxes(columns, threadsOf(columns, from, to, locations.length), view, MOST_DRAWN / 2);
  const hover = (box) => plain(shortPath(run.full[p], 60)) + (box.calls > 1 ? ", " + box.calls + " times" : "") + "<br>" + asTime((box.end - box.begin) * unit);
  return [barOf({ ...VISITS, name: plain(shortened(run.names[p], 30)) }, boxes.map((box) => ({ ...box, hover: hover(box) })), unit, 0.96 * strideOf(view))];
}

function arrowLines(run, arrows) {
  const { unit, locations } = run.timeline;
  const hover = (one) => "rank " + locations[one.from] + " → rank " + locations[one.to] + ", " + asBytes(one.bytes) + "<br>" + asTime((one.end - one.begin) * unit) + " from begin of send to end of receive";
  return {
    type: "scatter", mode: "lines+markers", name: "messages", line: { color: PALETTE.ink, width: 0.8 },
    x: arrows.flatMap((one) => [one.begin * unit, one.end * unit, null]), y: arrows.flatMap((one) => [one.from, one.to, null]),
    marker: { color: PALETTE.ink, symbol: "arrow", angleref: "previous", size: arrows.flatMap(() => [0, 8, 0]), opacity: 1, line: { width: 0 } },
    customdata: arrows.flatMap((one) => [hover(one), hover(one), null]), hovertemplate: "%{customdata}<extra></extra>",
  };
}

const wholeRun = ({ timeline }) => ({ from: 0, to: timeline.length / timeline.unit, top: 0, bottom: timeline.locations.length - 1 });

// Returns a text about the number of drawn calls and messages.
function drawTimeline(place, run, p, view, withMessages) {
  const { timeline } = run;
  const { unit, locations } = timeline;
  const columns = columnsOf(timeline.boxes);
  if (!columns.begin.length) return drawNothing(place, "The trace has no calls of MPI."), "";
  timeline.starts = timeline.starts || threadsOf(columns, 0, columns.begin.length, locations.length);
  const { boxes, shortest } = fewBoxes(columns, timeline.starts, view, MOST_DRAWN);
  const { arrows, count } = withMessages ? arrowsIn(columnsOf(timeline.messages), view) : { arrows: [], count: 0 };
  const rows = view.bottom - view.top + 1;
  const step = Math.ceil(rows / 32);
  const ticks = Array.from({ length: Math.ceil(rows / step) }, (_, index) => view.top + index * step);
  draw(place, [...visitBars(run, p, view), ...callBars(run, columns, boxes, strideOf(view)), arrowLines(run, arrows)], {
    height: Math.min(760, Math.max(260, 120 + 34 * rows)), barmode: "overlay", showlegend: true, hovermode: "closest", dragmode: "zoom",
    xaxis: axis("time since the first MPI_Init, s", { range: [view.from * unit, view.to * unit], exponentformat: "none" }),
    yaxis: axis("rank", { range: [view.bottom + 0.5, view.top - 0.5], tickvals: ticks, ticktext: ticks.map((row) => locations[row]), showgrid: false }),
  });
  const calls = boxes.reduce((sum, box) => sum + box.calls, 0);
  const shortestOf = Math.max(shortest * unit, timeline.shortest);
  return asCount(calls) + " of " + asCount(timeline.calls) + " calls are in view, as " + asCount(boxes.length) + " boxes. Consecutive calls shorter than "
    + asTime(shortestOf) + " are one box. "
    + (strideOf(view) > 1 ? "One of " + strideOf(view) + " ranks is drawn. " : "")
    + (timeline.shortest ? "The page has no details shorter than " + asTime(timeline.shortest) + ". " : "")
    + (withMessages ? (count > arrows.length ? "Arrows: the " + arrows.length + " slowest of " + asCount(count) + " messages in view. " : asCount(count) + " messages as arrows. ") : "")
    + (withMessages && timeline.messages.left_out ? "The page does not contain " + asCount(timeline.messages.left_out) + " faster messages. " : "");
}

// The view after a key or button was pressed.
function moved(view, how, whole) {
  const [middle, half] = [(view.from + view.to) / 2, (view.to - view.from) / 2];
  const around = (at, reach) => {
    const width = Math.min(2 * reach, whole.to);
    const from = Math.max(0, Math.min(at - width / 2, whole.to - width));
    return { ...view, from, to: from + width };
  };
  return { in: () => around(middle, half / 2), out: () => around(middle, half * 2), left: () => around(middle - half, half), right: () => around(middle + half, half), all: () => whole }[how]();
}

function showTimeline() {
  const { timeline } = RUN;
  at("timeline").hidden = !timeline;
  if (!timeline) return;
  timeline.view = timeline.view || wholeRun(RUN);
  const summary = drawTimeline(at("timeline-plot"), RUN, state.region, timeline.view, at("timeline-messages").checked);
  const place = at("timeline-plot");
  place.removeAllListeners?.("plotly_relayout");
  place.on?.("plotly_relayout", timelineSeen);
  at("timeline-source").textContent = summary + "Blank: outside of MPI. Drag to zoom, double-click to see all. The chosen region is shaded. Source: the trace.";
}

function moveTimeline(view) {
  RUN.timeline.view = view;
  showTimeline();
}

// Sets the view from Plotly's event after a zoom or a drag.
function timelineSeen(event) {
  const whole = wholeRun(RUN);
  const { unit } = RUN.timeline;
  if (event["xaxis.autorange"] || event["yaxis.autorange"]) return moveTimeline(whole);
  const { xaxis, yaxis } = at("timeline-plot").layout;
  if (!Object.keys(event).some((name) => /^[xy]axis\.range/.test(name))) return null;
  const rows = yaxis.range.map((row) => Math.round(row + (row > yaxis.range[0] || row > yaxis.range[1] ? -0.5 : 0.5))).sort((a, b) => a - b);
  const [from, to] = xaxis.range.map((time) => Math.max(0, Math.min(whole.to, time / unit)));
  if (!(to > from)) return moveTimeline(whole);
  return moveTimeline({ from, to, top: Math.max(0, rows[0]), bottom: Math.max(rows[0], Math.min(whole.bottom, rows[1])) });
}

function timelineControls() {
  const move = (how) => RUN.timeline && moveTimeline(moved(RUN.timeline.view, how, wholeRun(RUN)));
  at("timeline-moves").addEventListener("click", (event) => event.target.dataset.move && move(event.target.dataset.move));
  at("timeline-messages").addEventListener("change", showTimeline);
  at("timeline-plot").addEventListener("keydown", (event) => {
    const how = { ArrowLeft: "left", ArrowRight: "right", "+": "in", "-": "out", Home: "all" }[event.key];
    if (!how) return;
    event.preventDefault();
    move(how);
  });
}

// Mouse, wheel and keys on the timeline.

// The time and the row under the mouse.
function placeUnder(event) {
  const { view, width } = RUN.timeline;
  const box = at("timeline-canvas").getBoundingClientRect();
  const x = event.clientX - box.left - GUTTER;
  return { x, time: view.from + x / width * (view.to - view.from), row: Math.floor(view.top + (event.clientY - box.top) / ROW) };
}

function callUnder(event) {
  const { view, width, opened, locations } = RUN.timeline;
  const { x, time, row } = placeUnder(event);
  if (x < 0 || row >= Math.min(locations.length, view.top + view.rows)) return -1;
  return callAt(opened, row, time, PIXELS_TO_GRAB * (view.to - view.from) / width);
}

function showTip(event) {
  const i = line.drag ? -1 : callUnder(event);
  const tip = at("timeline-tip");
  tip.hidden = i < 0;
  if (i < 0) return;
  tip.textContent = callText(i) + ", in " + shortPath(RUN.full[RUN.timeline.opened.region[i]], 60);
  const box = at("timeline-plot").getBoundingClientRect();
  const left = Math.min(event.clientX - box.left + 12, box.width - tip.offsetWidth - 4);
  [tip.style.left, tip.style.top] = [Math.max(0, left) + "px", event.clientY - box.top + 16 + "px"];
}

function wheelTimeline(event) {
  const { view } = RUN.timeline;
  const way = Math.abs(event.deltaX) > Math.abs(event.deltaY) ? event.deltaX : event.deltaY;
  const pixels = way * (event.deltaMode ? 30 : 1);
  const isWhole = view.to - view.from >= wholeRun(RUN).to;
  if (performance.now() - line.scrolled < SCROLL_PAUSE) return;
  if (!event.shiftKey && way === event.deltaY && isWhole && pixels > 0) return; // the page scrolls on
  event.preventDefault();
  at("timeline-tip").hidden = true;
  if (event.shiftKey) moveTimeline({ ...view, top: view.top + pixels / ROW });
  else if (way === event.deltaX) moveTimeline(shifted(view, pixels / RUN.timeline.width));
  else moveTimeline(zoomed(view, Math.exp(0.002 * pixels), placeUnder(event).time));
}

const MOVES = {
  in: (view) => zoomed(view, 0.5), out: (view) => zoomed(view, 2),
  left: (view) => shifted(view, -SMALL_MOVE), right: (view) => shifted(view, SMALL_MOVE),
  up: (view) => ({ ...view, top: view.top - 1 }), down: (view) => ({ ...view, top: view.top + 1 }),
  higher: (view) => ({ ...view, top: view.top - view.rows }), lower: (view) => ({ ...view, top: view.top + view.rows }),
  all: (view) => ({ ...view, ...wholeRun(RUN) }),
};
const KEYS = {
  w: "in", s: "out", a: "left", d: "right", "+": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right",
  ArrowUp: "up", ArrowDown: "down", PageUp: "higher", PageDown: "lower", Home: "all",
};

// Letters also work while the mouse is on the timeline.
function timelineKey(event) {
  const isHere = at("timeline-plot").contains(event.target) || (line.hovered && event.target === document.body && event.key.length === 1);
  if (!isHere || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") chooseCall(-1);
  const move = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!move) return;
  event.preventDefault();
  moveTimeline(MOVES[move](RUN.timeline.view));
}

function endDrag(event) {
  const { drag } = line;
  line.drag = null;
  if (!drag) return;
  const { view, width } = RUN.timeline;
  if (Math.abs(drag.to - drag.from) < PIXELS_TO_GRAB) return chooseCall(callUnder(event));
  const [from, to] = [drag.from, drag.to].sort((a, b) => a - b).map((x) => view.from + x / width * (view.to - view.from));
  moveTimeline({ ...view, from, to });
}

function dragMap(event) {
  if (!(event.buttons & 1)) return;
  const { view, locations } = RUN.timeline;
  const box = at("timeline-map").getBoundingClientRect();
  const middle = (event.clientX - box.left) / box.width * wholeRun(RUN).to;
  const half = (view.to - view.from) / 2;
  moveTimeline({ ...view, from: middle - half, to: middle + half, top: Math.round((event.clientY - box.top) / box.height * locations.length - view.rows / 2) });
}

function timelineControls() {
  if (!RUN.timeline?.calls) return;
  const canvas = at("timeline-canvas");
  at("timeline-moves").addEventListener("click", (event) => event.target.dataset.move && moveTimeline(MOVES[event.target.dataset.move](RUN.timeline.view)));
  at("timeline-messages").addEventListener("change", () => moveTimeline(RUN.timeline.view));
  at("timeline-search").addEventListener("input", () => searchTimeline(false));
  at("timeline-search").addEventListener("keydown", (event) => event.key === "Enter" && searchTimeline(true));
  canvas.addEventListener("wheel", wheelTimeline, { passive: false });
  canvas.addEventListener("dblclick", () => moveTimeline(MOVES.all(RUN.timeline.view)));
  canvas.addEventListener("pointerdown", (event) => {
    const { x } = placeUnder(event);
    if (event.button || event.pointerType === "touch") return;
    line.drag = { from: x, to: x };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    showTip(event);
    if (!line.drag) return;
    line.drag.to = Math.max(0, Math.min(RUN.timeline.width, placeUnder(event).x));
    moveTimeline(RUN.timeline.view);
  });
  canvas.addEventListener("pointerup", endDrag);
  canvas.addEventListener("pointercancel", () => (line.drag = null));
  canvas.addEventListener("pointerenter", () => (line.hovered = true));
  canvas.addEventListener("pointerleave", () => {
    line.hovered = false;
    at("timeline-tip").hidden = true;
  });
  for (const kind of ["pointerdown", "pointermove"]) at("timeline-map").addEventListener(kind, dragMap);
  document.addEventListener("keydown", timelineKey);
  addEventListener("scroll", () => (line.scrolled = performance.now()), { passive: true });
  new ResizeObserver(() => moveTimeline(RUN.timeline.view)).observe(at("timeline-plot"));
  onTheme(showTimeline);
  offerCsv(at("timeline-plot"), csvOfView);
}

// The calls in view, with times in seconds.
function csvOfView() {
  const { unit, locations, names, view, opened: calls, waits } = RUN.timeline;
  const rows = [["rank", "call", "calls", "begin, s", "end, s", "in MPI, s", "waiting, s", "waiting for rank", "kind of waiting", "region"]];
  for (let thread = Math.floor(view.top); thread < Math.min(locations.length, view.top + view.rows); thread++) {
    for (let i = firstAfter(calls.end, calls.starts[thread], calls.starts[thread + 1], view.from); i < calls.starts[thread + 1] && calls.begin[i] < view.to; i++) {
      rows.push([locations[thread], names[calls.name[i]][0], calls.calls[i], calls.begin[i] * unit, calls.end[i] * unit, timeInMpi(calls, i) * unit,
        calls.waited[i] * unit, calls.cause[i] < 0 ? null : calls.cause[i], waits[calls.wait[i]], RUN.full[calls.region[i]]]);
    }
  }
  return csvLines(rows);
}

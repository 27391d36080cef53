// The timeline of a trace: the calls of each thread over time, with zoom, search and the details of a call.

const MOST_ROWS = 14;
const SMALL_MOVE = 0.25;
const PIXELS_TO_GRAB = 3;
const MOST_PARTNERS = 6;
// Wheel events within this time after the page has scrolled belong to the page.
const SCROLL_PAUSE = 400;
const line = { pending: false, scrolled: -Infinity, drag: null, hovered: false };

function openTimeline(run) {
  const { timeline } = run;
  timeline.opened = openCalls(timeline);
  timeline.chosen = -1;
  timeline.found = null;
  timeline.view = { ...wholeRun(run), rows: Math.min(MOST_ROWS, timeline.locations.length) };
}

function showTimeline() {
  const { timeline } = RUN;
  at("timeline").hidden = !timeline;
  if (!timeline) return;
  if (!timeline.calls) {
    for (const part of at("timeline").querySelectorAll(".head > :not(h2), ul, canvas")) part.hidden = true;
    at("timeline-source").textContent = "The trace has no calls of MPI.";
    return;
  }
  if (!timeline.opened) openTimeline(RUN);
  showLegend();
  moveTimeline(timeline.view);
}

function moveTimeline(view) {
  const { timeline } = RUN;
  timeline.view = withinRun(view, wholeRun(RUN), timeline.locations.length);
  if (line.pending) return;
  line.pending = true;
  requestAnimationFrame(paintTimeline);
}

function paintTimeline() {
  line.pending = false;
  const { timeline } = RUN;
  const canvas = at("timeline-canvas");
  const [across, tall] = [Math.max(200, canvas.parentNode.clientWidth), timeline.view.rows * ROW + AXIS];
  const dots = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(across * dots) || canvas.height !== Math.round(tall * dots)) {
    [canvas.width, canvas.height] = [Math.round(across * dots), Math.round(tall * dots)];
    [canvas.style.width, canvas.style.height] = [across + "px", tall + "px"];
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(dots, 0, 0, dots, GUTTER * dots, 0);
  const width = across - GUTTER;
  const { view, opened, chosen, found } = timeline;
  timeline.width = width;
  timeline.drawn = drawScene({
    pen, run: RUN, calls: opened, view, width, scale: width / (view.to - view.from), chosen, found, inView: 0, narrow: 0,
    sums: new Float64Array(FAMILIES.length), withMessages: at("timeline-messages").checked,
    colours: state["timeline-colours"] === "region" ? regionColours(RUN) : null,
  });
  if (line.drag) {
    pen.fillStyle = colour(PALETTE.ink);
    pen.globalAlpha = 0.15;
    pen.fillRect(Math.min(line.drag.from, line.drag.to), 0, Math.abs(line.drag.to - line.drag.from), view.rows * ROW);
    pen.globalAlpha = 1;
  }
  drawMap(at("timeline-map"), RUN, opened, view);
  describeView();
}

// What is drawn, and what is drawn together.
function describeView() {
  const { drawn, calls, shortest, messages, view, locations } = RUN.timeline;
  const rows = view.rows < locations.length ? " of " + asCount(view.rows) + " of " + asCount(locations.length) + " ranks" : "";
  at("timeline-axis").textContent = "time since the first MPI_Init" + (drawn.base ? ", + after " + Number(drawn.base.toPrecision(12)) + " s" : "");
  at("timeline-source").textContent = asCount(drawn.inView) + " of " + asCount(calls) + " calls" + rows + " are in view. "
    + (drawn.narrow ? asCount(drawn.narrow) + " of them are narrower than a pixel: a column has the colour of most of their time, and is paler if less of it is in MPI. Zoom in to see each. " : "Each is shown. ")
    + (shortest ? "The page has no details shorter than " + asTime(shortest) + ". " : "")
    + (drawn.messages > drawn.arrows ? "Arrows: the slowest message per " + ARROW_SPACE + " pixels and sender, " + asCount(drawn.arrows) + " of " + asCount(drawn.messages) + " in view. "
      : drawn.messages ? asCount(drawn.messages) + " messages as arrows. " : "")
    + (messages.left_out ? "The page does not contain " + asCount(messages.left_out) + " faster messages. " : "")
    + "Wheel or W/S: zoom; A/D: move; shift and wheel: ranks; drag: zoom to a part. Source: the trace.";
}

function showLegend() {
  const { timeline } = RUN;
  const byRegion = state["timeline-colours"] === "region";
  const present = new Set(["compute", ...(timeline.waits.length > 1 ? ["waiting"] : []), ...timeline.names.map(([, family]) => family)]);
  const kinds = byRegion ? [["waiting in MPI", PALETTE.kinds.waiting.colour], ["other MPI", PALETTE.grey], ...[...regionColours(RUN)].map(([p, name]) => [shortPath(RUN.full[p], 40), name]), ["other computing", PALETTE.kinds.compute.colour]]
    : FAMILIES.filter((family) => present.has(family)).map((family) => [PALETTE.kinds[family].name, PALETTE.kinds[family].colour]);
  if (!byRegion && state.region > 0) kinds.push([shortPath(RUN.full[state.region], 40), CHOSEN_REGION]);
  at("timeline-legend").replaceChildren(...kinds.map(([text, name]) => {
    const item = element("li", text);
    const swatch = element("i");
    swatch.style.background = colour(name);
    item.prepend(swatch);
    return item;
  }));
}

function callText(i) {
  const { unit, locations, names, opened: calls, waits } = RUN.timeline;
  const many = calls.calls[i] > 1;
  const [name] = names[calls.name[i]];
  const time = asTime(timeInMpi(calls, i) * unit);
  const wait = calls.waited[i] ? ", waiting " + asTime(calls.waited[i] * unit) + (calls.cause[i] >= 0 ? " for rank " + calls.cause[i] : "")
    + (calls.wait[i] ? ": " + waitName(waits[calls.wait[i]]) : "") : "";
  return (many ? calls.calls[i] + " calls, the longest " + name : name) + " on rank " + locations[calls.location[i]] + ", " + time + wait;
}

// The call that was clicked: times, region, source lines, messages, and its kind of waiting.
function describeCall() {
  const { chosen, opened: calls, unit, waits, locations, messages } = RUN.timeline;
  const place = at("timeline-call");
  place.hidden = chosen < 0;
  if (chosen < 0) return;
  const facts = [["begins", (calls.begin[chosen] * unit).toFixed(9).replace(/0{1,6}$/, "") + " s"], ["region", RUN.full[calls.region[chosen]]]];
  const lines = sitesOfCall(calls, chosen);
  if (lines.length) facts.push([lines.length > 1 ? "source, one of" : "source", lines.join(", ")]);
  const found = calls.calls[chosen] > 1 ? [] : messagesOf(columnsOf(messages), calls, chosen);
  const { source, destination } = columnsOf(messages);
  const partners = found.slice(0, MOST_PARTNERS).map(({ i, sent, bytes }) => (sent ? "to rank " + locations[destination[i]] : "from rank " + locations[source[i]]) + ", " + asBytes(bytes));
  if (found.length > MOST_PARTNERS) partners.push(found.length - MOST_PARTNERS + " more");
  if (partners.length) facts.push(["messages", partners.join("; ")]);
  const close = element("button", "×", "close");
  close.type = "button";
  close.title = "Close (Escape)";
  close.addEventListener("click", () => chooseCall(-1));
  const list = element("dl");
  list.append(...facts.flatMap(([name, text]) => [element("dt", name), element("dd", text)]));
  const head = element("p", callText(chosen), "told");
  if (calls.wait[chosen]) head.append(helpOn(WAIT_STATES[waits[calls.wait[chosen]]]?.[1]));
  place.replaceChildren(close, head, list);
}

// A trace has no source lines. The profile has those of each function and region.
function sitesOfCall(calls, i) {
  const [name] = RUN.timeline.names[calls.name[i]];
  const rows = (RUN.sites?.rows || []).filter(([region, , , call]) => region === calls.region[i] && call === name);
  return [...new Set(rows.map(([, site]) => site))];
}

function chooseCall(i) {
  RUN.timeline.chosen = i;
  describeCall();
  moveTimeline(RUN.timeline.view);
}

// Shows a call with its neighbourhood.
function goToCall(i) {
  const { opened: calls, view } = RUN.timeline;
  const length = Math.max(50, 20 * (calls.end[i] - calls.begin[i]));
  const middle = (calls.begin[i] + calls.end[i]) / 2;
  const top = calls.location[i] >= view.top && calls.location[i] < view.top + view.rows ? view.top : calls.location[i] - Math.floor(view.rows / 2);
  moveTimeline({ ...view, from: middle - length / 2, to: middle + length / 2, top });
  chooseCall(i);
}

function searchTimeline(goOn) {
  const { timeline } = RUN;
  const { opened: calls } = timeline;
  timeline.found = searchCalls(RUN, calls, at("timeline-search").value);
  let count = 0;
  if (timeline.found) for (let i = 0; i < timeline.found.length; i++) count += timeline.found[i] * calls.calls[i];
  at("timeline-found").textContent = !timeline.found ? "" : count ? asCount(count) + " calls; Enter: next" : "no call";
  if (goOn && count) goToCall(nextFound(calls, timeline.found, timeline.chosen));
  else moveTimeline(timeline.view);
}

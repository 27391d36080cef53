// Drawing of the timeline on a canvas. What is narrower than a pixel shares a column of pixels with its neighbours.

const [ROW, BOX, GUTTER, AXIS] = [40, 28, 68, 26]; // pixels
const ARROW_SPACE = 64;
const OPACITY = [0.1, 0.35, 0.55, 0.8, 1];
const REGION_COLOURS = ["#8fc7a4", "#f2c48d", "#8fbfde", "#d9a9c7", "#d9cf6b", "#a99bd8", "#6fbcb8", "#cf9f80"];
const CHOSEN_REGION = "#cfe3f1";

// Rectangles by family and opacity. Neighbours of equal look are one.
class Boxes {
  constructor() {
    this.rects = FAMILIES.map(() => OPACITY.map(() => []));
  }

  add(family, opacity, x, y, width) {
    const rects = this.rects[family][opacity];
    const last = rects.length - 3;
    if (last >= 0 && rects[last + 1] === y && rects[last] + rects[last + 2] === x) rects[last + 2] += width;
    else rects.push(x, y, width);
  }

  paint(pen, colours) {
    this.rects.forEach((byOpacity, family) => byOpacity.forEach((rects, opacity) => {
      pen.fillStyle = colours[family];
      pen.globalAlpha = OPACITY[opacity];
      for (let i = 0; i < rects.length; i += 3) pen.fillRect(rects[i], rects[i + 1], rects[i + 2], BOX);
    }));
    pen.globalAlpha = 1;
  }
}

const colour = (name) => inTheme(name);
const rowTop = (scene, thread) => (thread - scene.view.top) * ROW;
const xOf = (scene, time) => (time - scene.view.from) * scene.scale;

// The regions with the longest own times have colours of their own.
function regionColours(run) {
  const time = run.exclusive.time_mean;
  const { offsets } = run.timeline.visits;
  const visited = run.full.map((_, p) => p).filter((p) => p > 0 && offsets[p + 1] > offsets[p]);
  const longest = visited.sort((a, b) => (time[b] || 0) - (time[a] || 0)).slice(0, REGION_COLOURS.length);
  return new Map(longest.map((p, index) => [p, REGION_COLOURS[index]]));
}

// Calls `paint(x, width)` for the visits of a region by a thread; for less than half of a pixel's column it does not.
function eachVisit(scene, p, thread, paint) {
  const { offsets } = scene.run.timeline.visits;
  const { begin, end, location } = columnsOf(scene.run.timeline.visits);
  const from = firstAfter(location, offsets[p], offsets[p + 1], thread - 1);
  const to = firstAfter(location, from, offsets[p + 1], thread);
  let [column, covered] = [-1, 0];
  for (let i = firstAfter(end, from, to, scene.view.from); i < to && begin[i] < scene.view.to; i++) {
    const x = Math.max(0, xOf(scene, begin[i]));
    const width = Math.min(scene.width, xOf(scene, end[i])) - x;
    if (width >= 1) {
      paint(x, width);
      continue;
    }
    if (Math.floor(x) !== column) [column, covered] = [Math.floor(x), 0];
    if (covered < 0.5 && covered + width >= 0.5) paint(column, 1);
    covered += width;
  }
}

function drawComputing(scene, thread) {
  const { pen, run, calls, colours } = scene;
  const y = rowTop(scene, thread) + (ROW - BOX) / 2;
  const [first, last] = [calls.starts[thread], calls.starts[thread + 1] - 1];
  if (last < first) return;
  const [from, to] = [Math.max(0, xOf(scene, calls.begin[first])), Math.min(scene.width, xOf(scene, calls.end[last]))];
  if (state.region > 0) {
    pen.fillStyle = colour(CHOSEN_REGION);
    eachVisit(scene, state.region, thread, (x, width) => pen.fillRect(x, y - 4, width, BOX + 8));
  }
  pen.fillStyle = colour(PALETTE.kinds.compute.colour);
  if (to > from) pen.fillRect(from, y, to - from, BOX);
  if (!colours) return;
  // Nested regions are painted over the ones around them.
  run.full.forEach((_, p) => {
    pen.fillStyle = colours.get(p) || colour(PALETTE.kinds.compute.colour);
    if (p > 0) eachVisit(scene, p, thread, (x, width) => pen.fillRect(x, y, width, BOX));
  });
}

// Waiting is drawn at a call's begin. A column of short calls has the colour of most of their time; it is paler if less of it is MPI.
function collectCalls(scene, thread, into) {
  const { calls, view, scale, found, sums } = scene;
  const { begin, end, waited, name, family, calls: count } = calls;
  const y = rowTop(scene, thread) + (ROW - BOX) / 2;
  let [column, joined, isFound] = [-1, 0, false];
  const close = () => {
    if (!joined) return;
    let [most, total] = [0, 0];
    for (let of = 0; of < sums.length; of++) {
      total += sums[of];
      if (sums[of] > sums[most]) most = of;
    }
    into.add(most, isFound ? 1 + Math.round(3 * Math.min(1, total * scale)) : 0, column, y, 1);
    scene.narrow += joined;
    [joined, isFound] = [0, false];
    sums.fill(0);
  };
  const stop = calls.starts[thread + 1];
  for (let i = firstAfter(end, calls.starts[thread], stop, view.from); i < stop && begin[i] < view.to; i++) {
    const x = (begin[i] - view.from) * scale;
    const width = (end[i] - begin[i]) * scale;
    const [own, shown] = [family[name[i]], !found || found[i] === 1];
    scene.inView += count[i];
    if (width < 1) {
      const at = Math.max(0, Math.floor(x));
      if (at !== column) close();
      column = at;
      sums[WAITING] += waited[i];
      sums[own] += timeInMpi(calls, i) - waited[i];
      joined += count[i];
      isFound ||= shown;
      continue;
    }
    close();
    const waiting = count[i] === 1 ? Math.min(width, waited[i] * scale) : 0;
    const part = count[i] === 1 ? 1 : calls.time[i] / (end[i] - begin[i] || 1);
    if (waiting > 0) into.add(WAITING, shown ? 4 : 0, x, y, waiting);
    if (width > waiting) into.add(own, shown ? 1 + Math.round(3 * part) : 0, x + waiting, y, width - waiting);
  }
  close();
}

function drawArrow(pen, [fromX, fromY], [toX, toY]) {
  const angle = Math.atan2(toY - fromY, toX - fromX);
  pen.beginPath();
  pen.moveTo(fromX, fromY);
  pen.lineTo(toX, toY);
  for (const side of [-0.4, 0.4]) {
    pen.moveTo(toX, toY);
    pen.lineTo(toX - 7 * Math.cos(angle + side), toY - 7 * Math.sin(angle + side));
  }
  pen.stroke();
}

function drawMessages(scene) {
  const { pen, run, calls, view } = scene;
  const messages = columnsOf(run.timeline.messages);
  const thin = scene.withMessages ? thinMessages(messages, view, scene.scale, ARROW_SPACE) : { arrows: [], count: 0 };
  const middle = (thread) => rowTop(scene, thread) + ROW / 2;
  const arrow = (i) => drawArrow(pen, [xOf(scene, messages.begin[i]), middle(messages.source[i])], [xOf(scene, messages.end[i]), middle(messages.destination[i])]);
  pen.strokeStyle = colour(PALETTE.ink);
  pen.lineWidth = 0.8;
  thin.arrows.forEach(arrow);
  pen.lineWidth = 2;
  if (scene.chosen >= 0) for (const { i } of messagesOf(messages, calls, scene.chosen)) arrow(i);
  return thin;
}

function drawChosen(scene) {
  const { pen, calls, chosen } = scene;
  if (chosen < 0) return;
  const x = xOf(scene, calls.begin[chosen]);
  pen.strokeStyle = colour(PALETTE.ink);
  pen.lineWidth = 2;
  pen.strokeRect(x - 1, rowTop(scene, calls.location[chosen]) + (ROW - BOX) / 2 - 2, Math.max(1, xOf(scene, calls.end[chosen]) - x) + 2, BOX + 4);
}

// Steps of 1, 2 or 5. Late in a run, labels are distances from a rounder time, which is returned.
function timeTicks(from, to, most) {
  const rough = (to - from) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((times) => times * power >= rough);
  const base = from > 1000 * step ? Math.floor(from / (100 * step)) * 100 * step : 0;
  const [scale, unit] = TIMES.find(([least]) => step >= least * 0.9999) || TIMES[TIMES.length - 1];
  const digits = Math.max(0, -Math.floor(Math.log10(step / scale) + 1e-9));
  const ticks = [];
  for (let k = Math.ceil((from - base) / step - 1e-9); base + k * step <= to; k++) {
    ticks.push([base + k * step, (base ? "+" : "") + (k * step / scale).toFixed(digits) + " " + unit]);
  }
  return { ticks, base };
}

function drawAxis(scene) {
  const { pen, view, run, width } = scene;
  const { unit } = run.timeline;
  const { ticks, base } = timeTicks(view.from * unit, view.to * unit, Math.max(2, width / 110));
  const bottom = view.rows * ROW;
  pen.textAlign = "center";
  for (const [time, text] of ticks) {
    const x = xOf(scene, time / unit);
    pen.fillStyle = colour(PALETTE.grid);
    pen.fillRect(x, 0, 1, bottom + 4);
    pen.fillStyle = colour(PALETTE.ink);
    const half = pen.measureText(text).width / 2;
    if (x > half && x < width - half) pen.fillText(text, x, bottom + 18);
  }
  return base;
}

function drawRanks(scene) {
  const { pen, view, run } = scene;
  pen.fillStyle = colour(PALETTE.ink);
  pen.textAlign = "right";
  const last = Math.min(run.timeline.locations.length, Math.ceil(view.top + view.rows));
  for (let thread = Math.floor(view.top); thread < last; thread++) {
    const y = rowTop(scene, thread) + ROW / 2;
    if (y > 0 && y < view.rows * ROW) pen.fillText((thread === Math.ceil(view.top) ? "rank " : "") + run.timeline.locations[thread], -8, y + 4);
  }
}

// Draws a view and returns counts of calls and messages in it.
function drawScene(scene) {
  const { pen, run, view } = scene;
  pen.fillStyle = colour("#fff");
  pen.fillRect(-GUTTER, 0, scene.width + GUTTER, view.rows * ROW + AXIS);
  pen.font = FONT.size + "px " + FONT.family;
  const base = drawAxis(scene);
  drawRanks(scene);
  pen.save();
  pen.beginPath();
  pen.rect(0, 0, scene.width, view.rows * ROW);
  pen.clip();
  const boxes = new Boxes();
  const last = Math.min(run.timeline.locations.length, Math.ceil(view.top + view.rows));
  for (let thread = Math.floor(view.top); thread < last; thread++) {
    drawComputing(scene, thread);
    collectCalls(scene, thread, boxes);
  }
  const looks = FAMILIES.map((name) => colour(scene.colours && name !== "waiting" ? PALETTE.grey : PALETTE.kinds[name].colour));
  boxes.paint(pen, looks);
  const { arrows, count } = drawMessages(scene);
  drawChosen(scene);
  pen.restore();
  return { base, inView: scene.inView, narrow: scene.narrow, arrows: arrows.length, messages: count };
}

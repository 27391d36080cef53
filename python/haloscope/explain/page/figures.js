// The figures. Each function draws into its element, or shows why there is nothing to draw.

function stacked(labels, sums, more, looks = LOOKS) {
  return Object.entries(looks).map(([part, { name, colour }]) => ({
    type: "bar", name, marker: { color: colour }, ...more(labels, sums[part]),
  }));
}

const MOST_BARS = 40;
const MOST_BARS_OF_RANKS = 256;

const heightOf = (bars) => Math.max(320, 110 + 24 * bars);
// Few bars are made thinner.
const gapOf = (bars, usual) => (bars > 3 ? usual : 0.6);

function drawTimeByRegion(place, run, values, chosen) {
  const entered = run.full.map((_, p) => p).filter((p) => values.time_mean[p] !== null);
  if (!entered.length) return drawNothing(place, "No rank recorded its time.");
  const most = [...entered].sort((a, b) => values.time_mean[b] - values.time_mean[a]).slice(0, MOST_BARS);
  const shown = entered.filter((p) => most.includes(p));
  const rows = shown.map((_, index) => index);
  const sums = {};
  for (const part of PARTS) sums[part] = shown.map((p) => partsOf(values, p)[part]);
  const texts = shown.map((p) => (run.full[p].length > 30 ? shortPath(run.full[p], 30) : run.full[p]));
  const names = texts.map((text, row) => (shown[row] === chosen ? "<b>" + plain(text) + "</b>" : plain(text)));
  const hover = shown.map((p) => plain(run.full[p]));
  draw(place, stacked(rows, sums, (y, x) => ({
    x, y, orientation: "h", customdata: hover, hovertemplate: "%{customdata}<br>%{x:.4s}s",
  })), {
    height: heightOf(shown.length), barmode: "stack", bargap: gapOf(shown.length, 0.3),
    margin: { l: widthOf(texts) + 12, r: 16, t: 40, b: 48 },
    xaxis: axis("time, s, mean over ranks", { rangemode: "tozero" }),
    yaxis: axis("", { tickvals: rows, ticktext: names, autorange: "reversed", showgrid: false, automargin: false }),
  });
}

function drawTimeByRank(place, run, p, inclusive) {
  const sums = timeByRank(run, p, inclusive);
  if (!sums) return drawNothing(place, "No rank entered this region.");
  // The height of the figure next to it, up to a limit.
  drawByRank(place, run.split, sums, LOOKS, "time, s", Math.min(640, heightOf(Math.min(MOST_BARS, run.full.length))));
}

function drawByRank(place, { bins, bin }, sums, looks, title, height) {
  const ranks = Array.from({ length: bins }, (_, index) => index * bin + (bin - 1) / 2);
  const who = bin > 1 ? "ranks around %{x}" : "rank %{x}";
  const bars = stacked(ranks, sums, (x, y) => ({ x, y, hovertemplate: who + "<br>%{y:.4s}s" }), looks);
  const many = bins > MOST_BARS_OF_RANKS;
  draw(place, many ? bars.map(asSteps) : bars, {
    height, ...(many ? { hovermode: "x" } : {}), barmode: "stack", bargap: bins > 64 ? 0 : gapOf(bins, 0.2), showlegend: true,
    xaxis: axis("rank", rankTicks(bins, bin, false)), yaxis: axis(title, { rangemode: "tozero" }),
  });
}

// Areas replace thousands of bars, which are slow to draw. They look the same.
function asSteps({ marker: { color }, ...bar }) {
  return { ...bar, type: "scatter", mode: "lines", stackgroup: "all", fillcolor: color, line: { shape: "hvh", width: 0, color } };
}

function rankTicks(bins, bin, reversed) {
  const edge = [-0.5, bins * bin - 0.5];
  return { range: reversed ? edge.reverse() : edge, showgrid: false, tickformat: "d", ...(bins * bin <= 16 ? { dtick: 1 } : {}) };
}

// Quantities per rank and partner.
const MEASURES = {
  bytes: { title: "bytes sent", unit: "B", text: asBytes },
  messages: { title: "messages sent", unit: "", text: asCount },
  time: { title: "time, s", unit: "s", text: asTime },
};

const MESSAGES = { table: (run) => run.matrix, across: "to rank", along: "from rank", none: "No point-to-point messages in this region." };
const MOST_WITH_NUMBERS = 8;
const MOST_LINES_OF_NODES = 64;

// Ranks are in the order of their nodes, with lines between nodes. `of.labels` are names for other rows than ranks.
function drawMatrix(place, run, of, p, inclusive, measure, log) {
  const table = of.table(run);
  const { bins, bin } = table;
  const cells = matrixOf(run, table, p, inclusive, measure);
  if (!cells) return drawNothing(place, of.none);
  const labels = of.labels?.(run);
  const order = bin === 1 && !labels ? orderByNode(run, bins) : null;
  const shown = order ? order.ranks.map((row) => order.ranks.map((column) => cells[row][column])) : cells;
  const { title, unit, text } = MEASURES[measure];
  const centres = labels || order?.ranks.map(String) || cells.map((_, index) => index * bin + (bin - 1) / 2);
  const who = labels ? "%{y} → %{x}" : bin > 1 ? "ranks around %{y} → around %{x}" : "rank %{y} → rank %{x}";
  const isCategory = labels || order;
  const ticks = (reversed) => (isCategory ? { type: "category", range: reversed ? [bins - 0.5, -0.5] : [-0.5, bins - 0.5], showgrid: false } : rankTicks(bins, bin, reversed));
  draw(place, [{
    type: "heatmap", x: centres, y: centres, colorscale: SCALE, hoverongaps: false, customdata: shown,
    z: log ? shown.map((row) => row.map((v) => (v === null ? null : Math.log10(v)))) : shown,
    ...(bins <= MOST_WITH_NUMBERS ? { text: shown.map((row) => row.map((v) => (v === null ? "" : text(v)))), texttemplate: "%{text}" } : {}),
    hovertemplate: who + "<br>%{customdata:.4s}" + unit + "<extra></extra>",
    xgap: bins <= 64 ? 1 : 0, ygap: bins <= 64 ? 1 : 0,
    ...colourRange(cells, log, title, text),
  }], {
    ...squareIn(place, bins, labels ? widthOf(labels) : 0), shapes: order && order.edges.length < MOST_LINES_OF_NODES ? order.edges.flatMap((edge) => linesAt(edge - 0.5)) : [],
    xaxis: axis(of.across, ticks(false)),
    yaxis: axis(of.along, ticks(true)),
  }, { responsive: false });
}

function linesAt(edge) {
  const line = { color: PALETTE.ink, width: 1.5 };
  return [{ type: "line", x0: edge, x1: edge, yref: "paper", y0: 0, y1: 1, line }, { type: "line", y0: edge, y1: edge, xref: "paper", x0: 0, x1: 1, line }];
}

// Plotly's scaleanchor fails with a warning in narrow windows. A few ranks need no large figure.
function squareIn(place, bins, labels = 0) {
  const [across, along] = [64 + labels + 120, 40 + 56];
  const side = Math.max(100, Math.min(600, Math.max(260, 64 * bins), place.clientWidth - across));
  return { width: side + across, height: side + along, margin: { l: 64 + labels, r: 16, t: 40, b: 48 } };
}

function colourRange(cells, log, title, text) {
  let [least, most] = [Infinity, 0];
  for (const row of cells) for (const v of row) if (v !== null) [least, most] = [Math.min(least, v), Math.max(most, v)];
  const bar = { title: { text: title, side: "right" }, thickness: 14, outlinewidth: 0 };
  if (!log) {
    const steps = [0, 0.25, 0.5, 0.75, 1].map((part) => part * most);
    return { zmin: 0, zmax: most, colorbar: { ...bar, tickvals: steps, ticktext: steps.map((v) => text(v)) } };
  }
  const [low, high] = [Math.floor(Math.log10(least)), Math.ceil(Math.log10(most))];
  const steps = Array.from({ length: Math.max(1, high - low) + 1 }, (_, index) => low + index);
  return { zmin: low, zmax: Math.max(high, low + 1), colorbar: { ...bar, tickvals: steps, ticktext: steps.map((k) => text(10 ** k)) } };
}

// Use of the machine by each rank. A row has its values by name.
function usageColumns(rows) {
  const column = (title, explanation, value, text) => [title, explanation, value, (row) => (value(row) === null ? "–" : text(value(row)))];
  const plain = (title, explanation, name, text) => column(title, explanation, (row) => row[name], text);
  const part = (title, explanation, name) =>
    column(title, explanation, (row) => (row.omp_team_time > 0 ? row[name] / row.omp_team_time : null), (share) => asShare(share, 1));
  const asIs = (text) => String(text);
  const ofThreads = rows.some((row) => row.omp_threads) ? [
    plain("threads", "The most OpenMP threads at once (omp_threads)", "omp_threads", asCount),
    plain("in parallel regions", "Time in OpenMP's parallel regions (omp_parallel_time)", "omp_parallel_time", asTime),
    part("computing", "Share of the threads' time in these (omp_thread_time / omp_team_time)", "omp_thread_time"),
    part("in barriers", "Share of the threads' time in these (omp_barrier_time / omp_team_time)", "omp_barrier_time"),
    part("imbalance", "Share lost as threads compute less than the busiest one (omp_imbalance_time / omp_team_time)", "omp_imbalance_time")] : [];
  return [
    plain("rank", "In MPI_COMM_WORLD", "rank", asIs), plain("host", "Its name", "host", asIs),
    plain("CPUs", "That the rank could use (cpus)", "cpus", asIs),
    plain("CPU time", "Of all its threads (cpu_time)", "cpu_time", asTime),
    column("CPUs used", "CPU time over duration", (row) => (row.cpu_time !== null && row.duration > 0 ? row.cpu_time / row.duration : null),
      (used) => used.toFixed(2)),
    plain("preemptions", "Involuntary context switches; a wait that yields its core counts, too (preemptions)", "preemptions", asCount),
    plain("memory", "The most that was resident (memory_max)", "memory_max", asBytes), ...ofThreads];
}

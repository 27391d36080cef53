// Waiting, from a trace: its kinds, ranks and partners, causes, the critical path, and the tolerance of latency.

const WAITED_FOR = { table: (run) => run.waiting.pairs, across: "waits for rank", along: "rank", none: "No rank waits for another rank in this region." };
const CAUSES = { direct: { name: "direct", colour: PALETTE.blue }, indirect: { name: "indirect", colour: PALETTE.light } };
const ON_PATH = { compute: LOOKS.compute, mpi: { name: "in MPI", colour: PALETTE.blue } };
// Kinds of time that are not waiting are pale.
const NO_WAITING = { other: PALETTE.pale, polling: PALETTE.pale, barrier_completion: PALETTE.grid, nxn_completion: PALETTE.grid };

function drawKinds(place, run, p, inclusive) {
  const [first, last] = rowsOf(run, run.waiting.kinds, p, inclusive);
  const [times, counts] = [new Map(), new Map()];
  for (const [kind, waits, time] of run.waiting.kinds.rows.slice(first, last)) {
    times.set(kind, (times.get(kind) || 0) + time);
    counts.set(kind, (counts.get(kind) || 0) + waits);
  }
  const kinds = [...times.keys()].sort((a, b) => times.get(a) - times.get(b));
  if (!kinds.length) return drawNothing(place, "No MPI call in this region.");
  const total = [...times.values()].reduce((sum, time) => sum + time, 0);
  draw(place, [{
    type: "bar", orientation: "h", name: "time", x: kinds.map((kind) => times.get(kind)), y: kinds.map((kind) => kind.replace(/_/g, " ")),
    marker: { color: kinds.map((kind) => NO_WAITING[kind] || PALETTE.blue) },
    customdata: kinds.map((kind) => [asTime(times.get(kind)), asShare(times.get(kind), total), asCount(counts.get(kind))]),
    hovertemplate: "%{y}<br>%{customdata[0]}, %{customdata[1]} of the time in MPI<br>%{customdata[2]} times<extra></extra>",
  }], {
    height: Math.max(240, 100 + 30 * kinds.length), bargap: gapOf(kinds.length, 0.3),
    xaxis: axis("time, s, all ranks", { rangemode: "tozero" }), yaxis: axis("", { showgrid: false }),
  });
}

function drawCauses(place, run, p, inclusive) {
  const sums = sumsByRank(run, run.waiting.causes, p, inclusive, Object.keys(CAUSES));
  if (!sums) return drawNothing(place, "This region caused no waiting.");
  drawByRank(place, run.waiting.causes, sums, CAUSES, "waiting of other ranks caused by a rank, s", 340);
}

function drawCriticalPath(place, run, p, inclusive) {
  const sums = sumsByRank(run, run.waiting.critical, p, inclusive, ["time", "mpi"]);
  if (!sums) return drawNothing(place, "The critical path does not contain this region: a faster region does not shorten the run.");
  const compute = sums.time.map((time, bin) => Math.max(0, time - sums.mpi[bin]));
  drawByRank(place, run.waiting.critical, { compute, mpi: sums.mpi }, ON_PATH, "time on the critical path, s", 340);
}

function drawLatency(place, run) {
  const { latency, run: length } = run.waiting;
  if (!latency) return drawNothing(place, "The run time does not depend on the latency of messages.");
  const times = latency.corners.map(([, time]) => time);
  const marks = latency.marks.filter(([, most]) => most !== null);
  draw(place, [{
    type: "scatter", mode: "lines", name: "the run", x: latency.corners.map(([added]) => added), y: times,
    line: { color: PALETTE.blue, width: 2 }, hovertemplate: "%{x:.4s}s added to each message<br>run time %{y:.5s}s<extra></extra>",
  }, {
    type: "scatter", mode: "markers+text", name: "longer by", x: marks.map(([, most]) => most), y: marks.map(([longer]) => length * (1 + longer)),
    text: marks.map(([longer, most]) => "+" + 100 * longer + " % at " + asTime(most)), textposition: "bottom right",
    marker: { color: PALETTE.orange, size: 9, symbol: "diamond" }, hovertemplate: "%{text}<extra></extra>",
  }], {
    height: 340, showlegend: false, xaxis: axis("added to each latency, s", { rangemode: "tozero", exponentformat: "SI" }),
    yaxis: axis("run time, s", { range: [length - 0.02 * length, Math.max(...times) * 1.01] }),
  });
}

function showWaits() {
  const { waiting } = RUN;
  at("waits").hidden = !waiting;
  if (!waiting) return;
  const [p, nested] = [state.region, inclusive()];
  drawKinds(at("kinds-plot"), RUN, p, nested);
  at("kinds-source").textContent = "Time in MPI calls; pale: not waiting. Source: waits, " + state.nesting + "."
    + waiting.remarks.map((remark) => " " + remark + ".").join("");
  drawMatrix(at("pairs-plot"), RUN, WAITED_FOR, p, nested, "time", false);
  at("pairs-source").textContent = "Time that the row's rank waited for the column's rank. " + binText(waiting.pairs) + "Source: wait_pairs, " + state.nesting + ".";
  drawCauses(at("causes-plot"), RUN, p, nested);
  at("causes-source").textContent = "Waiting of other ranks because of delays in this region. Direct: of ranks that waited for this rank; indirect: of ranks that waited for these. "
    + binText(waiting.causes) + "Source: delays, " + state.nesting + ".";
  drawCriticalPath(at("critical-plot"), RUN, p, nested);
  at("critical-source").textContent = "Time on the critical path, which determines the run time; its sum over all ranks and regions is the run time. " + binText(waiting.critical)
    + "Source: critical_path, " + state.nesting + ".";
  drawLatency(at("latency-plot"), RUN);
  at("latency-source").textContent = "All regions. Run time if a latency is added to each message, computed exactly from the event graph of the trace. "
    + (waiting.latency?.left_out ? "The line is drawn without " + waiting.latency.left_out + " of its corners. " : "") + "Source: tolerance.";
}

const binText = ({ bin }) => (bin > 1 ? "Sums over " + bin + " neighbouring ranks. " : "");

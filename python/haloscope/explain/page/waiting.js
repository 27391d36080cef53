// Waiting, from a trace: its kinds, ranks and partners, causes, the critical path, and the tolerance of latency.

const WAITED_FOR = { table: (run) => run.waiting.pairs, across: "waits for rank", along: "rank", none: "No rank waits for another rank in this region." };
const CAUSES = { direct: { name: "direct", colour: PALETTE.blue }, indirect: { name: "indirect", colour: PALETTE.light } };
const ON_PATH = { compute: LOOKS.compute, mpi: { name: "in MPI", colour: PALETTE.blue } };
// The name of each kind of time in MPI, and what it is. Those without waiting are pale.
const WAIT_STATES = {
  late_sender: ["late sender", "A call needs a message that was not sent when the call began. It waits until the sender begins to send. Help the sender to be earlier: it computes longer, or sends later than it could."],
  wrong_order: ["messages in another order", "As late sender, but an older message from another call was there already and is received later. Receive messages in the order in which they are sent, or any of them first."],
  late_receiver: ["late receiver", "A send cannot end before its receive is posted, because the message is long or the send is synchronous. Post receives earlier."],
  wait_at_barrier: ["wait at a barrier", "The time from the beginning of a barrier to that of its last rank. The last rank is late: it computes longer. Often the barrier is not needed."],
  wait_at_nxn: ["wait at an all-to-all collective", "In MPI_Allreduce, MPI_Alltoall and others, each rank needs data of all ranks. The time from the beginning of the call to that of its last rank, which is late."],
  barrier_completion: ["end of a barrier", "The time from the end of the first rank's call to that of this rank's. It is not waiting for a late rank."],
  nxn_completion: ["end of an all-to-all collective", "The time from the end of the first rank's call to that of this rank's. It is not waiting for a late rank."],
  early_reduce: ["early root of a reduction", "The root of MPI_Reduce or MPI_Gather waits until the first other rank begins."],
  late_broadcast: ["late root of a broadcast", "Ranks in MPI_Bcast or MPI_Scatter wait until the root begins. The root is late."],
  early_scan: ["early rank in a scan", "In MPI_Scan a rank waits until the last of the ranks before it begins."],
  polling: ["polling", "MPI_Test and others that found nothing. It is not waiting by definition: the program could have computed."],
  other: ["transfer and MPI itself", "Time in MPI in which no other rank was late: data in transfer, and the work of the library."],
};
const NO_WAITING = { other: PALETTE.pale, polling: PALETTE.pale, barrier_completion: PALETTE.pale, nxn_completion: PALETTE.pale };
const kindOrder = { column: null, down: false, chosen: null };
const waitName = (kind) => WAIT_STATES[kind]?.[0] || kind.replace(/_/g, " ");

// Time and number of calls by kind, longest first.
function kindRows(run, p, inclusive) {
  const [first, last] = rowsOf(run, run.waiting.kinds, p, inclusive);
  const sums = new Map();
  for (const [kind, waits, time] of run.waiting.kinds.rows.slice(first, last)) {
    const sum = sums.get(kind) || { kind, waits: 0, time: 0 };
    sums.set(kind, { kind, waits: sum.waits + waits, time: sum.time + time });
  }
  return [...sums.values()].sort((a, b) => b.time - a.time);
}

function kindColumns(rows) {
  const total = rows.reduce((sum, row) => sum + row.time, 0);
  const cell = (row) => {
    const made = element("span", waitName(row.kind));
    made.append(helpOn(WAIT_STATES[row.kind]?.[1]));
    return made;
  };
  const bar = (row) => {
    const made = element("span", asShare(row.time, total));
    const whole = element("span", undefined, "bar");
    const piece = element("i");
    piece.style.width = (total ? 100 * row.time / total : 0) + "%";
    piece.style.background = colour(NO_WAITING[row.kind] || PALETTE.orange);
    whole.append(piece);
    made.append(whole);
    return made;
  };
  return [
    ["kind", "The reason; press ? for its definition", (row) => waitName(row.kind), cell, (row) => row.kind],
    ["time", "Sum over ranks (time_total)", (row) => row.time, (row) => asTime(row.time)],
    ["of time in MPI", "Share of the time in MPI calls; pale: not waiting", (row) => row.time, bar],
    ["times", "Number of calls (waits)", (row) => row.waits, (row) => asCount(row.waits)],
  ];
}

function drawCauses(place, run, p, inclusive) {
  const sums = sumsByRank(run, run.waiting.causes, p, inclusive, Object.keys(CAUSES));
  if (!sums) return drawNothing(place, "This region caused no waiting.");
  drawByRank(place, run.waiting.causes, sums, CAUSES, "waiting caused, s", 340);
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
  const most = latency.corners[latency.corners.length - 1][0];
  const { ticks } = timeTicks(0, most, 6);
  const marks = latency.marks.filter(([, most]) => most !== null);
  draw(place, [{
    type: "scatter", mode: "lines", name: "the run", x: latency.corners.map(([added]) => added), y: times,
    line: { color: PALETTE.blue, width: 2 }, hovertemplate: "%{x:.4s}s added to each message<br>run time %{y:.5s}s<extra></extra>",
  }, {
    type: "scatter", mode: "markers+text", name: "longer by", x: marks.map(([, most]) => most), y: marks.map(([longer]) => length * (1 + longer)),
    text: marks.map(([longer, most]) => "+" + 100 * longer + " % at " + asTime(most)), textposition: "bottom right",
    marker: { color: PALETTE.orange, size: 9, symbol: "diamond" }, hovertemplate: "%{text}<extra></extra>",
  }], {
    height: 340, showlegend: false, xaxis: axis("added to each latency", { rangemode: "tozero", tickvals: ticks.map(([time]) => time), ticktext: ticks.map(([, text]) => text) }),
    yaxis: axis("run time, s", { range: [length - 0.02 * length, Math.max(...times) * 1.01] }),
  });
}

function showWaits() {
  const { waiting } = RUN;
  at("waits").hidden = !waiting;
  if (!waiting) return;
  const [p, nested] = [state.region, inclusive()];
  const kinds = kindRows(RUN, p, nested);
  tableInto(at("kinds-table"), kindColumns(kinds), kinds, kindOrder, null);
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

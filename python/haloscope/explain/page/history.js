// The history of the run: the kinds of time in MPI per cell of time, and the waiting per rank and cell.

const HISTORY = ["p2p", "coll", "rma", "io"];

const cellCentres = (history) => Array.from({ length: history.cells }, (_, cell) => (cell + 0.5) * history.width);
const timeAxis = (history) => axis("time since MPI_Init, s", { range: [0, history.cells * history.width] });

function drawHistory(place, history) {
  const columns = columnsOf(history);
  const x = cellCentres(history);
  const hover = (name) => name + "<br>%{y:.3f} s per s around %{x:.4~s}s<extra></extra>";
  const kinds = HISTORY.filter((kind) => columns[kind].some((value) => value > 0));
  const bars = kinds.map((kind) => ({
    type: "bar", name: PALETTE.kinds[kind].name, x, y: columns[kind], marker: { color: PALETTE.kinds[kind].colour },
    hovertemplate: hover(PALETTE.kinds[kind].name),
  }));
  draw(place, [...bars, {
    type: "scatter", mode: "lines", name: "of this, waiting", x, y: columns.wait,
    line: { color: PALETTE.ink, width: 1.6, shape: "hvh" }, hovertemplate: hover("waiting"),
  }], {
    height: 360, barmode: "stack", bargap: 0, showlegend: true,
    xaxis: timeAxis(history), yaxis: axis("time in MPI, s per s, mean over ranks", { rangemode: "tozero" }),
  });
}

function drawWaiting(place, history) {
  const { share } = columnsOf(history);
  const { bins, bin, cells } = history;
  const z = Array.from({ length: bins }, (_, row) => Array.from(share.subarray(row * cells, (row + 1) * cells), (v) => v / 100));
  const who = bin > 1 ? "ranks around %{y}" : "rank %{y}";
  draw(place, [{
    type: "heatmap", x: cellCentres(history), y: z.map((_, row) => row * bin + (bin - 1) / 2), z, zmin: 0, zmax: 100,
    colorscale: SCALE, hovertemplate: who + "<br>waits %{z:.1f} % of the time around %{x:.4~s}s<extra></extra>",
    colorbar: { title: { text: "waiting, % of the time", side: "right" }, thickness: 14, outlinewidth: 0 },
  }], { height: 360, xaxis: timeAxis(history), yaxis: axis("rank", rankTicks(bins, bin, true)) });
}

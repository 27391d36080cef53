// The history of the run: what ranks did in each cell of time, and which of them waited when.

const HISTORY = {
  p2p: { name: "point-to-point", colour: "#0072b2" },
  coll: { name: "collective", colour: "#e69f00" },
  rma: { name: "one-sided", colour: "#7a6a9e" },
  io: { name: "files", colour: "#5d8a4a" },
};

const cellCentres = (history) => Array.from({ length: history.cells }, (_, cell) => (cell + 0.5) * history.width);
const timeAxis = (history) => axis("time since MPI_Init, s", { range: [0, history.cells * history.width] });

function drawHistory(place, history) {
  const columns = columnsOf(history);
  const x = cellCentres(history);
  const hover = (name) => name + "<br>%{y:.3f} s per s around %{x:.4~s}s<extra></extra>";
  const kinds = Object.keys(HISTORY).filter((kind) => columns[kind].some((value) => value > 0));
  const bars = kinds.map((kind) => ({
    type: "bar", name: HISTORY[kind].name, x, y: columns[kind], marker: { color: HISTORY[kind].colour },
    hovertemplate: hover(HISTORY[kind].name),
  }));
  draw(place, [...bars, {
    type: "scatter", mode: "lines", name: "of this, waiting", x, y: columns.wait,
    line: { color: "#1c2733", width: 1.6, shape: "hvh" }, hovertemplate: hover("waiting"),
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

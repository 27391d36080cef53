// Message sizes: a stem at each exact size. A logarithmic axis has no 0, so size 0 is drawn left of 1.

const KINDS = {
  p2p: { ...PALETTE.kinds.p2p, symbol: "circle" },
  coll: { ...PALETTE.kinds.coll, symbol: "diamond" },
  rma: { ...PALETTE.kinds.rma, symbol: "square" },
};
const SIZE_MEASURES = {
  messages: { title: "messages", of: (row) => row.messages },
  volume: { title: "bytes", of: (row) => row.messages * row.bytes },
  time: { title: "time, s, all ranks", of: (row) => row.time },
};
const ZERO_AT = 0.4;
const MOST_TICKS = 14;

const placeOf = (bytes) => (bytes > 0 ? bytes : ZERO_AT);

function drawSizes(place, run, p, inclusive, measure) {
  const { title, of } = SIZE_MEASURES[measure];
  const all = sizesOf(run, p, inclusive);
  const rows = all.filter((row) => of(row) > 0);
  if (!rows.length) return drawNothing(place, all.length ? "All messages are empty or have no times." : "No messages in this region.");
  const [low, high] = bounds(rows.map(of));
  const present = new Set(rows.map((row) => row.kind));
  const kinds = [...new Set([...Object.keys(KINDS), ...present])].filter((kind) => present.has(kind));
  const traces = kinds.map((kind) => stems(kind, rows.filter((row) => row.kind === kind), of, low));
  draw(place, traces, {
    height: Math.max(360, squareIn(at("matrix-plot"), run.matrix.bins).height), showlegend: true,
    xaxis: axis("bytes in a message", { type: "log", ...sizeTicks(rows) }),
    yaxis: axis(title, { type: "log", range: [low, high], exponentformat: "SI", dtick: 1 }),
  });
}

function bounds(values) {
  const least = values.reduce((a, b) => Math.min(a, b));
  const most = values.reduce((a, b) => Math.max(a, b));
  return [Math.floor(Math.log10(least) - 0.01), Math.ceil(Math.log10(most) + 0.05)];
}

function stems(kind, rows, of, low) {
  const look = KINDS[kind] || { name: plain(kind), colour: PALETTE.grey, symbol: "x" };
  const y = rows.map(of);
  return {
    type: "scatter", mode: "markers", name: look.name, x: rows.map((row) => placeOf(row.bytes)), y,
    marker: { color: look.colour, symbol: look.symbol, size: 8 },
    error_y: stem(y.map(() => 0), y.map((v) => v - 10 ** low), look.colour),
    error_x: stem(rows.map((row) => Math.max(0, row.upper - placeOf(row.bytes))), rows.map(() => 0), look.colour),
    customdata: rows.map((row) => [sizeText(row), asCount(row.messages), asBytes(row.messages * row.bytes), asTime(row.time)]),
    hovertemplate: "%{customdata[0]}<br>%{customdata[1]} messages<br>%{customdata[2]}<br>%{customdata[3]}, all ranks",
  };
}

function stem(array, arrayminus, color) {
  return { type: "data", symmetric: false, array, arrayminus, color, thickness: 1.6, width: 0 };
}

function sizeText(row) {
  return row.upper > row.bytes ? row.bytes + "–" + row.upper + " bytes" : row.bytes + " bytes";
}

function powers(withZero, high) {
  const exponents = Array.from({ length: Math.floor(high) + 1 }, (_, k) => k);
  const [at, text] = [exponents.map((k) => 10 ** k), exponents.map((k) => asBytes(10 ** k))];
  return withZero ? { tickvals: [ZERO_AT, ...at], ticktext: ["0", ...text] } : { tickvals: at, ticktext: text };
}

// Few sizes get ticks with their exact values; many sizes get powers of ten.
function sizeTicks(rows) {
  const sizes = [...new Set(rows.map((row) => row.bytes))];
  const ends = [Math.log10(placeOf(sizes[0])) - 0.3, Math.log10(Math.max(...rows.map((row) => placeOf(row.upper)))) + 0.3];
  const range = ends[1] - ends[0] < 2 ? [ends[0] - 0.7, ends[1] + 0.7] : ends;
  if (sizes.length > MOST_TICKS) return { range, ...powers(sizes[0] === 0, range[1]) };
  return { range, tickvals: sizes.map(placeOf), ticktext: sizes.map(String), tickangle: -45 };
}

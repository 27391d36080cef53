// The embedded data. Regions are numbered depth first: region p and its nested regions are p … end[p] − 1.

const RUN = JSON.parse(at("data").textContent);
const ARRAYS = { u2: Uint16Array, u4: Uint32Array, i4: Int32Array, f8: Float64Array };
const PARTS = ["compute", "p2p", "coll", "other"];
const LOOKS = Object.fromEntries(PARTS.map((part) => [part, PALETTE.kinds[part]]));

// The first bytes of all numbers precede their second bytes.
function unpacked({ type, data }) {
  const text = atob(data);
  const bytes = new Uint8Array(text.length);
  const size = ARRAYS[type].BYTES_PER_ELEMENT;
  for (let plane = 0, i = 0; plane < size; plane++) for (let to = plane; to < bytes.length; to += size) bytes[to] = text.charCodeAt(i++);
  return new ARRAYS[type](bytes.buffer);
}

// A table is decoded at its first use.
function columnsOf(table) {
  if (!table.decoded) {
    table.decoded = {};
    for (const [name, packed] of Object.entries(table.columns)) table.decoded[name] = unpacked(packed);
  }
  return table.decoded;
}

// The range of rows of region p, with or without those of nested regions.
function rowsOf(run, table, p, inclusive) {
  return [table.offsets[p], table.offsets[inclusive ? run.end[p] : p + 1]];
}

function matrixOf(run, table, p, inclusive, measure) {
  const { row, column, [measure]: value } = columnsOf(table);
  const [first, last] = rowsOf(run, table, p, inclusive);
  const cells = Array.from({ length: table.bins }, () => new Array(table.bins).fill(null));
  let any = false;
  for (let i = first; i < last; i++) {
    if (!value[i]) continue;
    cells[row[i]][column[i]] += value[i];
    any = true;
  }
  return any ? cells : null;
}

// Sums of the columns `parts` for each bin of ranks, null where the region has no row.
function sumsByRank(run, table, p, inclusive, parts) {
  const columns = columnsOf(table);
  const [first, last] = rowsOf(run, table, p, inclusive);
  const sums = Object.fromEntries(parts.map((part) => [part, new Array(table.bins).fill(0)]));
  for (let i = first; i < last; i++) for (const part of parts) sums[part][columns.bin[i]] += columns[part][i];
  return last > first ? sums : null;
}

function timeByRank(run, p, inclusive) {
  const sums = sumsByRank(run, run.split, p, inclusive, PARTS);
  if (sums) sums.compute = sums.compute.map((time) => Math.max(0, time));
  return sums;
}

function sizesOf(run, p, inclusive) {
  const [first, last] = rowsOf(run, run.sizes, p, inclusive);
  const sums = new Map();
  for (const [kind, bytes, upper, messages, time] of run.sizes.rows.slice(first, last)) {
    const key = kind + " " + bytes + " " + upper;
    const sum = sums.get(key) || { kind, bytes, upper, messages: 0, time: 0 };
    sum.messages += messages;
    sum.time += time || 0;
    sums.set(key, sum);
  }
  return [...sums.values()].sort((a, b) => a.bytes - b.bytes || a.upper - b.upper);
}

// The parts of a region's time in seconds, mean over the ranks that entered it.
function partsOf(columns, p) {
  const [time, mpi, p2p, coll] = ["time_mean", "mpi_time_mean", "p2p_time_mean", "coll_time_mean"].map(
    (name) => columns[name][p] || 0);
  return { compute: Math.max(0, time - mpi), p2p, coll, other: Math.max(0, mpi - p2p - coll) };
}

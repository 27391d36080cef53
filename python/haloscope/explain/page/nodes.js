// The node map: ranks and sockets of each node, and the bytes within and between nodes.

const BETWEEN_NODES = {
  table: (run) => run.nodes.traffic, across: "to node", along: "from node", none: "No point-to-point messages in this region.",
  labels: (run) => (run.nodes.traffic.bin > 1 ? null : run.nodes.names.map(plain)),
};
const nodeOrder = { column: null, down: false, chosen: null };

// Bytes of each node: within it, of these between its sockets, to and from other nodes.
function nodeRows(run, p, inclusive) {
  const { traffic, nodes } = run.nodes;
  const { row, column, bytes, across } = columnsOf(traffic);
  const start = traffic.bin > 1 ? null : 0; // cells of several nodes are not known by node
  const rows = nodes.map((node, i) => ({ ...node, name: run.nodes.names[i], within: start, apart: start, sent: start, received: start }));
  if (traffic.bin > 1) return rows;
  const [first, last] = rowsOf(run, traffic, p, inclusive);
  for (let i = first; i < last; i++) {
    const [from, to] = [rows[row[i]], rows[column[i]]];
    if (from && from === to) {
      from.within += bytes[i];
      from.apart += across[i];
    } else {
      if (from) from.sent += bytes[i];
      if (to) to.received += bytes[i];
    }
  }
  return rows;
}

function nodeColumns(rows) {
  const number = (title, explanation, name) => [title, explanation, (row) => row[name], (row) => asBytes(row[name])];
  const withSockets = rows.some((row) => row.sockets.length);
  return [
    ["node", "The name of the host", (row) => row.name, (row) => row.name],
    ["ranks", "Their numbers in MPI_COMM_WORLD", (row) => row.count, (row) => row.ranks],
    ...(withSockets ? [["sockets", "The ranks that are bound to each (binding)", (row) => row.sockets.length, (row) => row.sockets.join("; ") || UNKNOWN]] : []),
    number("within", "Bytes between ranks of the node", "within"),
    ...(withSockets ? [number("of this, between sockets", "Bytes between ranks on different sockets of the node", "apart")] : []),
    number("sent", "Bytes to ranks of other nodes", "sent"),
    number("received", "Bytes from ranks of other nodes", "received"),
  ];
}

function showNodes() {
  const { nodes } = RUN;
  at("nodes").hidden = !nodes;
  if (!nodes) return;
  const [p, nested] = [state.region, inclusive()];
  const rows = nodeRows(RUN, p, nested);
  const isOne = nodes.names.length === 1;
  at("nodes-map").hidden = isOne;
  at("nodes-text").hidden = !isOne;
  if (isOne) {
    const [only] = rows;
    at("nodes-text").textContent = "All ranks are on one node, " + only.name + ": " + (only.within ? "all " + asBytes(only.within) + " stay within it" : "no message leaves it")
      + (only.sockets.length > 1 ? ", " + asShare(only.apart, only.within) + " of them between its sockets (" + only.sockets.join("; ") + ")" : "") + ".";
    at("nodes-source").textContent = "Source: partners and binding, " + state.nesting + ".";
    return;
  }
  tableInto(at("nodes-table"), nodeColumns(rows), rows, nodeOrder, null);
  drawMatrix(at("nodes-plot"), RUN, BETWEEN_NODES, p, nested, "bytes", false);
  at("nodes-source").textContent = (nodes.names.length > rows.length ? "The first " + rows.length + " of " + asCount(nodes.names.length) + " nodes. " : "")
    + (nodes.traffic.bin > 1 ? "Each cell of the figure is the sum over " + nodes.traffic.bin + " × " + nodes.traffic.bin + " nodes. " : "") + "Source: partners and binding, " + state.nesting + ".";
}

// Ranks in the order of their nodes, and the first position of each node. Null if there is one node, or too many ranks.
function orderByNode(run, bins) {
  const of = run.nodes?.of_rank;
  if (!of || run.nodes.names.length < 2 || of.length < bins) return null;
  const ranks = Array.from({ length: bins }, (_, rank) => rank).sort((a, b) => of[a] - of[b] || a - b);
  const edges = ranks.map((_, at) => at).filter((at) => at > 0 && of[ranks[at]] !== of[ranks[at - 1]]);
  return { ranks, edges };
}

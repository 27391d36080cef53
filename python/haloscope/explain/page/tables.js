// Sortable tables. A column is [title, explanation, sort value, text or cell].

function tableInto(table, columns, rows, state, onChoose) {
  const order = sortedRows(columns, rows, state);
  const head = element("tr");
  columns.forEach(([title, explanation], index) => {
    const cell = element("th", title);
    cell.title = explanation;
    if (state.column === index) cell.setAttribute("aria-sort", state.down ? "descending" : "ascending");
    cell.addEventListener("click", () => {
      nextOrder(state, index);
      tableInto(table, columns, rows, state, onChoose);
    });
    head.append(cell);
  });
  const body = element("tbody");
  for (const row of order) body.append(rowOf(columns, row, state, onChoose));
  const top = element("thead");
  top.append(head);
  table.replaceChildren(top, body);
}

// First click: the largest first (names: the first first); second: the other way; third: as it was.
function nextOrder(state, index) {
  const first = index > 0;
  if (state.column !== index) Object.assign(state, { column: index, down: first });
  else if (state.down === first) state.down = !first;
  else state.column = null;
}

function sortedRows(columns, rows, state) {
  if (state.column === null) return rows;
  const value = columns[state.column][2];
  const sign = state.down ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    if (x === null || y === null) return (x === null) - (y === null);
    return sign * (x < y ? -1 : x > y ? 1 : 0);
  });
}

function rowOf(columns, row, state, onChoose) {
  const line = element("tr");
  if (row === state.chosen) line.className = "chosen";
  for (const [, , , shown] of columns) {
    const told = shown(row, state.column !== null);
    const cell = element("td");
    if (told instanceof Node) cell.append(told);
    else cell.textContent = told;
    line.append(cell);
  }
  line.addEventListener("click", () => onChoose(row));
  return line;
}

function shareCell(parts, total) {
  const made = element("span", asShare(total - parts.compute, total));
  const bar = element("span", undefined, "bar");
  for (const part of PARTS.slice(1)) {
    const piece = element("i");
    piece.style.width = (total > 0 ? Math.min(100, 100 * parts[part] / total) : 0) + "%";
    piece.style.background = COLOURS[part];
    bar.append(piece);
  }
  made.append(bar);
  return made;
}

function regionColumns(run, values, perInstance) {
  const of = (name) => (p) => values[name][p];
  const column = (title, explanation, name, text) => [title, explanation, of(name), (p) => text(values[name][p])];
  const range = (title, explanation, low, high, text) =>
    [title, explanation, of(high), (p) => text(values[low][p], values[high][p])];
  const extremes = (title, explanation, name, text) =>
    range(title, explanation, name + "_instance_min", name + "_instance_max", text);
  const name = ["region", "Name of the region", (p) => run.full[p], (p, sorted) => regionCell(run, p, sorted)];
  const passes = column("passes", "Instances, the largest number of any rank (instances)", "instances", asCount);
  if (perInstance) {
    return [name, passes,
      extremes("sends", "Messages sent in one instance: least and most of any rank", "sends", asRange),
      extremes("recvs", "Messages received in one instance", "recvs", asRange),
      extremes("dest ranks", "Distinct ranks sent to in one instance", "dest_ranks", asRange),
      extremes("src ranks", "Distinct ranks received from in one instance", "src_ranks", asRange),
      extremes("bytes sent", "Bytes sent by one rank in one instance", "bytes_sent", asByteRange),
      extremes("bytes received", "Bytes received by one rank in one instance", "bytes_recv", asByteRange),
      extremes("collectives", "Collective calls in one instance", "colls", asRange)];
  }
  return [name,
    column("ranks", "Ranks that entered the region (ranks)", "ranks", asCount), passes,
    column("time", "Mean over ranks (time_mean)", "time_mean", asTime),
    ["in MPI", "Share of the time: point-to-point, collective, other", (p) => shareOf(values, p),
      (p) => shareCell(partsOf(values, p), values.time_mean[p])],
    column("waiting", "Mean over ranks (wait_time_mean)", "wait_time_mean", asTime),
    column("sends", "Messages, all ranks (sends_total)", "sends_total", asCount),
    column("sent", "Bytes, all ranks (bytes_sent_total)", "bytes_sent_total", asBytes),
    column("mean message", "Bytes (mean_message)", "mean_message", asBytes),
    column("largest", "Largest message (largest_message)", "largest_message", asBytes),
    range("dest ranks", "Distinct ranks sent to: least and most of any rank", "dest_ranks_min", "dest_ranks_max", asRange),
    ["off node", "Share of the bytes that went to another host", (p) => offNode(values, p),
      (p) => asShare(values.bytes_offnode_total[p], values.bytes_sent_total[p])],
    column("collectives", "Calls, all ranks (colls_total)", "colls_total", asCount)];
}

function shareOf(values, p) {
  return values.time_mean[p] > 0 ? values.mpi_time_mean[p] / values.time_mean[p] : null;
}

function offNode(values, p) {
  return values.bytes_sent_total[p] > 0 ? values.bytes_offnode_total[p] / values.bytes_sent_total[p] : null;
}

function regionCell(run, p, sorted) {
  const cell = element("span", sorted ? run.full[p] : run.names[p]);
  cell.title = run.full[p];
  if (!sorted) cell.style.paddingLeft = run.depth[p] * 16 + "px";
  if (run.communication[p]) {
    const mark = element("span", "comm", "mark");
    mark.title = "marked as a communication region";
    cell.append(mark);
  }
  return cell;
}

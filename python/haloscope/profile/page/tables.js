// Sortable tables. A column is [title, explanation, sort value, text or cell].

const LEAST_TO_FILTER = 6;
const LONG_TEXT = 48; // characters, above which a cell may have several lines
const tableAgain = new WeakMap();

function tableInto(table, columns, rows, state, onChoose) {
  tableAgain.set(table, () => tableInto(table, columns, rows, state, onChoose));
  offerFilter(table, rows, state);
  const order = filteredRows(columns, sortedRows(columns, rows, state), state);
  const head = element("tr");
  columns.forEach(([title, explanation], index) => {
    const cell = element("th", title);
    cell.title = explanation;
    if (state.column === index) cell.setAttribute("aria-sort", state.down ? "descending" : "ascending");
    const sort = () => {
      nextOrder(state, index);
      tableInto(table, columns, rows, state, onChoose);
      table.tHead.rows[0].cells[index].focus();
    };
    byMouseAndKeys(cell, sort);
    head.append(cell);
  });
  const body = element("tbody");
  for (const row of order) body.append(rowOf(columns, row, state, onChoose));
  const top = element("thead");
  top.append(head);
  table.replaceChildren(top, body);
  const scroll = table.closest(".scroll");
  withdrawCsv(scroll);
  offerCsv(scroll, () => csvOfTable(columns, order));
}

function byMouseAndKeys(cell, action) {
  cell.tabIndex = 0;
  cell.addEventListener("click", action);
  cell.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    action();
  });
}

// The filter's text is preserved when the table is made again.
function offerFilter(table, rows, state) {
  const scroll = table.closest(".scroll");
  const there = scroll.previousElementSibling?.matches(".filter") ? scroll.previousElementSibling : null;
  if (there || rows.length < LEAST_TO_FILTER) return;
  const box = element("input", undefined, "filter");
  box.type = "search";
  box.placeholder = "filter";
  box.setAttribute("aria-label", "Show only rows with this text");
  box.addEventListener("input", () => {
    state.filter = box.value;
    tableAgain.get(table)();
  });
  scroll.before(box);
}

function filteredRows(columns, rows, state) {
  const wanted = (state.filter || "").trim().toLowerCase();
  if (!wanted) return rows;
  const textOf = (content) => (content instanceof Node ? content.textContent : String(content));
  return rows.filter((row) => columns.some(([, , , shown]) => textOf(shown(row, true)).toLowerCase().includes(wanted)));
}

// First click: descending (names: ascending); second click: the reverse; third click: unsorted.
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
    const content = shown(row, state.column !== null);
    const cell = element("td");
    if (content instanceof Node) cell.append(content);
    else cell.textContent = content;
    if (cell.textContent.length > LONG_TEXT) cell.className = "long";
    line.append(cell);
  }
  if (!onChoose) return line;
  byMouseAndKeys(line, () => {
    const [body, place] = [line.parentNode, line.sectionRowIndex];
    const table = body.parentNode;
    onChoose(row);
    table.tBodies[0].rows[place]?.focus({ preventScroll: true });
  });
  line.addEventListener("keydown", (event) => {
    const next = { ArrowDown: line.nextElementSibling, ArrowUp: line.previousElementSibling }[event.key];
    if (!next) return;
    event.preventDefault();
    next.focus();
  });
  return line;
}

function shareCell(parts, total) {
  const made = element("span", asShare(total - parts.compute, total));
  const bar = element("span", undefined, "bar");
  for (const part of PARTS.slice(1)) {
    const piece = element("i");
    piece.style.width = (total > 0 ? Math.min(100, 100 * parts[part] / total) : 0) + "%";
    piece.style.background = LOOKS[part].colour;
    bar.append(piece);
  }
  made.append(bar);
  return made;
}

function regionColumns(run, values, shown) {
  const of = (name) => (p) => values[name][p];
  const column = (title, explanation, name, text) => [title, explanation, of(name), (p) => text(values[name][p])];
  const range = (title, explanation, low, high, text) =>
    [title, explanation, of(high), (p) => text(values[low][p], values[high][p]),
      (p) => (values[high][p] === null ? null : values[low][p] + "–" + values[high][p])];
  const extremes = (title, explanation, name, text) =>
    range(title, explanation, name + "_instance_min", name + "_instance_max", text);
  const name = ["region", "Name of the region", (p) => run.full[p], (p, sorted) => regionCell(run, p, sorted)];
  const instances = column("instances", "Largest number of instances of a rank (instances)", "instances", asCount);
  if (shown === "efficiency") {
    const share = (title, explanation, name) => column(title, explanation, name, known((part) => asShare(part, 1)));
    const ofThreads = (values.openmp || []).some((part) => part !== null) ? [
      share("MPI × OpenMP", "Computing as a share of the time of all threads: parallel × OpenMP (hybrid)", "hybrid"),
      share("OpenMP", "Computing of all threads outside of MPI, as a share: the next three multiplied (openmp)", "openmp"),
      share("balance of threads", "Loss by threads that compute longer than others (openmp_load_balance)", "openmp_load_balance"),
      share("scheduling", "Loss by the OpenMP runtime (openmp_scheduling)", "openmp_scheduling"),
      share("serial code", "Loss by code outside of parallel regions (openmp_serial)", "openmp_serial")] : [];
    return [name,
      share("parallel", "Computing as a share of the time: load balance × communication (parallel)", "parallel"),
      share("load balance", "Mean over largest computing time of a rank (load_balance)", "load_balance"),
      share("communication", "Largest computing time over the longest time (communication)", "communication"),
      share("serialisation", "Loss by dependencies between ranks; needs a trace (serialisation)", "serialisation"),
      share("transfer", "Loss by the network; needs a trace. Communication = serialisation × transfer (transfer)", "transfer"),
      ...ofThreads,
      column("longest", "Longest time of a rank (run_time)", "run_time", asTime),
      column("computing, mean", "Outside of MPI, mean over ranks (computing_mean)", "computing_mean", asTime),
      column("computing, largest", "Outside of MPI, the largest of a rank (computing_max)", "computing_max", asTime)];
  }
  if (shown === "instances") {
    return [name, instances,
      extremes("sends", "Messages sent in one instance: minimum and maximum over ranks", "sends", asRange),
      extremes("recvs", "Messages received in one instance", "recvs", asRange),
      extremes("dest ranks", "Distinct ranks sent to in one instance", "dest_ranks", asRange),
      extremes("src ranks", "Distinct ranks received from in one instance", "src_ranks", asRange),
      extremes("bytes sent", "Bytes sent by one rank in one instance", "bytes_sent", asByteRange),
      extremes("bytes received", "Bytes received by one rank in one instance", "bytes_recv", asByteRange),
      extremes("collectives", "Collective calls in one instance", "colls", asRange)];
  }
  return [name,
    column("ranks", "Ranks that entered the region (ranks)", "ranks", asCount), instances,
    column("time", "Mean over ranks (time_mean)", "time_mean", asTime),
    ["in MPI", "Share of the time: point-to-point, collective, other", (p) => shareOf(values, p),
      (p) => shareCell(partsOf(values, p), values.time_mean[p])],
    column("waiting", "Mean over ranks (wait_time_mean)", "wait_time_mean", asTime),
    column("sends", "Messages, all ranks (sends_total)", "sends_total", asCount),
    column("sent", "Bytes, all ranks (bytes_sent_total)", "bytes_sent_total", asBytes),
    column("mean message", "Bytes (mean_message)", "mean_message", asBytes),
    column("largest", "Largest message (largest_message)", "largest_message", asBytes),
    range("dest ranks", "Distinct ranks sent to: minimum and maximum over ranks", "dest_ranks_min", "dest_ranks_max", asRange),
    ["off node", "Share of the bytes sent to other hosts", (p) => offNode(values, p),
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

// What is chosen, and everything that follows from it.

const state = {
  run: 0, region: 0, nesting: "inclusive", columns: "totals", "matrix-measure": "bytes", "sizes-measure": "messages",
};
const order = { column: null, down: false, chosen: 0 };
const siteOrder = { column: null, down: false, chosen: null };
const runOrder = { column: null, down: false, chosen: 0 };

const run = () => RUNS[state.run];
const inclusive = () => state.nesting === "inclusive";
const values = () => run()[state.nesting];

function showHeader() {
  at("program").textContent = run().program;
  at("command").textContent = run().command;
  at("warnings").replaceChildren(...run().warnings.map((text) => element("p", text)));
  const whole = run().inclusive;
  const time = whole.time_mean[0];
  const parts = partsOf(whole, 0);
  figuresInto(at("figures"), [
    ["ranks", asCount(run().ranks), run().hosts === 1 ? "on 1 host" : "on " + run().hosts + " hosts"],
    ["time", asTime(run().duration), "MPI_Init to MPI_Finalize"],
    ["in MPI", asShare(whole.mpi_time_mean[0], time),
      "p2p " + asShare(parts.p2p, time) + ", coll. " + asShare(parts.coll, time)],
    ["messages", asCount(whole.sends_total[0]), "mean " + asBytes(whole.mean_message[0])],
    ["sent", asBytes(whole.bytes_sent_total[0]), asShare(whole.bytes_offnode_total[0], whole.bytes_sent_total[0]) + " off node"],
    ["partners of a rank", asRange(whole.dest_ranks_min[0], whole.dest_ranks_max[0]), "distinct ranks sent to"],
  ]);
  at("about").replaceChildren(...run().about.flatMap(([key, text]) => [element("dt", key), element("dd", text)]));
}

function figuresInto(place, figures) {
  place.replaceChildren(...figures.map(([title, figure, note]) => {
    const box = element("div");
    const told = element("dd", figure);
    told.append(element("small", note));
    box.append(element("dt", title), told);
    return box;
  }));
}

function showRuns() {
  at("runs-section").hidden = at("run-choice").hidden = RUNS.length < 2;
  if (RUNS.length < 2) return;
  drawRuns(at("runs-plot"), RUNS);
  const first = (name) => (index) => RUNS[index].inclusive[name][0];
  const column = (title, name, text) => [title, name, first(name), (index) => text(first(name)(index))];
  const columns = [
    ["profile", "The file", (index) => RUNS[index].profile, (index) => RUNS[index].profile],
    ["program", "", (index) => RUNS[index].program, (index) => RUNS[index].program],
    ["ranks", "", (index) => RUNS[index].ranks, (index) => asCount(RUNS[index].ranks)],
    ["hosts", "", (index) => RUNS[index].hosts, (index) => asCount(RUNS[index].hosts)],
    column("time", "time_mean", asTime),
    ["in MPI", "Share of the time", (index) => shareOf(RUNS[index].inclusive, 0),
      (index) => shareCell(partsOf(RUNS[index].inclusive, 0), first("time_mean")(index))],
    column("sends", "sends_total", asCount), column("sent", "bytes_sent_total", asBytes),
    column("mean message", "mean_message", asBytes), column("collectives", "colls_total", asCount),
  ];
  runOrder.chosen = state.run;
  tableInto(at("runs-table"), columns, RUNS.map((_, index) => index), runOrder, chooseRun);
}

function showRegions() {
  order.chosen = state.region;
  const columns = regionColumns(run(), values(), state.columns === "instances");
  tableInto(at("regions-table"), columns, run().full.map((_, p) => p), order, chooseRegion);
  at("regions-source").textContent = (state.columns === "instances"
    ? "Least–most over instances and ranks of what one rank did in one instance; – where none was finished."
    : "Time: mean over the ranks that entered; sends, bytes and collectives: sums over ranks.")
    + " Source: regions, " + state.nesting + ". Click a column to sort, a row to choose the region.";
}

function showTimes() {
  drawTimeByRegion(at("time-plot"), run(), values(), state.region);
  const many = run().full.length > MOST_BARS ? " The " + MOST_BARS + " regions that took longest." : "";
  at("time-source").textContent = "Mean over the ranks that entered each region. Source: regions, " + state.nesting + "." + many;
  drawTimeByRank(at("ranks-plot"), run(), state.region, inclusive());
  const bin = run().split.bin;
  at("ranks-source").textContent = (bin > 1 ? "Each bar is the mean of " + bin + " neighbouring ranks. " : "")
    + "Source: ranks, " + state.nesting + ".";
}

function showTraffic() {
  const measure = state["matrix-measure"];
  drawMatrix(at("matrix-plot"), run(), state.region, inclusive(), measure, at("matrix-log").checked);
  const bin = run().matrix.bin;
  at("matrix-source").textContent = (bin > 1 ? "Binned: each cell is the sum over " + bin + " × " + bin + " ranks. " : "")
    + (measure === "time" ? "Time that the row's rank spent in calls for messages to and from the column's rank. "
      : "Point-to-point, row sends to column. ") + "Source: partners, " + state.nesting + ".";
  drawSizes(at("sizes-plot"), run(), state.region, inclusive(), state["sizes-measure"]);
  at("sizes-source").textContent = "A stem stands at the exact size of a message; a horizontal bar marks a range of sizes."
    + " Both axes are logarithmic. Source: sizes, " + state.nesting + ".";
}

function showHistory() {
  const history = run().history;
  at("history").hidden = !history;
  if (!history) return;
  drawHistory(at("history-plot"), history);
  const each = "each cell of " + asTime(history.width);
  at("history-source").textContent = "All regions. Mean over " + asCount(history.ranks) + " ranks, all threads together, in " + each + ". Source: slices.";
  at("waiting-section").hidden = history.ranks < 2;
  if (history.ranks < 2) return;
  drawWaiting(at("waiting-plot"), history);
  at("waiting-source").textContent = (history.bin > 1 ? "Each row is the mean of " + history.bin + " neighbouring ranks. " : "")
    + "Share of " + each + " that was spent waiting in MPI. Source: slices.";
}

function showSites() {
  const sites = run().sites;
  at("sites").hidden = !sites;
  if (!sites) return;
  drawFlames(at("flames-plot"), run(), state.region, inclusive());
  at("flames-source").textContent = "The wider, the longer; each box stands on the one that called it. Grey: regions; dark blue: the sites;"
    + " light blue: what led to them, and libraries; yellow: MPI. Click a box to see what is above it. Source: sites.";
  const rows = sitesOf(run(), state.region, inclusive());
  tableInto(at("sites-table"), siteColumns(sites.time), rows.slice(0, MOST_SITES), siteOrder, () => {});
  at("sites-source").textContent = (rows.length > MOST_SITES ? "The costliest " + MOST_SITES + " of " + asCount(rows.length) + ". " : "")
    + "Sums over ranks. Source: sites, " + state.nesting + "."
    + sites.remarks.map((remark) => " " + remark + ".").join("");
}

function showRegion() {
  for (const place of document.querySelectorAll(".where")) place.textContent = "in " + run().full[state.region];
  at("region").value = String(state.region);
  showRegions();
  showTimes();
  showTraffic();
  showSites();
}

function chooseRegion(p) {
  state.region = p;
  showRegion();
}

function chooseRun(index) {
  const path = run().full[state.region];
  state.run = index;
  // The same region of the other run, if it has it.
  state.region = Math.max(0, run().full.indexOf(path));
  at("run").value = String(index);
  at("region").replaceChildren(...run().full.map((name, p) => option(shortened(name, 80), p)));
  showHeader();
  showRuns();
  showHistory();
  sectionsInto(at("regimes"), run().regimes);
  showRegion();
}

function option(text, value) {
  const made = element("option", text);
  made.value = value;
  return made;
}

function switches() {
  for (const group of document.querySelectorAll(".switch")) {
    const press = (value) => {
      state[group.id] = value;
      for (const button of group.children) button.setAttribute("aria-pressed", String(button.dataset.value === value));
    };
    press(state[group.id]);
    group.addEventListener("click", (event) => {
      if (!event.target.dataset.value) return;
      press(event.target.dataset.value);
      // Another set of columns has another meaning of the sorted one.
      if (group.id === "columns") order.column = null;
      showRegion();
    });
  }
}

switches();
at("run").replaceChildren(...RUNS.map((one, index) => option(one.profile + " (" + one.ranks + " ranks)", index)));
at("run").addEventListener("change", (event) => chooseRun(Number(event.target.value)));
at("region").addEventListener("change", (event) => chooseRegion(Number(event.target.value)));
at("matrix-log").addEventListener("change", showTraffic);
let waiting = 0;
window.addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(showTraffic, 100);
});
chooseRun(0);

// The choices of the reader, and the update of everything that depends on them.

const state = {
  region: 0, nesting: "inclusive", columns: "totals", "matrix-measure": "bytes", "sizes-measure": "messages",
  "timeline-colours": "kind",
};
const order = { column: null, down: false, chosen: 0 };
const callOrder = { column: null, down: false, chosen: null };
const siteOrder = { column: null, down: false, chosen: null };
const usageOrder = { column: null, down: false, chosen: null };

// The sections of the page; a link leads to the first place of its own that exists.
const SECTIONS = [
  ["Overview", ["overview"]], ["Timeline", ["timeline"]], ["Regions", ["regions"]], ["Ranks", ["ranks"]], ["Messages", ["messages"]],
  ["Waiting", ["waits", "history"]], ["Source", ["sites"]], ["Noise", ["regimes"]], ["Run", ["run"]],
];
// Keys of the run that are shown at once; the others are folded.
const MAIN_KEYS = ["program", "command", "ranks", "hosts", "binding", "mpi_library", "start", "duration", "partial", "version"];

const inclusive = () => state.nesting === "inclusive";
const values = () => RUN[state.nesting];

function showHeader() {
  at("program").textContent = RUN.program;
  at("command").textContent = RUN.command;
  at("warnings").replaceChildren(...RUN.warnings.map((text) => element("p", text)));
  const whole = RUN.inclusive;
  const time = whole.time_mean[0];
  figuresInto(at("efficiency"), RUN.efficiency.map(([name, rate, grade], i) => [
    (i > 1 ? "× " : "") + name + (i ? "" : " efficiency ="), rate, grade]));
  for (const box of at("efficiency").children) box.className = box.querySelector("small").textContent;
  figuresInto(at("figures"), [
    ["ranks", asCount(RUN.ranks), RUN.hosts === 1 ? "on 1 node" : "on " + RUN.hosts + " nodes"],
    ["time", asTime(RUN.duration), "MPI_Init to MPI_Finalize"],
    ["communication", asShare(whole.mpi_time_mean[0], time), RUN.kinds.join(", ")],
    ["messages", asCount(whole.sends_total[0]), "mean " + asBytes(whole.mean_message[0])],
    ["sent", asBytes(whole.bytes_sent_total[0]), asShare(whole.bytes_offnode_total[0], whole.bytes_sent_total[0]) + " off node"],
  ]);
}

function showAbout() {
  const isMain = ([key]) => MAIN_KEYS.includes(key);
  const into = (place, keys) => place.replaceChildren(...keys.flatMap(([key, text]) => [element("dt", key), element("dd", text)]));
  const others = RUN.about.filter((row) => !isMain(row));
  into(at("about"), RUN.about.filter(isMain));
  const more = at("about-more");
  more.hidden = !others.length;
  more.querySelector("summary").textContent = others.length + " more";
  into(more.querySelector("dl"), others);
}

// The height of the bar is not covered by what a link leads to.
function showLinks() {
  const bar = document.querySelector("nav");
  new ResizeObserver(() => document.documentElement.style.setProperty("--bar", bar.offsetHeight + "px")).observe(bar);
  const isThere = (id) => !at(id).closest("[hidden]") && at(id).childElementCount > 0;
  at("links").replaceChildren(...SECTIONS.flatMap(([name, places]) => {
    const place = places.find(isThere);
    if (!place) return [];
    const link = element("a", name);
    link.href = "#" + place;
    return [link];
  }));
}

function showRegions() {
  order.chosen = state.region;
  const columns = regionColumns(RUN, values(), state.columns);
  tableInto(at("regions-table"), columns, RUN.full.map((_, p) => p), order, chooseRegion);
  at("regions-source").textContent = {
    totals: "Time: mean over the ranks that entered; sends, bytes and collectives: sums over ranks. Source: regions, ",
    instances: "Minimum–maximum per instance, over all instances and ranks; – means that no instance ended. Source: regions, ",
    efficiency: "POP's efficiencies, over the ranks that entered; for the whole run from the trace, if there is one. Source: pop, ",
  }[state.columns] + state.nesting + ". Click a column to sort, a row to choose the region.";
}

function showTimes() {
  drawTimeByRegion(at("time-plot"), RUN, values(), state.region);
  const many = RUN.full.length > MOST_BARS ? " Only the " + MOST_BARS + " regions with the longest times are shown." : "";
  at("time-source").textContent = "Mean over the ranks that entered each region. Source: regions, " + state.nesting + "." + many;
  drawTimeByRank(at("ranks-plot"), RUN, state.region, inclusive());
  const bin = RUN.split.bin;
  at("ranks-source").textContent = (bin > 1 ? "Each bar is the mean of " + bin + " neighbouring ranks. " : "")
    + "Source: ranks, " + state.nesting + ".";
}

function showTraffic() {
  const measure = state["matrix-measure"];
  drawMatrix(at("matrix-plot"), RUN, MESSAGES, state.region, inclusive(), measure, at("matrix-log").checked);
  const bin = RUN.matrix.bin;
  at("matrix-source").textContent = (bin > 1 ? "Binned: each cell is the sum over " + bin + " × " + bin + " ranks. " : "")
    + (measure === "time" ? "Time of the row's rank in calls for messages to and from the column's rank. "
      : "Point-to-point messages from the row's rank to the column's rank. ") + "Source: partners, " + state.nesting + ".";
  drawSizes(at("sizes-plot"), RUN, state.region, inclusive(), state["sizes-measure"]);
  at("sizes-source").textContent = "A stem is at the exact size of a message; a horizontal bar is a range of sizes."
    + " Both axes are logarithmic. Source: sizes, " + state.nesting + ".";
}

function showHistory() {
  const history = RUN.history;
  at("history").hidden = !history;
  if (!history) return;
  drawHistory(at("history-plot"), history);
  const each = "each cell of " + asTime(history.width);
  at("history-source").textContent = "All regions. Mean over " + asCount(history.ranks) + (history.ranks === 1 ? " rank" : " ranks") + ", all threads together, in " + each + ". Source: slices.";
  at("waiting-section").hidden = history.ranks < 2;
  if (history.ranks < 2) return;
  drawWaiting(at("waiting-plot"), history);
  at("waiting-source").textContent = (history.bin > 1 ? "Each row is the mean of " + history.bin + " neighbouring ranks. " : "")
    + "Waiting in MPI as a share of " + each + ". Source: slices.";
}

function showSites() {
  const sites = RUN.sites;
  at("sites").hidden = !sites;
  if (!sites) return;
  drawFlames(at("flames-plot"), RUN, state.region, inclusive());
  at("flames-source").textContent = "The width of a box is its time; a box is above its caller. Grey: regions; dark blue: sites;"
    + " light blue: callers of the sites, and libraries; yellow: MPI. Click a box to enlarge it and all boxes above it. Source: sites.";
  const rows = sitesOf(RUN, state.region, inclusive());
  tableInto(at("sites-table"), siteColumns(sites.time), rows.slice(0, MOST_SITES), siteOrder, null);
  at("sites-source").textContent = (rows.length > MOST_SITES ? "The " + MOST_SITES + " sites with the longest times, of " + asCount(rows.length) + ". " : "")
    + "Sums over ranks. Source: sites, " + state.nesting + "."
    + sites.remarks.map((remark) => " " + remark + ".").join("");
}

function showFindings() {
  findingsInto(at("findings-list"), RUN.findings, (p, id) => {
    if (p !== null) {
      press(at("nesting"), "exclusive");
      chooseRegion(p);
    }
    at(id).closest("section, div").scrollIntoView({ behavior: "smooth" });
  });
  at("findings-source").textContent = describeRules(RUN);
}

function showUsage() {
  const { rows, left_out } = RUN.usage;
  at("usage").hidden = !rows.length;
  if (!rows.length) return;
  tableInto(at("usage-table"), usageColumns(rows), rows, usageOrder, null);
  at("usage-source").textContent = (left_out ? "The " + asCount(rows.length) + " ranks with the longest CPU times; "
    + asCount(left_out) + " others are in haloscope show. " : "") + "The whole run. Source: binding, ranks.";
}

function showCalls() {
  const rows = callsOf(RUN, state.region, inclusive());
  at("calls").hidden = !rows.length;
  tableInto(at("calls-table"), callColumns(rows), rows, callOrder, null);
  at("calls-source").textContent = "Sums over ranks. Source: calls, " + state.nesting + ".";
}

function showRegion() {
  for (const place of document.querySelectorAll(".where")) place.textContent = "in " + RUN.full[state.region];
  at("region").value = String(state.region);
  showRegions();
  showTimes();
  showTraffic();
  showNodes();
  showCalls();
  showSites();
  showWaits();
  showTimeline();
}

function chooseRegion(p) {
  state.region = p;
  showRegion();
}

function option(text, value) {
  const made = element("option", text);
  made.value = value;
  return made;
}

function press(group, value) {
  state[group.id] = value;
  for (const button of group.children) button.setAttribute("aria-pressed", String(button.dataset.value === value));
}

function switches() {
  for (const group of document.querySelectorAll(".switch")) {
    press(group, state[group.id]);
    group.addEventListener("click", (event) => {
      if (!event.target.dataset.value) return;
      press(group, event.target.dataset.value);
      // The sorted column does not exist in other sets of columns.
      if (group.id === "columns") order.column = null;
      showRegion();
    });
  }
}

switches();
at("region").replaceChildren(...RUN.full.map((name, p) => option(shortened(name, 80), p)));
at("region").addEventListener("change", (event) => chooseRegion(Number(event.target.value)));
at("matrix-log").addEventListener("change", showTraffic);
timelineControls();
let waiting = 0;
window.addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    showTraffic();
    showNodes();
  }, 100);
});
showHeader();
showAbout();
showHistory();
showUsage();
sectionsInto(at("regimes"), RUN.regimes);
showRegion();
showFindings();
showLinks();

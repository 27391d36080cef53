// Call sites: lines of source, and their stacks as a flame graph.

const MOST_SITES = 100;
const FLAMES = { region: PALETTE.pale, place: "#dcebf5", site: "#8fbfde", call: "#f0c36a" };

const isChosen = (run, region, p, inclusive) => p <= region && region < (inclusive ? run.end[p] : p + 1);

// Rows per line of source and function. A sum of several rows has no spread over ranks.
function sitesOf(run, p, inclusive) {
  const sums = new Map();
  for (const [region, site, file, call, calls, bytes, time, cv] of run.sites.rows) {
    if (!isChosen(run, region, p, inclusive)) continue;
    const key = JSON.stringify([site, file, call]);
    const sum = sums.get(key);
    if (!sum) sums.set(key, { site, file, call, calls, bytes, time, cv });
    else Object.assign(sum, { calls: sum.calls + calls, bytes: sum.bytes + bytes, time: sum.time + time, cv: null });
  }
  return [...sums.values()].sort((a, b) => b.time - a.time);
}

function siteColumns(total) {
  const column = (title, explanation, name, text) => [title, explanation, (row) => row[name], (row) => text(row[name])];
  return [
    ["site", "The first line of source outside of libraries", (row) => row.site, (row) => {
      const cell = element("span", row.site);
      cell.title = row.file;
      return cell;
    }],
    column("call", "The function of MPI", "call", (text) => text),
    column("calls", "All ranks (calls)", "calls", asCount),
    column("bytes", "In these calls (bytes)", "bytes", asBytes),
    column("time", "Sum over ranks and calls (time_total)", "time", asTime),
    ["share", "Share of the time of all sites of the run (share)", (row) => row.time, (row) => asShare(row.time, total)],
    column("over ranks ±", "Standard deviation of the time over ranks, relative to its mean (time_cv)", "cv",
      known((cv) => asShare(cv, 1))),
  ];
}

function drawFlames(place, run, p, inclusive) {
  const { region, parent, name, where, time, calls, bytes, site } = run.sites.flames;
  // A caller's box has a lower number than the boxes above it.
  const shown = name.map((_, box) => box).filter((box) => isChosen(run, region[box], p, inclusive));
  const roots = shown.filter((box) => parent[box] < 0);
  const total = roots.reduce((sum, box) => sum + time[box], 0);
  if (!total) return drawNothing(place, "No call of this region took any time.");
  const many = roots.length > 1;
  const hover = (box) => [plain(name[box]), ...(where[box] ? [plain(where[box])] : []),
    asTime(time[box] / 1e9) + ", " + asShare(time[box], total) + " of the shown time",
    asCount(calls[box]) + " calls, " + asBytes(bytes[box])].join("<br>");
  const colour = (box) => (parent[box] < 0 ? FLAMES.region : site[box] ? FLAMES.site : name[box].startsWith("MPI_") ? FLAMES.call : FLAMES.place);
  const below = (box) => (parent[box] >= 0 ? String(parent[box]) : many ? "all" : "");
  draw(place, [{
    type: "icicle", branchvalues: "total", sort: false, tiling: { orientation: "v", flip: "y", pad: 1 },
    ids: [...(many ? ["all"] : []), ...shown.map(String)],
    labels: [...(many ? ["MPI"] : []), ...shown.map((box) => plain(name[box]))],
    parents: [...(many ? [""] : []), ...shown.map(below)],
    values: [...(many ? [total] : []), ...shown.map((box) => time[box])],
    customdata: [...(many ? ["all regions<br>" + asTime(total / 1e9)] : []), ...shown.map(hover)],
    marker: { colors: [...(many ? [FLAMES.region] : []), ...shown.map(colour)], line: { width: 0 } },
    textinfo: "label", textposition: "middle left", textfont: { color: FONT.color }, root: { color: "#fff" },
    pathbar: { visible: true, side: "bottom", thickness: 20 }, hovertemplate: "%{customdata}<extra></extra>",
  }], {
    height: 60 + 26 * (levels(shown, parent) + (many ? 1 : 0)), margin: { l: 8, r: 8, t: 8, b: 28 },
    uniformtext: { minsize: 10, mode: "hide" },
  }, { modeBarButtons: [["toImage"]] });
}

function levels(boxes, parent) {
  const depth = new Map();
  for (const box of boxes) depth.set(box, parent[box] < 0 ? 1 : depth.get(parent[box]) + 1);
  return Math.max(...depth.values());
}

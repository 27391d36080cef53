// The data of a figure or a table as CSV.

const csvButtons = new WeakMap();

function offerCsv(place, text) {
  if (csvButtons.has(place)) return;
  const button = element("button", "CSV", "csv");
  button.type = "button";
  button.title = "Save these data as CSV";
  button.addEventListener("click", () => {
    const head = place.closest("figure")?.querySelector("h3") || place.closest("section")?.querySelector("h2");
    const name = (head?.firstChild?.textContent || "data").trim().toLowerCase().replace(/[^a-z0-9]+/g, "-") || "data";
    const link = element("a");
    link.href = URL.createObjectURL(new Blob([text()], { type: "text/csv" }));
    link.download = name + ".csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
  csvButtons.set(place, button);
  place.after(button);
}

function withdrawCsv(place) {
  csvButtons.get(place)?.remove();
  csvButtons.delete(place);
}

function csvLines(rows) {
  const field = (value) => {
    const text = value === null || value === undefined || Number.isNaN(value) ? "" : String(value);
    return /[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
  };
  return rows.map((row) => row.map(field).join(",") + "\r\n").join("");
}

// Numbers in full precision. Names, and cells with more than a number, as text.
function csvOfTable(columns, rows) {
  const value = ([, , sortedBy, shown, exact], row, index) => {
    if (exact) return exact(row);
    const key = sortedBy(row);
    if (key === null || key === undefined) return null;
    const text = shown(row, true);
    return index > 0 && typeof key === "number" ? key : text instanceof Node ? text.textContent : text;
  };
  return csvLines([columns.map(([title]) => title), ...rows.map((row) => columns.map((column, index) => value(column, row, index)))]);
}

function csvOfFigure(place) {
  const { xaxis, yaxis } = place._fullLayout;
  const title = (of, usual) => of?.title?.text || usual;
  const rows = [["series", title(xaxis, "x"), title(yaxis, "y"), "value"]];
  for (const trace of place._fullData) {
    const series = trace.name || trace.type;
    if (trace.type === "icicle") trace.labels.forEach((label, i) => rows.push([label, null, null, trace.values[i]]));
    else if (trace.z) trace.z.forEach((row, i) => Array.from(row).forEach((v, j) => rows.push([series, trace.x?.[j] ?? j, trace.y?.[i] ?? i, v])));
    else {
      const [x, y, base] = [trace.x || [], trace.y || [], trace.base || []];
      for (let i = 0; i < Math.max(x.length, y.length); i++) rows.push([series, x[i] ?? null, y[i] ?? null, base[i] ?? null]);
    }
  }
  return csvLines(rows);
}

// What collectives take: one figure each.

const { machine, about, figures, errors } = JSON.parse(document.getElementById("data").textContent);

document.getElementById("machine").textContent = machine;
for (const pair of about) {
  ["dt", "dd"].forEach((tag, index) => {
    const said = document.createElement(tag);
    said.textContent = pair[index];
    document.getElementById("about").append(said);
  });
}

function cells(row, tag, values) {
  for (const [index, value] of values.entries()) {
    const cell = document.createElement(tag);
    cell.textContent = value;
    if (index > 1) cell.className = "number";
    row.append(cell);
  }
}

if (errors.length) {
  const table = document.getElementById("errors");
  const heads = ["collective", "algorithm", "points", "median error", "90 % below", "largest error"];
  cells(table.createTHead().insertRow(), "th", heads);
  const body = table.createTBody();
  for (const row of errors) cells(body.insertRow(), "td", row);
  document.getElementById("error-section").hidden = false;
}

const places = figures.map((figure) => {
  const section = document.createElement("section");
  const title = document.createElement("h2");
  const place = document.createElement("div");
  const source = document.createElement("p");
  title.textContent = figure.title || figure.collective;
  place.className = "plot";
  place.id = figure.collective + "-plot";
  source.className = "source";
  source.textContent = figure.note ? figure.note : figure.sizes ? "Points are measured, lines modelled."
    : (figure.title ? "Points are measured, lines modelled. " : "")
      + "Red lines: where one more process needs the next level of the topology.";
  section.append(title, place, source);
  document.getElementById("figures-of-collectives").append(section);
  return place;
});

function bytes(value) {
  const [scale, unit] = [[2 ** 20, " MiB"], [1024, " KiB"]].find(([least]) => value >= least) || [1, " B"];
  return Number((value / scale).toPrecision(3)) + unit;
}

function sizes(data) {
  const all = [...new Set(data.flatMap((trace) => trace.x))].sort((one, other) => one - other);
  const steps = all.filter((_, index) => index % Math.ceil(all.length / 8) === 0);
  return { tickvals: steps, ticktext: steps.map(bytes) };
}

function doublings(data) {
  const most = Math.max(...data.flatMap((trace) => trace.x));
  const steps = Array.from({ length: Math.floor(Math.log2(most)) }, (_, index) => 2 ** (index + 1));
  return { tickvals: steps, ticktext: steps.map(String) };
}

const UNITS = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]];

function decades(data) {
  const times = data.flatMap((trace) => trace.y);
  const [low, high] = [Math.min(...times), Math.max(...times)].map((time) => Math.floor(Math.log10(time)));
  const steps = [];
  for (let power = low; power <= high; power++) for (const digit of [1, 2, 5]) steps.push(Number(digit + "e" + power));
  const text = (time) => {
    const [scale, unit] = UNITS.find(([least]) => time >= 0.999 * least) || UNITS[3];
    return Number((time / scale).toPrecision(3)) + " " + unit;
  };
  return { tickvals: steps, ticktext: steps.map(text) };
}

function draw(scale) {
  for (const button of document.querySelectorAll("#scale button")) {
    button.setAttribute("aria-pressed", button.dataset.value === scale);
  }
  const log = scale === "log";
  const axis = { type: scale, gridcolor: "#e8ecf0", zeroline: false, automargin: true };
  figures.forEach(({ data, layout, sizes: bySize }, index) => {
    const { labels, ...rest } = layout;
    // When the window changes, Plotly forgets the figure's height and asks for the place's.
    places[index].style.height = "460px";
    Plotly.react(places[index], data, {
      ...rest, height: 460, paper_bgcolor: "#fff", plot_bgcolor: "#fff", hovermode: "closest",
      font: { family: 'system-ui, "Segoe UI", Roboto, Arial, sans-serif', size: 12, color: "#1c2733" },
      margin: { l: 64, r: 16, t: 84, b: 48 },
      legend: { orientation: "h", yref: "container", y: 0.995, yanchor: "top", xref: "container", x: 0 },
      xaxis: { ...rest.xaxis, ...axis, ...(log ? (bySize ? sizes : doublings)(data) : {}) },
      yaxis: { ...rest.yaxis, ...axis, ...(log ? decades(data) : { rangemode: "tozero" }) },
      // A label's place on a logarithmic axis is the logarithm; a line's is not.
      annotations: labels.map(({ x, text }) => ({
        x: log ? Math.log10(x) : x, y: 1, yref: "paper", yanchor: "bottom", xanchor: "left", text,
        textangle: -30, showarrow: false, font: { size: 11, color: "#c0392b" },
      })),
    }, { responsive: true, displaylogo: false });
  });
}

document.getElementById("scale").addEventListener("click", (event) => {
  if (event.target.dataset.value) draw(event.target.dataset.value);
});
draw("log");

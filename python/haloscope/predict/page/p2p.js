// Messages between two cores: one section a figure.

const { machine, about, figures, yaml } = JSON.parse(document.getElementById("data").textContent);

document.getElementById("machine").textContent = machine;
document.getElementById("yaml").textContent = yaml;
for (const pair of about) {
  ["dt", "dd"].forEach((tag, index) => {
    const said = document.createElement(tag);
    said.textContent = pair[index];
    document.getElementById("about").append(said);
  });
}

const UNITS = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]];

function timeText(time) {
  const [scale, unit] = UNITS.find(([least]) => time >= 0.999 * least) || UNITS[3];
  return Number((time / scale).toPrecision(3)) + " " + unit;
}

function bytesText(bytes) {
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), 3);
  return bytes / 2 ** (10 * power) + ["", " Ki", " Mi", " Gi"][power];
}

// Sizes are powers of two, times decades.
function ticks(kind, data, which) {
  const values = data.flatMap((trace) => trace[which]).filter((value) => value > 0);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const steps = [];
  if (kind === "bytes") for (let size = 1; size <= 2 * high; size *= 4) steps.push(size);
  else for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) steps.push(Number("1e" + power));
  const text = kind === "bytes" ? bytesText : kind === "time" ? timeText : String;
  return { tickvals: steps, ticktext: steps.map(text) };
}

function axis({ axes }, data, which) {
  const kind = axes[which];
  const made = { title: { text: kind }, gridcolor: "#e8ecf0", zeroline: false, automargin: true };
  if (axes.logarithmic.includes(which)) return { ...made, type: "log", ...ticks(kind, data, which) };
  if (kind === "time") return { ...made, tickformat: "~s", ticksuffix: "s", rangemode: "tozero" };
  return { ...made, type: "category" };
}

for (const figure of figures) {
  const section = document.createElement("section");
  const title = document.createElement("h2");
  const place = document.createElement("div");
  const note = document.createElement("p");
  title.textContent = figure.title;
  place.className = "plot";
  place.id = figure.key + "-plot";
  note.className = "source";
  note.textContent = figure.note;
  section.append(title, place, note);
  document.getElementById("figures-of-messages").append(section);
  const yaxis = axis(figure, figure.data, "y");
  Plotly.newPlot(place, figure.data, {
    height: figure.square ? 560 : 440, paper_bgcolor: "#fff", plot_bgcolor: "#fff", hovermode: "closest",
    font: { family: 'system-ui, "Segoe UI", Roboto, Arial, sans-serif', size: 12, color: "#1c2733" },
    margin: { l: 64, r: 16, t: 40, b: 48 }, shapes: figure.shapes || [],
    legend: { orientation: "h", yref: "container", y: 0.995, yanchor: "top", xref: "container", x: 0 },
    xaxis: axis(figure, figure.data, "x"),
    yaxis: figure.square ? { ...yaxis, autorange: "reversed", scaleanchor: "x" } : yaxis,
  }, { responsive: true, displaylogo: false });
}

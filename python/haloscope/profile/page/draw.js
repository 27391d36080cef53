// Drawing of all figures, in the colours of the page, with their data as CSV.

const FONT = { family: 'system-ui, "Segoe UI", Roboto, Arial, sans-serif', size: 12, color: PALETTE.ink };
const GRID = PALETTE.grid;
const CONFIG = { responsive: true, displaylogo: false, modeBarButtons: [["toImage", "zoom2d", "pan2d", "resetScale2d"]] };
const SCALE = PALETTE.blues;
const IN_THE_DARK = PALETTE.dark;
const LEGEND = 30; // pixels of a figure for its legend
const drawn = new Map();

function inTheme(value) {
  if (!isDark()) return value;
  if (typeof value === "string") return IN_THE_DARK[value] || value;
  // Long arrays are data, and have no colours.
  if (Array.isArray(value)) return value.length > 64 && typeof value[0] !== "string" ? value : value.map(inTheme);
  if (value === null || typeof value !== "object" || ArrayBuffer.isView(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, inTheme(part)]));
}

function draw(place, traces, layout, config) {
  for (const empty of place.querySelectorAll(".empty")) empty.remove();
  drawn.set(place, [traces, layout, config]);
  // After a resize of the window, Plotly uses the height of the element instead of the figure's.
  place.style.height = layout.height + "px";
  Plotly.react(place, inTheme(traces), inTheme({
    font: FONT, paper_bgcolor: "#fff", plot_bgcolor: "#fff", margin: { l: 64, r: 16, t: 40, b: 48 },
    legend: { orientation: "h", yref: "container", y: 0.995, yanchor: "top", xref: "container", x: 0, traceorder: "normal", itemsizing: "constant" },
    hoverlabel: { font: FONT, bgcolor: "#fff" }, ...withOneSidedMargins(layout), ...(isPrinted() ? { width: place.clientWidth } : {}),
  }), { ...CONFIG, ...config });
  growForLegend(place, layout.height);
  offerCsv(place, () => csvOfFigure(place));
}

// An axis may increase only the margin on its own side. If it also increased the others, two axes could do so alternately
// without end.
function withOneSidedMargins(layout) {
  const side = name => (name.startsWith("xaxis") ? "height" : name.startsWith("yaxis") ? "width" : null);
  return Object.fromEntries(Object.entries(layout).map(([name, part]) =>
    [name, side(name) && part.automargin === true ? { ...part, automargin: side(name) } : part]));
}

// Plotly shrinks a figure for a legend of many lines. Here the figure grows instead.
function growForLegend(place, height) {
  const legend = place.querySelector(".legend .scrollbox");
  const more = legend === null ? 0 : Math.round(legend.getBBox().height) - LEGEND;
  if (more <= 0 || !height) return;
  place.style.height = height + more + "px";
  Plotly.relayout(place, { height: height + more });
}

function drawNothing(place, why) {
  drawn.delete(place);
  withdrawCsv(place);
  Plotly.purge(place);
  place.style.height = "";
  place.replaceChildren(element("p", why, "empty"));
}

function drawAgain() {
  for (const [place, figure] of drawn) {
    if (place.isConnected) draw(place, ...figure);
    else drawn.delete(place);
  }
}

function axis(title, more) {
  return { title: { text: title }, exponentformat: "SI", gridcolor: GRID, zeroline: false, automargin: true, ticks: "outside", ticklen: 4, tickcolor: "#fff", ...more };
}

// The width of the longest text in pixels. Plotly would need to draw twice for it.
function widthOf(texts) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = "bold " + FONT.size + "px " + FONT.family;
  return Math.ceil(Math.max(0, ...texts.map((text) => pen.measureText(text).width)));
}

onTheme(drawAgain);
// Paper is white, and narrower than most windows.
const isPrinted = () => document.body.classList.contains("printed");
for (const [when, printed] of [["beforeprint", true], ["afterprint", false]]) {
  addEventListener(when, () => {
    document.body.classList.toggle("printed", printed);
    document.documentElement.dataset.theme = printed ? "light" : chosenTheme();
    drawAgain();
  });
}

// How all figures are drawn.

const FONT = { family: 'system-ui, "Segoe UI", Roboto, Arial, sans-serif', size: 12, color: "#1c2733" };
const GRID = "#e8ecf0";
const CONFIG = { responsive: true, displaylogo: false, modeBarButtons: [["toImage", "zoom2d", "pan2d", "resetScale2d"]] };
const SCALE = [[0, "#eaf3f9"], [0.25, "#a9cfe5"], [0.5, "#5a9fc9"], [0.75, "#1f6a9f"], [1, "#0a2f51"]];

function draw(place, traces, layout, config) {
  for (const empty of place.querySelectorAll(".empty")) empty.remove();
  // When the window changes, Plotly forgets the figure's height and asks for the place's.
  place.style.height = layout.height + "px";
  Plotly.react(place, traces, {
    font: FONT, paper_bgcolor: "#fff", plot_bgcolor: "#fff", margin: { l: 64, r: 16, t: 40, b: 48 },
    legend: { orientation: "h", yref: "container", y: 0.995, yanchor: "top", xref: "container", x: 0, traceorder: "normal", itemsizing: "constant" },
    hoverlabel: { font: FONT }, ...layout,
  }, { ...CONFIG, ...config });
}

function drawNothing(place, why) {
  Plotly.purge(place);
  place.style.height = "";
  place.replaceChildren(element("p", why, "empty"));
}

function axis(title, more) {
  return { title: { text: title }, gridcolor: GRID, zeroline: false, automargin: true, ticks: "outside", ticklen: 4, tickcolor: "#fff", ...more };
}

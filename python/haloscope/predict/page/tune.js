// What rules gain: for each collective a map of sizes and processes, and the times behind it.

const { library, summary, about, figures } = JSON.parse(document.getElementById("data").textContent);

document.getElementById("library").textContent = library;
document.getElementById("summary").textContent = summary;
for (const pair of about) {
  ["dt", "dd"].forEach((tag, index) => {
    const said = document.createElement(tag);
    said.textContent = pair[index];
    document.getElementById("about").append(said);
  });
}

const LOOK = {
  paper_bgcolor: "#fff", plot_bgcolor: "#fff", hovermode: "closest",
  font: { family: 'system-ui, "Segoe UI", Roboto, Arial, sans-serif', size: 12, color: "#1c2733" },
  legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
};

for (const { title, note, height, data, layout } of figures) {
  const section = document.createElement("section");
  const head = document.createElement("h2");
  const place = document.createElement("div");
  const source = document.createElement("p");
  head.textContent = title;
  place.className = "plot";
  place.style.height = height + "px";
  source.className = "source";
  source.textContent = note;
  section.append(head, place, source);
  document.getElementById("figures-of-gains").append(section);
  Plotly.newPlot(place, data, { ...LOOK, height, ...layout }, { responsive: true, displaylogo: false });
}

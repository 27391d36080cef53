// Gains by rules: per collective a map of sizes and processes, and the measured times.

const { library, summary, about, figures } = JSON.parse(at("data").textContent);

at("library").textContent = library;
at("summary").textContent = summary;
at("about").append(...about.flatMap(([key, text]) => [element("dt", key), element("dd", text)]));

for (const { title, note, height, data, layout } of figures) {
  const section = element("section");
  const place = element("div", undefined, "plot");
  section.append(element("h2", title), place, element("p", note, "source"));
  at("figures-of-gains").append(section);
  draw(place, data, { height, hovermode: "closest", legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 }, ...layout });
}

// Pages whose head and sections are complete in the data: text, tables, and figures for Plotly.

function headInto(page) {
  at("program").textContent = page.title;
  at("command").textContent = page.about;
  at("warnings").replaceChildren(...page.notes.map((text) => element("p", text)));
  figuresInto(at("figures"), page.figures);
}

function sectionsInto(place, sections) {
  place.replaceChildren();
  const waiting = [];
  for (const section of sections) {
    const made = element("section");
    made.id = section.name;
    made.append(element("h2", section.title));
    for (const line of section.text) made.append(element("p", line, "told"));
    if (section.code) made.append(element("pre", section.code));
    for (const table of section.tables) made.append(...tableOf(table));
    const plots = element("div", undefined, ["", "pair", "pair three"][section.columns - 1]);
    for (const figure of section.figures) plots.append(plotOf(figure, waiting));
    made.append(plots, ...section.pictures.map(pictureOf));
    place.append(made);
  }
  drawNext(place, waiting);
}

// Figures are drawn one after the other, so that the page can be read meanwhile.
function drawNext(place, waiting) {
  place.dataset.waiting = String(waiting.length);
  if (!waiting.length) return;
  waiting.shift()();
  setTimeout(drawNext, 0, place, waiting);
}

function pictureOf([source, alternative]) {
  const made = element("img", undefined, "picture");
  made.src = source;
  made.alt = alternative;
  return made;
}

function plotOf(figure, waiting) {
  const made = element("figure");
  if (figure.title) made.append(element("h3", figure.title));
  const plot = element("div", undefined, "plot");
  made.append(plot, element("figcaption", figure.caption, "source"));
  waiting.push(() => draw(plot, figure.traces, figure.layout));
  return made;
}

function tableOf(table) {
  const made = element("table");
  const scroll = element("div", undefined, "scroll still");
  const whole = element("div");
  scroll.append(made);
  whole.append(scroll);
  const columns = table.columns.map(([title, explanation], index) =>
    [title, explanation, (row) => row[index][0], (row) => row[index][1]]);
  tableInto(made, columns, table.rows, { column: null, down: false, chosen: null }, null);
  return [whole, element("p", table.caption, "source")];
}

// A page about regimes: its sections are made in Python, and stand as they are.

const PAGE = JSON.parse(at("data").textContent);

at("program").textContent = PAGE.title;
at("command").textContent = PAGE.about;
at("warnings").replaceChildren(...PAGE.notes.map((text) => element("p", text)));
at("figures").replaceChildren(...PAGE.figures.map(([title, figure, note]) => {
  const box = element("div");
  const told = element("dd", figure);
  told.append(element("small", note));
  box.append(element("dt", title), told);
  return box;
}));
sectionsInto(at("sections"), PAGE.sections);

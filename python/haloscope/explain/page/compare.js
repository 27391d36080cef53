// A page about two sides of runs: its sections are made in Python, and stand as they are.

const PAGE = JSON.parse(at("data").textContent);

headInto(PAGE);
// Figures have the colours of the page, also when these change, or it is printed.
const COLOURS_OF = { ink: "--ink", paper: "--paper" };
function inTheme(section) {
  const style = getComputedStyle(document.documentElement);
  const [ink, paper] = Object.values(COLOURS_OF).map((name) => style.getPropertyValue(name).trim());
  const theme = { font: { ...FONT, color: ink }, paper_bgcolor: paper, plot_bgcolor: paper, hoverlabel: { font: { ...FONT } } };
  return { ...section, figures: section.figures.map((figure) => ({ ...figure, layout: { ...theme, ...figure.layout } })) };
}
const drawAll = () => sectionsInto(at("sections"), PAGE.sections.map(inTheme));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
drawAll();

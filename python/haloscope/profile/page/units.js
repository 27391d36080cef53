// Formats of numbers, and escaped texts.

const UNKNOWN = "–";
const SIZES = [[1e18, "EB"], [1e15, "PB"], [1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]];
const COUNTS = [[1e18, "E"], [1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1, ""]];
const TIMES = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]];

function scaled(value, units) {
  if (value === 0) return "0 " + units[units.length - 1][1];
  const rounded = Number(value.toPrecision(3));
  const [scale, unit] = units.find(([least]) => Math.abs(rounded) >= least) || units[units.length - 1];
  const shown = rounded / scale;
  if (Math.abs(shown) >= 1000) return ((value / scale).toFixed(0) + " " + unit).trim();
  const digits = Math.abs(shown) >= 99.95 ? 0 : Math.abs(shown) >= 9.995 ? 1 : 2;
  return (shown.toFixed(digits) + " " + unit).trim();
}

const known = (text) => (value) => (value === null || value === undefined ? UNKNOWN : text(value));
const asBytes = known((v) => (Number.isInteger(v) && v < 10000 ? v + " B" : scaled(v, SIZES)));
const asCount = known((v) => (Math.abs(v) < 1e7 ? String(Math.round(v * 10) / 10) : scaled(v, COUNTS)));
const asTime = known((v) => (v === 0 ? "0 s" : scaled(v, TIMES)));
const asShare = (part, whole) => (part === null || !whole ? UNKNOWN : (100 * part / whole).toFixed(1) + " %");

function asRange(low, high) {
  return low === high ? asCount(low) : asCount(low) + "–" + asCount(high);
}

function asByteRange(low, high) {
  return low === high ? asBytes(low) : asBytes(low) + "–" + asBytes(high);
}

// Plotly interprets some tags in its texts as markup. Names are never markup.
function plain(text) {
  return String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

function shortened(text, most) {
  return text.length > most ? "…" + text.slice(text.length - most + 1) : text;
}

// Shortens a path at its beginning, to whole names if possible.
function shortPath(path, most) {
  const names = path.match(/(?:[^/\\]|\\.)+/g) || [path]; // a name may have a slash, after a backslash
  while (names.length > 1 && names.join("/").length + 2 > most) names.shift();
  const end = names.join("/");
  return end === path ? shortened(path, most) : "…/" + shortened(end, most - 2);
}

function element(tag, text, name) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (name) made.className = name;
  return made;
}

// A "?" that shows or hides an explanation next to it.
function helpOn(text) {
  const made = element("span", undefined, "help");
  if (!text) return made;
  const button = element("button", "?");
  const said = element("span", text, "said");
  button.type = "button";
  button.title = text;
  button.setAttribute("aria-label", "What is this?");
  said.hidden = true;
  const set = (shown) => {
    said.hidden = !shown;
    button.setAttribute("aria-expanded", String(shown));
  };
  set(false);
  button.addEventListener("click", (event) => {
    event.stopPropagation();
    set(said.hidden);
  });
  made.append(button, said);
  return made;
}

const at = (id) => document.getElementById(id);

// The main figures of the page, each with its title and a note.
function figuresInto(place, figures) {
  place.replaceChildren(...figures.map(([title, figure, note]) => {
    const box = element("div");
    const value = element("dd", figure);
    value.append(element("small", note));
    box.append(element("dt", title), value);
    return box;
  }));
}

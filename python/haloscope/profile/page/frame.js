// The start of every page: unpacks the data and Plotly, and sets light or dark colours.

// Base 85: five characters are four bytes. "}" replaces "<", which a script element must not contain.
const DIGITS = Uint8Array.from({ length: 128 }, (_, code) => (code === 125 ? 60 : code) - 40);

function bytesIn(holder) {
  const text = new TextEncoder().encode(holder.textContent);
  const bytes = new Uint8Array(text.length / 5 * 4);
  for (let from = 0, to = 0; from < text.length; from += 5, to += 4) {
    let four = 0;
    for (let i = from; i < from + 5; i++) four = four * 85 + DIGITS[text[i]];
    bytes[to] = four >>> 24;
    bytes[to + 1] = four >>> 16;
    bytes[to + 2] = four >>> 8;
    bytes[to + 3] = four;
  }
  return bytes.subarray(0, Number(holder.dataset.bytes));
}

function unpack(name) {
  const packed = new Blob([bytesIn(document.getElementById(name))]).stream();
  return new Response(packed.pipeThrough(new DecompressionStream("deflate"))).text();
}

// The theme of the system, until the reader chooses one.
const systemIsDark = matchMedia("(prefers-color-scheme: dark)");
const redrawing = [];
let theme = null;
const chosenTheme = () => theme || (systemIsDark.matches ? "dark" : "light");
const isDark = () => document.documentElement.dataset.theme === "dark";

function onTheme(redraw) {
  redrawing.push(redraw);
}

function setTheme(name) {
  if (document.documentElement.dataset.theme === name) return;
  document.documentElement.dataset.theme = name;
  themeButton.textContent = name === "dark" ? "light" : "dark";
  for (const redraw of redrawing) redraw();
}

const themeButton = document.createElement("button");
themeButton.id = "theme";
themeButton.type = "button";
themeButton.title = "Light or dark colours";
themeButton.addEventListener("click", () => {
  theme = isDark() ? "light" : "dark";
  setTheme(theme);
});
document.querySelector("header").append(themeButton);
systemIsDark.addEventListener("change", () => setTheme(chosenTheme()));
setTheme(chosenTheme());

if (typeof DecompressionStream === "undefined") {
  document.body.prepend("This page needs a browser of 2023 or newer (Chromium 80, Firefox 113, Safari 16.4).");
  return;
}
const library = document.createElement("script");
[document.getElementById("data").textContent, library.text] = await Promise.all([unpack("data"), unpack("plotly")]);
document.getElementById("plotly").replaceWith(library);

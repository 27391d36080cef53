// What every page begins with: its data and Plotly are deflated inside, and it is light or dark.

// Each five characters are four bytes in base 85; "}" stands for "<", which is no text in a script.
function bytesIn(holder) {
  const text = holder.textContent;
  const bytes = new DataView(new ArrayBuffer(text.length / 5 * 4));
  for (let from = 0; from < text.length; from += 5) {
    let four = 0;
    for (let i = from; i < from + 5; i++) {
      const code = text.charCodeAt(i);
      four = four * 85 + (code === 125 ? 60 : code) - 40;
    }
    bytes.setUint32(from / 5 * 4, four);
  }
  return new Uint8Array(bytes.buffer, 0, Number(holder.dataset.bytes));
}

async function unpack(name) {
  const holder = document.getElementById(name);
  const inflated = new Blob([bytesIn(holder)]).stream().pipeThrough(new DecompressionStream("deflate"));
  holder.textContent = await new Response(inflated).text();
}

// As the system has it, until the reader chooses.
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
await Promise.all([unpack("data"), unpack("plotly")]);
const library = document.createElement("script");
library.text = document.getElementById("plotly").textContent;
document.getElementById("plotly").replaceWith(library);

// Messages between two cores, one section per figure.

const { machine, about, figures, yaml } = JSON.parse(at("data").textContent);

at("machine").textContent = machine;
at("yaml").textContent = yaml;
at("about").append(...about.flatMap(([key, text]) => [element("dt", key), element("dd", text)]));

function timeText(time) {
  const [scale, unit] = TIMES.find(([least]) => time >= 0.999 * least) || TIMES[3];
  return Number((time / scale).toPrecision(3)) + " " + unit;
}

function bytesText(bytes) {
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), 3);
  return bytes / 2 ** (10 * power) + ["", " Ki", " Mi", " Gi"][power];
}

// Ticks are powers of four for sizes, and decades for times.
function ticks(kind, data, which) {
  const values = data.flatMap((trace) => trace[which]).filter((value) => value > 0);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const steps = [];
  if (kind === "bytes") for (let size = 1; size <= 2 * high; size *= 4) steps.push(size);
  else for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) steps.push(Number("1e" + power));
  const text = kind === "bytes" ? bytesText : kind === "time" ? timeText : String;
  return { tickvals: steps, ticktext: steps.map(text) };
}

function axisOf({ axes }, data, which) {
  const kind = axes[which];
  if (axes.logarithmic.includes(which)) return axis(kind, { type: "log", ...ticks(kind, data, which) });
  if (kind === "time") return axis(kind, { tickformat: "~s", ticksuffix: "s", rangemode: "tozero" });
  return axis(kind, { type: "category" });
}

for (const figure of figures) {
  const section = element("section");
  const place = element("div", undefined, "plot");
  place.id = figure.key + "-plot";
  section.append(element("h2", figure.title), place, element("p", figure.note, "source"));
  at("figures-of-messages").append(section);
  const yaxis = axisOf(figure, figure.data, "y");
  draw(place, figure.data, {
    height: figure.square ? 560 : 440, hovermode: "closest", shapes: figure.shapes || [],
    xaxis: axisOf(figure, figure.data, "x"),
    yaxis: figure.square ? { ...yaxis, autorange: "reversed", scaleanchor: "x" } : yaxis,
  });
}

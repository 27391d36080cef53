// Times of collectives: tables that Python makes, then curves with a choice of axes.

const PAGE = JSON.parse(at("data").textContent);
const { facts, curves } = PAGE;

at("verb").textContent = PAGE.verb;
headInto(PAGE);
sectionsInto(at("sections"), PAGE.sections);
at("about").append(...facts.flatMap(([key, text]) => [element("dt", key), element("dd", text)]));

const noteOf = (figure) => figure.note || (figure.sizes ? "Points: measured. Lines: model."
  : (figure.title ? "Points: measured. Lines: model. " : "")
    + "Red lines: from here, processes use one more level of the topology.");

const places = curves.map((figure) => {
  const section = element("section");
  const place = element("div", undefined, "plot");
  place.id = figure.collective + "-plot";
  section.append(element("h2", figure.title || figure.collective), place, element("p", noteOf(figure), "source"));
  at("curves").append(section);
  return place;
});

function bytes(value) {
  const [scale, unit] = [[2 ** 20, " MiB"], [1024, " KiB"]].find(([least]) => value >= least) || [1, " B"];
  return Number((value / scale).toPrecision(3)) + unit;
}

function sizes(data) {
  const all = [...new Set(data.flatMap((trace) => trace.x))].sort((one, other) => one - other);
  const steps = all.filter((_, index) => index % Math.ceil(all.length / 8) === 0);
  return { tickvals: steps, ticktext: steps.map(bytes) };
}

function doublings(data) {
  const most = Math.max(...data.flatMap((trace) => trace.x));
  const steps = Array.from({ length: Math.floor(Math.log2(most)) }, (_, index) => 2 ** (index + 1));
  return { tickvals: steps, ticktext: steps.map(String) };
}

function decades(data) {
  const times = data.flatMap((trace) => trace.y);
  const [low, high] = [Math.min(...times), Math.max(...times)].map((time) => Math.floor(Math.log10(time)));
  const steps = [];
  for (let power = low; power <= high; power++) for (const digit of [1, 2, 5]) steps.push(Number(digit + "e" + power));
  const text = (time) => {
    const [scale, unit] = TIMES.find(([least]) => time >= 0.999 * least) || TIMES[3];
    return Number((time / scale).toPrecision(3)) + " " + unit;
  };
  return { tickvals: steps, ticktext: steps.map(text) };
}

function drawIn(scale) {
  for (const button of document.querySelectorAll("#scale button")) {
    button.setAttribute("aria-pressed", button.dataset.value === scale);
  }
  const log = scale === "log";
  curves.forEach(({ data, layout, sizes: bySize }, index) => {
    const { labels, ...rest } = layout;
    draw(places[index], data, {
      ...rest, height: 400, hovermode: "closest", margin: { l: 64, r: 16, t: 84, b: 48 },
      xaxis: axis("", { ...rest.xaxis, type: scale, ...(log ? (bySize ? sizes : doublings)(data) : {}) }),
      yaxis: axis("", { ...rest.yaxis, type: scale, ...(log ? decades(data) : { rangemode: "tozero" }) }),
      // On a logarithmic axis, labels are placed by the logarithm, lines by the value.
      annotations: labels.map(({ x, text }) => ({
        x: log ? Math.log10(x) : x, y: 1, yref: "paper", yanchor: "bottom", xanchor: "left", text,
        textangle: -30, showarrow: false, font: { size: 11, color: PALETTE.red },
      })),
    });
  });
}

at("scale").addEventListener("click", (event) => {
  if (event.target.dataset.value) drawIn(event.target.dataset.value);
});
drawIn("log");

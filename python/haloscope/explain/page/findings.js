// Performance problems of the run: cause, gain, remedy, and links to the figures that show them.

const SHOWN_IN = {
  regions: ["regions-table", "Regions"], pop: ["regions-table", "Regions"], ranks: ["ranks-plot", "Time by rank"],
  partners: ["matrix-plot", "Communication matrix"], sizes: ["sizes-plot", "Message sizes"], calls: ["calls", "MPI calls"],
  collectives: ["calls", "MPI calls"], communicators: ["calls", "MPI calls"], slices: ["history", "Time in MPI over the run"],
  sites: ["sites", "Call sites"], waits: ["waits", "Waiting, by kind"], wait_pairs: ["pairs-plot", "Waiting by rank and partner"],
  delays: ["causes-plot", "Causes of waiting"], critical_path: ["critical-plot", "The critical path"],
  tolerance: ["latency-plot", "Latency tolerance"], series: ["regimes", "Regimes"], binding: ["usage-table", "Use of the machine"],
};

function findingsInto(place, findings, showIn) {
  place.replaceChildren(...findings.map((finding) => {
    const made = element("li");
    made.append(element("p", sentence(finding.sentence), "told"));
    if (finding.gain > 0) made.append(gainOf(finding));
    made.append(element("p", sentence(finding.remedy), "remedy"), ...finding.commands.map(commandOf), linksOf(finding, showIn));
    return made;
  }));
}

// The bar is the run's time; its filled part is the expected range of the gain.
function gainOf(finding) {
  const made = element("p", "Would save " + asTime(finding.gain) + " of the run (" + asTime(finding.gain_low) + " to " + asTime(finding.gain_high) + "), " + asShare(finding.share, 1) + ".", "gain");
  const percent = (seconds) => Math.min(100, 100 * finding.share * seconds / finding.gain);
  const range = element("span", undefined, "range");
  range.title = "Part of the run's time";
  const filled = element("i");
  filled.style.left = percent(finding.gain_low) + "%";
  filled.style.width = Math.max(1, percent(finding.gain_high) - percent(finding.gain_low)) + "%";
  range.append(filled);
  made.append(range);
  return made;
}

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (text.endsWith(".") ? "" : ".");

const isShown = (where) => where && !at(where[0]).closest("[hidden]");

function linksOf(finding, showIn) {
  const links = element("p", "Shown in: ", "links");
  const names = new Map(finding.evidence.filter((one) => isShown(SHOWN_IN[one.table])).map((one) => [SHOWN_IN[one.table][0], SHOWN_IN[one.table][1]]));
  for (const [id, title] of names) {
    const link = element("a", title);
    link.href = "#" + id;
    link.addEventListener("click", (event) => {
      event.preventDefault();
      showIn(finding.place, id);
    });
    links.append(link, " ");
  }
  links.append(element("span", "rule: " + finding.rule), helpOn(finding.about));
  return links;
}

// A command, which can also be selected, and a button that copies it.
function commandOf(text) {
  const made = element("p", undefined, "command");
  const button = element("button", "copy", "copy");
  button.type = "button";
  button.addEventListener("click", async () => {
    button.textContent = await copied(text) ? "copied" : "select and copy";
    setTimeout(() => (button.textContent = "copy"), 1500);
  });
  made.append(element("code", text), button);
  return made;
}

// Browsers give no clipboard to some pages of a file; then the older way is tried.
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const box = element("textarea", text);
    document.body.append(box);
    box.select();
    const done = document.execCommand("copy");
    box.remove();
    return done;
  }
}

// How many rules found nothing, and why that may be wrong.
function describeRules({ findings, rules, silence }) {
  const note = silence ? " (" + silence + ")" : "";
  if (!findings.length) return "No findings: none of " + rules.all + " rules explains 2 % of the run's time" + note + ".";
  return rules.all + " rules were checked, " + rules.silent + " found nothing. Sorted by gain. Source: haloscope findings.";
}

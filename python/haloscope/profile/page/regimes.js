// A page about regimes, or about two sides of runs: its sections are made in Python, and stand as they are.

const PAGE = JSON.parse(at("data").textContent);

at("verb").textContent = PAGE.verb;
headInto(PAGE);
sectionsInto(at("sections"), PAGE.sections);
// The answer comes before what is to be said about it.
at("answer")?.after(at("warnings"));

// A page about regimes, or about two sides of runs. Python makes its sections.

const PAGE = JSON.parse(at("data").textContent);

at("verb").textContent = PAGE.verb;
headInto(PAGE);
sectionsInto(at("sections"), PAGE.sections);
// The answer precedes its warnings.
at("answer")?.after(at("warnings"));

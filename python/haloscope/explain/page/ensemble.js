// A page about many runs: sections about all regions, then those of one region. Python makes all sections.

const PAGE = JSON.parse(at("data").textContent);

at("verb").textContent = PAGE.verb;
headInto(PAGE);
sectionsInto(at("sections"), PAGE.sections);
at("region").replaceChildren(...PAGE.regions.map((region, index) => {
  const made = element("option", region.name);
  made.value = index;
  return made;
}));
function showRegion() {
  sectionsInto(at("region-sections"), PAGE.regions[Number(at("region").value)].sections);
}
at("region").addEventListener("change", showRegion);
showRegion();

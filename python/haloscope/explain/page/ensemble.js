// A page about many runs: what is of all of them, then one region at a time; all is made in Python.

const PAGE = JSON.parse(at("data").textContent);

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

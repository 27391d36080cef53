// A page about regimes: its sections are made in Python, and stand as they are.

const PAGE = JSON.parse(at("data").textContent);

headInto(PAGE);
sectionsInto(at("sections"), PAGE.sections);

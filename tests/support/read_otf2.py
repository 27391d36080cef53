"""Prints an OTF2 archive as JSON, by Debian's reader: /usr/bin/python3 read_otf2.py ARCHIVE.

It runs in the system's interpreter, which has `otf2` (python3-otf2), so it imports nothing of ours.
"""

from __future__ import annotations

import json
import sys
from typing import Any


def main(archive: str) -> None:
    """Print definitions, and the events of each location in their order."""
    import otf2  # type: ignore[import-not-found, unused-ignore]

    with otf2.reader.open(archive) as trace:
        known = trace.definitions
        places = {location: index for index, location in enumerate(known.locations)}
        found: dict[str, Any] = {
            "locations": [
                {
                    "thread": location.name,
                    "process": location.group.name,
                    "host": location.group.system_tree_parent.name,
                    "events": location.number_of_events,
                }
                for location in places
            ],
            "regions": [(r.name, str(r.region_role), str(r.paradigm)) for r in known.regions],
            "communicators": [(c.name, [places[member] for member in c.group.members]) for c in known.comms],
            "clock": known.clock_properties.timer_resolution,
            "properties": [(places[p.location], p.name, p.value) for p in known.location_properties],
            "events": [[] for _ in places],
        }
        numbers = {c: number for number, c in enumerate(known.comms)}
        for location, event in trace.events:
            row: dict[str, Any] = {"type": type(event).__name__}
            for name, value in vars(event).items():
                if name == "region":
                    row[name] = value.name
                elif name == "communicator":
                    row[name] = numbers[value]
                elif name != "attributes":
                    row[name] = value if isinstance(value, int) else str(value)
            found["events"][places[location]].append(row)
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])

"""Print what rocrate-py reads from a campaign's bundle: the files, and each run with its begin and end."""

from __future__ import annotations

import json
import sys

from rocrate.rocrate import ROCrate

crate = ROCrate(sys.argv[1])
runs = [entity for entity in crate.get_entities() if entity.type == "CreateAction"]
print(
    json.dumps(
        {
            "name": crate.name,
            "files": [part.id for part in crate.root_dataset["hasPart"]],
            "runs": [
                {
                    "name": run["name"],
                    "needed": [entity.id for entity in run["object"]],
                    "left": [entity.id for entity in run["result"]],
                    "begun": run["startTime"],
                    "ended": run["endTime"],
                }
                for run in runs
            ],
        }
    )
)

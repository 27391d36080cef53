"""Print the tree, rows and metadata that Thicket reads from .cali files. Each argument is a list of files."""

import json
import sys
import warnings
from typing import Any

warnings.simplefilter("ignore")

import thicket  # noqa: E402


def described(files: list[str]) -> dict[str, Any]:
    opened = thicket.Thicket.from_caliperreader(files if len(files) > 1 else files[0], disable_tqdm=True)
    frame = opened.dataframe.reset_index()
    named = frame.assign(node=[node.frame["name"] for node in frame["node"]])
    found = {
        "tree": opened.tree(),
        "index": list(opened.dataframe.index.names),
        "rows": json.loads(named.to_json(orient="records")),
        "metadata": json.loads(opened.metadata.astype(str).to_json(orient="records")),
    }
    # Thicket cannot query tables with an index of ranks.
    return found if "rank" in found["index"] else found | {"halo": halo(opened)}


def halo(opened: Any) -> Any:
    """A table of a region by run: a query by its name, then columns."""
    query = thicket.query.Query().match(".", lambda row: row["name"].apply(lambda name: name == "halo").all())
    table = opened.query(query).dataframe[["Bytes sent (total)", "Sends (total)", "Largest send"]].copy()
    table["average"] = table["Bytes sent (total)"] / table["Sends (total)"]
    return json.loads(table.to_json(orient="records"))


print(json.dumps([described(argument.split(":")) for argument in sys.argv[1:]]))

"""Print the rows of a data set's table, and a sum per program, by DuckDB and by Dask with two workers."""

import json
import sys

import duckdb

FOLDER, TABLE, GROUP, COLUMN = sys.argv[1:5]


def by_duckdb() -> dict[str, object]:
    files = f"{FOLDER}/{TABLE}/*/*.parquet"
    source = f"read_parquet('{files}', hive_partitioning = true, union_by_name = true)"
    rows = duckdb.sql(f"SELECT * FROM {source}").df()
    sums = duckdb.sql(
        f'SELECT "{GROUP}", sum("{COLUMN}") AS total FROM {source} GROUP BY 1 ORDER BY 1'
    ).fetchall()
    return {"rows": json.loads(rows.to_json(orient="records")), "sums": sums}


def by_dask() -> dict[str, object]:
    from dask import dataframe
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        frame = dataframe.read_parquet(f"{FOLDER}/{TABLE}")
        sums = frame.groupby(GROUP)[COLUMN].sum().compute().sort_index()
        workers = len(client.scheduler_info()["workers"])
    return {"sums": [list(pair) for pair in sums.items()], "workers": workers}


if __name__ == "__main__":
    print(json.dumps({"duckdb": by_duckdb(), "dask": by_dask()}))

"""Damages files of other formats than profiles, and reads them: damage_texts.py COUNT SEED DIRECTORY.

As `damage_profiles.py`, which has the limits: reading ends soon, in little memory, with a value or a
`HaloscopeError` of one line. Any other result is printed, the damaged file stays, and the exit status is 1.
"""

from __future__ import annotations

import io
import json
import random
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from haloscope import explain
from haloscope.base.errors import HaloscopeError
from haloscope.explain.checking import read_rules
from haloscope.markov import read_model, read_timings
from haloscope.markov.latency import read_latency
from haloscope.predict.bench import read_any
from haloscope.predict.bench.system import parse as parse_topology
from haloscope.predict.machine_files import load_machine
from haloscope.predict.placement.nodes import read_nodes
from haloscope.predict.simulate import load_platform
from haloscope.predict.simulate.traces import list_traces
from haloscope.predict.tune.gains import Gains
from haloscope.reproduce.campaign import Campaign
from haloscope.reproduce.study.study_folder import read_study

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from explain.programs.damage_profiles import SECONDS, end_late, limit_memory, main

CHECKOUT = Path(__file__).resolve().parents[3]
Read = Callable[[Path], object]
_WORDS = (
    b"0 1 -1 nan inf 1e999 9999999999999999999999 true null [] {} [ ] { } \" ' : = , # \\ & * ! | - .. / %"
)
_TOKENS = _WORDS.split()
_TOKENS += [
    b"\0",
    b"\xff",
    b"\n",
    b"\r",
    b"\t",
    b" " * 8,
    b"\xe2\x80\xa8",
    b"9" * 5000,
    b"9" * 20,
    b"\xc2\xb2",
    b"[" * 100_000,
    b'{"a":' * 100_000,
    b"a." * 2000,
]


def _bytes(content: bytes, rng: random.Random) -> bytes:
    damaged = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 8))):
        damaged[rng.randrange(len(damaged))] = rng.choice((rng.randrange(256), *b'0159-,:[]{}"=#\n '))
    return bytes(damaged)


def _cut(content: bytes, rng: random.Random) -> bytes:
    first, last = sorted(rng.randrange(len(content) + 1) for _ in range(2))
    return rng.choice((content[:first], content[last:], content[:first] + content[last:]))


def _copy(content: bytes, rng: random.Random) -> bytes:
    first, place = rng.randrange(len(content)), rng.randrange(len(content))
    return content[:place] + content[first : first + rng.choice((1, 8, 64, 512))] + content[place:]


def _token(content: bytes, rng: random.Random) -> bytes:
    """Replace a word by an unusual one."""
    first = rng.randrange(len(content))
    last = first
    while last < len(content) and chr(content[last]).isalnum():
        last += 1
    return content[:first] + rng.choice(_TOKENS) + content[last:]


def _lines(content: bytes, rng: random.Random) -> bytes:
    """Remove, repeat or swap lines."""
    lines = content.split(b"\n")
    first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
    action = rng.random()
    if action < 0.3:
        del lines[first]
    elif action < 0.6:
        lines.insert(second, lines[first])
    else:
        lines[first], lines[second] = lines[second], lines[first]
    return b"\n".join(lines)


DAMAGES = (_bytes, _cut, _copy, _token, _token, _lines)


def _profile(path: Path) -> None:
    profile = explain.open(path)
    for name in explain.TABLES:
        profile.table(name)
    assert explain.summary(profile)


def _array(save: Callable[..., None], *arrays: Any, **named: Any) -> bytes:
    content = io.BytesIO()
    save(content, *arrays, **named)
    return content.getvalue()


def _sources() -> dict[str, tuple[bytes, Read]]:
    """Return sound files by name, and what reads them."""
    bench, matrix = import_module("predict.test_bench_read"), np.arange(1.0, 13).reshape(3, 4)
    shipped = CHECKOUT / "python" / "haloscope" / "predict"
    rows = "".join(f"halo,{rank},{k},n{rank},{k + 1}.5,0.25\n" for rank in range(3) for k in range(4))
    rules = {"version": 1, "program": "x", "ranks": 2, "slower": 0.1, "again": 5}
    toml = (
        "".join(f"{key} = {json.dumps(value)}\n" for key, value in rules.items())
        + "[regions.halo.regions]\nsends_total = 3\n"
    )
    sweep = [{"record": "environment", "library": "X"}, bench._POINT, bench._POINT]
    gains = {"record": "gains", "library": "X", "summary": "s", "about": {"a": "b"}, "rows": []}
    hwloc = '<topology><object type="Machine" cpuset="0x3">' + "".join(
        f'<object type="Core" cpuset="0x{1 << k}"><object type="PU" cpuset="0x{1 << k}"/></object>'
        for k in (0, 1)
    )
    campaign = (
        import_module("support.campaigns").BASE + "experiments:\n  weak: {program: told, ranks: [2, 4]}\n"
    )
    texts: dict[str, tuple[str, Read]] = {
        "run.cali": (import_module("explain.test_import_cali").SPOT, _profile),
        "run.mpiP": (import_module("explain.test_import_mpip").REPORT, _profile),
        "rows.csv": (f"region,rank,instance,host,duration,wait\n{rows}", read_timings),
        "matrix.csv": ("1;2;3\n4;5;6\n", read_timings),
        "model.json": (json.dumps(import_module("explain.test_regimes_saved").RECORD, indent=1), read_model),
        "empirical.txt": ("1e-3 2e-3 5e-4\n3e-3\n", lambda path: read_latency(f"empirical:{path}")),
        "rules.toml": (toml, read_rules),
        "sweep.jsonl": ("".join(json.dumps(record) + "\n" for record in sweep), read_any),
        "osu.txt": (bench._OSU, read_any),
        "imb.txt": (bench._IMB, read_any),
        "gains.json": (json.dumps(gains) + "\n", lambda path: Gains.read(path).frame()),
        "hosts.txt": ("n1 slots=4\nn2:2\nn3\n", lambda path: read_nodes(str(path), 4)),
        "list.txt": ("0.txt\n1.txt\n", list_traces),
        "topology.xml": (
            hwloc + "</object></topology>",
            lambda path: parse_topology(path.read_text("utf-8", "replace")),
        ),
        "machine.yaml": ((shipped / "machines" / "orfeo.yaml").read_text(), load_machine),
        "campaign.yaml": (campaign, lambda path: len(Campaign.opened(path).points)),
    }
    for platform in sorted((shipped / "simulate" / "platforms").glob("*.yaml")):
        texts[platform.name] = (platform.read_text(), load_platform)
    binary: dict[str, tuple[bytes, Read]] = {
        "matrix.npy": (_array(np.save, matrix), read_timings),
        "matrix.npz": (_array(np.savez, duration=matrix, rank=np.arange(3), wait=matrix), read_timings),
        "packed.npz": (_array(np.savez_compressed, duration=matrix), read_timings),
    }
    study = (CHECKOUT / "studies" / "dynamic-stencil-protocols" / "study.toml").read_bytes()
    return {
        **{name: (text.encode(), read) for name, (text, read) in texts.items()},
        **binary,
        "study.toml": (study, lambda path: read_study(path.parent)),
    }


def damage(count: int, seed: int, directory: Path, only: list[str]) -> Counter[str]:
    """Read `count` damaged files. Return how many were read and refused; raise any other error."""
    sources = {name: source for name, source in _sources().items() if not only or name in only}
    for rank in range(2):
        (directory / f"{rank}.txt").write_text(f"{rank} init\n")
    for name, (content, read) in sources.items():
        path = directory / name
        path.write_bytes(content)
        read(path)
    limit_memory()
    signal.signal(signal.SIGPROF, end_late)
    outcomes: Counter[str] = Counter()
    faults: dict[str, str] = {}
    for index in range(count):
        rng = random.Random(seed << 40 | index)
        name = rng.choice(list(sources))
        content, read = sources[name]
        for _ in range(rng.choice((1, 1, 2, 3))):
            content = rng.choice(DAMAGES)(content or b"\n", rng)
        path = directory / name
        path.write_bytes(content)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            read(path)
            outcomes["read"] += 1
        except HaloscopeError:
            outcomes["refused"] += 1
        except BaseException as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            fault = f"{name}: {type(error).__name__} in {where.filename}:{where.lineno}"
            if faults.setdefault(fault, f"{index}-{name}") == f"{index}-{name}":
                path.rename(directory / f"{index}-{name}")
                print(f"file {index} of seed {seed}: {fault}")
                traceback.print_exc()
            outcomes["faults"] += 1
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    return outcomes


if __name__ == "__main__":
    sys.exit(main(lambda count, seed, directory: damage(count, seed, directory, sys.argv[4:])))

"""The `.cali` files that a program, or `CALI_CONFIG`, asked Caliper for: `spot(output=F.cali,comm.stats)`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from haloscope.base.errors import HaloscopeError
from haloscope.base.units import noun_text
from haloscope.explain.caliper.cali_writer import write_cali
from haloscope.profile import Profile
from haloscope.profile.tables import run_information

_KEY = "caliper.config"
_FILES = ("spot", "runtime-profile", "hatchet-region-profile")
_OTHER = re.compile(r".+-(report|profile|trace)")
_WORD = re.compile(r'((?:\\.|"(?:\\.|[^"\\])*"|[^,()\\"])*)([,()]|$)', re.DOTALL)


def parse_configuration(text: str) -> list[tuple[str, dict[str, str]]]:
    """Return the name and the options of each configuration in Caliper's text.

    Options outside of parentheses belong to all configurations, which may override them. The first of two
    values counts. An option without a value is `true`. Of invalid texts the valid parts are returned.
    """
    found: list[tuple[str, dict[str, str]]] = []
    common: dict[str, str] = {}
    options, is_inside = common, False
    for word, delimiter in _WORD.findall(text):
        key, _, value = (_unquote(part) for part in word.partition("="))
        if key and not is_inside and (key in _FILES or _OTHER.fullmatch(key) or delimiter == "("):
            found.append((key, {}))
            options = found[-1][1]
        elif key:
            (options if is_inside else common).setdefault(key, value or "true")
        if delimiter in ("(", ")"):
            is_inside = delimiter == "("
    return [(name, common | options) for name, options in found]


def write_caliper_outputs(profile: Profile) -> list[str]:
    """Write the files that the profile's program asked Caliper for. Return remarks, a line each.

    A file without a name is written next to the profile. What cannot be written is a remark.
    """
    metadata = run_information(profile.data).get("metadata") or {}
    requested = metadata.get(_KEY) if isinstance(metadata, Mapping) else None
    remarks = []
    for name, options in parse_configuration(requested) if isinstance(requested, str) else []:
        try:
            remarks.append(_write(profile, name, options))
        except HaloscopeError as error:
            remarks.append(str(error))
    return remarks


def _unquote(word: str) -> str:
    """Return a word without the quotation marks and backslashes that protect it."""
    return re.sub(r'\\(.)|"', lambda match: match.group(1) or "", word, flags=re.DOTALL).strip()


def _is_on(options: Mapping[str, str], name: str) -> bool:
    return options.get(name, "false").lower() in ("true", "t", "1", "yes", "on")


def _write(profile: Profile, name: str, options: Mapping[str, str]) -> str:
    if name not in _FILES:
        return f"{_KEY}: {name} is not supported, only {', '.join(_FILES)}; haloscope show prints tables"
    form, output = options.get("output.format", "cali"), options.get("output", "")
    if form not in ("cali", "hatchet") or output in ("stdout", "stderr"):
        option = f"output={output}" if output in ("stdout", "stderr") else f"output.format={form}"
        return f"{_KEY}: {name} with {option} is not supported; give a file with the suffix .cali"
    target = Path(options.get("outdir", "")) / (output or profile.path.with_suffix(".cali"))
    communication, functions = _is_on(options, "comm.stats"), _is_on(options, "profile.mpi")
    records = write_cali(profile, target, communication=communication, functions=functions)
    return f"{target}: {noun_text(records, 'record')}, as configured for Caliper"

"""Caliper configurations of a program or of `CALI_CONFIG`, such as"
" `spot(output=F.cali,comm.stats),runtime-report`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from haloscope.base.errors import HaloscopeError, OutputError
from haloscope.base.units import noun_text
from haloscope.explain.caliper.cali_writer import write_cali
from haloscope.explain.caliper.caliper_report import make_mpi_report, make_runtime_report
from haloscope.profile import Profile
from haloscope.profile.tables import run_information

__all__ = ["Configuration", "parse_configuration", "write_caliper_outputs"]

_KEY = "caliper.config"
_FILES = ("spot", "runtime-profile", "hatchet-region-profile")
_REPORTS = ("runtime-report", "mpi-report")
# Names of other configurations, which are not options.
_OTHERS = frozenset(
    """alloc-report callpath-sample-report cuda-activity-profile cuda-activity-report event-trace
    hatchet-sample-profile io-report kernel-report loop-report memory-report openmp-report
    rocm-activity-report sample-profile sample-report sampling-report""".split()
)


@dataclass
class Configuration:
    """One configuration and its options; an option without a value is `true`."""

    name: str
    options: dict[str, str] = field(default_factory=dict)

    def has(self, option: str) -> bool:
        """Return whether an option is on."""
        return self.options.get(option, "false").lower() in ("true", "t", "1", "yes", "on")


def parse_configuration(text: str) -> list[Configuration]:
    """Return the configurations in a text of Caliper.

    Options outside of parentheses are defaults of all configurations; the first of two equal options counts.
    Unreadable parts are ignored.
    """
    found: list[Configuration] = []
    common: dict[str, str] = {}
    options, is_open = common, False
    for word, delimiter in re.findall(r'((?:\\.|"(?:\\.|[^"\\])*"|[^,()\\"])*)([,()]|$)', text, re.DOTALL):
        key, _, value = (_unquote(part) for part in word.partition("="))
        if key and not is_open and key in (*_FILES, *_REPORTS, *_OTHERS):
            found.append(Configuration(key))
            options = found[-1].options if delimiter == "(" else common
        elif key:
            (options if is_open else common).setdefault(key, value or "true")
        if delimiter in ("(", ")"):
            is_open = delimiter == "("
    for configuration in found:
        configuration.options = common | configuration.options
    return found


def write_caliper_outputs(profile: Profile, show: Callable[[str, str], None]) -> list[str]:
    """Write the outputs that the program requested from Caliper. Return remarks, one per line.

    Files are written to the requested paths, unnamed `.cali` files next to the profile. `show` is called with
    a text and its stream, `stdout` or `stderr`. Failures become remarks.
    """
    metadata = run_information(profile.data).get("metadata") or {}
    requested = metadata.get(_KEY) if isinstance(metadata, Mapping) else None
    remarks = []
    for configuration in parse_configuration(requested) if isinstance(requested, str) else []:
        try:
            remarks += _write(profile, configuration, show)
        except HaloscopeError as error:
            remarks.append(str(error))
    return remarks


def _unquote(word: str) -> str:
    """Return a word without the quotation marks and backslashes that protect it."""
    return re.sub(r'\\(.)|"', lambda match: match.group(1) or "", word, flags=re.DOTALL).strip()


def _write(profile: Profile, configuration: Configuration, show: Callable[[str, str], None]) -> list[str]:
    if configuration.name in _REPORTS:
        make = make_runtime_report if configuration.name == "runtime-report" else make_mpi_report
        return _write_report(make(profile, configuration.has("comm.stats")), configuration, show)
    if configuration.name in _FILES:
        return _write_file(profile, configuration)
    return [
        f"caliper.config: {configuration.name} is not supported; supported: {', '.join(_REPORTS + _FILES)}"
    ]


def _write_report(text: str, configuration: Configuration, show: Callable[[str, str], None]) -> list[str]:
    output = configuration.options.get("output", "stderr")
    if output in ("stdout", "stderr"):
        show(text, output)
        return []
    try:
        Path(output).write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{output}: {error.strerror}; the {configuration.name} was not written") from None
    return [f"{output}: {configuration.name}, as configured for Caliper"]


def _write_file(profile: Profile, configuration: Configuration) -> list[str]:
    form = configuration.options.get("output.format", "cali")
    output = configuration.options.get("output", "")
    if form not in ("cali", "hatchet") or output in ("stdout", "stderr"):
        where = f"output={output}" if output in ("stdout", "stderr") else f"output.format={form}"
        return [
            f"caliper.config: {configuration.name} with {where} is not supported; give a file with the suffix"
            " .cali"
        ]
    target = Path(output) if output else profile.path.with_suffix(".cali")
    folder = configuration.options.get("outdir")
    target = Path(folder) / target if folder else target
    records = write_cali(
        profile,
        target,
        communication=configuration.has("comm.stats"),
        functions=configuration.has("profile.mpi"),
    )
    return [f"{target}: {noun_text(records, 'record')}, as configured for Caliper"]

"""What a program, or `CALI_CONFIG`, asked Caliper for: `spot(output=F.cali,comm.stats),runtime-report`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from haloscope.base.errors import HaloscopeError, OutputError
from haloscope.explain.caliper.cali_writer import write_cali
from haloscope.explain.caliper.caliper_report import mpi_report, runtime_report
from haloscope.profile import Profile
from haloscope.profile.tables import run_information

__all__ = ["Configuration", "as_caliper", "parse_configuration"]

_KEY = "caliper.config"
_FILES = ("spot", "runtime-profile", "hatchet-region-profile")
_REPORTS = ("runtime-report", "mpi-report")
# Words that are no options of another configuration.
_OTHERS = frozenset(
    """alloc-report callpath-sample-report cuda-activity-profile cuda-activity-report event-trace
    hatchet-sample-profile io-report kernel-report loop-report memory-report openmp-report
    rocm-activity-report sample-profile sample-report sampling-report""".split()
)


@dataclass
class Configuration:
    """One thing to write, and its options; one without a value has `true`."""

    name: str
    options: dict[str, str] = field(default_factory=dict)

    def has(self, option: str) -> bool:
        """Return whether an option is switched on."""
        return self.options.get(option, "false").lower() in ("true", "t", "1", "yes", "on")


def parse_configuration(text: str) -> list[Configuration]:
    """Return the configurations in Caliper's text.

    Options outside of parentheses are those of all configurations, where these do not say otherwise; of two
    the first counts. Texts that nobody can read give what could be read of them.
    """
    found: list[Configuration] = []
    common: dict[str, str] = {}
    options, opened = common, False
    for word, delimiter in re.findall(r'((?:\\.|"(?:\\.|[^"\\])*"|[^,()\\"])*)([,()]|$)', text, re.DOTALL):
        key, _, value = (_plain(part) for part in word.partition("="))
        if key and not opened and key in (*_FILES, *_REPORTS, *_OTHERS):
            found.append(Configuration(key))
            options = found[-1].options if delimiter == "(" else common
        elif key:
            (options if opened else common).setdefault(key, value or "true")
        if delimiter in ("(", ")"):
            opened = delimiter == "("
    for configuration in found:
        configuration.options = common | configuration.options
    return found


def as_caliper(profile: Profile, show: Callable[[str, str], None]) -> list[str]:
    """Write what the profile's program asked Caliper for. Return remarks, a line each.

    Files are written where they are asked for; `.cali` without a name beside the profile. `show` gets a text
    and `stdout` or `stderr`, where it is to be shown. What cannot be written is a remark.
    """
    metadata = run_information(profile.data).get("metadata") or {}
    asked = metadata.get(_KEY) if isinstance(metadata, Mapping) else None
    remarks = []
    for configuration in parse_configuration(asked) if isinstance(asked, str) else []:
        try:
            remarks += _write(profile, configuration, show)
        except HaloscopeError as error:
            remarks.append(str(error))
    return remarks


def _plain(word: str) -> str:
    """Return a word without the quotation marks and backslashes that protect it."""
    return re.sub(r'\\(.)|"', lambda match: match.group(1) or "", word, flags=re.DOTALL).strip()


def _write(profile: Profile, configuration: Configuration, show: Callable[[str, str], None]) -> list[str]:
    if configuration.name in _REPORTS:
        make = runtime_report if configuration.name == "runtime-report" else mpi_report
        return _report(make(profile, configuration.has("comm.stats")), configuration, show)
    if configuration.name in _FILES:
        return _file(profile, configuration)
    return [f"caliper.config: {configuration.name} is not written; there are {', '.join(_REPORTS + _FILES)}"]


def _report(text: str, configuration: Configuration, show: Callable[[str, str], None]) -> list[str]:
    output = configuration.options.get("output", "stderr")
    if output in ("stdout", "stderr"):
        show(text, output)
        return []
    try:
        Path(output).write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{output}: {error.strerror}; the {configuration.name} was not written") from None
    return [f"{output}: {configuration.name}, as Caliper was asked for"]


def _file(profile: Profile, configuration: Configuration) -> list[str]:
    form = configuration.options.get("output.format", "cali")
    output = configuration.options.get("output", "")
    if form not in ("cali", "hatchet") or output in ("stdout", "stderr"):
        where = f"output={output}" if output in ("stdout", "stderr") else f"output.format={form}"
        return [f"caliper.config: {configuration.name} with {where} is not written; name a file.cali"]
    target = Path(output) if output else profile.path.with_suffix(".cali")
    folder = configuration.options.get("outdir")
    target = Path(folder) / target if folder else target
    records = write_cali(
        profile,
        target,
        communication=configuration.has("comm.stats"),
        functions=configuration.has("profile.mpi"),
    )
    return [f"{target}: {records} records, as Caliper was asked for"]

"""Findings for a page: with commands to copy, and the rules that found nothing."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from haloscope.base.errors import printable, without_folders
from haloscope.explain.findings import RULES, Finding, describe_silence, findings, show_command
from haloscope.profile import Profile

# How launchers bind each rank to a core.
_BINDING = {"mpiexec": "--bind-to core", "mpirun": "--bind-to core", "srun": "--cpu-bind=cores"}


def make_findings(profile: Profile, info: Mapping[str, Any]) -> dict[str, Any]:
    """Return the findings, each with the index of its region, and the number of rules without any."""
    indices = dict(zip(profile.regions.full_names, profile.regions.order.tolist(), strict=True))
    found = findings(profile)
    names = {finding.rule for finding in found}
    return {
        "findings": [
            {
                **finding.record(),
                "sentence": printable(finding.sentence),
                "remedy": printable(finding.remedy),
                "place": indices.get(finding.region or ""),
                "commands": list_commands(finding, Path(profile.path.name), info),
                "about": _describe_rule(finding.rule),
            }
            for finding in found
        ],
        "silence": printable(describe_silence(profile)),
        "rules": {"all": len(RULES), "silent": sum(names.isdisjoint(rule.names) for rule in RULES)},
    }


def list_commands(finding: Finding, path: Path, info: Mapping[str, Any]) -> list[str]:
    """Return the commands of a finding's remedy, then the one that shows its evidence."""
    name = shlex.quote(str(path))
    known = {
        "haloscope bench noise": "haloscope bench noise",
        "haloscope hang": "haloscope hang",
        "haloscope place": f"haloscope place {name}",
        "haloscope tune": f"haloscope tune {name} -o rules.conf",
    }
    commands = [command for mentioned, command in known.items() if mentioned in finding.remedy]
    command = info.get("command") or ""
    launcher, _, rest = command.partition(" ")
    option = _BINDING.get(launcher)
    # A page is sent to others, so it has no command with an absolute path.
    if option and option in finding.remedy and without_folders(command) == command:
        commands.append(f"haloscope run -- {launcher} {option} {rest}")
    return [*map(printable, commands), show_command(finding, path)]


def _describe_rule(name: str) -> str:
    (rule,) = (rule for rule in RULES if name in rule.names)
    return f"{rule.finds[0].upper()}{rule.finds[1:]}. Condition: {rule.threshold}."

"""Candidate remedies of a run, those first that may remove what `findings` names as the cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from haloscope.base.launch import LaunchCommand
from haloscope.base.objects import Abi
from haloscope.explain.findings import Finding
from haloscope.hide.improve.collective_remedy import tune_collectives
from haloscope.hide.improve.launch_remedies import drop_settings, use_cores_otherwise
from haloscope.hide.improve.memory_remedies import improve_memory
from haloscope.hide.improve.message_remedies import improve_messages
from haloscope.hide.improve.remedy import Remedy
from haloscope.hide.improve.situation import Situation

if TYPE_CHECKING:
    from haloscope.profile import Profile

_PASSED_ON = ("OMPI_MCA_", "PRTE_MCA_", "PMIX_MCA_")  # variables that Open MPI's launcher gives to all nodes


def list_remedies(
    profile: Profile,
    launch: LaunchCommand,
    abi: Abi,
    environment: Mapping[str, str],
    *,
    found: Sequence[Finding] = (),
    taken: int = 0,
    directory: Path | None = None,
) -> list[Remedy]:
    """Return the candidates, each with the reason why it may help.

    Args:
        profile: Of the unchanged run.
        launch: The launch command.
        abi: Binary interface of its MPI.
        environment: Of the launch.
        found: Findings of the profile. What may remove the first of them comes first.
        taken: Bytes that the processes of the run took from the system.
        directory: For the rules of `tune`, visible on all nodes. None: collectives are not measured.
    """
    run = Situation(profile, launch, abi, environment, taken)
    messages, collectives = improve_messages(run), tune_collectives(run, directory)
    largest = (messages, collectives) if run.share("p2p") >= run.share("coll") else (collectives, messages)
    remedies = [*drop_settings(run), *use_cores_otherwise(run), *chain(*largest), *improve_memory(run)]
    remedies = [_pass_on(run, one.replacing(launch.options, environment)) for one in remedies]
    return _order([one for one in remedies if one.changes], found)


def _pass_on(run: Situation, remedy: Remedy) -> Remedy:
    """Let Open MPI's launcher give other variables than its own to ranks on other nodes."""
    if run.abi != "openmpi" or not run.has_nodes or run.launch.kind == "srun":
        return remedy
    names = [name for name, value in remedy.variables.items() if value and not name.startswith(_PASSED_ON)]
    return replace(remedy, options=(*remedy.options, *(word for name in names for word in ("-x", name))))


def _order(remedies: Sequence[Remedy], found: Sequence[Finding]) -> list[Remedy]:
    """Return remedies of the largest findings first, with the rule among their reasons."""
    ranks = {finding.rule: index for index, finding in reversed(list(enumerate(found)))}
    ordered: list[tuple[int, Remedy]] = []
    for remedy in remedies:
        rule = min((rule for rule in remedy.rules if rule in ranks), key=ranks.__getitem__, default=None)
        if rule is None:
            ordered.append((len(found), remedy))
        else:
            ordered.append((ranks[rule], replace(remedy, why=f"{remedy.why}; findings: {rule}")))
    return [remedy for _, remedy in sorted(ordered, key=lambda item: item[0])]

"""Manual pages and completion files, as the build of a wheel makes them (tools/manual.py)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from manual import commands, main
from reference import options_of
from support.processes import run_program


@pytest.fixture(scope="module")
def share(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("share")
    main(directory, "1.2.3")
    return directory


def test_every_command_has_a_page_with_its_options(share: Path) -> None:
    pages = {file.name: file.read_text() for file in (share / "man/man1").iterdir()}
    assert len(pages) == len(list(commands()))
    for words, command in commands():
        text = pages[f"{'-'.join(['haloscope', *words.split()])}.1"]
        assert "Haloscope 1.2.3" in text.splitlines()[0]
        assert text.isascii()
        for option in options_of(command):
            assert option.opts[-1].replace("-", "\\-") in text, words
    assert "HALOSCOPE_MEMORY" in pages["haloscope-run.1"]
    assert ".SH EXAMPLES\n.nf\nhaloscope run" in pages["haloscope-run.1"]


def test_bash_completes_with_the_file(share: Path, haloscope: Path) -> None:
    script = f"""
      source {share}/bash-completion/completions/haloscope
      COMP_WORDS=(haloscope regi) COMP_CWORD=1
      _haloscope_completion haloscope
      echo "${{COMPREPLY[@]}}"
    """
    path = f"{haloscope.parent}:{os.environ['PATH']}"
    done = run_program(["bash", "-c", script], env={**os.environ, "PATH": path})
    assert (done.stdout, done.stderr) == ("regimes\n", "")
    assert (share / "zsh/site-functions/_haloscope").read_text().startswith("#compdef haloscope\n")
    assert "complete " in (share / "fish/vendor_completions.d/haloscope.fish").read_text()

"""Texts of other tools with a byte or three replaced, and what must come of them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from hypothesis import strategies

from haloscope import HaloscopeError, explain


def damaged(text: str) -> strategies.SearchStrategy[bytes]:
    """Return strategies for a text in which three bytes are replaced, or bytes are added at its end."""
    whole = text.encode()

    def cut(at: int, junk: bytes) -> bytes:
        return whole[:at] + junk + whole[at + 3 :]

    return strategies.builds(cut, strategies.integers(0, len(whole)), strategies.binary(max_size=8))


def check_read_or_refused(content: bytes, path: Path) -> None:
    """Assert that a file opens with all tables and a summary, or is refused in one line."""
    path.write_bytes(content)
    with suppress(HaloscopeError):  # one line, by its class
        profile = explain.open(path)
        for name in explain.TABLES:
            profile.table(name)
        assert explain.summary(profile)

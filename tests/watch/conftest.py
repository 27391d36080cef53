"""Fixtures of these tests."""

from __future__ import annotations

from support.mounting import mount

__all__ = ["mount"]  # pytest finds it by name

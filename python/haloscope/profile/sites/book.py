"""The call sites of a profile: the recorder's counts, and their source locations."""

from __future__ import annotations

from functools import cached_property

import polars as pl

from haloscope.profile.sites.call_stacks import SourceLocation, StackLocations, addresses_in, site_of
from haloscope.profile.sites.symbols import (
    Address,
    Functions,
    Module,
    Symbols,
    modules_of,
    read_kept_symbols,
    resolve_addresses,
)
from haloscope.profile.sites.system_libraries import is_library
from haloscope.profile.store.profile_data import ProfileData


class SiteBook:
    """The call sites, read on demand; so are the program's files."""

    def __init__(self, profile: ProfileData) -> None:
        """Take the profile to read from."""
        self._profile = profile

    @cached_property
    def rows(self) -> pl.DataFrame:
        """The table of the file: region, stack, call and sums."""
        return self._profile.frame("sites")

    @cached_property
    def modules(self) -> dict[str, Module]:
        """The files of code in the stacks, by their key."""
        return modules_of(self._profile)

    @cached_property
    def stored(self) -> Functions:
        """The symbols that were resolved when the profile was made."""
        return read_kept_symbols(self._profile)

    @cached_property
    def symbols(self) -> Symbols:
        """The symbols of all addresses, from the profile or else from the modules' files."""
        known = {module for module, _ in self.stored}
        left = [address for address in sorted(self.addresses) if address[0] not in known]
        found = resolve_addresses(self.modules, left, self._read_end()) if left else Symbols()
        return Symbols({**self.stored, **found.functions}, found.remarks)

    @cached_property
    def remarks(self) -> list[str]:
        """A line per file whose sites are partly unknown, with the reason."""
        asked = {stack[site_of(stack)].module for stack in self.places.values()}
        known = {key: module for key, module in self.modules.items() if key in self.symbols.remarks}
        return [
            f"{module.path}: {self.symbols.remarks[key]}"
            for key, module in known.items()
            if key in asked and not is_library(module.path, module.is_program)
        ]

    @cached_property
    def addresses(self) -> set[Address]:
        """The return addresses in all stacks."""
        return addresses_in(self.rows["stack"].unique())

    @cached_property
    def places(self) -> dict[str, list[SourceLocation]]:
        """The locations of each stack, the innermost first."""
        stacks = self.rows["stack"].unique().to_list()
        known = StackLocations(self.modules, self.symbols)
        return {stack: known.locate(stack) for stack in stacks}

    def _read_end(self) -> float | None:
        start, duration = (self._profile.info.get(key) for key in ("start", "duration"))
        if isinstance(start, int | float) and isinstance(duration, int | float):
            return start + duration
        return None

"""Export: profiles and traces in the formats of other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.explain.export.aliases import Aliases as Aliases
    from haloscope.explain.export.aliases import AnonymousProfile as AnonymousProfile
    from haloscope.explain.export.exporter import export as export
    from haloscope.explain.export.exporter import export_with_remarks as export_with_remarks
    from haloscope.explain.export.exports import EXPORTS as EXPORTS
    from haloscope.explain.export.exports import Format as Format
    from haloscope.explain.export.traced import Profiles as Profiles
    from haloscope.explain.export.traced import TracedProfile as TracedProfile

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, __file__)

"""Placement: assignment of ranks to nodes from their messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.predict.placement.nodes import Nodes as Nodes
    from haloscope.predict.placement.nodes import read_nodes as read_nodes
    from haloscope.predict.placement.placed_files import list_usage as list_usage
    from haloscope.predict.placement.placed_files import make_mapping_text as make_mapping_text
    from haloscope.predict.placement.placed_files import write_placement as write_placement
    from haloscope.predict.placement.proposal import Proposal as Proposal
    from haloscope.predict.placement.proposal import propose as propose
    from haloscope.predict.placement.proposal import propose_placement as propose_placement
    from haloscope.predict.placement.traffic import Traffic as Traffic

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, __file__)

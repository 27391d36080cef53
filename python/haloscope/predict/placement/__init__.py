"""Placement: which rank should run on which node, from who sends what to whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.predict.placement.nodes import Nodes, read_nodes
    from haloscope.predict.placement.placed_files import mapping_text, usage, write_placement
    from haloscope.predict.placement.proposal import Proposal, propose
    from haloscope.predict.placement.traffic import Traffic

__all__ = [
    "Nodes",
    "Proposal",
    "Traffic",
    "mapping_text",
    "propose",
    "read_nodes",
    "usage",
    "write_placement",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "Nodes": "_nodes",
            "Proposal": "_proposal",
            "Traffic": "_traffic",
            "mapping_text": "_placed_files",
            "propose": "_proposal",
            "read_nodes": "_nodes",
            "usage": "_placed_files",
            "write_placement": "_placed_files",
        },
    )

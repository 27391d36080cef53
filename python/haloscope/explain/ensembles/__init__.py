"""Ensembles: tables of many runs, figures of papers on scaling, and scaling models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.explain.ensembles.dominant_regions import dominance as dominance
    from haloscope.explain.ensembles.ensemble import Ensemble as Ensemble
    from haloscope.explain.ensembles.ensemble import open_all as open_all
    from haloscope.explain.ensembles.ensemble_page import PageHead as PageHead
    from haloscope.explain.ensembles.ensemble_page import write_ensemble_page as write_ensemble_page
    from haloscope.explain.ensembles.extrapolation import Beyond as Beyond
    from haloscope.explain.ensembles.extrapolation import extrapolate_laws as extrapolate_laws
    from haloscope.explain.ensembles.growth import laws as laws
    from haloscope.explain.ensembles.message_maps import time_maps as time_maps
    from haloscope.explain.ensembles.message_sizes import Speeds as Speeds
    from haloscope.explain.ensembles.message_sizes import size_classes as size_classes
    from haloscope.explain.ensembles.message_sizes import speed_classes as speed_classes
    from haloscope.explain.ensembles.message_speeds import time_messages as time_messages
    from haloscope.explain.ensembles.quantities import QUANTITIES as QUANTITIES
    from haloscope.explain.ensembles.region_families import families as families
    from haloscope.explain.ensembles.region_families import levels as levels
    from haloscope.explain.ensembles.scaling import efficiency as efficiency
    from haloscope.explain.ensembles.scaling import over as over
    from haloscope.explain.ensembles.scaling import shares as shares
    from haloscope.explain.ensembles.scaling import totals as totals
    from haloscope.explain.ensembles.scaling_laws import FEWEST_POINTS as FEWEST_POINTS
    from haloscope.explain.ensembles.view import EnsembleView as EnsembleView

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, __file__)

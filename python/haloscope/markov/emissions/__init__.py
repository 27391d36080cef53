"""How long an instance lasts in each regime: the families of distributions, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.markov.emissions.emission import Emission as Emission
    from haloscope.markov.emissions.emission import Gaussian as Gaussian
    from haloscope.markov.emissions.emission import LogNormal as LogNormal
    from haloscope.markov.emissions.families import FAMILIES as FAMILIES
    from haloscope.markov.emissions.families import family as family
    from haloscope.markov.emissions.gamma import Gamma as Gamma
    from haloscope.markov.emissions.student import Student as Student

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, __file__)

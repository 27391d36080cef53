"""Studies: reproduction of published results by one command, with a page that compares them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.reproduce.study.judging import Verdicts as Verdicts
    from haloscope.reproduce.study.judging import judge_study as judge_study
    from haloscope.reproduce.study.originals import check_originals as check_originals
    from haloscope.reproduce.study.originals import find_originals as find_originals
    from haloscope.reproduce.study.outcomes import PartOutcome as PartOutcome
    from haloscope.reproduce.study.outcomes import run_study as run_study
    from haloscope.reproduce.study.reproduced import Reproduced as Reproduced
    from haloscope.reproduce.study.reproduced import Tested as Tested
    from haloscope.reproduce.study.reproduced import write_reproduced as write_reproduced
    from haloscope.reproduce.study.study_figures import write_figures as write_figures
    from haloscope.reproduce.study.study_folder import Part as Part
    from haloscope.reproduce.study.study_folder import Study as Study
    from haloscope.reproduce.study.study_folder import read_study as read_study
    from haloscope.reproduce.study.study_folder import studies as studies
    from haloscope.reproduce.study.study_page import write_study_page as write_study_page

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, __file__)

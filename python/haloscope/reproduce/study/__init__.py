"""Studies: what a paper published, brought back by one command and shown beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.reproduce.study.outcomes import Outcome, run_study
    from haloscope.reproduce.study.study_folder import Part, Study, read_study, studies
    from haloscope.reproduce.study.study_figures import write_figures
    from haloscope.reproduce.study.study_page import write_study_page

__all__ = [
    "Outcome",
    "Part",
    "Study",
    "read_study",
    "run_study",
    "studies",
    "write_figures",
    "write_study_page",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "Outcome": "_outcomes",
            "Part": "_study",
            "Study": "_study",
            "read_study": "_study",
            "run_study": "_outcomes",
            "studies": "_study",
            "write_figures": "_study_figures",
            "write_study_page": "_study_page",
        },
    )

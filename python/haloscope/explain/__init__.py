"""Explain: findings, comparisons, checks, reports and exports of profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.explain.caliper.cali_writer import write_cali as write_cali
    from haloscope.explain.caliper.caliper_config import write_caliper_outputs as write_caliper_outputs
    from haloscope.explain.ensembles import Ensemble as Ensemble
    from haloscope.explain.ensembles import open_all as open_all
    from haloscope.explain.reporting.report_page import report as report
    from haloscope.explain.reporting.text_summary import summary as summary
    from haloscope.explain.runs.commit_page import make_badge as make_badge
    from haloscope.explain.runs.commit_page import make_commit_page as make_commit_page
    from haloscope.explain.runs.commits import COMMITS_TABLE as COMMITS_TABLE
    from haloscope.explain.runs.commits import commits as commits
    from haloscope.explain.runs.kept_symbols import keep_symbols as keep_symbols
    from haloscope.explain.runs.run_history import COSTS as COSTS
    from haloscope.explain.runs.run_history import HISTORY as HISTORY
    from haloscope.explain.runs.run_history import HISTORY_TABLE as HISTORY_TABLE
    from haloscope.explain.runs.run_history import History as History
    from haloscope.explain.runs.run_history import costs as costs
    from haloscope.explain.runs.run_history import history as history
    from haloscope.explain.runs.run_history import read_history as read_history
    from haloscope.explain.runs.suspects import describe_suspect_hosts as describe_suspect_hosts
    from haloscope.explain.runs.suspects import find_suspect_hosts as find_suspect_hosts
    from haloscope.markov import RegimeModel as RegimeModel
    from haloscope.profile import Profile as Profile
    from haloscope.profile import open as open
    from haloscope.profile.kernels import native_library as native_library
    from haloscope.profile.page import page as page
    from haloscope.profile.page import write_page as write_page
    from haloscope.profile.shown import FORMATS as FORMATS
    from haloscope.profile.shown import render as render
    from haloscope.profile.store import read_info as read_info
    from haloscope.profile.tables import TABLES as TABLES
    from haloscope.profile.tables import Instances as Instances

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, __file__)

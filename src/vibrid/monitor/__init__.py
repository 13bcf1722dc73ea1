"""Monitoring: a structure watched for years, window by window; alarms, and where it changed."""

from vibrid.monitor.baseline import Baseline, learn
from vibrid.monitor.chart import Chart, ChartReading
from vibrid.monitor.event_fits import DriftEstimate, EventEstimate, event_series
from vibrid.monitor.event_stream import EventWatch
from vibrid.monitor.followed import FollowedModes, FollowedParameters, frequency_sensitivity
from vibrid.monitor.location import Change, Location, change_since, locate
from vibrid.monitor.plan import MonitoringPlan, detectable, frequency_variance
from vibrid.monitor.series import Series
from vibrid.monitor.state import MonitorState, WindowEstimate
from vibrid.monitor.tracker import Tracker, Watch, WatchSettings, watch
from vibrid.monitor.windows import window_of

__all__ = [
    "Baseline",
    "Change",
    "Chart",
    "ChartReading",
    "DriftEstimate",
    "EventEstimate",
    "EventWatch",
    "FollowedModes",
    "FollowedParameters",
    "Location",
    "MonitorState",
    "MonitoringPlan",
    "Series",
    "Tracker",
    "Watch",
    "WatchSettings",
    "WindowEstimate",
    "change_since",
    "detectable",
    "event_series",
    "frequency_sensitivity",
    "frequency_variance",
    "learn",
    "locate",
    "watch",
    "window_of",
]

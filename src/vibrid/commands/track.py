"""`vibrid track`: a structure watched for years, from files that are added to a folder."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vibrid.commands.options import Json
from vibrid.commands.reading import listed, read_files, with_reading
from vibrid.commands.trust import Trust, consent

if TYPE_CHECKING:
    from collections.abc import Callable

    from vibrid.monitor import MonitoringPlan, MonitorState, Tracker, Watch, WatchSettings
    from vibrid.monitor.event_fits import EventEstimate
    from vibrid.monitor.event_stream import EventWatch
    from vibrid.records.record import Record

Source = Annotated[
    Path | None, typer.Argument(metavar="[FOLDER]", help="Folder to which files are added.", show_default=False)
]
StateFolder = Annotated[
    Path | None, typer.Option("--state", help="Folder of the state; gone on with where it is there.")
]
ProjectOption = Annotated[
    Path | None,
    typer.Option("--project", help="Project file: its unknowns are followed and located, else frequencies."),
]
Window = Annotated[float, typer.Option(help="Length of a window in s.")]
Training = Annotated[int, typer.Option(help="Windows of the training, in which the structure is sound.")]
Environment = Annotated[str | None, typer.Option(help="Channels of temperature and the like, by commas.")]
Channels = Annotated[str | None, typer.Option(help="Channels of motion, by commas; all that measure one by default.")]
References = Annotated[str | None, typer.Option(help="Reference channels of the modal analysis, by commas.")]
Highest = Annotated[float | None, typer.Option(help="Highest frequency of interest in Hz.")]
Order = Annotated[int | None, typer.Option(help="Highest order of the models.", show_default=False)]
Lags = Annotated[int | None, typer.Option(help="Block rows of the modal analysis.", show_default=False)]
Degree = Annotated[int, typer.Option(help="Degree of the regression on the environment.")]
FalseAlarms = Annotated[float, typer.Option(help="Probability of any false alarm within the horizon.")]
Horizon = Annotated[int, typer.Option(help="Windows of the horizon; 8766 is a year of hours.")]
ModelError = Annotated[float, typer.Option(help="Share by which a right model may miss a frequency.")]
Begin = Annotated[str | None, typer.Option(help="UTC at which the first file begins, if files have no clock.")]
Every = Annotated[float | None, typer.Option("--every", help="Look for new files every so many seconds, until Ctrl-C.")]
PlanOption = Annotated[
    bool, typer.Option("--plan", help="Only print what would be found, before any sensor is installed.")
]
Scatter = Annotated[float, typer.Option(help="Of --plan: share by which frequencies move after the regression.")]
Within = Annotated[int, typer.Option(help="Of --plan: windows within which a loss must be found.")]
ModesSeen = Annotated[int | None, typer.Option("--modes", help="Of --plan: how many modes will be seen.")]
EventsOption = Annotated[
    Path | None,
    typer.Option(
        "--events", help="Project file (may be the same): events in the stream are identified with it.",
        show_default=False,
    ),
]  # fmt: skip
DriftLimit = Annotated[
    str | None, typer.Option(help="Of --events: drift of a storey, such as '15 mm'; was it passed?", show_default=False)
]
EventRatio = Annotated[float, typer.Option(help="Of --events: ratio to the usual mean square that begins one.")]
Report = Annotated[Path | None, typer.Option(help="Write the report (.html).", show_default=False)]


@with_reading
def track(
    source: Source = None, state: StateFolder = None, project: ProjectOption = None, window: Window = 3600.0,
    training: Training = 500, environment: Environment = None, channels: Channels = None,
    references: References = None, highest: Highest = None, order: Order = None, lags: Lags = None,
    degree: Degree = 1, false_alarms: FalseAlarms = 0.1, horizon: Horizon = 8766, model_error: ModelError = 0.002,
    begin: Begin = None, every: Every = None, plan: PlanOption = False, scatter: Scatter = 0.001,
    within: Within = 72, modes: ModesSeen = None, events: EventsOption = None, drift_limit: DriftLimit = None,
    event_ratio: EventRatio = 20.0, report: Report = None, as_json: Json = False, trust: Trust = False,
    reading: Any = None,
) -> None:  # fmt: skip
    """Watch a structure: every window of the files in a folder becomes modes or parameters with bands, and a change
    raises an alarm.

    The command may be killed at any moment and run again: it goes on where it was. Without FOLDER it reports on a
    state.

    Example: vibrid track records/ --state tower-state --project tower.toml --environment temperature --highest 15
    """
    from vibrid.commands import output
    from vibrid.commands.delivery import Delivery
    from vibrid.core.errors import InputError
    from vibrid.monitor import Chart, MonitorState, WatchSettings

    output.check_ending(report, (".html", ".htm"))
    chart = Chart(false_alarms, horizon)
    modal = {"references": listed(references), "highest": highest, "order": order, "lags": lags}
    settings = WatchSettings(
        window, training, None if channels is None else tuple(listed(channels) or ()),
        tuple(listed(environment) or ()), {k: v for k, v in modal.items() if v is not None}, degree, chart,
    )  # fmt: skip
    loaded = None
    if project is not None:
        from vibrid.project import load_project

        loaded = load_project(project, trust=consent(project, trust))
        if not loaded.unknown:
            raise InputError(f"'{project}' names no unknowns: [[unknown]] says which parameters are followed.")
    if plan:
        if loaded is None:
            raise InputError("--plan needs --project: the structure and its unknowns.")
        made = _planned(loaded, settings, scatter, within, modes)
        with Delivery(quiet=as_json) as deliver:
            deliver.answer(lambda: output.print_json(_plan_table(made)) if as_json else typer.echo(str(made)))
        return
    if state is None:
        raise InputError("--state names the folder in which the windows are kept.")
    if events is None and drift_limit is not None:
        raise InputError("--drift-limit is of events: name the project file of --events too.")
    looked = None
    if events is not None:
        from vibrid.commands.track_events import event_watch

        looked = event_watch(events, drift_limit, event_ratio, trust)
    with MonitorState(state, readonly=source is None) as kept:

        def page(found: Watch, again: float | None = None) -> None:
            from vibrid.report.monitor_report import write_monitor_report

            title = loaded.title if loaded is not None and loaded.title else "Monitoring"
            structure = None if loaded is None else loaded.structure
            write_monitor_report(found, report, kept, title=title, structure=structure, again=again)

        if source is None:
            found = _known(kept, loaded, model_error)
        else:
            live = None if report is None or every is None else lambda found: page(found, every)
            tracker = _tracker(kept, source, settings, loaded, model_error, begin, reading, looked)
            found = _tracked(tracker, every, as_json, live)
        alarms, seen = kept.alarms(), kept.events()
        with Delivery(quiet=as_json) as deliver:
            deliver.answer(
                lambda: output.print_json(_answer(found, alarms, seen)) if as_json else _show(found, alarms, seen)
            )
            if report is not None and (len(found.series) or seen):
                deliver.file(report, lambda: page(found))


def _tracker(kept: MonitorState, source: Path, settings: WatchSettings, loaded, error: float, begin, reading,
             events: EventWatch | None) -> Tracker:  # fmt: skip
    from vibrid.core.errors import InputError
    from vibrid.monitor import FollowedParameters, Tracker
    from vibrid.records.clock import as_utc

    if not source.is_dir():
        raise InputError(_no_folder(source))
    followed = None if loaded is None else FollowedParameters(loaded.structure, loaded.unknown, error)

    def read(path: Path) -> Record:
        records = read_files(path, reading)
        if len(records) != 1:
            raise InputError(f"'{path.name}' holds {len(records)} records of different rates: one is wanted.")
        return _placed(records[0], loaded)

    return Tracker(
        kept, source, read, settings, followed, None if begin is None else as_utc(begin),
        tell=lambda words: typer.echo(words, err=True), events=events,
    )  # fmt: skip


def _no_folder(source: Path) -> str:
    """A sentence on a source that is a stream, a file, or not there."""
    words = f"'{source}' is no folder: `vibrid track` follows a folder to which files are added"
    if source.parts[0].lower() in ("seedlink:", "mqtt:", "mqtts:"):
        address = source.as_posix().replace(":/", "://", 1)
        return (
            f"'{address}' is a stream: `vibrid record receive {address} --to records` writes it as files, and `vibrid "
            "track records --every 10`, with the other options as they are, follows these. Let both run."
        )
    return f"{words}; name that of the file, '{source.parent}'." if source.is_file() else f"{words}."


def _tracked(tracker: Tracker, every: float | None, quiet: bool, live: Callable[[Watch], None] | None) -> Watch:
    """Take in what is there, and with `every` what comes, until Ctrl-C; `live` is called after each look."""
    from vibrid.commands.progress import terminal_progress

    with terminal_progress(quiet=quiet) as progress:
        tracker.look(final=every is None, progress=progress)
        found = tracker.watch()
        shown = None
        try:
            while every is not None:
                now = (len(found.series), len(tracker.state.events()))
                if live is not None and any(now) and now != shown:
                    live(found)
                    shown = now
                time.sleep(max(every, 0.05))
                if tracker.look(progress=progress):
                    found = tracker.watch()
        except KeyboardInterrupt:
            typer.echo("Ended. The same command goes on.", err=True)
    return found


def _placed(record: Record, loaded) -> Record:
    """The record with quantity and place of the project's sensors; channels that are no sensors stay."""
    if loaded is None or loaded.sensors is None:
        return record
    from vibrid.core.errors import VibridError
    from vibrid.identification.problem_data import channel_of

    labels = {}
    for sensor in loaded.sensors:
        try:
            labels[channel_of(record, sensor)] = {"quantity": sensor.quantity, "location": sensor.place}
        except VibridError:
            continue  # a sensor that was taken away: the window says so
    return record.relabel(labels) if labels else record


def _known(kept: MonitorState, loaded, error: float) -> Watch:
    """What a state says, with the settings it was begun with."""
    import numpy as np

    from vibrid.core.errors import InputError
    from vibrid.monitor import Chart, FollowedParameters, WatchSettings, watch

    about = kept.about
    if about("window") is None:
        raise InputError("The state is empty: name the folder of the files first.")
    chart = Chart(about("false_alarms"), about("horizon"), tuple(about("spans")))
    settings = WatchSettings(
        about("window"), about("training"), None, tuple(about("environment")), {}, about("degree"), chart
    )
    names = tuple(about("quantities") or ())
    g, theta = np.zeros((len(names), 0)), ()
    if loaded is not None:
        g, theta = FollowedParameters(loaded.structure, loaded.unknown, error).sensitivity()
    elif about("reference") is None:  # parameters
        g, theta = np.eye(len(names)), names
    return watch(kept.series(), settings, g, theta)


def _planned(loaded, settings: WatchSettings, scatter: float, within: int, count: int | None) -> MonitoringPlan:
    import numpy as np

    from vibrid.monitor import detectable, frequency_sensitivity, frequency_variance
    from vibrid.structures.modes import modes

    computed = modes(loaded.structure)
    seen = min(count or len(computed), len(computed))
    sensitivity, names = frequency_sensitivity(loaded.structure, loaded.unknown, seen)
    ratios = np.where(computed.ratios[:seen] > 0, computed.ratios[:seen], 0.01)
    variance = frequency_variance(computed.frequencies[:seen], ratios, settings.window) + scatter**2
    regressors = 1 + settings.degree * len(settings.environment)
    return detectable(
        sensitivity, np.diag(variance), names, settings.chart, training=settings.training, windows=within,
        regressors=regressors,
    )  # fmt: skip


def _plan_table(plan: MonitoringPlan) -> dict[str, Any]:
    rows = [
        {
            "parameter": name,
            "smallest_loss": float(loss) if loss < 1 else None,
            "cannot_be_told_apart_from": list(others),
        }
        for name, loss, others in zip(plan.names, plan.losses, plan.together, strict=True)
    ]
    return {
        "probability": plan.probability,
        "windows": plan.windows,
        "false_alarms": plan.false_alarms,
        "horizon": plan.horizon,
        "parameters": rows,
    }


def _answer(found: Watch, alarms: list[dict[str, Any]], events: list[EventEstimate]) -> dict[str, Any]:
    series = found.series
    last = {}
    if len(series):
        last = {
            name: {"value": float(v) if v == v else None, "deviation": float(s) if s == s else None}
            for name, v, s in zip(series.names, series.values[-1], series.deviations[-1], strict=True)
        }
    return {
        "windows": len(series),
        "training": found.training,
        "trained": found.baseline is not None,
        "notes": list(found.notes),
        "last": last,
        "alarms": alarms,
        "events": [event.as_dict() for event in events],
    }


def _show(found: Watch, alarms: list[dict[str, Any]], events: list[EventEstimate]) -> None:
    series = found.series
    typer.echo(f"{len(series)} windows of {', '.join(series.names) or 'nothing yet'}")
    if found.baseline is None:
        typer.echo(f"training: {min(len(series), found.training)} of {found.training} windows")
    else:
        for note in found.notes:
            typer.echo(note)
    for event in events:
        typer.echo(str(event))
    for alarm in alarms:
        typer.echo(f"ALARM since the window of {alarm['window']}")
        for line in alarm["location"]:
            typer.echo(f"  {line}")
    if found.baseline is not None and not alarms:
        typer.echo("no alarm")

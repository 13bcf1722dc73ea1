"""`vibrid online`: parameters from samples as they arrive."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vibrid.commands.options import Json
from vibrid.commands.trust import Trust, consent

Project = Annotated[Path, typer.Argument(metavar="PROJECT.toml", help="Project file.", show_default=False)]
Source = Annotated[str, typer.Option("--from", help="A record file, udp://HOST:PORT, or - for lines on stdin.")]
MethodName = Annotated[str | None, typer.Option("--method", help="By default the project's, else online-masing.")]
Rate = Annotated[float | None, typer.Option(help="Samples per second; not needed for a file.", show_default=False)]
Speed = Annotated[str, typer.Option(help="Speed at which a file is replayed: full, real, or a factor such as 4.")]
Out = Annotated[Path | None, typer.Option(help="Record the run: .csv with time, estimates and deviations.")]
State = Annotated[Path | None, typer.Option("--state", help="Keep the state here (.npz), to resume from.")]
Resume = Annotated[bool, typer.Option("--resume", help="Resume from the file of --state.")]
Timeout = Annotated[float, typer.Option(help="Stop after this many seconds without a sample.")]
Wait = Annotated[
    float | None,
    typer.Option(help="Seconds to wait for the first sample, or inf; by default --timeout.", show_default=False),
]
Every = Annotated[int, typer.Option(help="Samples between recorded estimates.")]
Watch = Annotated[bool, typer.Option("--watch", help="Show the estimates live on a local page, with a stop button.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]


def online(
    project: Project,
    source: Source,
    method: MethodName = None,
    rate: Rate = None,
    speed: Speed = "full",
    out: Out = None,
    state: State = None,
    resume: Resume = False,
    timeout: Timeout = 10.0,
    wait: Wait = None,
    every: Every = 10,
    seed: Seed = 0,
    trust: Trust = False,
    watch: Watch = False,
    as_json: Json = False,
) -> None:
    """Identify while the test runs: reads samples, shows the parameters with ± 2σ, and saves its state.

    The columns are the project's excitation channels, then its sensors. Ctrl-C ends the run and saves it.

    Example: vibrid online damper.toml --from test.csv --speed real --out run.csv --state run.npz
    """
    from vibrid.commands.delivery import Delivery, quiet_stdout
    from vibrid.commands.online_channels import columns_of
    from vibrid.commands.online_run import OnlineSession
    from vibrid.commands.online_sources import Refusals, live_source
    from vibrid.commands.output import check_ending, print_json
    from vibrid.core.errors import InputError
    from vibrid.project import load_project
    from vibrid.studio.beside import shown_in_browser

    check_ending(out, (".csv", ".csv"))
    check_ending(state, (".npz", ".npz"))
    if resume and state is None:
        raise InputError("--resume needs --state FILE, the file to resume from.")
    if wait is not None and not wait > 0:
        raise InputError("--wait must be a positive number of seconds, or inf.")
    if not timeout > 0 or every < 1 or (rate is not None and not 0 < rate < float("inf")):
        raise InputError("--timeout and --rate must be positive, and --every at least 1.")
    loaded = load_project(project, consent(project, trust))
    columns, refused = columns_of(loaded), Refusals()
    samples = live_source(source, loaded, columns, rate, speed, timeout, refused, wait)
    session = OnlineSession(loaded, columns, samples, _method(loaded, method), seed, out, state, every)
    if resume:
        session.resume()
    with quiet_stdout(as_json), shown_in_browser("online", project, out, watch):
        ended = session.run()
    with Delivery(quiet=as_json) as deliver:
        if as_json:
            deliver.answer(lambda: print_json(session.content(ended, refused)))
        else:
            deliver.answer(lambda: typer.echo("\n".join(session.summary(ended, refused))))
        for message in session.problems.values():
            deliver.fail(message)


def _method(loaded, name: str | None):
    import vibrid as vb

    if name is None:
        return loaded.method or vb.OnlineMasing()
    chosen = vb.identification.METHODS[name]
    return loaded.method if type(loaded.method) is chosen else chosen()

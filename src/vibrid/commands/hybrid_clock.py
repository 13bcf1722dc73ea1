"""`vibrid hybrid clock`: whether this computer holds a rate in real time."""

from __future__ import annotations

from typing import Annotated

import typer

from vibrid.commands.hybrid_serve import Cores, LockMemory, Priority

Rate = Annotated[float, typer.Option(help="Steps per second.")]
Seconds = Annotated[float, typer.Option(help="How long to try.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def clock(
    rate: Rate = 1024.0,
    seconds: Seconds = 5.0,
    priority: Priority = None,
    core: Cores = None,
    lock_memory: LockMemory = False,
    json: Json = False,
) -> None:
    """Test whether this computer holds a rate: a friction damper is moved in real time and every step is timed.

    Example: vibrid hybrid clock --rate 1024 --priority 80 --core 1 --lock-memory
    """
    import math

    import numpy as np

    from vibrid.commands.delivery import quiet_stdout
    from vibrid.commands.output import print_json
    from vibrid.core.errors import InputError
    from vibrid.hybrid import DeviceSubstructure, LawDevice, RealTime, WallClock
    from vibrid.laws import LuGre

    if not (0 < rate <= 1e5 and 0 < seconds <= 3600):
        raise InputError("--rate must lie between 0 and 100 000 Hz, and --seconds between 0 and 3600.")
    with quiet_stdout(json):
        device = DeviceSubstructure(LawDevice(LuGre(2e7, 5e3, 4e4, 4e4, 4.6e4, 4.6e4, 0.02)), 1.0 / rate)
        ticks = WallClock(1.0 / rate, RealTime(priority, tuple(core or ()), lock_memory))
        rest = np.zeros(1)
        ticks.start()
        try:
            for k in range(math.ceil(rate * seconds)):
                ticks.wait()
                t = k / rate
                device.trial(np.array([0.01 * math.sin(6 * t)]), np.array([0.06 * math.cos(6 * t)]), rest, t)
                device.commit()
        except KeyboardInterrupt:
            pass
        finally:
            ticks.stop()
    report = ticks.report()
    print_json(report.as_dict()) if json else typer.echo(f"{report}")
    raise typer.Exit(0 if report.held else 1)

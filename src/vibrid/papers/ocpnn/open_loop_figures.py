"""Figures 9 to 12: loops and parameters of the law, predicted for recorded tests."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core import paths
from vibrid.core.device import on_processor
from vibrid.hybrid.learned.along import along
from vibrid.hybrid.learned.answers import LawLayer
from vibrid.hybrid.learned.files import SavedModel
from vibrid.hybrid.learned.histories import DeviceTest, stack
from vibrid.papers.ocpnn.characterisation import AMPLITUDE, FREQUENCY
from vibrid.papers.ocpnn.models import EVERY, RATE, RECIPES, data, law_forces, laws, network_forces, networks, scores
from vibrid.papers.ocpnn.open_loop import row_of, score
from vibrid.papers.ocpnn.pairs import CAPACITIES, Pair, specimen, tested
from vibrid.papers.ocpnn.paper import PAPER
from vibrid.papers.ocpnn.published_networks import trained_published
from vibrid.papers.paper import Outcome, Run
from vibrid.records.record import Channel, Record
from vibrid.report.style import CYCLE, MEASURED, grid_of, label, styled


def kobe(run: Run) -> Pair:
    """The Kobe motion of the validation set at 18 kN (another station than the paper's, see `suite`)."""
    pairs = run.once(data, "real").validation
    return next((p for p in pairs if p.motion.startswith("Kobe") and p.capacity == CAPACITIES[1]), pairs[1])


def learned_values(saved: SavedModel, test: DeviceTest) -> dict[str, np.ndarray]:
    """Parameters of the law that a network predicts over a test, in SI units."""
    model = saved.model
    if not isinstance(model.answer, LawLayer):
        return {}
    histories = stack([test])
    state = model.start((1,))
    sample = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 1, 0), histories.sample)
    seen, _ = model.features.along(state.plays, sample.x, sample.v)
    outputs, _ = model.network.along(state.memory, *model.inputs(seen, sample, histories.setting))
    factors = np.asarray(model.answer.factors(outputs))[: len(test.x), 0]
    law = model.answer.law.law
    return {
        name: float(np.asarray(paths.get(law, name))) * factors[:, i] for i, name in enumerate(model.answer.learned)
    }


def _loops(ax, test: DeviceTest, predicted, words: str, color) -> None:
    with styled():
        ax.plot(1e3 * test.x, 1e-3 * test.force, color=MEASURED, linewidth=0.7, label="measured")
        ax.plot(1e3 * test.x, 1e-3 * np.asarray(predicted), color=color, linewidth=0.7, label=words)
        ax.set_xlabel(label("deformation", "mm"))
        ax.set_ylabel(label("force", "kN"))
        ax.legend(loc="upper left")


@PAPER.figure(10, "Loops under the Kobe motion", real_data=True, part="virtual")
def figure_10(run: Run) -> Outcome:
    return _compared(run, ("data-driven", "physics-based", "CUKF"), "Kobe, Nishi-Akashi at 18 kN.")


@PAPER.figure(12, "With and without measurements of the tested device", real_data=True, part="virtual")
def figure_12(run: Run) -> Outcome:
    note = "The only input of the offline network is the motion of the modelled device, with our features."
    return _compared(run, ("data-driven", "offline"), note)


def _compared(run: Run, names: tuple[str, ...], note: str) -> Outcome:
    pair = run.once(kobe)
    test = pair.test(EVERY)
    published = run.once(trained_published)
    theirs = [f"{name}, as published" for name in names if f"{name}, as published" in published]
    columns = max(len(theirs), len(names))
    figure, axes = grid_of(columns + len(names) if theirs else len(names), columns, width=9.5, height=3.0)
    rows = []
    for i, name in enumerate([*theirs, *[""] * (columns - len(theirs) if theirs else 0), *names]):
        if not name:
            axes[i].set_visible(False)
            continue
        if name in published:
            predicted = network_forces(published[name][0], [pair.test()])[0][EVERY - 1 :: EVERY]
        elif name in RECIPES:
            predicted = network_forces(run.once(networks, "real", name)[0], [test])[0]
        else:
            predicted = law_forces(run, run.once(laws, "real")[name], [pair])[0]
        results = score([predicted], [test])
        _loops(axes[i], test, predicted, name, CYCLE[i % len(CYCLE)])
        with styled():
            best = results.whole[0]
            axes[i].set_title(
                f"NRMSE {100 * best.nrmse:.1f} %, strong part {100 * best.strong:.1f} %, R² {best.r2:.2f}"
            )
        rows.append(row_of(name, pair.motion, results))
    return Outcome(rows, [], note, figure)


def _parameters(ax, time, from_network: dict, from_filter: np.ndarray, i: int, what: str, unit: float) -> None:
    name = list(from_network)[i]
    with styled():
        ax.plot(time, unit * from_network[name], color=CYCLE[0], linewidth=0.8, label="physics-based network")
        ax.plot(time, unit * from_filter[:, i], color=CYCLE[1], linewidth=0.8, label="CUKF")
        ax.set_ylabel(what)
        if i == 0:  # one legend for both axes
            ax.legend(loc="upper right")


@PAPER.figure(11, "σ₀ and σ₁ under the Kobe motion", real_data=True, part="virtual")
def figure_11(run: Run) -> Outcome:
    pair = run.once(kobe)
    test = pair.test(EVERY)
    learned = learned_values(run.once(networks, "real", "physics-based")[0], test)
    with on_processor():
        read = along(run.once(laws, "real")["CUKF"](pair.capacity), pair.test(), RATE)
    filtered = np.asarray(read.signals)[EVERY - 1 :: EVERY]
    strong = int(np.argmax(np.abs(test.v)))
    cut = slice(max(strong - 256, 0), strong + 768)
    time = np.arange(len(test.x))[cut] * EVERY / RATE
    figure, axes = grid_of(3, 1, width=8.0, height=2.0)
    with styled():
        axes[0].plot(time, 1e-3 * test.force[cut], color=MEASURED, linewidth=0.8)
        axes[0].set_ylabel(label("measured force", "kN"))
    cut_learned = {name: values[cut] for name, values in learned.items()}
    _parameters(axes[1], time, cut_learned, filtered[cut], 0, label("σ₀", "kN/m"), 1e-3)
    _parameters(axes[2], time, cut_learned, filtered[cut], 1, label("σ₁", "kN s/m"), 1e-3)
    axes[2].set_xlabel(label("time", "s"))
    rows = [
        {"parameter": name, "network, smallest": float(values[cut].min()), "network, largest": float(values[cut].max()),
         "CUKF, smallest": float(filtered[cut, i].min()), "CUKF, largest": float(filtered[cut, i].max())}
        for i, (name, values) in enumerate(learned.items())
    ]  # fmt: skip
    note = "Four seconds from the strong part, SI units in the table. σ₀ falls inside the backlash and rises after it."
    return Outcome(rows, [], note, figure)


def sine_pair(capacity: float, seconds: float = 8.0) -> Pair:
    """The sine of the paper, 16.5 mm at 0.5 Hz, on a specimen whose own measurements are the inputs."""
    t, w = np.arange(int(seconds * RATE)) / RATE, 2 * np.pi * FREQUENCY
    data = AMPLITUDE * np.stack([np.sin(w * t), w * np.cos(w * t)], axis=1)
    channels = [Channel("displacement", "imposed_displacement"), Channel("velocity", "imposed_velocity")]
    measured = tested(specimen(900, capacity, 0), Record(data, channels, step=1 / RATE, name="sine"))
    return Pair("sine", capacity, 900, measured, measured)


@PAPER.figure(9, "A sine of 16.5 mm and 0.5 Hz: CUKF and physics-based network", real_data=True, part="virtual")
def figure_9(run: Run) -> Outcome:
    pair = sine_pair(CAPACITIES[-1])
    test, cut = pair.test(EVERY), slice(EVERY - 1, None, EVERY)
    saved = run.once(networks, "real", "physics-based")[0]
    with on_processor():
        read = along(run.once(laws, "real")["CUKF"](pair.capacity), pair.test(), RATE)
    force, filtered = np.asarray(read.force)[cut], np.asarray(read.signals)[cut]
    predicted, learned = network_forces(saved, [test])[0], learned_values(saved, test)
    time = np.arange(len(test.x)) * EVERY / RATE
    figure, axes = grid_of(3, 3, width=10.5, height=3.0)
    for words, values, color in (("CUKF", force, CYCLE[1]), ("physics-based network", predicted, CYCLE[0])):
        with styled():
            axes[0].plot(1e3 * test.x, 1e-3 * values, color=color, linewidth=0.8, label=words)
            axes[1].plot(time, 1e-3 * values, color=color, linewidth=0.8, label=words)
    with styled():
        axes[0].plot(1e3 * test.x, 1e-3 * test.force, color=MEASURED, linewidth=0.6, label="measured")
        axes[1].plot(time, 1e-3 * test.force, color=MEASURED, linewidth=0.6, label="measured")
        axes[0].set_xlabel(label("deformation", "mm"))
        axes[0].set_ylabel(label("force", "kN"))
        axes[1].set_xlabel(label("time", "s"))
        axes[1].set_ylabel(label("force", "kN"))
        axes[0].legend(loc="upper left")
        axes[2].set_xlabel(label("time", "s"))
    _parameters(axes[2], time, learned, filtered, 0, label("σ₀", "kN/m"), 1e-3)
    rows = [row_of(n, "sine", scores([f], [test])) for n, f in (("CUKF", force), ("physics-based", predicted))]
    note = (
        "The inputs are measurements of the device itself, as in the paper's characterisation. No sine in the training."
    )
    return Outcome(rows, [], note, figure)

"""Eight toys, one per capability, each through the public contracts alone and in about thirty lines.

They stand for the methods that will be built on the contracts; each one checks a number that can be wrong.
"""

import socket
import struct
import threading
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import vibrid as vb
from vibrid.core.linalg import discretise
from vibrid.simulation.excitation import Input, drive, inputs_of


def test_rate_law_in_a_weak_form_fit(motion, bouc_wen_building):
    """Physics-informed and weak-form methods: the integrated residual is linear in stiffness and picks it out."""
    truth = vb.simulate(bouc_wen_building, motion, substeps=4)
    u = jnp.asarray(truth.inputs)
    x, v, a, s = (
        jnp.asarray(truth.displacement),
        jnp.asarray(truth.velocity),
        jnp.asarray(truth.acceleration),
        truth.states,
    )

    def weak(k):
        model = bouc_wen_building.replace({"storeys[0].stiffness": k}).model()
        r, latent = jax.vmap(model.residual)(x, v, a, s, jax.vmap(model.rates)(x, v, s), u)
        windows = r[:1000].reshape(50, 20, 3).sum(axis=1)  # each residual integrated over 50 windows
        return windows.reshape(-1), latent

    r0, latent = weak(jnp.asarray(40.0))
    slope = jax.jacfwd(lambda k: weak(k)[0])(40.0)
    k = 40.0 - jnp.vdot(slope, r0) / jnp.vdot(slope, slope)
    np.testing.assert_allclose(k, 50.0, rtol=1e-9)
    assert max(float(jnp.abs(leaf).max()) for leaf in jax.tree.leaves(latent)) == 0.0


class Slider(vb.laws.Law):
    """A path law as a user would write it: an elastic–perfectly-plastic slider."""

    stiffness: jax.Array
    limit: jax.Array

    def start(self):
        return jnp.zeros(())

    def force(self, e, w, s):
        return self.stiffness * (e - s)

    def advance(self, s, before, after, dt):
        return after.e - jnp.clip(after.e - s, -self.limit, self.limit)


def test_path_law_in_a_batch_with_a_gradient(motion):
    """Masing-like laws: many parameter sets at once, and a derivative through the whole path."""
    building = vb.ShearBuilding(
        masses=[1.0], storeys=[Slider(jnp.asarray(40.0), jnp.asarray(0.05))], damping=vb.Viscous(0.5)
    )
    x, _, _, _ = vb.simulate_many(
        building, motion, {"storeys[0].limit": np.array([0.03, 0.05, 9.0])}, integrator=vb.Newmark()
    )
    alone = vb.simulate(building, motion, integrator=vb.Newmark()).displacement
    np.testing.assert_allclose(x[1], alone, atol=1e-12)
    linear = vb.ShearBuilding(masses=[1.0], storeys=[vb.Linear(40.0)], damping=vb.Viscous(0.5))
    np.testing.assert_allclose(x[2], vb.simulate(linear, motion, integrator=vb.Newmark()).displacement, atol=1e-9)

    def energy(limit):
        model = building.replace({"storeys[0].limit": limit}).model()
        y = vb.simulation.run(
            model, vb.Newmark(), drive(inputs_of(building, motion)), motion.step, vb.simulation.Everything()
        )
        return jnp.sum(y[0] ** 2)

    forward, backward = jax.jacfwd(energy)(0.05), jax.grad(energy)(0.05)
    numeric = (energy(0.05 + 1e-6) - energy(0.05 - 1e-6)) / 2e-6
    np.testing.assert_allclose(forward, backward, rtol=1e-9)
    np.testing.assert_allclose(forward, numeric, rtol=1e-4)


def test_unknown_load_from_two_sensors():
    """joint: with M, C, K, L from the model and first-order hold, a load history is a linear solve."""
    beam = vb.ShearBuilding(masses=[2.0, 1.0], storeys=[vb.Linear(900.0, 3.0), vb.Linear(500.0, 2.0)])
    t = np.arange(0, 1.0, 0.01)
    load = np.sin(7 * t) * t
    record = vb.Record(load, [vb.Channel("hammer", "load", location="1")], step=0.01)
    y = vb.simulate(beam, record, integrator=vb.RungeKutta4(), substeps=20).readings(
        vb.Sensors(displacement=[0], acceleration=[1])
    )
    model = beam.model((("load", "1"),))
    m, c, k, l = model.linear()
    a = jnp.block([[jnp.zeros((2, 2)), jnp.eye(2)], [-jnp.linalg.solve(m, k), -jnp.linalg.solve(m, c)]])
    b = jnp.concatenate([jnp.zeros((2, 1)), jnp.linalg.solve(m, l)])
    ad, b0, b1 = discretise(a, b, 0.01)

    def readings(f):
        def body(z, pair):
            z = ad @ z + b0 @ pair[0] + b1 @ pair[1]
            return z, z

        _, z = jax.lax.scan(body, jnp.zeros(4), (f[:-1, None], f[1:, None]))
        z = jnp.concatenate([jnp.zeros((1, 4)), z])
        return jnp.stack([z[:, 0], (z @ a.T)[:, 3] + b[3, 0] * f], axis=1).reshape(-1)

    h = jax.jacfwd(readings)(jnp.zeros(len(t)))
    found = jnp.linalg.lstsq(h, y.reshape(-1))[0]
    np.testing.assert_allclose(found, load, atol=1e-6)


def test_acceleration_map_is_explicit_in_the_unknowns():
    """siva: accelerations as a function of unknown polynomial terms, at measured states, for a batch of guesses."""
    building = vb.ShearBuilding(
        masses=[1.0, 1.0],
        storeys=[vb.Linear(30.0)] * 2,
        attachments=[vb.Attachment(vb.Polynomial([0.0, 0.0, 0.0]), at="roof")],
    )
    x, v = jnp.array([0.1, -0.3]), jnp.zeros(2)

    def accelerations(k):
        model = building.replace({"attachments[0].law.coefficients": k}).model()
        return model.acceleration(x, v, model.start(), jnp.zeros(1))

    guesses = jnp.array([[0.0, 0.0, 0.0], [10.0, 0.0, 0.0], [0.0, 0.0, 100.0]])
    a = jax.vmap(accelerations)(guesses)
    np.testing.assert_allclose(a[:, 0], 30 * (-0.3 - 0.1) - 30 * 0.1, rtol=1e-12)
    np.testing.assert_allclose(a[:, 1] - a[0, 1], [0.0, 10 * 0.3, 100 * 0.027], rtol=1e-12)


def test_online_filter_step(motion):
    """Filters: a sample at a time, compiled once, a joint state of motion and parameter."""
    truth = vb.simulate(vb.ShearBuilding(masses=[1.0], storeys=[vb.Linear(40.0)], damping=vb.Viscous(0.6)), motion)
    y = truth.readings(vb.Sensors(displacement=[0]))
    guess = vb.ShearBuilding(masses=[1.0], storeys=[vb.Linear(55.0)], damping=vb.Viscous(0.6))

    def move(z, u0, u1):
        model = guess.replace({"storeys[0].stiffness": z[2]}).model()
        state = vb.simulation.State(z[:1], z[1:2], model.acceleration(z[:1], z[1:2], model.start(), u0), model.start())
        u = Input(jnp.stack([u0, u1 - u0]), 0.0, 1.0, u1)
        end = vb.RungeKutta4().step(model, (), state, u, motion.step)
        return jnp.concatenate([end.x, end.v, z[2:]])

    def step(carry, sample):
        z, p = carry
        u0, u1, reading = sample
        f = jax.jacfwd(move)(z, u0, u1)
        z, p = move(z, u0, u1), f @ p @ f.T + jnp.diag(jnp.array([1e-12, 1e-10, 0.0]))
        gain = p[:, 0] / (p[0, 0] + 1e-8)
        return (z + gain * (reading[0] - z[0]), p - jnp.outer(gain, p[0])), z[2]

    u = jnp.asarray(truth.inputs)
    start = (jnp.array([0.0, 0.0, 55.0]), jnp.diag(jnp.array([1e-8, 1e-8, 400.0])))
    (z, _), _ = jax.lax.scan(jax.jit(step), start, (u[:-1], u[1:], jnp.asarray(y[1:])))
    np.testing.assert_allclose(z[2], 40.0, rtol=1e-3)


def test_device_in_a_hybrid_step(motion):
    """hybrid: predict, impose on a device held outside the structure, finish; equal to the device inside it."""
    device = vb.LuGre(2e3, 1.0, 1.0, 1.0, 1.3, 1.3, 0.02)
    frame = vb.ShearBuilding(masses=[1.0, 1.0], storeys=[vb.Linear(60.0, 0.3)] * 2)
    whole = vb.ShearBuilding(
        masses=[1.0, 1.0], storeys=[vb.Linear(60.0, 0.3)] * 2, attachments=[vb.Attachment(device, at=0)]
    )
    scheme, dt = vb.MKRAlpha(0.75), motion.step
    model = frame.model()
    constants = scheme.prepare(whole.model(), dt)  # the device's first slopes belong to the integrator
    u = jnp.asarray(inputs_of(frame, motion))

    def step(carry, pair):
        state, own = carry
        trial = scheme.predict(constants, state, dt)
        motion_of = lambda x, v: vb.laws.Motion(x[0], v[0])  # noqa: E731
        own = device.advance(own, motion_of(state.x, state.v), motion_of(*trial.at), dt)
        measured = device.force(trial.at[0][0], trial.at[1][0], own)
        forces = model.forces(*trial.at, state.s) + jnp.array([measured, 0.0])
        inside = Input(jnp.stack([pair[0], pair[1] - pair[0]]), 0.0, 1.0, pair[1])
        state = scheme.finish(model, constants, state, trial, state.s, forces, inside, dt)
        return (state, own), state.x

    first = scheme.start(model, constants, jnp.zeros(2), jnp.zeros(2), model.start(), u[0])
    _, x = jax.lax.scan(step, (first, device.start()), (u[:-1], u[1:]))
    np.testing.assert_allclose(x, vb.simulate(whole, motion, integrator=scheme).displacement[1:], atol=1e-12)


class Section(vb.laws.Law):
    """A fibre section as a law with two deformations (axial strain, curvature) and bilinear fibres."""

    modulus: jax.Array
    heights: jax.Array
    area: jax.Array
    components: ClassVar[int] = 2

    def strains(self, e):
        return e[0] - self.heights * e[1]

    def start(self):
        return jnp.zeros_like(self.heights)

    def force(self, e, w, s):
        stress = self.modulus * (self.strains(e) - s)
        return jnp.stack([jnp.sum(stress) * self.area, -jnp.sum(stress * self.heights) * self.area])

    def advance(self, s, before, after, dt):
        return self.strains(after.e) - jnp.clip(self.strains(after.e) - s, -2e-3, 2e-3)


def test_fibre_section_as_a_law_with_two_deformations():
    """frame: a section in a model, its initial stiffness EA and EI, and its plastic moment."""
    heights = jnp.linspace(-0.5, 0.5, 1001)
    section = Section(jnp.asarray(2e5), heights, jnp.asarray(0.4 / 1001))
    made = vb.structures.model.stack_laws([("base", section, np.eye(2))], 2)
    k = np.asarray(section.initial_stiffness())
    np.testing.assert_allclose(np.diag(k), [2e5 * 0.4, 2e5 * 0.4 / 12], rtol=3e-3)
    np.testing.assert_allclose(k[0, 1], 0.0, atol=1e-9)
    bent = jnp.array([0.0, 1.0])
    state = section.advance(
        section.start(), vb.laws.Motion(jnp.zeros(2), jnp.zeros(2)), vb.laws.Motion(bent, bent), 1.0
    )
    moment = section.force(bent, bent, state)[1]
    np.testing.assert_allclose(moment, 2e5 * 2e-3 * 0.4 / 4, rtol=3e-3)  # fy b h²/4
    assert made[1][0].count == 1 and made[0].shape == (2, 2)


def test_remote_substructure():
    """hybrid over a wire: trials are repeatable until commit, and only numbers cross the socket."""
    law = vb.BoucWen(stiffness=40.0, beta=1.0, gamma=1.0)
    server = socket.create_server(("127.0.0.1", 0))

    def serve():
        peer, _ = server.accept()
        committed, here = law.start(), vb.laws.Motion(jnp.zeros(()), jnp.zeros(()))
        with peer:
            while len(message := peer.recv(24)) == 24:
                action, e, w = struct.unpack("ddd", message)
                there = vb.laws.Motion(jnp.asarray(e), jnp.asarray(w))
                tried = law.advance(committed, here, there, 0.01)
                if action == 5.0:
                    committed, here = tried, there
                peer.sendall(struct.pack("d", float(law.force(there.e, there.w, tried))))

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    wire = socket.create_connection(server.getsockname(), timeout=60)

    def ask(action, e, w):
        wire.sendall(struct.pack("ddd", action, e, w))
        return struct.unpack("d", wire.recv(8))[0]

    first = ask(3.0, 0.02, 2.0)
    assert ask(3.0, 0.05, 5.0) != first
    assert ask(3.0, 0.02, 2.0) == first, "a trial must not be remembered"
    ask(5.0, 0.02, 2.0)
    assert ask(3.0, 0.02, 2.0) != first, "a commit must be"
    wire.close()
    thread.join(timeout=60)
    assert not thread.is_alive()


def test_everything_is_a_tree(bouc_wen_building):
    """Structures flatten to arrays, so that they can be batched, differentiated and sent to another device."""
    leaves = [leaf for leaf in jax.tree.leaves(bouc_wen_building) if eqx.is_inexact_array(leaf)]
    assert len(leaves) == 1 + 3 * 5 + 3

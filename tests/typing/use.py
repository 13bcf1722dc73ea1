"""The public names as a user writes them, for the type checker alone (`make lint`): nothing here is run."""

import jax
import numpy as np

import vibrid as vb


def a_building() -> vb.ShearBuilding:
    return vb.ShearBuilding(
        masses=[20e3] * 3,
        storeys=[vb.BoucWen(stiffness=20e6, beta=60.0, gamma=60.0)] * 3,
        damping=vb.Viscous(80e3),
    )


def laws() -> list[vb.laws.Law]:
    return [
        vb.Linear(40.0, 0.5),
        vb.Cubic(40.0, np.float64(5.0)),
        vb.Polynomial([40.0, 0.0, 5.0]),
        vb.Bilinear(40.0, yield_deformation=0.1, post_yield_ratio=0.1),
        vb.Masing(stiffness=4e6, distribution=vb.laws.RayleighYield(mean=4e-3), ductility=2.0, damping=10e3),
        vb.Parallel([vb.Linear(40.0), vb.Maxwell(stiffness=1.0, damping=2.0)]),
    ]


def a_parameter_is_an_array(law: vb.BoucWen) -> jax.Array:
    return law.stiffness * law.post_yield_ratio


def other_structures() -> list[vb.structures.Structure]:
    return [
        vb.Beam(positions=[0.0, 0.5, 1.0], modulus=7e10, area=1e-4, inertia=1e-9, density=2700.0),
        vb.Truss(
            nodes=[(0.0, 0.0), (1.0, 0.0), (0.5, 1.0)], bars=[(0, 2), (1, 2)], modulus=7e10, area=1e-4, density=0.0
        ),
        vb.Matrices(mass=np.eye(2), stiffness=[[2.0, -1.0], [-1.0, 1.0]]),
        vb.Device(vb.Bilinear(1e6, yield_deformation=0.01)),
    ]


def a_record() -> vb.Record:
    made = vb.Record(np.zeros(100), [vb.Channel("ground", "ground_acceleration")], step=0.01)
    read = vb.read_record("RSN1106_KOBE_KJM000.AT2").resample(200.0).filter(low=0.1)
    quake = vb.synthetic_motion(key=4, duration=20.0, rate=100.0, pga=4.0)
    vb.write_csv(made, "made.csv")
    return quake if len(read) else made


def a_response() -> np.ndarray:
    building = a_building().replace({"storeys[0].stiffness": 26e6})
    response: vb.Response = vb.simulate(building, a_record(), integrator=vb.Newmark(), start=vb.Initial([0.0] * 3))
    modes: vb.structures.Modes = vb.modes(building)
    return response.displacement * modes.frequencies[0]


def an_identification() -> dict[str, float]:
    data = vb.simulate(a_building(), a_record()).measure(vb.Sensors(acceleration=[0, 1, 2]), noise=0.05, key=0)
    unknown = ["storeys[*].stiffness", vb.Unknown("masses[0]", bounds=(1e3, 1e5))]
    fit: vb.Identification = vb.identify(a_building(), data, unknown=unknown, method=vb.TrajectoryFit(starts=4))
    vb.identify(a_building(), data, ["storeys[*].stiffness"], "ukf")
    check = fit.validate(data)
    best = vb.compare(a_building(), data, ["storeys[*].stiffness"], methods=["trajectory", vb.UnscentedKalman()])
    print(fit, best, fit.estimate.mean())
    return check.relative_error


def a_hybrid_test() -> vb.HybridResult:
    tested = vb.Experimental(vb.LawDevice(vb.Linear(1e6)), at="0", actuator=vb.Actuator(noise=2e-5), count=2)
    return vb.HybridTest(a_building(), [tested], rate=1024.0).run(a_record())


def errors() -> str:
    try:
        vb.read_record("nowhere.csv")
    except vb.FileProblem as problem:
        return f"{problem.path}: {problem}"
    except (vb.InputError, vb.Refusal, vb.Divergence) as problem:
        return str(problem)
    return ""


def what_a_type_checker_must_refuse() -> None:
    """An ignore that nothing needs is an error, so these lines hold that wrong use is seen."""
    vb.BoucWen(stiffness=20e6)  # pyright: ignore[reportCallIssue]
    vb.BoucWen("stiff", beta=60.0, gamma=60.0)  # pyright: ignore[reportArgumentType]
    vb.BoucWen(stiffnes=20e6, beta=60.0, gamma=60.0)  # pyright: ignore[reportCallIssue]
    vb.ShearBuilding(masses=[1.0], storeys=[vb.Linear(1.0)], damping="a little")  # pyright: ignore[reportArgumentType]
    vb.simulate(a_record(), a_building())  # pyright: ignore[reportArgumentType]
    vb.identfy  # pyright: ignore[reportAttributeAccessIssue]  # noqa: B018
    vb.lag  # pyright: ignore[reportAttributeAccessIssue]  # noqa: B018

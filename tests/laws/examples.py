"""One example of every registered law, with the deformation (m) at which its nonlinearity shows."""

import vibrid as vb

EXAMPLES: dict[str, tuple[vb.laws.Law, float]] = {
    "backlash": (vb.Backlash(1.0, 1.3, 0.03, 0.04, 3.0, 1.7, 2.0, 0.3), 0.15),
    "bilinear": (vb.Bilinear(stiffness=40.0, yield_deformation=0.05, post_yield_ratio=0.1), 0.15),
    "bouc-wen": (vb.BoucWen(stiffness=40.0, beta=8.0, gamma=6.0, exponent=1.5, post_yield_ratio=0.05), 0.2),
    "commanded": (vb.laws.Commanded(vb.NonlinearViscous(3.0, 0.4), ["coefficient"], [[0.5, 0.2]]), 0.1),
    "cubic": (vb.Cubic(stiffness=30.0, cubic=500.0), 0.2),
    "floor-thermostat": (vb.laws.FloorThermostat(initial=1.5, rate=10.0, bath=0.01), 0.1),
    "iwan": (
        vb.Iwan(40.0, vb.laws.UniformYield(0.013, 0.1), 3.1, 4.0, 6.0, 0.05, damping=0.3),
        0.15,
    ),
    "kent-park": (vb.KentPark(strength=25.0, modulus=25e3, crushing_strength=6.0, crushing_strain=0.008), 0.006),
    "linear": (vb.Linear(stiffness=30.0, damping=0.7), 0.1),
    "lugre": (vb.LuGre(800.0, 4.0, 1.0, 1.2, 1.4, 1.5, 0.1, 0.3), 0.05),
    "masing": (vb.Masing(40.0, vb.laws.RayleighYield(0.05), ductility=3.0, damping=0.3), 0.15),
    "maxwell": (vb.Maxwell(stiffness=50.0, damping=4.0), 0.1),
    "menegotto-pinto": (vb.MenegottoPinto(yield_stress=400.0, modulus=2e5, hardening_ratio=0.02), 0.012),
    "nonlinear-viscous": (vb.NonlinearViscous(coefficient=3.0, exponent=0.4), 0.1),
    "polynomial": (vb.Polynomial([30.0, -40.0, 500.0]), 0.2),
    "thermostat": (vb.Thermostat(initial=1.5, rate=10.0, bath=0.01), 0.1),
    "viscous": (vb.Viscous(damping=0.7), 0.1),
}

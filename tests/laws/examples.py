"""One example of every registered law, with the deformation (m) at which its nonlinearity shows."""

import vibrid as vb

HINGE = (40.0, 2.0, 0.04, 0.25, 1.15, 0.2, 3.1, 3.7, 4.3, 1.1)
HINGE_NEGATIVE = (1.8, 0.05, 0.21)

EXAMPLES: dict[str, tuple[vb.laws.Law, float]] = {
    "backlash": (vb.Backlash(1.0, 1.3, 0.03, 0.04, 3.0, 1.7, 2.0, 0.3), 0.15),
    "bilinear": (vb.Bilinear(stiffness=40.0, yield_deformation=0.05, post_yield_ratio=0.1), 0.15),
    "bilinear-steel": (vb.laws.BilinearSteel(yield_stress=400.0, modulus=2e5, hardening_ratio=0.02), 0.012),
    "bouc-wen": (vb.BoucWen(stiffness=40.0, beta=8.0, gamma=6.0, exponent=1.5, post_yield_ratio=0.05), 0.2),
    "bouc-wen-baber-noori": (
        vb.laws.BoucWenBaberNoori(40.0, 8.0, 6.0, 1.5, 0.05, 0.01, 0.05, 0.6, 0.2, 0.1, 0.3, 0.01, 0.4),
        0.2,
    ),
    "commanded": (vb.laws.Commanded(vb.NonlinearViscous(3.0, 0.4), ["coefficient"], [[0.5, 0.2]]), 0.1),
    "cubic": (vb.Cubic(stiffness=30.0, cubic=500.0), 0.2),
    "elastic-material": (vb.laws.ElasticMaterial(modulus=2e5), 0.01),
    "flag": (vb.laws.Flag(stiffness=40.0, activation_force=2.0, post_activation_ratio=0.1, height=0.7), 0.15),
    "floor-thermostat": (vb.laws.FloorThermostat(initial=1.5, rate=10.0, bath=0.01), 0.1),
    "friction-gap": (vb.laws.FrictionGap(friction=1.0, stiffness=40.0, gap=0.08, stop_stiffness=30.0), 0.15),
    "giuffre-menegotto-pinto": (vb.laws.GiuffreMenegottoPinto(40.0, 2.0, 0.02, 12.0, 0.9, 0.2, 0.05, 0.7), 0.15),
    "giuffre-menegotto-pinto-fatigue": (
        vb.laws.GiuffreMenegottoPintoFatigue(40.0, 2.0, 0.02, 12.0, 0.9, 0.2, 0.05, 0.7, 0.5, 0.458, 0.01),
        0.15,
    ),
    "imk-bilinear": (vb.laws.IMKBilinear(*HINGE, *HINGE_NEGATIVE), 0.15),
    "imk-peak-oriented": (vb.laws.IMKPeakOriented(*HINGE, *HINGE_NEGATIVE, 2.7), 0.15),
    "imk-pinching": (vb.laws.IMKPinching(*HINGE, *HINGE_NEGATIVE, 2.7, 0.35, 0.4), 0.15),
    "iwan": (
        vb.Iwan(40.0, vb.laws.UniformYield(0.013, 0.1), 3.1, 4.0, 6.0, 0.05, damping=0.3),
        0.15,
    ),
    "kent-park": (vb.KentPark(strength=25.0, modulus=25e3, crushing_strength=6.0, crushing_strain=0.008), 0.006),
    "lead-rubber": (vb.laws.LeadRubber(10.0, 2.0, 0.03, 0.02, 0.01, 3.0, 1.5), 0.2),
    "linear": (vb.Linear(stiffness=30.0, damping=0.7), 0.1),
    "lugre": (vb.LuGre(800.0, 4.0, 1.0, 1.2, 1.4, 1.5, 0.1, 0.3), 0.05),
    "masing": (vb.Masing(40.0, vb.laws.RayleighYield(0.05), ductility=3.0, damping=0.3), 0.15),
    "maxwell": (vb.Maxwell(stiffness=50.0, damping=4.0), 0.1),
    "menegotto-pinto": (vb.MenegottoPinto(yield_stress=400.0, modulus=2e5, hardening_ratio=0.02), 0.012),
    "multilinear": (vb.laws.Multilinear([0.04, 0.08, 0.2], [1.6, 2.0, 0.7], 0.9, 0.1, 0.01, 0.2, 0.02), 0.15),
    "nonlinear-viscous": (vb.NonlinearViscous(coefficient=3.0, exponent=0.4), 0.1),
    "pinching": (vb.laws.Pinching([0.04, 0.08, 0.2], [1.6, 2.0, 0.7], 0.9, 0.1, 0.01, 0.2, 0.02, 0.4, 0.2), 0.15),
    "polynomial": (vb.Polynomial([30.0, -40.0, 500.0]), 0.2),
    "ramberg-osgood": (vb.laws.RambergOsgood(40.0, 2.0, 5.0, 0.8, 0.3), 0.15),
    "rate-rubber": (vb.laws.RateRubber(10.0, 50.0, 40.0, 1.0, 0.4, 0.1), 0.15),
    "tension-only": (vb.laws.TensionOnly(40.0, 2.0, 0.05, 0.01), 0.15),
    "thermostat": (vb.Thermostat(initial=1.5, rate=10.0, bath=0.01), 0.1),
    "viscous": (vb.Viscous(damping=0.7), 0.1),
}

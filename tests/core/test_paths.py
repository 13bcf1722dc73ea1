"""Many entries of one array are set at once, as one by one."""

import jax
import jax.numpy as jnp
import numpy as np

import vibrid as vb
from vibrid.core import paths


def test_many_entries_are_set_together():
    storeys = [vb.Linear(1e6)] * 3
    building = vb.ShearBuilding(masses=np.ones(50), storeys=[vb.Linear(1e6)] * 50)
    changes = {f"masses[{i}]": 2.0 + i for i in range(49)} | {"masses[-1]": 7.0, "storeys[4].stiffness": 5.0}
    changed = paths.replace(building, changes)
    np.testing.assert_array_equal(changed.masses, [*(2.0 + np.arange(49)), 7.0])
    assert float(changed.storeys[4].stiffness) == 5.0
    few = paths.replace(vb.ShearBuilding(masses=np.ones(3), storeys=storeys), {"masses[1]": 4.0})
    np.testing.assert_array_equal(few.masses, [1.0, 4.0, 1.0])

    def total(value):
        own = paths.replace(building, {f"masses[{i}]": value for i in range(40)})
        return jnp.sum(own.masses**2)

    assert float(jax.grad(total)(3.0)) == 2 * 3.0 * 40

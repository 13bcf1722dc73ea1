"""Names that changed keep working, with a warning."""

import pytest

from vibrid.core.moved import renamed_arguments, renamed_attribute


def test_old_arguments_and_attributes_work_with_a_warning():
    @renamed_arguments(truth="reference")
    def error(values, reference=0):
        return values - reference

    class Result:
        weak = 3
        faint = renamed_attribute("faint", "weak")

    with pytest.warns(DeprecationWarning, match=r"truth= of error\(\) is reference= since 0.2"):
        assert error(5, truth=2) == 3
    with pytest.warns(DeprecationWarning, match=r"Result.faint is Result.weak"):
        assert Result().faint == 3


def test_results_keep_their_old_names():
    from vibrid.identification.compare import Comparison
    from vibrid.identification.identifiability import Identifiability

    limits = Identifiability((), *[None] * 4, inseparable=("a + b",))
    with pytest.warns(DeprecationWarning, match="inseparable"):
        assert limits.faint == ("a + b",)
    with pytest.warns(DeprecationWarning, match="true_values"):
        assert Comparison({}, {}, 7).truth == 7

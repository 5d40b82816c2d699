"""What is compared had its turn in the same round."""

import pandas as pd

from benchmarks.ratios import quartiles, ratio


def test_a_ratio_is_taken_within_each_round():
    # The machine was twice as slow in the second round; the ratio does not see it.
    times = pd.DataFrame({"ours": [1.0, 2.0, 1.0], "other": [2.0, 4.0, 2.0]})
    assert ratio(times, "other", "ours", "x") == {"x": 2.0, "x_low": 2.0, "x_high": 2.0}
    found = quartiles(pd.Series([1.0, 2.0, 3.0, 4.0, 5.0]), "ms")
    assert found == {"ms": 3.0, "ms_low": 2.0, "ms_high": 4.0}

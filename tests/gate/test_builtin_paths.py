"""Every built-in path on the adapter at hand: right at the suite's tails, or missing a feature."""

from __future__ import annotations

import pytest
from runs import Run

from tinygate.core.family import DEFAULT_FAMILIES
from tinygate.core.fast_path import FastPath
from tinygate.core.shape import SUITES
from tinygate.core.status import Status
from tinygate.paths.builtin import BUILTIN

# A path that is opt-in need not pass the activation check; the exact families hold for it, too.
EXACT = ("integer", "identity")
PATHS = pytest.mark.parametrize("path", BUILTIN, ids=[path.name for path in BUILTIN])


@PATHS
@pytest.mark.parametrize("shape", SUITES["smoke"], ids=str)
def test_a_built_in_path_passes_where_the_adapter_has_what_it_requires(
    run: Run, path: FastPath, shape: object
) -> None:
    """The short form of what test_every_driver.py does on every driver, ragged shapes too."""
    adapter = run.harness.device.info
    if path.missing_features(adapter):
        assert not set(path.requires) <= set(adapter.features) or path.matrix_types
        return
    for one in path.for_adapter(adapter):
        for family in EXACT if path.opt_in else DEFAULT_FAMILIES:
            result = run(one, str(shape), family)
            assert result.status is Status.PASS, result.reason

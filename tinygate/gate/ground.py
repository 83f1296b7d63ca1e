"""Name what the adapter does against WGSL as the cause of a verdict, before the kernel is blamed.

gpu/probe.py measured it; nothing here runs anything.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tinygate.core.adapter import MeasuredNumerics
from tinygate.core.case import Case
from tinygate.core.fast_path import FastPath
from tinygate.core.results import CaseResult
from tinygate.core.status import Status
from tinygate.paths.source import read_source

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_WORKGROUP = re.compile(r"\bvar\s*<\s*workgroup\b")


def explain(result: CaseResult, case: Case, numerics: MeasuredNumerics) -> CaseResult:
    """Put what the adapter does against WGSL before the reason and the hint of a verdict.

    Only a FAIL, or an ERROR whose reference is not to be trusted, may be explained by it.
    """
    untrusted = any(check.status is Status.ERROR for check in result.checks)
    if result.status is not Status.FAIL and not untrusted:
        return result
    reason, hints = result.reason, []
    limit = numerics.loop_limit
    if limit is not None and limit <= case.shape.K:
        reason = f"the driver ends loops after {limit:,} iterations: {reason}"
        hints.append(
            f"K={case.shape.K} may take more iterations than this driver runs: the kernel is not "
            "to blame before a shape with a smaller K, or another driver, shows it"
        )
    dirty = result.status is Status.FAIL and not numerics.workgroup_memory_zeroed
    if dirty and uses_workgroup_memory(case.path):
        hints.append(
            "workgroup memory does not start at zero on this engine and adapter, though WGSL "
            "promises it: a kernel that relies on it is wrong here alone"
        )
    if result.hint:
        hints.append(result.hint)
    return replace(result, reason=reason, hint="; ".join(hints))


def uses_workgroup_memory(path: FastPath) -> bool:
    """Tell whether a kernel or packer of the path declares a variable in workgroup memory."""
    return any(_WORKGROUP.search(_COMMENT.sub(" ", read_source(file))) for file in path.files())

"""Reports of every kind, made without a GPU."""

from __future__ import annotations

from dataclasses import replace

from tinygate.core.adapter import (
    AdapterInfo,
    AdapterLimits,
    MatrixConfiguration,
    MeasuredNumerics,
    Platform,
)
from tinygate.core.metrics import Metrics
from tinygate.core.results import CaseResult, EngineAgreement, PathResult, Report
from tinygate.core.shape import Shape
from tinygate.core.shape_class import class_of
from tinygate.core.status import Check, State, Status, worst

# An escape sequence, an OSC title, markup, emoji, bidi override, CSI in 8 bits, a lone surrogate.
HOSTILE = (
    "\x1b[31mred\x1b[0m \x1b]0;title\x07[bold]bold[/] :skull: 🐛👩‍🔬 \u202eFLAP\u202c \x9b2J"
    '\udc80 a|b `c` <b>&amp;</b> ::error::x ##[error]y %0A "q"\r\nsecond line\x00\x08\x7f\ufffe'
)

ADAPTER = AdapterInfo(
    engine="native",
    engine_version="0.32.0",
    index=0,
    name="llvmpipe (LLVM 19.1.7, 256 bits)",
    kind="CPU",
    backend="Vulkan",
    driver="Mesa 25.0.7",
    features=("subgroups",),
    limits=AdapterLimits(1 << 31, 1 << 30, 65535, 1024, 32768, 256),
    subgroup_min=4,
    subgroup_max=128,
)


def case(
    status: Status = Status.PASS,
    family: str = "uniform",
    path: str = "f16-storage",
    reason: str = "",
    shape: str = "64x128x128",
) -> CaseResult:
    """A case with its checks, as the gate would make it."""
    ran = status in (Status.PASS, Status.FAIL)
    max_abs = 1.33e-4 if status is Status.PASS else 1.61e-3
    why = "activation rule: 1 % of mean|ref|"
    checks = (
        Check("finite", Status.PASS, why="decided by bit pattern"),
        Check("max_abs", status, reason, max_abs, 1.22e-3, why),
        Check("mean_rel", Status.PASS, "", 7.5e-4, 0.005, "activation rule: 0.5 %"),
    )
    return CaseResult(
        path=path,
        shape=shape,
        shape_class=class_of("matmul", Shape.parse(shape)),
        family=family,
        seed=12345,
        status=status,
        reason=reason,
        not_run=reason.startswith("not run"),
        metrics=Metrics(0.122, max_abs, 7.5e-4, 0.054, 8192) if ran else None,
        checks=checks if ran else (),
        engine="native",
        digests=("cd" * 32, "ef" * 32) if ran else ("", ""),
        runs=2 if ran else 0,
        failed=2 if status is Status.FAIL else 0,
        seconds=0.25,
        replay=f"tinygate verify --shape {shape} --path {path} --inputs {family} --seed 12345",
    )


def path(*cases: CaseResult, name: str = "f16-storage", missing: str = "") -> PathResult:
    """A path over cases; without any and with `missing`, an unavailable one."""
    status = Status.SKIP if missing else worst(one.status for one in cases)
    states = {
        Status.PASS: State.ACTIVE,
        Status.FAIL: State.REJECTED,
        Status.SKIP: State.UNAVAILABLE,
    }
    decided = next((one for one in cases if one.status is status is not Status.PASS), None)
    return PathResult(
        path=name,
        pill=name.replace("-", " "),
        status=status,
        state=states.get(status, State.UNVERIFIED),
        reason=decided.reason if decided else missing,
        missing=missing,
        deciding=decided,
        active_classes=(class_of("matmul", Shape(64, 128, 128)),) if status is Status.PASS else (),
        source_hash="ab" * 32,
        cases=cases,
        engine="native",
    )


def on(engine: str, judged: PathResult) -> PathResult:
    """The same of another engine."""
    cases = tuple(replace(one, engine=engine) for one in judged.cases)
    return replace(judged, engine=engine, cases=cases)


def report(*paths: PathResult) -> Report:
    """A run over paths."""
    return Report(
        version="0.1.0",
        platforms=(Platform("native", ADAPTER, MeasuredNumerics(subgroup_size=8)),),
        seed=12345,
        shapes=("64x128x128",),
        families=("uniform", "positive"),
        paths=paths,
        notes=("llvmpipe is a CPU adapter: its verdicts say nothing about a GPU",),
        started="2026-05-01T12:00:00+00:00",
        seconds=1.5,
    )


def hostile() -> Report:
    """Every text that can come from outside is hostile."""
    bad = replace(
        case(Status.FAIL, reason=HOSTILE),
        path=HOSTILE,
        engine=HOSTILE,
        shape_class=class_of(HOSTILE, Shape(1, 1, 1)),
        hint=HOSTILE,
        replay=f"tinygate verify --path {HOSTILE}",
        checks=(Check(HOSTILE, Status.FAIL, HOSTILE, float("nan"), 0.0, HOSTILE),),
        metrics=Metrics(float("nan"), float("inf"), float("-inf"), 1e300, 1),
    )
    adapter = replace(ADAPTER, name=HOSTILE, driver="d" * 5000, backend=HOSTILE, toggles=(HOSTILE,))
    judged = replace(
        path(bad),
        engine=HOSTILE,
        path=HOSTILE,
        pill=HOSTILE,
    )
    absent = replace(path(missing=HOSTILE), engine=HOSTILE, pill="x" * 400)
    return replace(
        report(judged, absent),
        agreements=(
            EngineAgreement(
                HOSTILE, (HOSTILE, HOSTILE), 0, 1, (HOSTILE, HOSTILE), (HOSTILE, HOSTILE)
            ),
        ),
        version=HOSTILE,
        started=HOSTILE,
        notes=(HOSTILE,),
        required=(HOSTILE,),
        platforms=(Platform(HOSTILE, adapter, MeasuredNumerics(subgroup_size=8)),),
    )


PASSING = report(path(case(), case(family="positive")))
FAILING = report(
    path(case(), case(Status.FAIL, "positive", reason="max_abs over limit")),
    path(missing="shader-f16", name="f16-compute"),
)
ERRORING = report(path(case(Status.ERROR, reason="device lost")))
SKIPPING = report(path(missing="shader-f16", name="f16-compute"))
MANY = report(path(*(case(Status.FAIL, f"family{i}", reason="wrong") for i in range(23))))
INTERRUPTED = replace(
    report(
        path(
            case(Status.FAIL, reason="wrong"),
            *(case(Status.ERROR, f"family{i}", reason="not run: interrupted") for i in range(20)),
        )
    ),
    interrupted=True,
)
EMPTY = replace(
    report(),
    platforms=(Platform("native", None, None),),
    notes=(),
    started="",
    seconds=None,
)
TWO = replace(
    report(
        path(case(), case(Status.FAIL, "positive", reason="max_abs over limit")),
        on("dawn", path(case(), case(Status.ERROR, "positive", reason="device lost"))),
        on("dawn", path(missing="shader-f16", name="f16-compute")),
    ),
    platforms=(
        Platform("native", ADAPTER, MeasuredNumerics(subgroup_size=8)),
        Platform(
            "dawn",
            replace(
                ADAPTER,
                engine="dawn",
                toggles=("allow_unsafe_apis",),
                matrices=(MatrixConfiguration("f16", "f32", 8, 8, 8),),
            ),
            MeasuredNumerics(subgroup_size=8),
        ),
    ),
    agreements=(EngineAgreement("f16-storage", ("native", "dawn"), agreeing=1, compared=1),),
)
BARE = report(replace(path(), status=Status.ERROR, reason="shader error: line 3"))
REQUIRED = replace(
    report(path(case()), path(missing="shader-f16", name="f16-compute")),
    required=("f16-compute", "nowhere"),
)

ALL = {
    "passing": PASSING,
    "two engines": TWO,
    "failing": FAILING,
    "erroring": ERRORING,
    "skipping": SKIPPING,
    "many": MANY,
    "interrupted": INTERRUPTED,
    "empty": EMPTY,
    "bare": BARE,
    "required": REQUIRED,
    "hostile": hostile(),
}

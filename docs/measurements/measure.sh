#!/bin/sh
# Measure every built-in path and store the numbers beside this file, as CSV.
#
#     docs/measurements/measure.sh NAME [SUITE...]
#
# NAME is what the files call the adapter, as in lavapipe25-ragged.csv. The suites are ragged (with
# the smoke suite, opt-in paths too) and production (what `verify` runs by itself) unless named. Both
# engines run in one process after the other, so that their bits are compared; ENGINES names others.
# PYTHON is the Python to use, python3 otherwise; scripts/setup is not needed. A path that FAILs is
# a measurement; an adapter that is not found stores nothing and is exit 3.
set -eu
[ $# -gt 0 ] || {
    echo "usage: docs/measurements/measure.sh NAME [SUITE...]" >&2
    exit 2
}
name=$1
shift
[ $# -gt 0 ] || set -- ragged production
folder=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
cd "$folder/../.."
python=${PYTHON:-python3}
engines=$(printf -- '--engine %s ' ${ENGINES:-native dawn})
every=$("$python" -c 'from tinygate.paths.builtin import BUILTIN; print(*(f"--path {p.name}" for p in BUILTIN))')
report=$(mktemp)
trap 'rm -f "$report"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
for suite in "$@"; do
    case $suite in ragged) what="--suite smoke --suite ragged $every" ;; *) what="--suite $suite" ;; esac
    echo "measure: $suite" >&2
    : >"$report"
    code=0
    # These are words on purpose.
    # shellcheck disable=SC2086
    "$python" -m tinygate verify $engines $what --inputs all --no-plugins \
        --export-json "$report" >/dev/null || code=$?
    case $code in 0 | 1 | 3) ;; *)
        echo "measure: verify ended with $code" >&2
        exit "$code"
        ;;
    esac
    [ -s "$report" ] || {
        echo "measure: no report of $engines, nothing stored" >&2
        exit 3
    }
    # Exit 3 where an engine found no adapter.
    "$python" -m scripts.precision.convert "$report" "$folder/$name-$suite.csv" \
        --command "${ENGINES:+ENGINES='$ENGINES' }docs/measurements/measure.sh $name $suite"
done

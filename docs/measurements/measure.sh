#!/bin/sh
# Measure every built-in path and store the reports beside this file.
#
#     docs/measurements/measure.sh NAME [SUITE...]
#
# NAME is what the files call the adapter, as in lavapipe25-ragged.json. The suites are ragged (with
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
for suite in "$@"; do
    file=$folder/$name-$suite.json
    case $suite in ragged) what="--suite smoke --suite ragged $every" ;; *) what="--suite $suite" ;; esac
    echo "measure: $suite" >&2
    code=0
    # These are words on purpose.
    # shellcheck disable=SC2086
    "$python" -m tinygate verify $engines $what --inputs all --no-plugins \
        --export-json "$file.new" >/dev/null || code=$?
    case $code in 0 | 1 | 3) ;; *)
        rm -f "$file.new"
        echo "measure: verify ended with $code" >&2
        exit "$code"
        ;;
    esac
    if [ ! -s "$file.new" ] || grep -q '"adapter": null' "$file.new"; then
        rm -f "$file.new"
        echo "measure: no adapter for $engines, nothing stored" >&2
        exit 3
    fi
    # Half the size, and still a line for each value.
    "$python" -c 'import json, sys; print(json.dumps(json.load(sys.stdin), indent=0))' \
        <"$file.new" >"$file"
    rm "$file.new"
done

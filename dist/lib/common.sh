# What the scripts of dist/ share: where things are, which version and commit this is, and how skips are said.
# shellcheck shell=bash disable=SC2034

export PATH="$PATH:${CARGO_HOME:-$HOME/.cargo}/bin"
export LC_ALL=C TZ=UTC
export RUSTC=${RUSTC:-rustc}
umask 022

target_dir=${CARGO_TARGET_DIR:-$PWD/target}
case $target_dir in /*) ;; *) target_dir=$PWD/$target_dir ;; esac
export CARGO_TARGET_DIR=$target_dir
out=${ZC_DIST:-$target_dir/dist}
work=$target_dir/dist-work
source_dir=$work/source

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)

# All times in what is made: that of the commit, which `git log` knows, or whoever builds without a clone says.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y Cargo.toml)}
export SOURCE_DATE_EPOCH

# The commit, for `zc --version --verbose` and the labels of the image.
if [ -z "${ZC_COMMIT:-}" ] && ZC_COMMIT=$(git rev-parse HEAD 2>/dev/null); then
    [ -z "$(git status --porcelain --untracked-files=no)" ] || ZC_COMMIT="$ZC_COMMIT modified"
fi
export ZC_COMMIT

# Whom packages name. Who releases says it.
export ZC_MAINTAINER=${ZC_MAINTAINER:-the zc authors <zc@packages.invalid>}

say() { printf -- '-- %s\n' "$*"; }
skip() { printf 'skipped: %s\n' "$*"; }
fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# The binary that was built for a target, in a target folder of its own: cargo's folder for the
# profile would be $out.
binary_of() { printf '%s/target/%s/dist/zc' "$work" "$1"; }

# The packed binary of this machine's architecture.
own_binary() {
    local libc binary
    for libc in gnu musl; do
        binary=$work/tree/$(uname -m)-unknown-linux-$libc/usr/bin/zc
        [ ! -x "$binary" ] || { printf '%s' "$binary"; return; }
    done
    fail "dist/build first: there is no binary for $(uname -m) in $work"
}

# Names of an architecture: Debian's, RPM's and OCI's.
debian_arch() { case $1 in x86_64) echo amd64 ;; aarch64) echo arm64 ;; *) echo "$1" ;; esac }
oci_arch() { debian_arch "$1"; }

# A tar that is the same for the same files.
plain_tar() {
    tar --sort=name --format=gnu --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner "$@"
}

# The packages of a lock file, one a line.
packages() { sed -n '/^\[\[package\]\]/{n;N;s/name = "\(.*\)"\nversion = "\(.*\)"/\1 \2/p}' | sort; }

# The C compiler of TARGET, for ring (TLS), unless it is that of this machine. It links nothing, so that of glibc does for musl.
c_compiler_of() {
    case $1 in
        "$(uname -m)"-*-musl) echo cc ;;
        "$(uname -m)"-*) ;;
        *) echo "${1%%-*}-linux-gnu-gcc" ;;
    esac
}

# The linker that TARGET needs, unless it is that of this machine.
linker_of() {
    case $1 in
        "$(uname -m)"-*) ;;
        *-musl) echo "$("$RUSTC" --print sysroot)/lib/rustlib/$("$RUSTC" -vV | sed -n 's/^host: //p')/bin/rust-lld" ;;
        *-gnu) echo "${1%%-*}-linux-gnu-gcc" ;;
    esac
}

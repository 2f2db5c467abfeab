# Kernels of Debian: found in its suites, fetched with apt's checks of signature and hash, and unpacked into the cache.
# The lists are the lab's own, so that no root is needed and the suites of this machine do not matter.
# shellcheck shell=bash

# Small lists first: a kernel is fetched from the first suite that has its series.
readonly suites=(bookworm bookworm-backports trixie-backports trixie bullseye)
# That of this machine's first suite: all suites of Debian are at one place.
mirror=${LAB_MIRROR:-$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 2>/dev/null | head -n 1)}
readonly mirror
readonly keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# from_suite SUITE COMMAND...: apt-get or apt-cache with the lists of one suite.
from_suite() {
    local suite=$1 command=$2 state
    shift 2
    state=$cache/apt/$suite
    mkdir -p "$state/lists/partial" "$state/archives/partial"
    echo "deb [signed-by=$keyring] $mirror $suite main" >"$state/sources.list"
    "$command" -o Dir::State="$state" -o Dir::State::Lists="$state/lists" -o Dir::State::status=/dev/null -o Dir::Cache="$state" \
        -o Dir::Etc::SourceList="$state/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::Etc::PreferencesParts=/dev/null \
        -o APT::Architecture=amd64 -o APT::Architectures=amd64 -o APT::Sandbox::User="$(id -un)" -o Acquire::Languages=none \
        -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false -o Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false \
        -o Acquire::Retries=2 -o Acquire::http::Timeout=20 -q "$@"
}

# Brings the list of a suite up to date, at most once a day.
update_suite() {
    local stamp=$cache/apt/$1/updated
    [ -z "$(find "$stamp" -mmin -1440 2>/dev/null)" ] || return 0
    from_suite "$1" apt-get update --error-on=any >"$cache/apt.log" 2>&1 || return
    touch "$stamp"
}

# The plain kernels of a suite: "SERIES RELEASE PACKAGE", the newest of each series last.
kernels_of_suite() {
    from_suite "$1" apt-cache search --names-only '^linux-image-[0-9].*-amd64$' |
        sed -nE 's/^linux-image-(([0-9]+\.[0-9]+)[0-9.]*([-+][0-9a-z.]+)?-amd64) .*/\2 \1 linux-image-\1/p' | sort -V
}

# kernel_tree KERNEL: the folder of an unpacked kernel, with boot/ and lib/modules/, fetched where it is not there.
kernel_tree() {
    local kernel=$1 tree
    case $kernel in
        */*)
            ls "$kernel"/boot/vmlinuz-* >/dev/null 2>&1 ||
                wrong "\"$kernel\" has no boot/vmlinuz-*: name a series as \"6.1\", or a folder into which a kernel package was unpacked"
            (cd "$kernel" && pwd)
            return
            ;;
    esac
    [[ $kernel =~ ^[0-9]+\.[0-9]+$ ]] || wrong "\"$kernel\" is no series of kernels: lab/kernels lists them, as \"6.1\""
    mkdir -p "$cache/kernels"
    (
        need flock util-linux
        flock 9 # somebody else may be fetching it
        tree=$(fetched "$kernel")
        [ -n "$tree" ] || fetch "$kernel"
    ) 9>"$cache/lock" || exit
    fetched "$kernel"
}

# The newest tree of a series that is there.
fetched() {
    local trees
    trees=$(find "$cache/kernels" -maxdepth 1 -name "$1.*" ! -name '*.new' 2>/dev/null | sort -V)
    [ -z "$trees" ] || (cd "$(tail -n 1 <<<"$trees")" && pwd)
}

# fetch SERIES: under the lock.
fetch() {
    local series=$1 suite found package release new
    need apt-get apt
    need dpkg-deb dpkg
    need depmod kmod
    [ -r "$keyring" ] || cannot "there is no \"$keyring\", which Debian's packages are checked by: apt-get install debian-archive-keyring"
    for suite in "${suites[@]}"; do
        update_suite "$suite" ||
            cannot "Linux $series cannot be had: the list of $suite does not come from $mirror: $(grep -m 1 -E '^[EW]:' "$cache/apt.log")"
        found=$(kernels_of_suite "$suite" | awk -v series="$series" '$1 == series' | tail -n 1)
        [ -z "$found" ] || break
    done
    [ -n "$found" ] || cannot "no suite has Linux $series: lab/kernels lists what they have"
    read -r _ release package <<<"$found"
    new=$cache/kernels/$release.new
    rm -rf "$new"
    mkdir "$new"
    echo "lab: fetching $package from $suite" >&2
    (cd "$new" && from_suite "$suite" apt-get download "$package") >"$cache/apt.log" 2>&1 ||
        cannot "$package does not come from $mirror: $(grep -m 1 -E '^E:' "$cache/apt.log")"
    # apt has checked it; what comes out is checked too, as a full disk can cut it short.
    if ! dpkg-deb -x "$new"/*.deb "$new" || ! dpkg-deb -e "$new"/*.deb "$new/DEBIAN" ||
        ! (cd "$new" && md5sum --check --quiet DEBIAN/md5sums >&2); then
        rm -rf "$new"
        cannot "$package cannot be unpacked into \"$cache\": $(df -h --output=avail "$cache" | tail -n 1) are free there"
    fi
    # Since trixie modules are below usr/. A tree has its name when it is whole.
    rm -rf "$new"/*.deb "$new/DEBIAN" "$new/usr/share" "${new%.new}" &&
        { [ -e "$new/lib" ] || ln -s usr/lib "$new/lib"; } &&
        depmod -b "$new" "$release" &&
        cp "$new/boot/config-$release" "$new/lib/modules/$release/config" &&
        mv "$new" "${new%.new}" ||
        broken "\"$new\" cannot be made ready"
}

# What the scripts of this folder share: a folder of their own with files to ask for, gone when they end.
# shellcheck shell=sh

dir=$(mktemp -d "${TMPDIR:-/tmp}/zc-server.XXXXXX") || exit 1
# A signal that comes when the server has just ended interrupts the trap of EXIT, so that of the signal removes too.
server=
clean() {
    trap '' TERM INT HUP
    # zc ends what it has started; a server that was started by hand is ended here.
    [ -z "$server" ] || kill "$server" 2>/dev/null
    rm -rf "$dir"
}
trap clean EXIT
trap 'clean; exit 0' TERM INT HUP

# A server that is started as root gives its workers another user, who reads these.
chmod 755 "$dir"
mkdir "$dir/www" "$dir/tmp"
chmod 777 "$dir/tmp"
for size in 1k 4k 16k 64k 100k 256k 1m 10m; do
    case $size in
        *k) bytes=$((${size%k} * 1024)) ;;
        *m) bytes=$((${size%m} * 1048576)) ;;
    esac
    head -c "$bytes" /dev/urandom >"$dir/www/$size"
done

# Runs a server in the foreground. A shell that waits for a background job hears SIGTERM at once, one
# that runs a command only when that has ended.
foreground() {
    "$@" &
    server=$!
    wait "$server"
    status=$?
    server=
    return "$status"
}

# Where servers are, which not every user has in the PATH.
PATH=$PATH:/usr/sbin:/sbin

# Fails in a sentence where a program is not installed.
needs() {
    command -v "$1" >/dev/null || {
        echo "there is no $1 here" >&2
        exit 127
    }
}

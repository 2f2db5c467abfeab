# Executed by a shell at the far end of `zc run --via`: finds zc and becomes it. Where there is none
# that speaks the client's protocol, it asks the client for one. Five lines precede it:
# zc_version='zc VERSION', zc_protocol=NUMBER, zc_own='PATH of the client's own zc',
# zc_own_file='BOOT-ID DEVICE:INODE' of it, or nothing, and zc_options=OPTION of zc serve, or nothing.
# That path is tried last; it works in a namespace, or where both machines share a file system.
#
# The braces make it one command, so that a shell that reads its input line by line has read all of
# it before zc starts and reads what follows. For shells that read ahead the client sends nothing
# that it was not asked for. Lines that begin with zc-via: are for the client.
{
    zc_say() { printf '\nzc-via: %s\n' "$*"; }
    if [ -t 0 ]; then
        zc_say terminal
        exit 1
    fi
    # What follows would make a file of that name.
    if [ ! -c /dev/null ]; then
        zc_say no-null
        exit 1
    fi
    # Where others may write, that path is the client's zc only if it is the same file of the same
    # machine.
    if [ -n "$zc_own_file" ]; then
        { read -r zc_try </proc/sys/kernel/random/boot_id; } 2>/dev/null
        [ "$zc_try $(stat -Lc %d:%i "$zc_own" 2>/dev/null)" = "$zc_own_file" ] || zc_own=
    fi
    zc_runs= zc_is= zc_other= zc_not=
    for zc_try in "$(command -v zc 2>/dev/null)" "$HOME/.cargo/bin/zc" "$zc_own"; do
        case $zc_try in /*) ;; *) continue ;; esac
        [ -f "$zc_try" ] && [ -x "$zc_try" ] || continue
        zc_says=$("$zc_try" --version </dev/null 2>/dev/null)
        case $zc_says in 'zc '*) ;; *) zc_not=$zc_try; continue ;; esac
        # A server says its hello and ends, as its stdin does.
        case $("$zc_try" serve --stdio </dev/null 2>/dev/null) in
            *"\"protocol\":$zc_protocol,"*)
                [ -n "$zc_runs" ] || zc_runs=$zc_try zc_is=$zc_says
                [ "$zc_says" = "$zc_version" ] || continue
                zc_runs=$zc_try zc_is=$zc_says
                break ;;
            *) [ -n "$zc_other" ] || zc_other=$zc_try zc_is_other=$zc_says ;;
        esac
    done
    if [ -n "$zc_runs" ]; then
        zc_say "runs $zc_is at $zc_runs"
        exec "$zc_runs" serve --stdio $zc_options
    fi

    # It is to be carried here. What that takes:
    zc_lacks= zc_sum= zc_unpack=cat
    for zc_try in mktemp chmod rm head; do
        command -v $zc_try >/dev/null 2>&1 || zc_lacks="$zc_lacks $zc_try"
    done
    for zc_try in 'openssl dgst -sha256 -r' 'shasum -a 256' sha256sum; do
        command -v ${zc_try%% *} >/dev/null 2>&1 && zc_sum=$zc_try
    done
    [ -n "$zc_sum" ] || zc_lacks="$zc_lacks sha256sum"
    [ -e /proc/self/fd/0 ] || zc_lacks="$zc_lacks /proc"
    [ -c /dev/zero ] || zc_lacks="$zc_lacks /dev/zero"
    command -v gzip >/dev/null 2>&1 && zc_unpack='gzip -dc'
    [ -z "$zc_lacks" ] || zc_say "lacks$zc_lacks"
    if [ -n "$zc_other" ]; then
        zc_say "other $zc_is_other at $zc_other"
    elif [ -n "$zc_not" ]; then
        zc_say "broken $zc_not"
    else
        zc_say missing
    fi
    zc_say "wants ${zc_unpack%% *} $(uname -s -m 2>/dev/null)"
    read -r zc_word zc_sent zc_bytes zc_hash || exit 1
    if [ "$zc_word" != carry ]; then
        [ -n "$zc_other" ] || exit 127
        # The handshake tells in which protocol the two differ.
        zc_say "runs $zc_is_other at $zc_other"
        exec "$zc_other" serve --stdio
    fi

    # A place for it. Memory comes before disks, and what may be a network's file system last. Its
    # file loses its name before the first byte arrives, so nothing is left of it however this ends.
    zc_file= zc_place= zc_why=
    trap 'rm -f "$zc_file"; exit 1' HUP INT TERM
    for zc_dir in "$TMPDIR" "$XDG_RUNTIME_DIR" /dev/shm /tmp /var/tmp "$HOME/.cache" "$HOME"; do
        case $zc_dir in /*) ;; *) continue ;; esac
        [ -d "$zc_dir" ] || continue
        zc_file=$(mktemp "$zc_dir/zc.XXXXXXXXXX" 2>/dev/null) && chmod 700 "$zc_file" &&
            command exec 8<"$zc_file"
        zc_can=$?
        [ -z "$zc_file" ] || rm -f "$zc_file"
        zc_file=
        [ $zc_can = 0 ] || { zc_why="$zc_why, $zc_dir takes no files"; continue; }
        # As long as it is empty it is a script that does nothing, where programs may be executed.
        # (ksh would close descriptor 8 here and below, were it not named.)
        /proc/self/fd/8 8<&8 </dev/null >/dev/null 2>&1 ||
            { zc_why="$zc_why, $zc_dir forbids programs"; continue; }
        # A file of its size: what follows then has room.
        head -c "$zc_bytes" /dev/zero 2>/dev/null 1<>/proc/self/fd/8 ||
            { zc_why="$zc_why, $zc_dir has no room"; continue; }
        zc_place=$zc_dir
        break
    done
    [ -n "$zc_place" ] || { zc_say "no-place ${zc_why#, }"; exit 127; }
    zc_say "place $zc_place"
    head -c "$zc_sent" | $zc_unpack 1<>/proc/self/fd/8
    zc_has=$($zc_sum </proc/self/fd/8)
    [ "${zc_has%% *}" = "$zc_hash" ] || { zc_say damaged; exit 127; }
    zc_says=$(/proc/self/fd/8 8<&8 --version </dev/null 2>&1)
    zc_can=$?
    case $zc_says in
        'zc '*) ;;
        *) zc_say "unfit $zc_can $zc_says"; exit 127 ;;
    esac
    zc_say "carried $zc_says"
    exec /proc/self/fd/8 8<&8 serve --stdio $zc_options
}

# Executed by a shell at the far end of `zc run --via`: finds zc and becomes it. Two lines precede
# it: zc_wants='zc VERSION' and zc_own='PATH of the client's own zc'. That path is tried last; it
# works in a namespace, or where both machines share a file system.
#
# The braces make it one command, so that a shell that reads its input line by line has read all of
# it before zc starts and reads what follows. Lines that begin with zc-via: are for the client.
{
    if [ -t 0 ]; then
        printf '\nzc-via: terminal\n'
        exit 1
    fi
    zc_runs= zc_is= zc_not=
    for zc_try in "$(command -v zc 2>/dev/null)" "$HOME/.cargo/bin/zc" "$zc_own"; do
        case $zc_try in /*) ;; *) continue ;; esac
        [ -f "$zc_try" ] && [ -x "$zc_try" ] || continue
        zc_says=$("$zc_try" --version </dev/null 2>/dev/null)
        case $zc_says in
            "$zc_wants") zc_runs=$zc_try zc_is=$zc_says; break ;;
            'zc '*) [ -n "$zc_runs" ] || zc_runs=$zc_try zc_is=$zc_says ;;
            *) zc_not=$zc_try ;;
        esac
    done
    if [ -n "$zc_runs" ]; then
        printf '\nzc-via: runs %s at %s\n' "$zc_is" "$zc_runs"
        exec "$zc_runs" serve --stdio
    fi
    if [ -n "$zc_not" ]; then
        printf '\nzc-via: broken %s\n' "$zc_not"
    else
        printf '\nzc-via: missing\n'
    fi
    exit 127
}

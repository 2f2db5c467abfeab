# What `zc run --via` has a shell at the far end do: find zc and become it. It stands behind two lines, zc_wants='zc VERSION' and
# zc_near='PATH of the near end's own file', which is worth a try in a namespace or on a file system that both machines have.
#
# The braces make one command of it, so that a shell that reads its input a line at a time has read all of it before there
# is a zc to read what follows. Lines that begin with zc-via: are for the near end.
{
    if [ -t 0 ]; then
        printf '\nzc-via: terminal\n'
        exit 1
    fi
    zc_runs= zc_is= zc_not=
    for zc_try in "$(command -v zc 2>/dev/null)" "$HOME/.cargo/bin/zc" "$zc_near"; do
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

#!/bin/sh
# Compares two states of a host with zc, for any CI: what does sending a byte cost before a change and after it? The states are made
# by commands (a sysctl, a module, a service, a filter), or are two builds of one program. docs/ci.md describes the recipe and the
# margins that a virtual machine supports.
#
# Exit codes: 0, no cost rose by more than the margin: shown; 1, a cost rose by more, in two measurements; 10, 12 or 13, this machine
# could not tell (those of zc compare; with --tolerant 0); 2, nothing was measured, for a reason that is not noise. With --bisect, for
# git bisect run: 0, 1, and 125 for everything else. The word in DIR/answer says which.
set -u

usage() {
    cat <<'END'
usage: zc-compare.sh [OPTION...] --after COMMAND [-- ARGUMENT-OF-ZC-RUN...]

  --before COMMAND   puts the host into the state before (default: that of --after, with the other build)
  --after COMMAND    puts the host into the state after
  --restore COMMAND  puts the host back, however this ends
  --base REF         build this commit too: its folder is $ZC_BUILD of --before, this checkout that of --after
  --build COMMAND    builds, in each of the two folders
  --two-runs         measure one state after the other, where a change takes longer than seconds; without it
                     both alternate within one run, which finds far smaller changes
  --cell NAME        compare this path alone (sendfile)
  --margin PERCENT   the rise that is allowed (default: 10%; with --two-runs 40%, or 15% with --cell)
  --once             believe the first measurement that says "worse", instead of measuring again
  --tolerant         exit with 0 where this machine could not tell
  --bisect           exit with 125 there, and where nothing was measured: git bisect run skips the commit
  --out DIR          where runs, tables and pages go (default: zc-compare); must not exist
  --zc FILE          the program (default: zc)

The commands are run by sh -c. Everything after -- goes to zc run: -- --paths sendfile,splice --budget 120s
END
}

say() { printf 'zc-compare: %s\n' "$*" >&2; }
# A line in the summary of a GitHub run, and a line everywhere else.
annotate() {
    level=$1
    shift
    if [ "${GITHUB_ACTIONS-}" = true ]; then
        printf '::%s title=zc compare::%s\n' "$level" "$(printf '%s' "$*" | sed 's/%/%25/g')"
    else
        say "$*"
    fi
}
unmeasured=2
refuse() {
    annotate error "$*"
    exit "$unmeasured"
}

before='' after='' restore='' base='' build='' cell='' margin='' out=zc-compare zc=zc
is_two_runs='' is_once='' is_tolerant='' is_bisect=''
while [ $# -gt 0 ]; do
    case $1 in
        --before | --after | --restore | --base | --build | --cell | --margin | --out | --zc)
            [ $# -ge 2 ] || refuse "$1 needs a value"
            case $1 in
                --before) before=$2 ;;
                --after) after=$2 ;;
                --restore) restore=$2 ;;
                --base) base=$2 ;;
                --build) build=$2 ;;
                --cell) cell=$2 ;;
                --margin) margin=$2 ;;
                --out) out=$2 ;;
                --zc) zc=$2 ;;
            esac
            shift 2
            ;;
        --two-runs) is_two_runs=yes && shift ;;
        --once) is_once=yes && shift ;;
        --tolerant) is_tolerant=yes && shift ;;
        --bisect) is_bisect=yes unmeasured=125 && shift ;;
        --help | -h) usage && exit 0 ;;
        --) shift && break ;;
        *) refuse "unknown argument \"$1\"; --help lists them" ;;
    esac
done
[ -z "$is_tolerant$is_bisect" ] || [ "$is_tolerant$is_bisect" = yes ] || refuse "--tolerant and --bisect exclude one another"
[ -n "$after" ] || refuse "--after is missing; --help lists the arguments"
[ -n "$before" ] || [ -n "$base" ] || refuse "there is no state to compare with: give --before or --base"
[ -n "$before" ] || before=$after
if [ -z "$margin" ]; then
    if [ -z "$is_two_runs" ]; then margin=10%; elif [ -n "$cell" ]; then margin=15%; else margin=40%; fi
fi
command -v "$zc" >/dev/null || refuse "there is no program \"$zc\": install zc, or name it with --zc"
case $zc in
    */*) zc=$(cd "$(dirname "$zc")" && pwd)/$(basename "$zc") || exit "$unmeasured" ;;
esac
mkdir "$out" || refuse "the folder \"$out\" exists or cannot be made: choose another with --out"
out=$(cd "$out" && pwd) || exit "$unmeasured"

# What is left behind: nothing but the folder of results.
worktree='' is_changed=''
# shellcheck disable=SC2317 # the traps call it
clean_up() {
    code=$?
    trap - EXIT
    if [ -n "$is_changed" ] && [ -n "$restore" ]; then sh -c "$restore" || say "the command of --restore failed"; fi
    [ -z "$worktree" ] || git worktree remove --force "$worktree" 2>/dev/null
    chmod -R a+rX "$out"
    exit "$code"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

# The folders of the two builds. A state's command finds its own in ZC_BUILD.
here=$(pwd)
build_before=$here
if [ -n "$base" ]; then
    git worktree add --quiet --detach "$out/base" "$base" || refuse "there is no commit \"$base\" here: does the checkout have its history?"
    worktree=$out/base
    build_before=$worktree
fi
if [ -n "$build" ]; then
    for folder in "$build_before" "$here"; do
        say "building in $folder"
        (cd "$folder" && sh -c "$build") || refuse "the build failed in $folder"
        [ "$build_before" != "$here" ] || break
    done
fi
quoted() { printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"; }
before="export ZC_BUILD=$(quoted "$build_before"); $before"
after="export ZC_BUILD=$(quoted "$here"); $after"

# Reads the code of zc run. A machine that was too busy is an answer; everything else but success is not.
ran() {
    case $1 in
        0) return 0 ;;
        13) return 13 ;;
        130) exit 130 ;;
        *) refuse "zc run failed with code $1: its message is above" ;;
    esac
}

enter() {
    is_changed=yes
    sh -c "$1" || refuse "the command of a state failed: $1"
}

# Measures both states into the folder $1. Measured the other way round ($2), what changes with time is on the other side.
# Leaves the two arguments of zc compare in old and new: names in that folder, so that they are short in tables.
measure() {
    folder=$1 order=$2
    shift 2
    mkdir "$folder" || exit "$unmeasured"
    if [ -z "$is_two_runs" ]; then
        old=run.json:${cell:+$cell }A new=run.json:${cell:+$cell }B
        # zc restores the host itself, also when it is killed.
        if [ -n "$restore" ]; then set -- --ab-restore "$restore" "$@"; fi
        "$zc" run --ab "$before" --ab "$after" --out "$folder/run.json" "$@"
        ran $?
        return
    fi
    old=before.json${cell:+:$cell} new=after.json${cell:+:$cell}
    if [ "$order" = forward ]; then
        first=$before first_run=$folder/before.json second=$after second_run=$folder/after.json
    else
        first=$after first_run=$folder/after.json second=$before second_run=$folder/before.json
    fi
    enter "$first"
    "$zc" run --out "$first_run" "$@"
    ran $? || return
    enter "$second"
    # What cannot be taken from a file, such as another machine, is in the arguments.
    "$zc" run --like "$first_run" --out "$second_run" "$@"
    ran $?
}

# Measures and compares in the folder $1; the answer is in answer, its exit code in code.
compare() {
    folder=$1
    code=0
    measure "$@" || code=$?
    if [ "$code" = 0 ]; then
        (cd "$folder" && "$zc" compare --columns 120 "$old" "$new" --fail-if-worse "$margin" >compare.txt)
        code=$?
        cat "$folder/compare.txt"
    fi
    case $code in
        0) answer=not-worse ;;
        1) answer=worse ;;
        10) answer=undecided ;;
        12) answer=withheld ;;
        13) answer=nothing-kept ;;
        *) refuse "zc compare failed with code $code: its message is above" ;;
    esac
    # The same as pages. The code is known by now.
    if [ -f "$folder/compare.txt" ]; then
        (cd "$folder" && "$zc" compare "$old" "$new" --fail-if-worse "$margin" --html -o compare.html)
        (cd "$folder" && "$zc" compare "$old" "$new" --fail-if-worse "$margin" --markdown >compare.md)
        [ -z "${GITHUB_STEP_SUMMARY-}" ] || cat "$folder/compare.md" >>"$GITHUB_STEP_SUMMARY"
    fi
    "$zc" report "$folder"/*.json -o "$folder/report.html" || say "no report could be written"
}

compare "$out/first" forward "$@"
if [ "$answer" = worse ] && [ -z "$is_once" ]; then
    say "worse by more than $margin: measuring again before it is believed"
    compare "$out/second" backward "$@"
    # That nothing got worse is no more shown than that something did.
    [ "$answer" = worse ] || answer=not-confirmed code=10
fi

printf '%s\n' "$answer" >"$out/answer"
[ -z "${GITHUB_OUTPUT-}" ] || printf 'answer=%s\n' "$answer" >>"$GITHUB_OUTPUT"
case $answer in
    not-worse) say "no cost rose by more than $margin" ;;
    worse) annotate error "a cost rose by more than $margin: see compare.html" ;;
    not-confirmed) annotate warning "a cost seemed to have risen by more than $margin, and a second measurement did not show it" ;;
    undecided) annotate warning "undecided: the intervals reach to both sides of $margin; allow more, or measure longer" ;;
    withheld) annotate warning "no answer: a control of the run failed, or the machine was too busy; compare.html has the reason" ;;
    nothing-kept) annotate warning "no answer: something else used this machine all the time" ;;
esac
case $answer in
    not-worse) exit 0 ;;
    worse) exit 1 ;;
esac
[ -z "$is_tolerant" ] || exit 0
[ -z "$is_bisect" ] || exit 125
exit "$code"

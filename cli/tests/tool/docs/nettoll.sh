#!/usr/bin/env bash
# nettoll as a reader of the documentation types it, shortened for a test: what would
# measure for long, or boot a guest, says what it would run (--dry-run), an agent stops when it listens,
# the machine `there` is an agent of the test ($OPEN, or $CLOSED with a secret, which
# lends loopback only to those it trusts), a shell here is every host by command, one trial takes a fifth of a second, and
# BBR, which not every kernel has, is Reno.
set -u
words=("$@")

has() { # WORD...: whether any of them was typed
    local word wanted
    for word in "${words[@]}"; do
        for wanted in "$@"; do
            [ "$word" = "$wanted" ] && return
        done
    done
    return 1
}

there=$OPEN
has --secret-file && there=$CLOSED
for place in "${!words[@]}"; do
    word=${words[place]}
    [ "$word" = there ] && word=$there
    # A shell of this machine stands for whatever a command leads to.
    [[ $word =~ ^([ab][0-9]*=)?(ssh|slurm|kubectl): ]] && word="${BASH_REMATCH[1]}cmd:env AT=${BASH_REMATCH[1]} XDG_CACHE_HOME=$PWD/cache sh"
    [[ $word == [ab]=there* ]] && word=${word/there/$there}
    [ "$word" = 10 ] && [ "${words[place - 1]}" = -t ] && word=0.2
    words[place]=${word//cc=bbr/cc=reno}
done

listens() {
    local line code
    has --port -p || words+=(--port 0)
    coproc AGENT { exec "$NETTOLL" "${words[@]}"; }
    local agent=$AGENT_PID
    read -r -t 20 line <&"${AGENT[0]}"
    kill -TERM "$agent"
    wait "$agent"
    code=$?
    echo "$line"
    [[ $line == *"listening on"* ]] || exit 1
    exit $code
}

case ${1-} in
agent | -s) listens ;;
study)
    has --dry-run --resume --help || words+=(--dry-run)
    has --secret-file && words+=(--trust-loopback)
    ;;
advise)
    for place in "${!words[@]}"; do
        [ "${words[place]}" != --pid ] || words[place + 1]=$$
    done
    has --dry-run || words+=(--dry-run)
    ;;
microscope)
    # A cache of the page's own, and nothing fetched or booted: `make test-guests` does that.
    export XDG_CACHE_HOME=$PWD/cache
    has cache || words+=(--dry-run)
    ;;
attach)
    # The shell of this script stands for every program.
    for place in "${!words[@]}"; do
        case ${words[place]} in
        --unit | --cgroup) words[place]=--pid words[place + 1]=$$ ;;
        --pid) words[place + 1]=$$ ;;
        --) words=("${words[@]:0:place}" --pid $$) && break ;;
        esac
    done
    words+=(--dry-run)
    ;;
fleet)
    # Of a stored run nothing is replaced.
    has --resume && exec "$NETTOLL" "${words[@]}"
    # Three shells of this machine stand for whatever hosts there are.
    kept=()
    for place in "${!words[@]}"; do
        case ${words[place]} in
        --hosts | --host | --hosts-file | --pods | --namespace | --racks) has manifest && kept+=("${words[place]}") ;;
        --slurm) ;;
        *) case ${words[place - 1]} in --hosts | --host | --hosts-file | --pods | --namespace | --racks) has manifest || continue ;; esac && kept+=("${words[place]}") ;;
        esac
    done
    words=("${kept[@]}")
    has manifest || has --dry-run || words+=(--dry-run)
    has manifest || for name in n1 n2 n3; do words+=(--host "$name=cmd:$NETTOLL __serve"); done
    ;;
top)
    # A window, and no more: 10 s of a recording, else 1 s.
    window=1
    has --record && window=10
    has -t || words+=(-t "$window")
    for place in "${!words[@]}"; do
        [ "${words[place]}" != -t ] || words[place + 1]=$window
    done
    ;;
papers) has --then --runs-from --dry-run || words+=(--dry-run) ;;
workload) has --dry-run --predict || words+=(--dry-run) ;;
-c)
    has -t -n -k || words+=(-t 0.2)
    has --secret-file && words+=(--trust-loopback)
    ;;
esac
exec "$NETTOLL" "${words[@]}"

# Steps of a scenario, sourced within the box. $OUT is where jobs write.
job_state() { timeout 20 scontrol -o show job "$1" 2>/dev/null | grep -oE 'JobState=[A-Z_]+' | cut -d= -f2; }
fail() { echo "scenario: $*" >&2; tail -n 40 "$OUT"/*.out >&2; exit 1; }
until_true() { # until_true SECONDS COMMAND…
  local seconds=$1 end
  shift
  end=$((SECONDS + seconds))
  until "$@"; do
    [ "$SECONDS" -lt "$end" ] || fail "not within $seconds s: $*"
    sleep 0.3
  done
}
is_in_state() { [ "$(job_state "$1")" = "$2" ]; }
has_ended() { case "$(job_state "$1")" in COMPLETED | FAILED | CANCELLED | TIMEOUT | NODE_FAIL) true ;; *) false ;; esac; }
has_left() { ! is_in_state "$1" RUNNING && ! is_in_state "$1" COMPLETING; }
has_saved() { [ -n "$(find "$1" -maxdepth 1 -name 'step-*' -print -quit 2>/dev/null)" ]; }
start_again() { # a requeued job is held for two minutes
  timeout 20 scontrol update jobid="$1" StartTime=now
  until_true 60 is_in_state "$1" RUNNING
}

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: trace_test.py OSHRUN TALK CASE

Runs talk.c with SHMEM_TRACE, and reads the file as who shows it would: lanes, what is within what, arrows, clocks."""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ARRIVALS = 1000
# PE 1 with a clock that is 5000 s ahead, as on another host.
OTHER_CLOCK = 'if [ "$PMIX_RANK" = 1 ]; then exec unshare -T --monotonic 5000 --boottime 5000 "$@"; fi; exec "$@"'


def run(oshrun, pes, nodes, program, variables, code=0):
    command = [oshrun, "-n", pes, "--timeout", 50] + (["--virtual-nodes", nodes] if nodes else [])
    done = subprocess.run(list(map(str, command + program)), env=dict(os.environ, **variables), stderr=subprocess.PIPE,
                          text=True, timeout=60, check=False)
    assert (done.returncode == 0) == (code == 0), done
    return done.stderr


class Trace:
    def __init__(self, path):
        whole = json.loads(path.read_text(encoding="utf-8"))
        self.other, events = whole["otherData"], whole["traceEvents"]
        self.events = events
        self.lanes = collections.defaultdict(list)  # (pe, lane) -> [(begin, end, name, event)], whole nanoseconds
        for event in events:
            if event["ph"] == "X":
                begin, length = nanoseconds(event["ts"]), nanoseconds(event["dur"])
                self.lanes[event["pid"], event["tid"]].append((begin, begin + length, event["name"], event))

    def calls(self, pe, name):
        return [event for (p, lane), events in self.lanes.items() if p == pe and lane != ARRIVALS
                for event in events if event[2] == name]


def nanoseconds(microseconds):
    return round(microseconds * 1000)


def check_names(trace, pes):
    named = {event["pid"]: event["args"]["name"] for event in trace.events if event["name"] == "process_name"}
    assert sorted(named) == list(range(pes)), named
    for pe, name in named.items():
        assert name.startswith(f"PE {pe} of {pes} on "), name
    lanes = {(event["pid"], event["tid"]) for event in trace.events if event["name"] == "thread_name"}
    assert set(trace.lanes) <= lanes, (set(trace.lanes), lanes)


def check_nesting(trace):
    """In a lane two events are one within the other, or one behind the other."""
    for lane, events in trace.lanes.items():
        open_ends = []
        for begin, end, name, _ in sorted(events, key=lambda e: (e[0], -e[1])):
            while open_ends and open_ends[-1] <= begin:
                open_ends.pop()
            assert not open_ends or end <= open_ends[-1], (lane, name, begin, end, open_ends)
            open_ends.append(end)


def check_arrows(trace):
    """Each begins within the call, and ends in a mark of the PE that the call names, as the call ends."""
    begun = {event["id"]: event for event in trace.events if event["ph"] == "s"}
    ended = {event["id"]: event for event in trace.events if event["ph"] == "f"}
    assert len(begun) == sum(event["ph"] == "s" for event in trace.events), "an arrow's number is not its own"
    assert set(begun) == set(ended) and begun, (len(begun), len(ended))
    at = collections.defaultdict(list)
    for lane, events in trace.lanes.items():
        for event in events:
            at[(*lane, event[0])].append(event)
    for number, start in begun.items():
        end = ended[number]
        begin, until = nanoseconds(start["ts"]), nanoseconds(end["ts"])
        call = [e for e in at[start["pid"], start["tid"], begin] if e[1] == until and "pe" in e[3]["args"]]
        assert any(e[3]["args"]["pe"] == end["pid"] for e in call), (start, end, call)
        assert end["tid"] == ARRIVALS and end["bp"] == "e"
        assert at[end["pid"], ARRIVALS, until], end
    return len(begun)


def check_calls(trace, pes):
    for pe in range(pes):
        after = (pe + 1) % pes
        puts = trace.calls(pe, "shmem_long_p")
        assert len(puts) == 3 + 5 and all(e[3]["args"] == {"pe": after, "bytes": 8} for e in puts), puts
        lanes = {e[3]["tid"] for e in puts}
        assert len(lanes) == 2, "the second thread has a lane of its own"
        assert [e[3]["args"] for e in trace.calls(pe, "shmem_long_put")] == [{"pe": after, "bytes": 128}]
        assert [e[3]["args"] for e in trace.calls(pe, "shmem_long_g")] == [{"pe": after, "bytes": 8}]
        assert [e[3]["args"]["pe"] for e in trace.calls(pe, "shmem_long_atomic_add")] == [0]
        assert not trace.calls(pe, "shmem_my_pe")
        kv = trace.calls(pe, "shmemx_kv_put") + trace.calls(pe, "shmemx_kv_get")
        assert len(kv) == 2 and kv[0][3]["args"]["bytes"] == 16, kv
        assert kv[0][3]["args"]["pe"] == kv[1][3]["args"]["pe"] in range(pes)
        assert kv[0][3]["cat"] == "kv"
    if pes >= 4:
        for pe in range(0, pes, 2):  # the second of the team
            assert [e[3]["args"] for e in trace.calls(pe, "shmem_ctx_long_put")] == [{"pe": 2, "bytes": 8}]


def check_clocks(trace, pes):
    """Who waits goes on after PE 0 has begun to signal; all leave a barrier after all have come."""
    wrong_by = int(trace.other["clocks_wrong_by_ns_at_most"])
    signals = {e[3]["args"]["pe"]: e for e in trace.calls(0, "shmem_signal_set")}
    for pe in range(1, pes):
        (wait,) = trace.calls(pe, "shmem_signal_wait_until")
        assert wait[1] + wrong_by >= signals[pe][0], (pe, wait, signals[pe], wrong_by)
    barriers = [sorted(trace.calls(pe, "shmem_barrier_all")) for pe in range(pes)]
    for each in zip(*barriers, strict=True):
        last_to_come, first_to_leave = max(e[0] for e in each), min(e[1] for e in each)
        assert last_to_come <= first_to_leave + 2 * wrong_by, (each, wrong_by)


def check_whole(path, pes):
    trace = Trace(path)
    assert trace.other["pes"] == str(pes) and trace.other["dropped_events"] == "0", trace.other
    check_names(trace, pes)
    check_nesting(trace)
    check_calls(trace, pes)
    check_clocks(trace, pes)
    arrows = check_arrows(trace)
    print(f"{sum(map(len, trace.lanes.values()))} events, {arrows} arrows, clocks wrong by {trace.other['clocks_wrong_by_ns_at_most']} ns")
    return trace


def main():
    oshrun, talk, case = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="atoll-trace.") as folder:
        folder = pathlib.Path(folder)
        path = folder / "t.json"
        variables = {"SHMEM_TRACE": str(path), "SHMEM_STATS": "0"}
        if case.startswith("whole"):
            pes, nodes = {"whole.1": (1, 0), "whole.4": (4, 0), "whole.vn2": (4, 2), "whole.vn4": (4, 4)}[case]
            said = run(oshrun, pes, nodes, [talk], variables)
            assert f"SHMEM_TRACE: {path} has " in said, said
            check_whole(path, pes)
        elif case == "clock":
            if subprocess.run(["unshare", "-T", "--monotonic", "5000", "true"], capture_output=True, check=False).returncode:
                print("skipped: needs the right to make time namespaces")
                return 77
            run(oshrun, 4, 4, ["sh", "-c", OTHER_CLOCK, "sh", talk], variables)
            trace = check_whole(path, 4)
            assert int(trace.other["clocks_wrong_by_ns_at_most"]) > 0, "PE 1 has the same clock"
        elif case == "exit":
            run(oshrun, 2, 0, [talk, "exit"], variables)
            check_whole(path, 2)
        elif case == "exit3":
            run(oshrun, 1, 0, [talk, "exit3"], variables, code=3)
            check_calls(Trace(folder / "t.pe0.json"), 1)
        elif case == "pages":
            run(oshrun, 2, 2, [talk], dict(variables, SHMEM_NVM_DIR=str(folder), SHMEM_NVM_SIZE="16m", SHMEM_NVM_CACHE="4m",
                                           SHMEM_NVM_PAGE="64k"))
            trace = check_whole(path, 2)
            faults = [e for pe in range(2) for e in trace.calls(pe, "page fault of a store")]
            assert len(faults) >= 4 and all(e[3]["args"]["at"].startswith("0x") for e in faults), faults
        elif case == "dropped":
            run(oshrun, 2, 2, [talk, "loop", "5000"], dict(variables, SHMEM_TRACE_EVENTS="1000"))
            trace = Trace(path)
            check_nesting(trace)
            check_arrows(trace)
            kept = sum(len(events) for (_, lane), events in trace.lanes.items() if lane != ARRIVALS)
            assert kept <= 2 * (1024 + 5), kept
            assert int(trace.other["dropped_events"]) >= 2 * (5000 - 1024), trace.other
        elif case == "small_heap":  # many rounds
            run(oshrun, 4, 2, [talk, "loop", "20000"], dict(variables, SHMEM_SYMMETRIC_SIZE="1m"))
            trace = Trace(path)
            assert trace.other["dropped_events"] == "0" and len(trace.calls(3, "shmem_long_p")) == 20008
            check_arrows(trace)
        elif case == "crash":
            path.write_text("of a job before")
            run(oshrun, 2, 0, [talk, "crash"], variables, code=1)
            assert not path.exists() and not list(folder.glob("*.tmp")), list(folder.iterdir())
            parts = [Trace(folder / f"t.pe{pe}.json") for pe in range(2)]
            for pe, part in enumerate(parts):
                check_nesting(part)
                assert len(part.calls(pe, "shmem_long_p")) == 8
                check_arrows(part)
        else:
            sys.exit(f"no case {case}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

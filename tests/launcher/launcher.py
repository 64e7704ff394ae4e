# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of oshrun share. OSHRUN names it, PMIX_HELLO the program that most of them run.

Every job runs with a TMPDIR of its own, which must be empty afterwards. Nothing sleeps for a fixed time to let
something happen: conditions are polled, with a deadline. A job that must end by itself gets FOREVER for the launcher's
own periods, so that only the event that is meant can end it.
"""
import ctypes
import os
import signal
import subprocess
import tempfile
import time
import unittest

OSHRUN = os.environ["OSHRUN"]
HELLO = os.environ.get("PMIX_HELLO")
LIMIT = 30  # seconds for anything
FOREVER = 1000  # seconds, for options of oshrun: longer than any test
NEVER_KILL = ("--kill-after", FOREVER)


libc = ctypes.CDLL(None)


def end_with_the_test():
    """In a child: a launcher must not outlive a test that is ended from outside. Its janitor sees to the rest."""
    PR_SET_PDEATHSIG = 1
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def poll_until(condition, what):
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        result = condition()
        if result:
            return result
        time.sleep(0.005)
    raise AssertionError("not within %d s: %s" % (LIMIT, what))


def process_state(pid):
    """The kernel's letter for it (T: stopped, Z: only waits for its parent), or None if it has gone."""
    try:
        with open("/proc/%d/stat" % pid) as stat:
            return stat.read().rpartition(")")[2].split()[0]
    except OSError:
        return None


def alive(pid):
    """False for a process that has gone or that only waits for its parent."""
    return process_state(pid) not in ("Z", "X", None)


def end(pid):
    """Of a process that may have ended by itself."""
    if alive(pid):
        os.kill(pid, signal.SIGKILL)


def children(pid):
    """In the order of their making: a launcher's janitor comes before its PEs."""
    with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
        return [int(child) for child in file.read().split()]


def stopped(pid):
    return process_state(pid) == "T"


def wait_status(pid):
    """[status] of a child that has exited, else None."""
    exited, status = os.waitpid(pid, os.WNOHANG)
    return [status] if exited else None


def job_files(directory):
    return [name for place in (directory, "/dev/shm") for name in os.listdir(place) if name.startswith("atoll.")]


def environment(directory):
    """For a launcher and its PEs, whose TMPDIR this is: without what a job around the test has set."""
    variables = {key: value for key, value in os.environ.items() if not key.startswith(("ATOLL_", "PMIX_", "SHMEM_", "SLURM_"))}
    variables["TMPDIR"] = directory
    variables["SHMEM_BACKTRACE"] = "0"  # tests/spec/failure/crash_test.py looks at the lines of a crash
    # In a sanitizer build: libpmix leaks in its clients, and signals must kill as they do elsewhere.
    variables["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0:handle_segv=0"
    return variables


class Launcher(unittest.TestCase):
    def setUp(self):
        self.tmp = tempfile.TemporaryDirectory(prefix="oshrun-test.")
        self.addCleanup(self.tmp.cleanup)
        self.env = environment(self.tmp.name)
        self.launcher = OSHRUN

    def start(self, *words, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        prepare = options.pop("preexec_fn", lambda: None)

        def prepare_child():
            end_with_the_test()
            prepare()

        process = subprocess.Popen([self.launcher, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=self.env, text=True, preexec_fn=prepare_child, **options)
        self.addCleanup(self.stop, process)
        return process

    @staticmethod
    def stop(process):
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream and not stream.closed:
                stream.close()

    def finish(self, process, code, **options):
        out, err = process.communicate(timeout=LIMIT, **options)
        self.assertEqual(process.returncode, code, out + err)
        self.assertEqual(os.listdir(self.tmp.name), [])
        return out, err

    def run_job(self, code, *words, **options):
        text = options.pop("input", None)
        if text is not None:
            options["stdin"] = subprocess.PIPE
        return self.finish(self.start(*words, **options), code, input=text)

    def ready_pids(self, process, count):
        """The pids that PEs in mode wait print, or a script by `echo ready $$`."""
        return [int(process.stdout.readline().split()[1]) for _ in range(count)]

    def pids_by_pe(self, process, count):
        """Those that scripts print by `echo $PMIX_RANK $$`, in order of PEs."""
        return [pid for _, pid in sorted(tuple(map(int, process.stdout.readline().split())) for _ in range(count))]

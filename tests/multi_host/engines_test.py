#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: engines_test.py mpirun|srun <ring> <remote_program> <global_exit> [test...]

The same command lines of oshrun on this host and on two others, which an engine reaches: Open MPI's mpirun, on hosts
of their own (hosts.py), or srun, inside an allocation of a Slurm of our own (slurm_job.py).  What comes out must be
the same, and where docs/running.md says that an engine does otherwise, that.  OSHRUN names the launcher."""
import concurrent.futures
import contextlib
import os
import pathlib
import pty
import re
import resource
import select
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).parent))
import hosts  # noqa: E402
import slurm_job  # noqa: E402

OSHRUN = os.environ["OSHRUN"]
LIMIT = 100  # seconds for anything
# After ^C.  Slurm passes SIGINT on and ends the step with SIGTERM, and some PEs may hear of that alone.
INTERRUPTED = {"mpirun": [1], "srun": [130, 143]}
VARIABLES = {"OTHER": "from here", "GIVEN": "it's; given, 'x' = \"y\"", "SHMEM_NO_SUCH": "the library's"}


class Engine:
    """Where jobs run; set up once for all tests."""
    name = ""
    prefix = []     # words before a command that shall run where oshrun finds the engine
    hosts = []      # options that name the hosts
    environment = {}


class Everywhere(unittest.TestCase):
    maxDiff = None

    def run_command(self, command, environment, text):
        return subprocess.run(command, env={**environment, **VARIABLES}, input=text, text=True, capture_output=True,
                              timeout=LIMIT, preexec_fn=hosts.end_with_the_test)

    def here(self, *words, text=""):
        return self.run_command([OSHRUN, "--launcher", "local", *map(str, words)], hosts_free(), text)

    def there(self, *words, text="", options=None):
        return self.run_command([*Engine.prefix, OSHRUN, *(Engine.hosts if options is None else options),
                                 *map(str, words)], Engine.environment, text)

    def both(self, use):
        """What `use` makes of here and of there, at the same time."""
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            return list(pool.map(use, (self.here, self.there)))

    def same(self, *words, code=0, text="", lines=None):
        """Both end with `code` and print the same lines, in any order: `lines`, if given."""
        here, there = self.both(lambda run: run(*words, text=text))
        self.assertEqual((here.returncode, there.returncode), (code, code), here.stderr + there.stderr)
        self.assertEqual(sorted(there.stdout.splitlines()), sorted(here.stdout.splitlines()), there.stderr)
        if lines is not None:
            self.assertEqual(sorted(here.stdout.splitlines()), sorted(lines))
        return here, there

    def test_a_program_of_the_library(self):
        self.assertIn("right", self.same("-n", 4, ring)[1].stdout)

    def test_pes_are_numbered_through(self):
        self.same("-n", 4, "sh", "-c", "echo PE $PMIX_RANK", lines=[f"PE {pe}" for pe in range(4)])

    def test_the_number_of_pes_is_that_of_places(self):
        job = self.there("echo", "x")
        self.assertEqual(job.stdout.splitlines(), ["x"] * (4 if Engine.name == "srun" else 2))

    def test_hosts_get_their_places(self):
        names = ["n2:3", "n1:1"] if Engine.name == "srun" else ["atoll-h0:1", "atoll-h1:3"]
        who = "echo $PMIX_RANK ${SLURMD_NODENAME:-$(hostname)}"
        job = self.there("sh", "-c", who, options=["-H", ",".join(names)])
        first, second = (name.split(":") for name in names)
        placed = [first[0]] * int(first[1]) + [second[0]] * int(second[1])
        self.assertEqual(sorted(job.stdout.splitlines()), [f"{pe} {name}" for pe, name in enumerate(placed)], job.stderr)

    def test_a_host_gets_more_than_the_allocation_has_there(self):
        if Engine.name != "srun":
            self.skipTest("has no allocation")
        for launcher in ("srun", "mpirun"):
            for places in ("n2:4", "n2:1,n1:5"):
                count = sum(int(host[3:]) for host in places.split(","))
                job = self.there("--launcher", launcher, "sh", "-c", "echo $SLURMD_NODENAME", options=["-H", places])
                self.assertEqual((job.returncode, len(job.stdout.splitlines())), (0, count), job.stderr)
                self.assertEqual(set(job.stdout.splitlines()), {host[:2] for host in places.split(",")})

    def test_each_node_of_an_allocation_gets_so_many_pes(self):
        if Engine.name != "srun":
            self.skipTest("has no allocation")
        for launcher in ("srun", "mpirun"):
            job = self.there("--launcher", launcher, "--per-host", 1, "sh", "-c", "echo $SLURMD_NODENAME")
            self.assertEqual(sorted(job.stdout.split()), ["n1", "n2"], job.stderr)

    def test_too_few_places_are_an_error(self):
        host = "n1" if Engine.name == "srun" else "atoll-h1"
        job = self.there("-n", 3, "true", options=["-H", host + ":2"])
        self.assertEqual((job.returncode, job.stderr), (
            2, "oshrun: the hosts have places for 2 processes, and the job has 3; name more hosts, or give places as in "
            "a:4\n"))

    def code_of_two(self, run, pe_0, pe_1):
        """The exit code of a job of two PEs that execute this.  In there `come` says that the PE is there, and `meet` waits
        until both are, and hears no SIGTERM from then on: an engine may end the PE that is slower."""
        with tempfile.TemporaryDirectory(prefix="engines.", dir=os.getcwd()) as folder:
            script = (f"cd '{folder}'; come() {{ : >$PMIX_RANK; }}; "
                      "meet() { trap '' TERM; come; until [ -e 0 ] && [ -e 1 ]; do sleep 0.02; done; }; "
                      f"case $PMIX_RANK in 0) {pe_0} ;; *) {pe_1} ;; esac")
            return run("-n", 2, "sh", "-c", script).returncode

    def codes_of_two(self, pe_0, pe_1):
        return self.both(lambda run: self.code_of_two(run, pe_0, pe_1))

    def test_the_code_of_all(self):
        self.assertEqual(self.codes_of_two("meet; exit 3", "meet; exit 3"), [3, 3])

    def test_the_code_of_one_that_fails(self):
        # Slurm ends the others with SIGTERM, and srun returns the highest code.
        there = 143 if Engine.name == "srun" else 3
        self.assertEqual(self.codes_of_two("come; exec sleep 50", "meet; exit 3"), [3, there])

    def test_the_code_of_global_exit(self):
        words = ["-n", 4, global_exit, 43, 0]  # by PE 0, while the others wait
        self.assertEqual([job.returncode for job in self.both(lambda run: run(*words))], [43, 43])

    def test_the_code_of_a_signal(self):
        here, there = self.codes_of_two("come; exec sleep 50", "meet; kill -9 $$")
        self.assertEqual(here, 137)
        self.assertEqual(there, 143 if Engine.name == "srun" else 137)

    def test_a_program_that_is_not_there(self):
        here, there = self.here("no/program"), self.there("-n", 1, "no/program")
        self.assertEqual((here.returncode, there.returncode), (127, 127))
        self.assertIn("'no/program': No such file", there.stderr.replace("‘", "'").replace("’", "'"))

    def test_variables(self):
        self.same("-n", 2, "-x", "A=a;b,c d='e'", "-x", "E=", "-x", "GIVEN", "sh", "-c",
                  'echo "$A|${E-unset}|$GIVEN|$SHMEM_NO_SUCH"',
                  lines=[f"a;b,c d='e'||{VARIABLES['GIVEN']}|the library's"] * 2)

    def test_other_variables(self):
        job = self.there("-n", 1, "sh", "-c", "echo ${OTHER-unset}")
        self.assertEqual(job.stdout, "from here\n" if Engine.name == "srun" else "unset\n")

    def test_the_directory(self):
        self.same("-n", 2, "pwd", "-P", lines=[os.getcwd()] * 2)
        with tempfile.TemporaryDirectory(prefix="atoll engines.", dir=os.getcwd()) as folder:
            self.same("-n", 2, "--wdir", folder, "pwd", "-P", lines=[os.path.realpath(folder)] * 2)
            self.same("-n", 2, "--wdir", os.path.basename(folder), "pwd", "-P", lines=[os.path.realpath(folder)] * 2)

    def test_a_directory_that_is_not_there(self):
        job = self.there("-n", 1, "--wdir", "/no/such", "echo", "started")
        self.assertEqual((job.returncode, job.stdout), (125, ""))
        self.assertRegex(job.stderr, r"cannot change directory to .?/no/such")

    def test_standard_input_is_that_of_pe_0(self):
        self.same("-n", 2, "sh", "-c", "while read x; do echo $PMIX_RANK $x; done", text="one\ntwo\n",
                  lines=["0 one", "0 two"])

    def test_tags(self):
        here, there = self.both(lambda run: run("--tag-output", "-n", 2, "sh", "-c", "echo out; echo err >&2"))
        self.assertEqual(sorted(here.stdout.splitlines()), ["[0] out", "[1] out"])
        self.assertEqual(sorted(here.stderr.splitlines()), ["[0]<err> err", "[1]<err> err"])
        tag = {"srun": "{pe}: {text}", "mpirun": "[1,{pe}]<std{text}>:{text}"}[Engine.name]
        for text, stream in (("out", there.stdout), ("err", there.stderr)):
            lines = [line for line in stream.splitlines() if line.endswith(text)]
            self.assertEqual(sorted(lines), [tag.format(pe=pe, text=text) for pe in range(2)])

    def test_a_time_limit(self):
        time = f"50.{os.getpid()}1"
        for job in self.both(lambda run: run("--timeout", 3, "-n", 2, "sleep", time)):
            self.assertEqual(job.returncode, 124, job.stderr)
            self.assertIn("oshrun: the job has not ended within 3 s (--timeout); the job ends\n", job.stderr)
        hosts.wait_for(lambda: not sleepers(time), "no PE is left")

    def test_a_signal_to_the_process_group_ends_a_job_with_a_time_limit(self):
        if Engine.name != "mpirun":
            self.skipTest("salloc waits for oshrun, in another process group")
        time = f"50.{os.getpid()}3"
        # On the host of mpirun itself: there nobody else ends PEs that it leaves behind.
        words = ["--launcher", "mpirun", "--timeout", "1000", "-n", "2", "sh", "-c", f"echo ready; exec sleep {time}"]
        with subprocess.Popen([*Engine.prefix, OSHRUN, *words], env=Engine.environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              start_new_session=True, preexec_fn=hosts.end_with_the_test) as job:
            try:
                self.assertEqual([job.stdout.readline() for _ in range(2)], ["ready\n"] * 2)
                hosts.wait_for(lambda: len(sleepers(time)) == 2, "both PEs sleep")
                os.killpg(job.pid, signal.SIGTERM)
                self.assertNotIn(job.wait(LIMIT), (0, 124))
                hosts.wait_for(lambda: not sleepers(time), "no PE is left")
            finally:
                job.kill()

    def test_a_time_limit_leaves_the_keyboard_to_the_engine(self):
        time = f"50.{os.getpid()}2"
        words = ["--timeout", "1000", "-n", "2", "sh", "-c", f"echo ready; exec sleep {time}"]
        command = [*Engine.prefix, OSHRUN, *Engine.hosts, *words]
        pid, terminal = pty.fork()
        if pid == 0:
            os.execvpe(command[0], command, Engine.environment)
        said, status = b"", None
        try:
            while said.count(b"ready") < 2:
                self.assertTrue(select.select([terminal], [], [], LIMIT)[0], said)
                said += os.read(terminal, 4096)
            os.write(terminal, b"\x03")
            status = hosts.wait_for(lambda: ended(pid), "the job ends", LIMIT)
            self.assertIn(os.waitstatus_to_exitcode(status[1]), INTERRUPTED[Engine.name])
            hosts.wait_for(lambda: not sleepers(time), "no PE is left")
        finally:
            if not status:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            os.close(terminal)

    def interrupted(self, command, environment, find):
        """The code of a job that gets SIGINT, as from the keyboard, when its PEs are there."""
        words = ["-n", "2", "sh", "-c", "echo ready; exec sleep 50"]
        with subprocess.Popen([*command, *words], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, preexec_fn=hosts.end_with_the_test) as job:
            try:
                for _ in range(2):
                    self.assertEqual(job.stdout.readline(), "ready\n")
                os.kill(find(job.pid), signal.SIGINT)
                return job.wait(LIMIT)
            finally:
                job.kill()

    def test_an_interrupt(self):
        def child(pid):  # salloc waits for what has been oshrun
            return int(pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text())

        def itself(pid):
            return pid

        here = self.interrupted([OSHRUN, "--launcher", "local"], hosts_free(), itself)
        there = self.interrupted([*Engine.prefix, OSHRUN, *Engine.hosts], Engine.environment,
                                 child if Engine.name == "srun" else itself)
        self.assertEqual(here, 130)
        self.assertIn(there, INTERRUPTED[Engine.name])

    def test_several_programs(self):
        show = "echo $PMIX_RANK $A $(basename $PWD) $1"
        self.same("-n", 1, "-x", "A=a b", "sh", "-c", show, "sh", "first", ":", "-n", 2, "-x", "A=c", "--wdir", "/usr/bin",
                  "sh", "-c", show, "sh", "it's",
                  lines=[f"0 a b {os.path.basename(os.getcwd())} first", "1 c bin it's", "2 c bin it's"])

    def test_arguments(self):
        self.same("-n", 1, "printf", "%s|", "\\:", "", "a b", "'", "$x", "\\", "a=b", "*", "-n", "--label", "\\\\:",
                  lines=[":||a b|'|$x|\\|a=b|*|-n|--label|\\:|"])

    def test_memory_servers(self):
        job = self.there("-n", 2, "--memory-servers", 2, "--memory-per-server", "64m", "-x", "SHMEM_REMOTE_PAGE=64k", "-x",
                         "SHMEM_REMOTE_LOCAL=2m", remote_program, "pins")
        self.assertEqual(job.returncode, 0, job.stderr)

    def test_bindings(self):
        show = "grep Cpus_allowed_list /proc/self/status"
        job = self.there("-n", 2, "--bind", "core", "--report-bindings", "sh", "-c", show)
        self.assertEqual(job.returncode, 0, job.stderr)
        if Engine.name == "mpirun" and len(os.sched_getaffinity(0)) > 1:
            self.assertEqual(len(re.findall(r":\t\d+$", job.stdout, re.MULTILINE)), 2, job.stdout)
            self.assertEqual(len(re.findall(r"rank \d bound to", job.stderr)), 2, job.stderr)
        elif Engine.name == "srun":  # this Slurm has no plugin that binds, and says so
            self.assertIn("cluster configuration lacks support for cpu binding", job.stderr)

    def test_many_pes_where_few_files_may_be_open(self):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        command = [*Engine.prefix, OSHRUN, "--launcher", Engine.name, "-n", "16", ring]
        job = subprocess.run(command, env=Engine.environment, text=True, capture_output=True, timeout=LIMIT,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard)))
        self.assertEqual(job.returncode, 0, job.stderr)
        self.assertIn("right", job.stdout)

    def test_what_an_engine_cannot_do(self):
        job = self.there("--kill-after", 1, "-n", 2, "true")
        self.assertEqual((job.returncode, job.stderr), (
            2, f"oshrun: --kill-after: {Engine.name} starts this job and has no such option; leave it out, or give "
            "--launcher local\n"))

    def test_a_dry_run_pasted_into_a_shell_runs(self):
        words = ["-n", 2, "-x", "A=it's $HOME", "--timeout", 30, "sh", "-c", 'echo "$PMIX_RANK $A"']
        for run, shell in ((self.here, []), (self.there, Engine.prefix)):
            shown = run("--dry-run", *words)
            self.assertEqual((shown.returncode, shown.stderr, shown.stdout.count("\n")), (0, "", 1))
            pasted = self.run_command([*shell, "sh", "-c", shown.stdout],
                                      Engine.environment if shell else hosts_free(), "")
            self.assertEqual(sorted(pasted.stdout.splitlines()), ["0 it's $HOME", "1 it's $HOME"], pasted.stderr)
            self.assertEqual(pasted.returncode, 0)
        self.assertIn(f" {Engine.name} ", shown.stdout)


def ended(pid):
    """What waitpid says of a child that has ended, else None."""
    status = os.waitpid(pid, os.WNOHANG)
    return status if status[0] else None


def sleepers(time):
    """The processes `sleep TIME` of all hosts, which are of this machine."""
    words = f"sleep\0{time}\0"
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and (entry / "cmdline").read_text() == words:
                found.append(int(entry.name))
    return found


def hosts_free():
    """The environment of a job on this host."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "PMIX_", "OMPI_"))}


def run_tests():
    program = unittest.main(argv=[sys.argv[0], *tests], exit=False, verbosity=2)
    return 0 if program.result.wasSuccessful() else 1


def with_mpirun(network):
    Engine.prefix = [*network.head.enter(), "env", "-C", os.getcwd()]
    Engine.hosts = ["-H", network.names()]
    Engine.environment = network.environment()
    return run_tests()


def with_slurm(environment):
    enough = ["--overcommit"] if os.cpu_count() < 2 else []
    Engine.prefix = ["salloc", "--quiet", "--nodes=2", "--ntasks=4", *enough]
    Engine.environment = environment
    return run_tests()


Engine.name, ring, remote_program, global_exit, *tests = sys.argv[1:]
sys.exit(hosts.on_hosts(2, with_mpirun) if Engine.name == "mpirun" else slurm_job.on_slurm(with_slurm))
